// The log of a directory as a RecordStore: the records in the log, archive/<uuid>.wal for tasks
// that have ended, the ids of those that have left the archive in retired.ids, long values in
// values/.
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "tiffany/core/sleep.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/wal/log.hpp"
#include "tiffany/wal/values.hpp"
#include "wal/retired_ids.hpp"

namespace tiffany::wal {
namespace {

bool no_space(const IoError& error) noexcept {
  return error.number() == ENOSPC || error.number() == EDQUOT;
}

// A file without a whole record, and without damage, is of a task whose first record was never
// acknowledged. Nor was a fork whose history is not complete.
bool came_to_be(const TaskLog& task) noexcept {
  return !task.id.nil() && (!task.records.empty() || !task.quarantine.empty()) &&
         (task.last_seq >= task.forked_at || !task.quarantine.empty());
}

class LogStore final : public RecordStore {
 public:
  LogStore(std::shared_ptr<Log> log, LogIndex index)
      : RecordStore(log->options().directory, log->epoch(), log->clock()),
        log_(std::move(log)),
        index_(std::move(index)) {
    for (const Damage& damage : index_.damage) found_.damage.push_back(damage.text());
    if (const Damage* const damage = index_.unresolved()) found_.unresolved = damage->text();
    found_.cut = index_.cut;
    found_.records = index_.records;
    found_.bytes = bytes_before_ = index_.bytes;
    found_.last_time = index_.last_time;
    found_.shut_down = index_.shut_down;
    counted_before_ = log_->counters().bytes;
    for (const auto& task : index_.tasks) {
      if (!came_to_be(*task)) unborn_.insert(task->id);
    }
    retired_.load(log_->disk(), name());
    found_.retired_damage = retired_.damage();
  }

  // ---- The claim ----
  Task<void> close() override { return log_->close(); }
  void abandon() noexcept override { log_->abandon(); }
  const std::exception_ptr& why_sealed() const noexcept override { return log_->why_sealed(); }
  void require_open() const override { log_->require_open(); }

  // ---- Tasks and their records ----
  std::vector<StoredTask*> list() override {
    std::vector<StoredTask*> all;
    for (const auto& task : index_.tasks) {
      if (!unborn_.contains(task->id)) all.push_back(task.get());
    }
    return all;
  }
  StoredTask& add(const Uuid& id) override {
    unborn_.erase(id);
    return index_.at(id);
  }
  std::uint64_t append(StoredTask& task, Entry entry, Level level, Ticket* ticket) override {
    return log_->append(of(task), entry, level, ticket);
  }
  void append_copy(StoredTask& task, std::string_view line) override {
    log_->append_copy(of(task), line);
  }
  void hurry() override { log_->hurry(); }
  Task<void> flush() override { return log_->flush(); }
  Task<BackupReport> copy_to(std::string directory) override {
    return copy_log(&log_->disk(), name(), std::move(directory));
  }
  bool has_room() const noexcept override { return log_->has_room(); }
  ManualResetEvent& room() noexcept override { return log_->room(); }
  const StoreCounters& counters() const noexcept override { return log_->counters(); }
  std::size_t count(const StoredTask& task) override { return of(task).records.size(); }
  std::uint64_t bytes(const StoredTask& task) override {
    std::uint64_t all = 0;
    for (const Position& record : of(task).records) all += record.size + 1;
    return all;
  }
  std::uint64_t bytes() const noexcept override {
    return bytes_before_ + log_->counters().bytes - counted_before_;
  }
  std::vector<std::string> read(const StoredTask& task) override { return log_->lines(of(task)); }
  std::string read_one(const StoredTask& task, std::size_t which, bool alone) override {
    const Position& record = of(task).records.at(which);
    return alone ? log_->line_alone(of(task), record) : log_->line(of(task), record);
  }
  void done_reading() noexcept override { log_->forget_lines(); }

  // ---- Long values ----
  Task<std::size_t> remove_unused_values() override {
    Disk& disk = log_->disk();
    if (disk.list(name() + "/values").empty()) co_return 0;
    // Records that are appended from here on name values that the log remembers.
    log_->watch_values();
    co_await log_->flush();
    log_->forget_lines();
    std::unordered_set<std::string> needed;
    // Nobody but drop() takes tasks out of the index. A checkpoint may drop records meanwhile,
    // whose values are not needed; its own value came after watch_values().
    for (std::size_t at = 0, lines = 0; at < index_.tasks.size(); ++at) {
      const TaskLog& task = *index_.tasks[at];
      if (unborn_.contains(task.id)) continue;
      for (const std::string& line : log_->lines(task)) find_values(line, needed);
      lines += task.records.size();
      if (lines < 1024) continue;
      lines = 0;
      co_await yield();
    }
    log_->forget_lines();
    for (const std::string& file : disk.list(archive_directory())) {
      find_values(disk.read(archive_directory() + "/" + file)->bytes(), needed);
    }
    co_return co_await log_->remove_values_except(std::move(needed));
  }

  // ---- The archive ----

  // The files are synced some thousand at a time. A crash leaves files of tasks that the log still
  // has: nobody reads them, and the next compaction writes them anew.
  Task<std::vector<Copied>> archive(std::vector<const StoredTask*> tasks) override {
    constexpr std::size_t kMostBytes = std::size_t{16} << 20;
    constexpr std::size_t kMostFiles = 16'384;
    log_->disk().make_directory(archive_directory());
    std::vector<Copied> copied;
    std::vector<WholeFile> files;
    std::size_t size = 0;
    for (const StoredTask* task : tasks) {
      copied.push_back({task->id, task->last_seq});
      WholeFile& file = files.emplace_back();
      file.name = task->id.text() + ".wal";
      for (const std::string& line : log_->lines(of(*task))) file.bytes += line;
      size += file.bytes.size();
      if (size < kMostBytes && files.size() < kMostFiles) continue;
      co_await write_archive(std::move(files));
      files.clear();
      size = 0;
    }
    log_->forget_lines();
    if (!files.empty()) co_await write_archive(std::move(files));
    co_await log_->disk().sync_directory(name());
    co_return copied;
  }

  // Tasks that stay are written again behind all others, so that what is before them can go.
  Task<std::size_t> drop(std::vector<Uuid> tasks) override {
    const std::uint64_t counted = log_->counters().bytes;
    log_->begin_moving();
    index_.drop(tasks);
    std::size_t moved = 0;
    try {
      for (std::size_t at = 0; at < index_.tasks.size(); ++at) {
        while (!log_->has_room()) co_await log_->room().wait();
        TaskLog& task = *index_.tasks[at];
        if (!unborn_.contains(task.id) && log_->move(task)) ++moved;
      }
      co_await log_->flush();
    } catch (...) {
      log_->stop_moving();  // what was copied is there twice, which does no harm
      throw;
    }
    co_await log_->forget(std::move(tasks));
    bytes_before_ = 0;
    counted_before_ = counted;
    co_return moved;
  }
  bool archived(const Uuid& id) override { return log_->disk().exists(archive_path(id)); }
  std::string read_archived(const Uuid& id) override {
    if (!archived(id)) return {};
    return std::string(log_->disk().read(archive_path(id))->bytes());
  }
  std::vector<ArchivedTask> list_archive() override {
    std::vector<ArchivedTask> all;
    Disk& disk = log_->disk();
    for (const std::string& file : disk.list(archive_directory())) {
      const std::optional<Uuid> id = Uuid::parse(file.substr(0, file.find('.')));
      if (!file.ends_with(".wal") || !id) continue;
      const auto content = disk.read(archive_directory() + "/" + file);
      std::string_view bytes = content->bytes();
      const std::uint64_t size = bytes.size();
      if (!bytes.empty()) bytes.remove_suffix(1);
      RecordView view;
      if (read_line(bytes.substr(bytes.rfind('\n') + 1), 0, view) != LineFault::none) continue;
      all.push_back({*id, parse_time(view.ts).value_or(0), size});
    }
    return all;
  }
  // First the ids, so that there is no moment in which they are free.
  Task<std::size_t> retire(std::vector<Uuid> ids, std::size_t most) override {
    const std::size_t forgotten = co_await add_retired(ids, most);
    bool removed = false;
    for (const Uuid& id : ids) {
      if (!archived(id)) continue;
      co_await log_->disk().remove(archive_path(id));
      removed = true;
    }
    if (removed) co_await log_->disk().sync_directory(archive_directory());
    co_return forgotten;
  }
  bool retired(const Uuid& id) const noexcept override { return retired_.contains(id); }

 protected:
  void keep_value(std::string& payload, const std::string& text) override {
    log_->add_value(payload, text);
  }
  std::string kept_value(std::string_view json) override {
    return wal::value_of(log_->disk(), name(), json);
  }

 private:
  static TaskLog& of(StoredTask& task) noexcept { return static_cast<TaskLog&>(task); }
  static const TaskLog& of(const StoredTask& task) noexcept {
    return static_cast<const TaskLog&>(task);
  }
  std::string archive_directory() const { return name() + "/archive"; }
  std::string archive_path(const Uuid& id) const {
    return archive_directory() + "/" + id.text() + ".wal";
  }

  // On a full disk, with the room that the log keeps for this.
  Task<void> write_archive(std::vector<WholeFile> files) {
    std::exception_ptr full;
    try {
      co_await log_->disk().write_files(archive_directory(), files);
      co_return;
    } catch (const IoError& error) {
      if (!no_space(error)) throw;
      full = std::current_exception();
    }
    if (!co_await log_->free_reserve()) std::rethrow_exception(full);
    co_await log_->disk().write_files(archive_directory(), std::move(files));
  }
  Task<std::size_t> add_retired(std::vector<Uuid> ids, std::size_t most) {
    std::exception_ptr full;
    try {
      co_return co_await retired_.add(ids, most);
    } catch (const IoError& error) {
      if (!no_space(error)) throw;
      full = std::current_exception();
    }
    if (!co_await log_->free_reserve()) std::rethrow_exception(full);
    co_return co_await retired_.add(std::move(ids), most);
  }

  std::shared_ptr<Log> log_;
  LogIndex index_;
  std::unordered_set<Uuid, UuidHash> unborn_;  // in the index, and never acknowledged
  RetiredIds retired_;
  std::uint64_t bytes_before_ = 0;    // of the log, when it was opened or last compacted
  std::uint64_t counted_before_ = 0;  // bytes that the log had counted then
};

}  // namespace

Task<std::shared_ptr<RecordStore>> claim_store(LogOptions options) {
  const std::shared_ptr<const PayloadCodec> codec = options.codec;
  std::shared_ptr<RecordStore> store;
  if (options.provider != nullptr) {
    store = co_await options.provider->claim(options);
  } else {
    LogIndex index;
    std::shared_ptr<Log> log = co_await Log::open(std::move(options), index);
    store = std::make_shared<LogStore>(std::move(log), std::move(index));
  }
  store->set_codec(codec);
  co_return store;
}

std::shared_ptr<RecordStore> look_at_store(LogOptions options) {
  const std::shared_ptr<const PayloadCodec> codec = options.codec;
  std::shared_ptr<RecordStore> store;
  if (options.provider != nullptr) {
    store = options.provider->look(options);
  } else {
    LogIndex index;
    std::shared_ptr<Log> log = Log::look_at(std::move(options), index);
    store = std::make_shared<LogStore>(std::move(log), std::move(index));
  }
  store->set_codec(codec);
  return store;
}

}  // namespace tiffany::wal
