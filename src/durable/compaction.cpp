// Tasks that have ended leave the log for the archive. Those that have not are written again behind all others, so that
// what is before them can go.
#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "durable/entry.hpp"
#include "durable/fields.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/durable/limits.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/io/io_error.hpp"
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
      entry->spawn = content->bytes().substr(0, content->bytes().find('\n') + 1);
      const detail::Fields fields(wal::view_of(entry->spawn).payload);
      entry->type_name = fields.text("name");
      entry->version = static_cast<int>(fields.number("version"));
      entry->end = line + "\n";
      entry->unread = true;
      const bool failed = view.payload.starts_with(R"("reason":"failed")");
      entry->status = failed                                    ? DurableStatus::failed
                      : view.type == wal::RecordType::TaskAbort ? DurableStatus::cancelled
                                                                : DurableStatus::completed;
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

Task<Compaction> HostCore::compact(Retention keep) {
  if (keep.age && keep.age->count() < 0) {
    throw Error(Errc::bad_argument, "Host::compact: nothing is younger than a negative age.");
  }
  const Mutex::Guard alone = co_await compacting_.lock();
  if (!is_open()) {
    throw Error(Errc::durable_misuse, "Host::compact needs an open host: co_await host.open().");
  }
  co_return co_await compact_now(keep, false);
}

Task<Compaction> HostCore::compact_now(Retention keep, bool only_completed) {
  Compaction done;
  if (!index_.damage.empty()) {
    done.skipped = "the log is damaged; what is in it is kept for those who mend it";
    co_return done;
  }
  // What the archive would drop at once is not written into it: on a full disk there is no room.
  const bool drop = keep.bytes && *keep.bytes == 0 && retired_.damage().empty();
  const std::vector<Copied> copied = co_await archive_ended(drop, only_completed);
  if (drop) done.forgotten = co_await retire(copied);
  const std::uint64_t counted = log_->counters().bytes;
  log_->begin_moving();
  const std::vector<Uuid> gone = take_archived(copied);
  done.archived = gone.size();
  if (drop) done.removed = gone.size();
  try {
    done.kept = co_await move_forward();
  } catch (...) {
    log_->stop_moving();  // what was copied is there twice, which does no harm
    throw;
  }
  co_await log_->forget(gone);
  bytes_before_ = 0;
  counted_before_ = counted;
  look_again_ = 0;
  co_await keep_only(keep, &done);
  done.values = co_await remove_values();
  co_return done;
}

// Copies them, and gives which. The files are synced some thousand at a time. A crash leaves files of tasks that the log
// still has: nobody reads them, and the next compaction writes them anew.
//
// With `drop` nothing is written.
Task<std::vector<HostCore::Copied>> HostCore::archive_ended(bool drop, bool only_completed) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  constexpr std::size_t kMostFiles = 16'384;
  const std::string& directory = log_options_.directory;
  log_->disk().make_directory(directory + "/archive");
  std::vector<Copied> copied;
  std::vector<wal::WholeFile> files;
  std::size_t bytes = 0;
  // Whoever comes meanwhile has its turn next time.
  for (std::size_t at = 0, end = order_.size(); at < end; ++at) {
    Entry& entry = *order_[at];
    if (!may_archive(entry)) continue;
    if (only_completed && entry.status != DurableStatus::completed) continue;
    copied.push_back({entry.log.id, entry.log.last_seq});
    if (drop) continue;
    wal::WholeFile& file = files.emplace_back();
    file.name = entry.log.id.text() + ".wal";
    for (const std::string& line : log_->lines(entry.log)) file.bytes += line;
    bytes += file.bytes.size();
    if (bytes < kMostBytes && files.size() < kMostFiles) continue;
    co_await write_archive(std::move(files));
    files.clear();
    bytes = 0;
  }
  log_->forget_lines();
  if (!files.empty()) co_await write_archive(std::move(files));
  co_await log_->disk().sync_directory(directory);
  co_return copied;
}

// Before the tasks leave the log, so that there is no moment in which their ids are free. An id that
// is in both places, because of a crash or of a retry meanwhile, is that of the task in the log.
Task<std::size_t> HostCore::retire(const std::vector<Copied>& copied) {
  std::vector<Uuid> ids;
  ids.reserve(copied.size());
  for (const Copied& copy : copied) ids.push_back(copy.id);
  std::exception_ptr full;
  try {
    co_return co_await retired_.add(ids, kMostRetiredIds);
  } catch (const IoError& error) {
    if (error.number() != ENOSPC && error.number() != EDQUOT) throw;
    full = std::current_exception();
  }
  if (!co_await log_->free_reserve()) std::rethrow_exception(full);
  co_return co_await retired_.add(std::move(ids), kMostRetiredIds);
}

// On a full disk, with the room that the log keeps for this.
Task<void> HostCore::write_archive(std::vector<wal::WholeFile> files) {
  const std::string directory = log_options_.directory + "/archive";
  std::exception_ptr full;
  try {
    co_await log_->disk().write_files(directory, files);
    co_return;
  } catch (const IoError& error) {
    if (error.number() != ENOSPC && error.number() != EDQUOT) throw;
    full = std::current_exception();
  }
  if (!co_await log_->free_reserve()) std::rethrow_exception(full);
  co_await log_->disk().write_files(directory, std::move(files));
}

// ---- By itself ----

std::uint64_t HostCore::log_bytes() const noexcept {
  return bytes_before_ + log_->counters().bytes - counted_before_;
}

void HostCore::consider_compaction() {
  if (options_.compact_above == 0 || compacts_by_itself_ || !is_open() || log_->sealed()) return;
  const std::uint64_t all = log_bytes();
  if (all <= options_.compact_above || all < look_again_ || !index_.damage.empty()) return;
  std::uint64_t needed = 0;
  for (const Entry* entry : order_) {
    if (may_archive(*entry) && entry->status == DurableStatus::completed) continue;
    for (const wal::Position& record : entry->log.records) needed += record.size + 1;
  }
  // Counting takes its time: not for every task that ends.
  look_again_ = all + options_.compact_above / 4;
  if (needed > all / 2) return;
  compacts_by_itself_ = true;
  scheduler_->spawn.with_priority(255)(&HostCore::compact_by_itself, shared_from_this())
      .named("compaction");
}

// What goes wrong is said, and tried again when the log has grown.
Task<void> HostCore::compact_by_itself() {
  struct Over {
    bool& flag;
    ~Over() { flag = false; }
  };
  const Over over{compacts_by_itself_};
  const Mutex::Guard alone = co_await compacting_.lock();
  if (!is_open() || log_->sealed()) co_return;
  std::string failed;
  try {
    co_await compact_now(options_.keep, true);
  } catch (const std::exception& error) {
    failed = error.what();
  }
  if (!failed.empty() && !log_->sealed()) {
    scheduler_->log("The log in " + log_options_.directory + " was not compacted: " + failed);
  }
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
  std::erase_if(at_rest_, [&](const auto& each) { return all.contains(each.second.task); });
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
  co_await log_->flush();
  log_->forget_lines();
  std::unordered_set<std::string> needed;
  // Nobody but a compaction takes tasks out of the order. A checkpoint may drop records meanwhile, whose values are not
  // needed; its own value came after watch_values().
  for (std::size_t at = 0, read = 0; at < order_.size(); ++at) {
    for (const std::string& line : log_->lines(order_[at]->log)) wal::find_values(line, needed);
    read += order_[at]->log.records.size();
    if (read < 1024) continue;
    read = 0;
    co_await yield();
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
    Uuid id;
    std::int64_t time;
    std::uint64_t size;
  };
  if (!keep.age && !keep.bytes) co_return;
  wal::Disk& disk = log_->disk();
  const std::string directory = log_options_.directory + "/archive";
  std::vector<Old> all;
  std::uint64_t total = 0;
  for (const std::string& name : disk.list(directory)) {
    const std::optional<Uuid> id = Uuid::parse(name.substr(0, name.find('.')));
    if (!name.ends_with(".wal") || !id) continue;
    const std::string path = directory + "/" + name;
    const auto content = disk.read(path);
    std::string_view bytes = content->bytes();
    const std::uint64_t size = bytes.size();
    if (!bytes.empty()) bytes.remove_suffix(1);
    wal::RecordView view;
    if (wal::read_line(bytes.substr(bytes.rfind('\n') + 1), 0, view) != wal::LineFault::none)
      continue;
    all.push_back({path, *id, wal::parse_time(view.ts).value_or(0), size});
    total += size;
  }
  std::sort(all.begin(), all.end(), [](const Old& a, const Old& b) {
    return a.time != b.time ? a.time < b.time : a.path < b.path;
  });
  std::vector<Old> go;
  for (const Old& old : all) {
    const bool too_old = keep.age && (log_->wall_time() - old.time) / 1'000'000 > keep.age->count();
    if (!too_old && !(keep.bytes && total > *keep.bytes)) break;
    total -= old.size;
    go.push_back(old);
  }
  if (go.empty()) co_return;
  if (!retired_.damage().empty()) {
    done->skipped = "nothing was removed from the archive. " + retired_.damage();
    co_return;
  }
  // First, so that there is no moment in which their ids are free.
  std::vector<Uuid> ids;
  for (const Old& old : go) ids.push_back(old.id);
  done->forgotten += co_await retired_.add(std::move(ids), kMostRetiredIds);
  for (const Old& old : go) {
    co_await disk.remove(old.path);
    ++done->removed;
  }
  co_await disk.sync_directory(directory);
}

}  // namespace tiffany
