// Tasks that have ended leave the log for the archive. Those that have not are written again behind all others, so that
// what is before them can go.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "durable/entry.hpp"
#include "tiffany/wal/log.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany {

std::string HostCore::archive_path(const Uuid& id) const {
  return log_options_.directory + "/archive/" + id.text() + ".wal";
}

bool HostCore::archived(const Uuid& id) const {
  return log_ != nullptr && log_->disk().exists(archive_path(id));
}

std::unique_ptr<HostCore::Entry> HostCore::from_archive(const Uuid& id) {
  const auto content = log_->disk().read(archive_path(id));
  std::string_view bytes = content->bytes();
  if (!bytes.empty()) bytes.remove_suffix(1);
  const std::string line(bytes.substr(bytes.rfind('\n') + 1));
  wal::RecordView view;
  if (wal::read_line(line, 0, view) != wal::LineFault::none) {
    throw Error(Errc::log_damaged, archive_path(id) + " does not end with a record.");
  }
  auto entry = std::make_unique<Entry>(index_.at(Uuid()));
  read_end(*entry, line + "\n");
  return entry;
}

// A child stays until its parent has ended, which may still ask for it.
bool HostCore::may_archive(const Entry& entry) const noexcept {
  if (!entry.log.ended || entry.flow != nullptr || entry.status == DurableStatus::quarantined) {
    return false;
  }
  const Entry* const parent = entry.parent.nil() ? nullptr : find(entry.parent);
  return parent == nullptr || parent->log.ended;
}

Task<void> HostCore::archive(Entry& entry) {
  wal::Disk& disk = log_->disk();
  std::string bytes;
  for (const std::string& line : lines(entry.log)) bytes += line;
  const std::string path = archive_path(entry.log.id);
  // What a crash has left of it may be longer.
  if (disk.exists(path + ".new")) co_await disk.remove(path + ".new");
  {
    const std::unique_ptr<wal::DiskFile> file = disk.open(path + ".new");
    co_await file->write(0, bytes);
    co_await file->sync();
  }
  co_await disk.rename(path + ".new", path);
}

Task<Compaction> HostCore::compact(Retention keep) {
  Compaction done;
  if (log_ == nullptr) {
    throw Error(Errc::durable_misuse, "Host::compact needs an open host: co_await host.open().");
  }
  if (!index_.damage.empty()) {
    done.skipped = "the log is damaged; what is in it is kept for those who mend it";
    co_return done;
  }
  co_await log_->flush();
  contents_.clear();
  wal::Disk& disk = log_->disk();
  const std::string& directory = log_options_.directory;
  disk.make_directory(directory + "/archive");
  std::vector<Entry*> gone;
  for (Entry* entry : std::vector<Entry*>(order_)) {
    if (!may_archive(*entry)) continue;
    co_await archive(*entry);
    gone.push_back(entry);
  }
  co_await disk.sync_directory(directory + "/archive");
  co_await disk.sync_directory(directory);
  done.archived = gone.size();

  const std::uint32_t last = log_->begin_segment();
  for (Entry* entry : order_) {
    if (std::find(gone.begin(), gone.end(), entry) != gone.end() || last == 0) continue;
    // Between here and the next suspension nobody else writes: the records stay in their order.
    bool moved = false;
    for (std::size_t i = 0; i < entry->log.records.size(); ++i) {
      if (entry->log.records[i].file >= last) continue;
      entry->log.records[i] = log_->append_again(line_at(entry->log, i));
      moved = true;
    }
    if (moved) ++done.kept;
  }
  co_await log_->flush();
  contents_.clear();
  co_await log_->forget_before(last);
  for (Entry* entry : gone) {
    if (last == 0) co_await disk.remove(directory + "/" + entry->log.id.text() + ".wal");
    std::erase(order_, entry);
    entries_.erase(entry->log.id);
  }
  co_await keep_only(keep, &done);
  co_return done;
}

Task<void> HostCore::keep_only(Retention keep, Compaction* done) {
  struct Old {
    std::string path;
    std::int64_t time;
    std::uint64_t size;
  };
  if (!keep.age && !keep.bytes) co_return;
  wal::Disk& disk = log_->disk();
  const std::string directory = log_options_.directory + "/archive";
  std::vector<Old> all;
  std::uint64_t total = 0;
  for (const std::string& name : disk.list(directory)) {
    if (!name.ends_with(".wal")) continue;
    const std::string path = directory + "/" + name;
    const auto content = disk.read(path);
    std::string_view bytes = content->bytes();
    const std::uint64_t size = bytes.size();
    if (!bytes.empty()) bytes.remove_suffix(1);
    wal::RecordView view;
    if (wal::read_line(bytes.substr(bytes.rfind('\n') + 1), 0, view) != wal::LineFault::none)
      continue;
    all.push_back({path, wal::parse_time(view.ts).value_or(0), size});
    total += size;
  }
  std::sort(all.begin(), all.end(), [](const Old& a, const Old& b) {
    return a.time != b.time ? a.time < b.time : a.path < b.path;
  });
  for (const Old& old : all) {
    const bool too_old = keep.age && log_->wall_time() - old.time > keep.age->count() * 1'000'000;
    if (!too_old && !(keep.bytes && total > *keep.bytes)) break;
    co_await disk.remove(old.path);
    total -= old.size;
    ++done->removed;
  }
  co_await disk.sync_directory(directory);
}

}  // namespace tiffany
