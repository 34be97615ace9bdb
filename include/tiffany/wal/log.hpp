// A write-ahead log that is open for writing.
//
//   std::shared_ptr<Log> log = co_await Log::open(LogOptions("wal"), index);
//   log->append(task, entry, Level::sync, &ticket);      // plain call; the ticket is told when it
//                                                        // is synced
//   co_await log->flush();
//   co_await log->close();                               // ShutdownMarker, synced
//
// A system task of the scheduler writes what has been appended, syncs it, and tells those who wait;
// what is appended meanwhile goes with the next sync. There is no timer: a record waits for those
// who are ready at the same time and for nothing else, so one alone is synced at once, and five
// hundred that come together share a sync. The task exists while there is something to write, so
// that a log at rest keeps no scheduler running.
//
// One process at a time: the directory is locked, and each owner has a higher epoch than the one
// before. When the lock file is removed and another process becomes the owner, the first one
// notices at its next sync: nobody is told that a record is safe, and the log is sealed with
// Errc::log_fenced.
//
// When a write or a sync fails, the log is sealed: what was not synced by then fails with
// Errc::log_sealed, so does every later append, and the files are left as they are. Nothing is
// tried again: after a failed sync nobody knows what is on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/sync/event.hpp"
#include "tiffany/sync/mutex.hpp"
#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/log_options.hpp"
#include "tiffany/wal/record.hpp"
#include "tiffany/wal/record_store.hpp"
#include "tiffany/wal/scan.hpp"
#include "tiffany/wal/ticket.hpp"
#include "tiffany/wal/wall_clock.hpp"

namespace tiffany::wal {

using LogCounters = StoreCounters;

class Log : public std::enable_shared_from_this<Log> {
 public:
  // Locks the directory, reads what is there into `index`, and begins to write behind it.
  // Errc::log_busy when another process has it.
  static Task<std::shared_ptr<Log>> open(LogOptions options, LogIndex& index);
  // Reads a log and writes nothing: what is appended stays in memory, and is never synced. Takes no
  // lock.
  static std::shared_ptr<Log> look_at(LogOptions options, LogIndex& index);
  virtual ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Gives the record its number in its task, and queues it. `ticket` is for Level::sync. Throws
  // Errc::log_sealed, or Errc::bad_argument for a line that is too long.
  std::uint64_t append(TaskLog& task, Entry entry, Level level = Level::lazy,
                       Ticket* ticket = nullptr);
  // Adds a value to the payload of the record that is appended next. A value that is too long for a
  // line is put beside the log, before that record, which names it. The record must be appended
  // before the next suspension.
  void add_value(std::string& payload, const std::string& value);
  // A record as a line of a file of its task (see LineReader), also one that is not written yet.
  std::string line(const TaskLog& task, const Position& position);
  std::vector<std::string> lines(const TaskLog& task);
  // The same as line(), and keeps no file for the next.
  std::string line_alone(const TaskLog& task, const Position& position);
  // Closes the files that were read for that.
  void forget_lines() noexcept { reader_.forget(); }
  // Removes the values beside the log that are neither among these nor were put aside after
  // watch_values(). Gives how many.
  Task<std::size_t> remove_values_except(std::unordered_set<std::string> needed);
  void watch_values() noexcept;
  // A line that was made from one of another task: it keeps its time and its number. Its checksum
  // is of no account.
  void append_copy(TaskLog& task, std::string_view line);
  // Compaction, where tasks share files: from begin_moving() on lines go into another segment, and
  // the records of a task that are before it are copied behind all others by move(), or when it
  // appends the next. When that was done for all who are still needed, forget() removes what is
  // before. Where each task has its file, there is nothing to move, and forget() removes those of
  // the tasks that it is given.
  virtual void begin_moving() {}
  // True when anything was.
  virtual bool move(TaskLog&) { return false; }
  virtual Task<void> forget(std::vector<Uuid> tasks) = 0;
  // Frees the room that is kept for a disk that is full: true when there was any.
  virtual Task<bool> free_reserve() { co_return false; }
  // Nothing is forgotten.
  void stop_moving() noexcept { moving_ = 0; }
  // What has been appended is written now, also if nobody waits for it.
  void hurry();
  // Until everything that has been appended by now is synced.
  Task<void> flush();
  // Writes the marker, syncs, and gives the directory free. Nothing can be appended any more.
  Task<void> close();
  // As in a crash: what is not on its way to the disk by now will not be written.
  void abandon() noexcept;

  bool has_room() const noexcept { return queued_ < options_.most_queued; }
  // Set while there is room.
  ManualResetEvent& room() noexcept { return room_; }
  // Throws why nothing can be appended, if nothing can.
  void require_open() const;
  bool sealed() const noexcept { return sealed_ != nullptr; }
  // Null when it is not.
  const std::exception_ptr& why_sealed() const noexcept { return sealed_; }
  std::uint64_t epoch() const noexcept { return epoch_; }
  const LogCounters& counters() const noexcept { return counters_; }
  const LogOptions& options() const noexcept { return options_; }
  Disk& disk() noexcept { return *options_.disk; }
  const WallClock& clock() const noexcept { return clock_; }

 protected:
  Log(Scheduler& scheduler, LogOptions options);

  // Lines that are written and synced together.
  struct Batch {
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    std::string bytes;
    Uuid task;  // in the layout with a file for each
    TicketList tickets;
  };

  // The batch that a line of at most this size goes into; `task` is whose.
  virtual Batch& batch_for(TaskLog& task, std::size_t size) = 0;
  virtual std::uint32_t seed_of(const Batch& batch) const noexcept = 0;
  // Writes and syncs some of what is queued and tells their tickets. Throws when that fails.
  virtual Task<void> write_some() = 0;
  // What is written last of all that is queued. Null: nothing is.
  virtual Batch* last_batch() noexcept = 0;
  // The batch with a record that is not written yet. Null: it is.
  virtual const Batch* unwritten(const TaskLog& task, const Position& record) const noexcept = 0;
  // Takes everything that is queued and has a ticket, to fail it.
  virtual TicketList take_tickets() noexcept = 0;
  virtual Task<void> begin(const LogIndex& index) = 0;
  // Until nothing of it touches the directory any more.
  virtual Task<void> end() = 0;
  // A new segment: its first line.
  std::string owner_payload(std::uint32_t segment, std::uint64_t after) const;
  // Throws Errc::log_fenced when another process may own the log. What was synced before a call
  // that returns is read by the next owner; so it is called between each sync and the first who is
  // told.
  void require_owner() const;
  void tell(Batch& batch) noexcept;
  void written(std::size_t bytes) noexcept;
  // A line that was made before; gives where it is now.
  Position put(Batch& batch, std::string_view line);

  Scheduler& scheduler_;
  LogOptions options_;
  LogCounters counters_;
  TaskLog own_;               // of the records about the log itself
  std::uint32_t moving_ = 0;  // records before this segment are copied first

 private:
  Task<void> write_values();
  class Writing;
  void start_writing();
  static Task<void> write_loop(Writing writing);
  void rest() noexcept;
  Task<void> write_all();
  void fail_tickets() noexcept;
  std::string_view stamp();
  // So many bytes wait to be written; and do not any more.
  void queue(std::size_t bytes);
  void leave_queue(std::size_t bytes) noexcept;

  std::unique_ptr<DiskLock> lock_;
  std::uint64_t epoch_ = 0;
  WallClock clock_;
  std::int64_t stamped_ = -1;
  std::string stamp_;
  std::size_t queued_ = 0;
  ManualResetEvent room_{true};
  ManualResetEvent rest_{true};  // set while nobody writes
  std::exception_ptr sealed_;
  std::vector<std::pair<std::string, std::string>> aside_;  // to be written before the next batch
  bool watching_values_ = false;
  std::unordered_set<std::string> recent_values_;  // put aside since watch_values()
  Mutex values_;                                   // one writes or removes them
  LineReader reader_;
  bool closed_ = false;
};

std::shared_ptr<Log> make_journal(Scheduler& scheduler, LogOptions options);
std::shared_ptr<Log> make_capture(Scheduler& scheduler, LogOptions options);
std::shared_ptr<Log> make_files(Scheduler& scheduler, LogOptions options);

}  // namespace tiffany::wal
