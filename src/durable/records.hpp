// What the records of a durable task say: each is written and read here, and nowhere else.
// docs/17-wal.md has the table.
//
// Members are written in a fixed order, because a scan of the log looks at the first of them, and
// because two processes must write the same bytes. A member that an older log does not have is read
// as zero, empty or nil.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "durable/failure.hpp"
#include "durable/fields.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/durable/actor.hpp"
#include "tiffany/durable/step.hpp"
#include "tiffany/wal/record.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany::records {

using detail::Fields;

// Spawn: a task came to be.
struct Spawn {
  std::string name;
  int version = 0;
  int rules = 0;
  std::string args;  // as recorded: perhaps a reference
  Uuid parent;       // nil: none
  std::string fork_of;
  std::string past;  // of a fork: PastTask, as recorded; empty in logs of before
  // What the start said besides.
  struct Marks {
    std::string key;
    std::optional<std::uint8_t> priority{};
    std::int64_t until = 0;
    std::string attributes;  // an object; empty: none
    std::string at_end;      // of a child: "request_cancel", "abandon"; empty: it is cancelled
  } marks{};

  // `args` as recorded.
  static void write(std::string& out, std::string_view name, int version, int rules,
                    std::string_view args, const Uuid& parent, const Marks& marks);
  static Spawn read(const Fields& fields);
};

// StepStart: an attempt begins, or the next one is planned.
struct StepStart {
  std::string step;
  int attempt = 0;
  std::int64_t due = 0;  // when the attempt begins; zero: now
  std::string details;   // of the last heartbeat, as recorded; empty: none

  static void write(std::string& out, wal::RecordStore& store, std::string_view step, int attempt,
                    std::string_view hash, StepEffect effect, std::int64_t due,
                    std::string_view details);
  static StepStart read(const Fields& fields);
};

// StepEnd, and Resumed or Approval of anything else that was asked for: how a command ended.
struct Result {
  std::string of;  // the id of the command
  bool failed = false;
  bool unknown = false;  // of a failure: whether the effect took place
  std::string value;     // as recorded; of a failure its sentence
  detail::Failure failure;

  static void write_of_step(std::string& out, wal::RecordStore& store, std::string_view step,
                            std::string_view hash, const std::string& value, bool failed,
                            bool unknown, int attempts, const detail::Failure* failure);
  static void write(std::string& out, wal::RecordStore& store, std::string_view of,
                    const std::string& value, bool failed,
                    const detail::Failure* failure = nullptr);
  static Result read(const Fields& fields);
};

// Resumed: a signal, a cancel or an update that was sent to the task.
struct Sent {
  enum class What : std::uint8_t { signal, cancel, update };
  What what = What::signal;
  std::string name;    // of the signal or the update; why the task is cancelled
  std::string value;   // of the signal, or the request; as recorded
  std::string update;  // the id of the update

  static void write(std::string& out, wal::RecordStore& store, bool signal, std::string_view name,
                    const std::string& value);
  static void write_update(std::string& out, wal::RecordStore& store, std::string_view name,
                           std::string_view id, const std::string& request);
  // None: it is a Result.
  static std::optional<Sent> read(const Fields& fields);
};

// Command: the code of the task asked for something, or an operator did.
struct Asked {
  std::string op;
  std::string id;        // of what the code asked for
  std::string shape;     // of the value that is waited for
  std::int64_t due = 0;  // of a timer
  Uuid uuid;             // of a promise or a child
  int value = 0;         // of a version
  std::string from;      // of a retry

  static void timer(std::string& out, std::string_view id, std::int64_t until,
                    std::string_view hash);
  static void promise(std::string& out, std::string_view id, const Uuid& promise,
                      std::string_view shape);
  static void child(std::string& out, std::string_view id, const Uuid& child, std::string_view hash,
                    std::string_view shape);
  static void signal(std::string& out, std::string_view id, std::string_view shape,
                     std::string_view hash);
  static void attribute(std::string& out, std::string_view id, std::string_view name,
                        std::string_view value, std::string_view hash);
  static void version(std::string& out, std::string_view id, int value);
  // What an update was answered with: `id` is "update " and its id.
  static void answer(std::string& out, wal::RecordStore& store, std::string_view id,
                     std::string_view hash, const std::string& value, bool failed,
                     const detail::Failure& failure);
  // Without an actor: by "operator", of whom nothing is known.
  static std::string pause(const Actor& actor);
  static std::string resume(const Actor& actor);
  static std::string retry(std::string_view from, const Actor& actor);
  bool by_code() const noexcept;
  static Asked read(const Fields& fields);
};

// Checkpoint: the state of a task, and what has come to it and was not taken.
struct Checkpoint {
  std::string state;  // as recorded
  std::uint64_t number = 0;
  std::string mailbox;  // pairs of a name and a value; as recorded
  std::optional<std::string> cancelled;
  std::string attributes;  // an object; empty: none
  // Of updates: see Updates::waiting_json, answers_json; as recorded, empty: none.
  std::string updates;
  std::string answers;

  // `number` zero: by the older rules, without one. `whole`: the mailbox may be put beside the
  // record.
  static void write(std::string& out, wal::RecordStore& store, const std::string& state,
                    std::uint64_t number, const std::string& mailbox, bool whole,
                    const std::optional<std::string>& cancelled, const std::string& attributes,
                    const std::string& updates, const std::string& answers);
  static Checkpoint read(const Fields& fields);
};

// TaskExit and TaskAbort: the end of a task.
struct End {
  std::string reason;  // of an abort: failed, cancelled, killed
  std::string value;   // the result as recorded; of an abort its sentence
  std::string trace;
  detail::Failure failure;

  static void exit(std::string& out, wal::RecordStore& store, const std::string& result,
                   std::string_view trace);
  // Without a trace when that is empty.
  static void abort(std::string& out, std::string_view reason, std::string_view error,
                    std::string_view trace, const detail::Failure* failure = nullptr);
  static End read(const Fields& fields);
};

// The members of a record from outside that say who asked for it and why: behind all others, with
// a comma before the first. Empty when the actor is.
std::string members_of(const Actor& actor);

// The value that a member of the record means. When it cannot be decoded, the sentence says which
// record of which task it is.
std::string value_in(const wal::RecordView& record, wal::RecordStore& store, std::string_view json);

// Which command a record is about: that of a step, or what the code asked for. Empty: none.
std::string command_id(const wal::RecordView& record, const Fields& fields);

}  // namespace tiffany::records
