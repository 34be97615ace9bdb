// Tasks that have ended leave the log for the archive. Those that have not are written again behind all others, so that
// what is before them can go.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "durable/entry.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/wal/log.hpp"
#include "tiffany/wal/record.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany {

std::string HostCore::archive_path(const Uuid& id) const {
  return log_options_.directory + "/archive/" + id.text() + ".wal";
}

bool HostCore::archived(const Uuid& id) const {
  return log_ != nullptr && log_->disk().exists(archive_path(id));
}

// Null when it is not there.
std::unique_ptr<HostCore::Entry> HostCore::from_archive(const Uuid& id) {
  if (!archived(id)) return nullptr;
  const auto content = log_->disk().read(archive_path(id));
  std::string_view bytes = content->bytes();
  // Somebody may have spoken to it after its end.
  while (!bytes.empty()) {
    bytes.remove_suffix(1);
    const std::string line(bytes.substr(bytes.rfind('\n') + 1));
    wal::RecordView view;
    if (wal::read_line(line, 0, view) != wal::LineFault::none) break;
    if (view.type == wal::RecordType::TaskExit || view.type == wal::RecordType::TaskAbort) {
      auto entry = std::make_unique<Entry>(index_.at(Uuid()));
      read_end(*entry, line + "\n");
      return entry;
    }
    bytes.remove_suffix(line.size());
  }
  throw Error(Errc::log_damaged,
              archive_path(id) + ": expected the end of a task, found none that can be read.");
}

// A child stays until its parent has ended, which may still ask for it.
bool HostCore::may_archive(const Entry& entry) const noexcept {
  if (!entry.log.ended || entry.flow != nullptr || entry.changing > 0 || entry.held > 0 ||
      entry.status == DurableStatus::quarantined) {
    return false;
  }
  const Entry* const parent = entry.parent.nil() ? nullptr : find(entry.parent);
  return parent == nullptr || parent->log.ended;
}

Task<void> HostCore::archive(Entry& entry) {
  wal::Disk& disk = log_->disk();
  std::string bytes;
  for (const std::string& line : log_->lines(entry.log)) bytes += line;
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
  const Mutex::Guard alone = co_await compacting_.lock();
  if (!is_open()) {
    throw Error(Errc::durable_misuse, "Host::compact needs an open host: co_await host.open().");
  }
  if (!index_.damage.empty()) {
    done.skipped = "the log is damaged; what is in it is kept for those who mend it";
    co_return done;
  }
  const std::vector<Copied> copied = co_await archive_ended();
  log_->begin_moving();
  const std::vector<Uuid> gone = take_archived(copied);
  done.archived = gone.size();
  try {
    done.kept = co_await move_forward();
  } catch (...) {
    log_->stop_moving();  // what was copied is there twice, which does no harm
    throw;
  }
  co_await log_->forget(gone);
  co_await keep_only(keep, &done);
  done.values = co_await remove_values();
  co_return done;
}

// Copies them, and gives which.
Task<std::vector<HostCore::Copied>> HostCore::archive_ended() {
  const std::string& directory = log_options_.directory;
  log_->disk().make_directory(directory + "/archive");
  std::vector<Copied> copied;
  // Whoever comes meanwhile has its turn next time.
  for (std::size_t at = 0, end = order_.size(); at < end; ++at) {
    Entry& entry = *order_[at];
    if (!may_archive(entry)) continue;
    copied.push_back({entry.log.id, entry.log.last_seq});
    co_await archive(entry);
  }
  log_->forget_lines();
  co_await log_->disk().sync_directory(directory + "/archive");
  co_await log_->disk().sync_directory(directory);
  co_return copied;
}

// From here on the archive has them; not those that have gone on since they were copied.
std::vector<Uuid> HostCore::take_archived(const std::vector<Copied>& copied) {
  std::vector<Uuid> gone;
  for (const Copied& copy : copied) {
    const Entry& entry = *find(copy.id);
    if (may_archive(entry) && entry.log.last_seq == copy.last_seq) gone.push_back(copy.id);
  }
  const std::unordered_set<Uuid, UuidHash> all(gone.begin(), gone.end());
  std::erase_if(order_, [&](const Entry* entry) { return all.contains(entry->log.id); });
  for (const Uuid& id : gone) entries_.erase(id);
  index_.drop(gone);
  return gone;
}

// Those that have not ended are written again behind all others. Gives how many of them had to be.
Task<std::size_t> HostCore::move_forward() {
  std::size_t moved = 0;
  for (std::size_t at = 0; at < order_.size(); ++at) {
    while (!log_->has_room()) co_await log_->room().wait();
    if (log_->move(order_[at]->log)) ++moved;
  }
  co_await log_->flush();
  co_return moved;
}

// Those that neither a record of the log names nor one of the archive.
Task<std::size_t> HostCore::remove_values() {
  wal::Disk& disk = log_->disk();
  const std::string& directory = log_options_.directory;
  if (disk.list(directory + "/values").empty()) co_return 0;
  // Records that are appended from here on name values that the log remembers.
  log_->watch_values();
  std::vector<std::pair<const wal::TaskLog*, wal::Position>> records;
  for (const Entry* entry : order_) {
    for (const wal::Position& record : entry->log.records)
      records.emplace_back(&entry->log, record);
  }
  co_await log_->flush();
  log_->forget_lines();
  std::unordered_set<std::string> needed;
  for (std::size_t i = 0; i < records.size(); ++i) {
    wal::find_values(log_->line(*records[i].first, records[i].second), needed);
    if (i % 1024 == 1023) co_await yield();
  }
  log_->forget_lines();
  for (const std::string& name : disk.list(directory + "/archive")) {
    wal::find_values(disk.read(directory + "/archive/" + name)->bytes(), needed);
  }
  co_return co_await log_->remove_values_except(std::move(needed));
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
