// Where durable tasks keep their records. A host knows no more of its storage than this: no files,
// segments, positions.
//
// The log of a directory is one, in both of its layouts (claim_store); a table of a database can
// be another: see docs/decisions/0020-record-store.md for what an implementation has to promise.
//
// One process at a time claims a store; each claim has a higher epoch than the one before, and
// appends of an earlier claim end as AppendEnd::fenced. Records of one task are written in the
// order in which they were appended, and a record is never on the disk without those of the same
// task before it.
//
// Not thread-safe: a store belongs to the scheduler it was claimed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/rare_text.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/sync/event.hpp"
#include "tiffany/wal/backup.hpp"
#include "tiffany/wal/payload_codec.hpp"
#include "tiffany/wal/record.hpp"
#include "tiffany/wal/ticket.hpp"
#include "tiffany/wal/wall_clock.hpp"

namespace tiffany::wal {

// What a store knows of a task without reading its records. It stays where it is until the task is
// dropped.
struct StoredTask {
  Uuid id;
  std::uint64_t last_seq = 0;
  std::uint64_t forked_at =
      0;  // of a fork: the number of the record with which its copied history is complete
  RareText quarantine;  // why nothing of it may run; empty when it may
  RareText doubt;       // it has ended; why it may have gone on after that, if it may
  bool ended = false;
  bool failed = false;     // it ended with an error,
  bool cancelled = false;  // or was cancelled or killed; or neither: it has a result
  bool paused = false;     // what an operator said last
};

// Takes in what a record says of its task: its number, a pause, an end.
void note_record(StoredTask& task, const RecordView& record);

// How a store was found when it was claimed.
struct StoreState {
  std::vector<std::string> damage;  // a sentence for each place
  // Damage that may have hurt tasks which nobody can name: an id that the store does not know may
  // have been used. Empty: there is none.
  std::string unresolved;
  std::string
      retired_damage;     // the ids of tasks that have left the archive cannot be read; empty: they
                          // can
  std::uint64_t cut = 0;  // bytes of an unfinished write, which nobody was told of
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::int64_t last_time = 0;  // of the youngest record
  bool shut_down = false;      // closed in good order
};

struct StoreCounters {
  std::uint64_t records = 0;  // that were appended
  std::uint64_t bytes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t lines_read = 0;  // records that were read back
};

// A task in the archive.
struct ArchivedTask {
  Uuid id;
  std::int64_t time = 0;  // of its last record
  std::uint64_t size = 0;
};

class RecordStore {
 public:
  virtual ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  // ---- The claim ----
  std::uint64_t epoch() const noexcept { return epoch_; }
  const StoreState& found() const noexcept { return found_; }
  const WallClock& clock() const noexcept { return clock_; }
  // For sentences: "wal".
  const std::string& name() const noexcept { return name_; }
  // Everything that was appended is written, and the claim is given up.
  virtual Task<void> close() = 0;
  // As in a crash: what is not on its way by now will not be written.
  virtual void abandon() noexcept = 0;
  // Why nothing can be appended any more. Null: it can.
  virtual const std::exception_ptr& why_sealed() const noexcept { return sealed_; }
  bool sealed() const noexcept { return why_sealed() != nullptr; }
  // Throws that, or Errc::log_sealed after close().
  virtual void require_open() const;

  // ---- Tasks and their records ----
  // Those that had a record when the store was claimed, in the order in which they came to be.
  virtual std::vector<StoredTask*> list() = 0;
  // A task to append records of.
  virtual StoredTask& add(const Uuid& id) = 0;
  // Gives the record its number in its task. `ticket` is for Level::sync. Throws Errc::log_sealed,
  // or Errc::bad_argument for a record that is too long; nothing has changed then. A Checkpoint
  // takes the place of all records before it but the first.
  virtual std::uint64_t append(StoredTask& task, Entry entry, Level level = Level::lazy,
                               Ticket* ticket = nullptr) = 0;
  // A line that was made from one of another task: it keeps its time and its number; its checksum
  // is made anew.
  virtual void append_copy(StoredTask& task, std::string_view line) = 0;
  // What has been appended is written now, also if nobody waits for it.
  virtual void hurry() = 0;
  // Until everything that has been appended by now is written.
  virtual Task<void> flush() = 0;
  // Whoever wants to append more than the store can queue has to wait for room().
  virtual bool has_room() const noexcept { return true; }
  virtual ManualResetEvent& room() noexcept { return always_; }
  virtual const StoreCounters& counters() const noexcept { return counters_; }

  // As lines with their line breaks, also those that are not written yet. Errc::log_damaged when
  // one cannot be read.
  virtual std::vector<std::string> read(const StoredTask& task) = 0;
  // One of them. `alone`: nothing is kept in memory for the next.
  virtual std::string read_one(const StoredTask& task, std::size_t which, bool alone);
  // How many there are, and how many bytes they have.
  virtual std::size_t count(const StoredTask& task);
  virtual std::uint64_t bytes(const StoredTask& task);
  // Of all tasks, with what is kept though nobody needs it. Zero: drop() gives no room free, so
  // that it need not be called for that.
  virtual std::uint64_t bytes() const noexcept { return 0; }
  // Frees what was kept for reading.
  virtual void done_reading() noexcept {}

  // ---- Values ----
  // Adds a value to the payload of the record that is appended next, which must be before the next
  // suspension: the value itself or a reference to it, after it has passed the codec.
  // Errc::value_not_encoded when the codec refuses it.
  void add_value(std::string& payload, const std::string& value) {
    if (codec_ == nullptr && !maybe_encoded(value)) return keep_value(payload, value);
    keep_value(payload, encoded_value(codec_.get(), value));
  }
  // The value that a member of a record means. Errc::log_damaged when it cannot be read,
  // Errc::value_not_decoded when the codec or its key is missing, or refuses it.
  std::string value_of(std::string_view json) {
    std::string kept = kept_value(json);
    if (codec_ == nullptr && !maybe_encoded(kept)) return kept;
    return decoded_value(codec_.get(), std::move(kept));
  }
  void set_codec(std::shared_ptr<const PayloadCodec> codec) noexcept { codec_ = std::move(codec); }
  bool encodes() const noexcept { return codec_ != nullptr; }
  // Those that no record names, neither in the store nor in the archive. Gives how many.
  virtual Task<std::size_t> remove_unused_values() = 0;

  // ---- The archive: tasks that have ended ----
  struct Copied {
    Uuid id;
    std::uint64_t last_seq = 0;
  };
  // Copies them. When it returns they are there, as far as the number of their last record when
  // each was copied.
  virtual Task<std::vector<Copied>> archive(std::vector<const StoredTask*> tasks) = 0;
  // They leave the store: from the call on nobody may use their StoredTasks. What is not needed any
  // more is given free. Gives how many of the other tasks had to be written again.
  virtual Task<std::size_t> drop(std::vector<Uuid> tasks) = 0;
  virtual bool archived(const Uuid& id) = 0;
  // All lines. Empty when it is not there.
  virtual std::string read_archived(const Uuid& id) = 0;
  virtual std::vector<ArchivedTask> list_archive() = 0;
  // They leave the archive, if they are there, and only their ids are kept, the youngest `most` of
  // all. Gives how many ids are known no more.
  virtual Task<std::size_t> retire(std::vector<Uuid> ids, std::size_t most) = 0;
  virtual bool retired(const Uuid& id) const noexcept = 0;

  // ---- A copy, while it is in use ----
  // Into an empty directory; nothing leaves the store meanwhile. Errc::durable_misuse: this kind of
  // store has another way, its database's own.
  virtual Task<BackupReport> copy_to(std::string directory);

 protected:
  RecordStore(std::string name, std::uint64_t epoch, const WallClock& clock);
  // Adds the text, or a reference to it when it is long (belongs_aside).
  virtual void keep_value(std::string& payload, const std::string& text) = 0;
  // And the text again. Errc::log_damaged when it cannot be read.
  virtual std::string kept_value(std::string_view json) = 0;
  std::string name_;
  std::uint64_t epoch_;
  WallClock clock_;
  StoreState found_;
  StoreCounters counters_;
  std::exception_ptr sealed_;

 private:
  ManualResetEvent always_{true};
  std::shared_ptr<const PayloadCodec> codec_;  // null: values are recorded as they are
};

class LogOptions;

// Where a host finds its store, when that is not a log in a directory (LogOptions::provider).
class StoreProvider {
 public:
  virtual ~StoreProvider();
  // From now on no earlier claim can append. Errc::log_busy when another process holds one that
  // cannot be fenced.
  virtual Task<std::shared_ptr<RecordStore>> claim(LogOptions options) = 0;
  // To read only: what is appended goes nowhere, and no ticket is told.
  virtual std::shared_ptr<RecordStore> look(LogOptions options) = 0;

 protected:
  StoreProvider() = default;
};

}  // namespace tiffany::wal
