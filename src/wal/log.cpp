#include "tiffany/wal/log.hpp"

#include <algorithm>
#include <utility>

#include "base/thrown.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/io/pressure.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany::wal {
namespace {

constexpr std::size_t kSmallestSegment = std::size_t{4} << 10;
// So much is written at once. Less waits while others are ready, who may have more; for so many
// turns of the scheduler at most.
constexpr std::size_t kWorthASync = std::size_t{256} << 10;
constexpr int kMostTurns = 8;

std::exception_ptr sealed_error(const std::string& directory, const std::exception_ptr& error) {
  const std::string why = sentence_of(error, "an error that is no std::exception");
  return std::make_exception_ptr(Error(
      Errc::log_sealed, "The log in " + directory +
                            " takes no more records, because it could not write: " + why +
                            " What was synced before is safe. Mend the cause and start again."));
}

}  // namespace

// ---- The log ----

Log::Log(Scheduler& scheduler, LogOptions options)
    : scheduler_(scheduler),
      options_(std::move(options)),
      clock_(scheduler, 0, 0),
      reader_(disk(), options_.directory) {}

Log::~Log() = default;

Task<std::shared_ptr<Log>> Log::open(LogOptions options, LogIndex& index) {
  Scheduler& scheduler = Scheduler::require("Log::open");
  if (options.disk == nullptr) options.disk = system_disk();
  options.segment_size = std::max(options.segment_size, kSmallestSegment);
  Disk& disk = *options.disk;
  disk.make_directory(options.directory);
  std::string holder;
  const std::string about = "process " + std::to_string(scheduler.world().process_id()) + "\n";
  std::unique_ptr<DiskLock> lock = disk.lock(options.directory + "/lock", about, holder);
  if (lock == nullptr) {
    while (!holder.empty() && holder.back() == '\n') holder.pop_back();
    throw Error(Errc::log_busy, "The log in " + options.directory + " is being written by " +
                                    (holder.empty() ? "another process" : holder) +
                                    ". Only one process can at a time; stop that one, or use "
                                    "another directory.");
  }
  index = scan(disk, options.directory, options.layout);
  const bool journal = options.layout == Layout::journal;
  std::shared_ptr<Log> log = journal ? make_journal(scheduler, std::move(options))
                                     : make_files(scheduler, std::move(options));
  log->lock_ = std::move(lock);
  log->epoch_ = index.epoch + 1;
  if (const TaskLog* own = index.find(Uuid())) {
    log->own_.last_seq = own->last_seq;
    log->own_.size = own->size;
  }
  log->clock_ = WallClock(scheduler, log->options_.epoch_time, index.last_time);
  co_await log->begin(index);
  co_await log->flush();
  co_return log;
}

std::shared_ptr<Log> Log::look_at(LogOptions options, LogIndex& index) {
  Scheduler& scheduler = Scheduler::require("Log::look_at");
  if (options.disk == nullptr) options.disk = system_disk();
  options.pressure = nullptr;  // nothing is written
  index = scan_beside_writer(*options.disk, options.directory, options.layout);
  std::shared_ptr<Log> log = make_capture(scheduler, std::move(options));
  log->epoch_ = index.epoch;
  log->clock_ = WallClock(scheduler, log->options_.epoch_time, index.last_time);
  return log;
}

std::string_view Log::stamp() {
  const std::int64_t now = clock_.now();
  if (now != stamped_) {
    stamp_ = text_of_time(now);
    stamped_ = now;
  }
  return stamp_;
}

std::string Log::owner_payload(std::uint32_t segment, std::uint64_t after) const {
  std::string text = "\"epoch\":" + std::to_string(epoch_);
  text += ",\"pid\":" +
          std::to_string(options_.process < 0 ? scheduler_.world().process_id() : options_.process);
  if (segment != 0) text += ",\"segment\":" + std::to_string(segment);
  if (segment != 0) text += ",\"after\":" + std::to_string(after);
  return text;
}

void Log::require_owner() const {
  if (lock_ == nullptr || lock_->held()) return;
  throw Error(Errc::log_fenced,
              "The log in " + options_.directory +
                  " is not this process's any more: " + options_.directory +
                  "/lock was removed or replaced, so another process may be writing the log. "
                  "What was acknowledged before is safe; what waited was not. Stop this process, "
                  "and never remove the lock file of a process that runs.");
}

void Log::require_open() const {
  if (sealed_ != nullptr) std::rethrow_exception(sealed_);
  if (closed_) throw Error(Errc::log_sealed, "The log in " + options_.directory + " is closed.");
}

std::uint64_t Log::append(TaskLog& task, Entry entry, Level level, Ticket* ticket) {
  require_open();
  const std::size_t size = entry.payload.size() + entry.file.size() + 400;
  if (size > kLongestLine) {
    throw Error(Errc::bad_argument, "A record of " + std::to_string(entry.payload.size()) +
                                        " bytes is too long for "
                                        "the log; values of more than 64 KiB belong beside it.");
  }
  if (moving_ != 0) move(task);
  Batch& batch = batch_for(task, size);
  entry.seq = ++task.last_seq;
  entry.vt = scheduler_.now().time_since_epoch().count();
  const std::size_t before = batch.bytes.size();
  append_line(batch.bytes, entry, stamp(), seed_of(batch), before == 0);
  const std::size_t line = batch.bytes.size() - before;
  task.size = batch.offset + batch.bytes.size();
  if (!task.id.nil()) {
    if (task.records.capacity() == 0) task.records.reserve(8);
    task.records.push_back(
        {batch.file, static_cast<std::uint32_t>(line - 1), batch.offset + before});
    // What came before it is not needed any more, but for the first.
    if (entry.type == RecordType::Checkpoint && task.records.size() > 2) {
      task.records.erase(task.records.begin() + 1, task.records.end() - 1);
    }
  }
  counters_.records += 1;
  counters_.bytes += line;
  queue(line);
  if (ticket != nullptr) batch.tickets.push(*ticket);
  if (level == Level::sync || !has_room()) start_writing();
  return entry.seq;
}

Position Log::put(Batch& batch, std::string_view line) {
  line.remove_suffix(1);
  const std::size_t before = batch.bytes.size();
  batch.bytes += reseeded(line, seed_of(batch), before == 0);
  const std::size_t size = batch.bytes.size() - before;
  counters_.bytes += size;
  queue(size);
  if (!has_room()) start_writing();
  return {batch.file, static_cast<std::uint32_t>(size - 1), batch.offset + before};
}

void Log::append_copy(TaskLog& task, std::string_view line) {
  require_open();
  const std::string copy = reseeded(line.substr(0, line.size() - 1), 0);
  RecordView view;
  if (read_line(std::string_view(copy).substr(0, copy.size() - 1), 0, view) != LineFault::none) {
    throw Error(Errc::bad_argument, "What was to be copied into the log is no record.");
  }
  Batch& batch = batch_for(task, copy.size() + 1);
  task.records.push_back(put(batch, copy));
  task.size = batch.offset + batch.bytes.size();
  task.last_seq = view.seq;
  counters_.records += 1;
}

// Says so when nobody writes any more, also when the task is cancelled before it begins.
class Log::Writing {
 public:
  explicit Writing(std::shared_ptr<Log> log) noexcept : log_(std::move(log)) {}
  Writing(Writing&&) noexcept = default;
  Writing& operator=(Writing&&) = delete;
  ~Writing() {
    if (log_ != nullptr) log_->rest();
  }
  Log& log() const noexcept { return *log_; }

 private:
  std::shared_ptr<Log> log_;
};

void Log::start_writing() {
  if (!rest_.is_set() || sealed_ != nullptr) return;
  rest_.reset();
  scheduler_.spawn.system()(&Log::write_loop, Writing(shared_from_this()));
}

Task<void> Log::write_all() {
  while (last_batch() != nullptr && sealed_ == nullptr) {
    for (int turns = 0; turns < kMostTurns && queued_ < kWorthASync; ++turns) {
      co_await sleep_until(scheduler_.now());
      if (scheduler_.ready_len() == 0) break;
    }
    co_await write_values();
    co_await write_some();
  }
}

Task<void> Log::write_loop(Writing writing) {
  Log& log = writing.log();
  try {
    while (log.last_batch() != nullptr && log.sealed_ == nullptr) co_await shield(log.write_all());
  } catch (const Error& e) {
    const bool fenced = e.code() == Errc::log_fenced;
    if (log.sealed_ == nullptr) {
      log.sealed_ = fenced ? std::current_exception()
                           : sealed_error(log.options_.directory, std::current_exception());
    }
  } catch (const std::exception&) {
    if (log.sealed_ == nullptr) {
      log.sealed_ = sealed_error(log.options_.directory, std::current_exception());
    }
  }
}

void Log::rest() noexcept {
  if (sealed_ != nullptr) {
    fail_tickets();
  } else if (last_batch() != nullptr) {  // the scheduler goes, and with it those who wait
    sealed_ = sealed_error(
        options_.directory,
        std::make_exception_ptr(Error(Errc::log_sealed, "the task that writes it was cancelled.")));
  }
  rest_.set();
}

void Log::add_value(std::string& payload, const std::string& value) {
  if (!belongs_aside(value)) {
    payload += value;
    return;
  }
  std::string name = value_name(value);
  payload += value_reference(name, value.size());
  if (watching_values_) recent_values_.insert(name);
  aside_.emplace_back(std::move(name), value);
}

Task<void> Log::write_values() {
  if (aside_.empty()) co_return;
  const Mutex::Guard alone = co_await values_.lock();
  const std::string directory = options_.directory + "/values";
  disk().make_directory(directory);
  // What is put aside meanwhile is written too: the batch after this has the records of all of it.
  while (!aside_.empty()) {
    const std::vector<std::pair<std::string, std::string>> some = std::move(aside_);
    aside_.clear();
    for (const auto& [name, value] : some) {
      const std::unique_ptr<DiskFile> file = disk().open(directory + "/" + name + ".json");
      co_await file->write(0, value);
      co_await file->sync();
    }
    co_await disk().sync_directory(directory);
    co_await disk().sync_directory(options_.directory);
  }
}

void Log::watch_values() noexcept {
  watching_values_ = true;
  recent_values_.clear();
}

Task<std::size_t> Log::remove_values_except(std::unordered_set<std::string> needed) {
  const std::string directory = options_.directory + "/values";
  std::size_t removed = 0;
  for (const std::string& file : disk().list(directory)) {
    const std::string name = file.substr(0, file.find('.'));
    // Whoever puts it aside from here on writes it when it has been removed.
    const Mutex::Guard alone = co_await values_.lock();
    if (needed.contains(name) || recent_values_.contains(name)) continue;
    co_await disk().remove(directory + "/" + file);
    ++removed;
  }
  watching_values_ = false;
  co_return removed;
}

std::string Log::line(const TaskLog& task, const Position& position) {
  ++counters_.lines_read;
  const Batch* const batch = unwritten(task, position);
  if (batch == nullptr) return reader_.read(task, position);
  const std::string_view bytes = batch->bytes;
  return reseeded(bytes.substr(position.offset - batch->offset, position.size), 0);
}

std::string Log::line_alone(const TaskLog& task, const Position& position) {
  if (unwritten(task, position) != nullptr) return line(task, position);
  ++counters_.lines_read;
  return reader_.read_alone(task, position);
}

std::vector<std::string> Log::lines(const TaskLog& task) {
  std::vector<std::string> all;
  all.reserve(task.records.size());
  for (const Position& position : task.records) all.push_back(line(task, position));
  return all;
}

void Log::tell(Batch& batch) noexcept {
  while (Ticket* const ticket = batch.tickets.pop()) ticket->synced(nullptr);
}

void Log::written(std::size_t bytes) noexcept {
  ++counters_.syncs;
  leave_queue(bytes);
}

void Log::queue(std::size_t bytes) {
  queued_ += bytes;
  if (options_.pressure != nullptr) options_.pressure->add(bytes);
  if (!has_room()) room_.reset();
}

void Log::leave_queue(std::size_t bytes) noexcept {
  queued_ -= bytes;
  // Of a scheduler that goes nobody is let through: its tasks end.
  if (options_.pressure != nullptr && Scheduler::current() == &scheduler_) {
    options_.pressure->remove(bytes);
  }
  if (has_room()) room_.set();
}

void Log::abandon() noexcept {
  if (sealed_ != nullptr) return;
  sealed_ = std::make_exception_ptr(
      Error(Errc::log_sealed, "The log in " + options_.directory + " was left by its owner."));
}

void Log::fail_tickets() noexcept {
  TicketList tickets = take_tickets();
  while (Ticket* const ticket = tickets.pop()) ticket->synced(sealed_);
  leave_queue(queued_);
}

void Log::hurry() {
  if (sealed_ == nullptr && last_batch() != nullptr) start_writing();
}

Task<void> Log::flush() {
  if (sealed_ != nullptr) std::rethrow_exception(sealed_);
  Batch* const last = last_batch();
  if (last == nullptr) co_return;
  Synced synced;
  last->tickets.push(synced);
  hurry();
  co_await synced.event.wait();
  if (synced.error != nullptr) std::rethrow_exception(synced.error);
}

Task<void> Log::close() {
  if (sealed_ != nullptr) std::rethrow_exception(sealed_);
  if (closed_) co_return;
  const std::string nil = Uuid().text();
  append(own_, Entry{RecordType::ShutdownMarker, nil, "\"reason\":\"closed\""});
  closed_ = true;
  co_await flush();
  while (!rest_.is_set()) co_await rest_.wait();
  co_await end();
  lock_.reset();
}

}  // namespace tiffany::wal
