// Where durable tasks live: their types, their log, and everything that can be done to them from
// outside.
//
//   Registry types;
//   types.add("order", 1, order);
//   Host host(types, wal::LogOptions("wal"));
//   const Recovery recovery = co_await host.open();       // everything unfinished goes on
//   const Uuid id = co_await host.start("order", order);
//   const Receipt receipt = co_await host.result<Receipt>(id);
//   co_await host.close();
//
// What returns from here is on the disk: a task that was started, a signal that was sent, a result
// that was given will be there after a crash at any later moment.
//
// Everything that is given to a host is checked at the call, and refused with an Error before
// anything of it is recorded: Errc::bad_argument for names and reasons beyond the bounds of
// durable/limits.hpp or that are no UTF-8, Errc::bad_json for values. Raw JSON is parsed and
// recorded compact, so that it may have line breaks; see compact_json().
//
// Calls may be made in the steps of the host's own tasks. Those that would wait for the end of the
// step they are made in are refused with Errc::self_join: close() in every step, kill() and pause()
// of the task itself (kill() of its parents, too), result() of the task itself, and a kill() or
// pause() of a task whose step waits for one of this task.
//
// A host belongs to one scheduler. Its tasks run there as system calls allow, beside everything
// else.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/durable/durable.hpp"
#include "tiffany/durable/flow.hpp"
#include "tiffany/sync/event.hpp"
#include "tiffany/wal/log_options.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany {

// ---- Types of tasks ----

struct DurableType {
  std::string name;
  int version = 1;
  int accepts = 1;                           // the oldest version whose logs this code goes on with
  std::uint8_t priority = kDefaultPriority;  // of its tasks; those before others are resumed first
  std::function<Durable<std::string>(Flow&, std::string_view arguments)> make;
  // How its arguments are read; they are checked where a task is started. None: they are not.
  const detail::ValueType* arguments = nullptr;
};

namespace detail {

template <class R, class... As>
Durable<std::string> call_durable(Durable<R> (*body)(Flow&, As...), Flow* flow,
                                  std::tuple<std::decay_t<As>...> arguments) {
  Durable<R> call =
      std::apply([&](auto&... each) { return body(*flow, std::move(each)...); }, arguments);
  if constexpr (std::is_void_v<R>) {
    co_await std::move(call);
    co_return "null";
  } else {
    co_return to_json(co_await std::move(call));
  }
}

template <class T>
Task<T> decoded(Task<std::string> json) {
  const std::string text = co_await std::move(json);
  if constexpr (!std::is_void_v<T>) co_return from_json<T>(text);
}

}  // namespace detail

class Registry {
 public:
  // `body` is a coroutine Durable<R> f(Flow&, arguments...), whose arguments and result have
  // codecs. A log says which version its task began with. When the code changes in a way that such
  // a log must know of, raise the version, and say in `accepts` from which one on it can still go
  // on: see docs/18-durable-tasks.md. What is returned may be changed until a host is made:
  // types.add("order", 1, order).priority = 5.
  template <class R, class... As>
  DurableType& add(std::string name, int version, Durable<R> (*body)(Flow&, As...),
                   int accepts = 0) {
    DurableType type;
    type.name = std::move(name);
    type.version = version;
    type.accepts = accepts != 0 ? accepts : version;
    type.make = [body](Flow& flow, std::string_view arguments) {
      return detail::call_durable(body, &flow,
                                  from_json<std::tuple<std::decay_t<As>...>>(arguments));
    };
    type.arguments = &detail::kValueType<std::tuple<std::decay_t<As>...>>;
    return add(std::move(type));
  }
  DurableType& add(DurableType type);
  // Null when there is none of that name.
  const DurableType* find(std::string_view name) const noexcept;

 private:
  std::map<std::string, DurableType, std::less<>> types_;
};

// ---- What is known of tasks ----

enum class DurableStatus : std::uint8_t {
  running,      // its code is under way, or waits
  paused,       // by an operator, or because its type is not here
  diverged,     // its code does not do what its log says
  quarantined,  // its log is damaged
  completed,
  failed,
  cancelled,
};
std::string_view name_of(DurableStatus status) noexcept;

struct DurableInfo {
  Uuid id;
  std::string type;
  int version = 0;
  DurableStatus status = DurableStatus::running;
  std::string detail;  // the result as JSON, or why
};

struct Recovery {
  std::size_t resumed = 0;
  std::size_t paused = 0;  // no such type, or no such version
  std::size_t diverged = 0;
  std::size_t quarantined = 0;
  std::size_t finished = 0;  // had ended before
  std::vector<std::string>
      notes;  // a sentence for each task that was not resumed, and for each damage
  std::string text() const;
};

// What is kept of tasks that have ended, in archive/<uuid>.wal. What is older or beyond that size
// goes, the oldest first.
class Retention {
 public:
  Retention() = default;
  std::optional<std::chrono::seconds> age{};
  std::optional<std::uint64_t> bytes{};
};

class HostOptions {
 public:
  HostOptions() = default;
  bool start_paused = false;  // resume nothing by itself
  bool records_only = false;  // and nothing when asked to: the next to open the log does
  // How many tasks, and how many bytes of their logs, are read and replayed at a time.
  std::size_t replay_tasks = 256;
  std::size_t replay_bytes = std::size_t{32} << 20;
  // A log with more bytes than this, of which more than half are needed by nobody any more, is
  // compacted by itself, beside the tasks, after the host was opened or when a task has ended.
  // Completed tasks go into the archive; tasks that failed or were cancelled stay, because they may
  // be retried. Zero: only Host::compact() compacts.
  std::uint64_t compact_above = std::uint64_t{32} << 20;
  Retention keep{};  // of the archive, when the log is compacted by itself
};

struct Compaction {
  std::size_t archived = 0;   // tasks that had ended
  std::size_t kept = 0;       // tasks that have not, and whose records were written again
  std::size_t removed = 0;    // tasks that left the archive, or never came to it
  std::size_t forgotten = 0;  // ids of tasks that went earlier, beyond kMostRetiredIds
  std::size_t values = 0;     // long values that nobody names any more
  std::string skipped;        // why nothing was done, if nothing was
};

class HostCore;

class Host {
 public:
  Host(const Registry& types, wal::LogOptions log, HostOptions options = HostOptions());
  // Without close(): as in a crash, except that steps which are under way are cancelled. Nothing
  // more is written.
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Locks and reads the log, and resumes what had not ended. Once for a host.
  Task<Recovery> open();
  // Ends the code of all tasks where it is, without a word in their logs, and closes the log in
  // good order. They go on when another host opens it. What is asked for meanwhile is done, or
  // refused with an Error.
  Task<void> close();

  // ---- From outside ----

  template <class... Args>
  Task<Uuid> start(std::string type, Args&&... args) {
    (detail::refuse_destroyed_twice<Args>(), ...);
    return start_new(std::move(type), detail::arguments_json(detail::unmoved(args)...));
  }
  // With an id of the caller's choice: a second start with the same one, the same type and the same
  // arguments is the same task, also after a restart and when it is in the archive. With another
  // type or other arguments it is refused (Errc::start_conflict); objects whose members come in
  // another order are other arguments. The id of a task that has left the archive is refused
  // (Errc::id_retired), as long as it is among the last kMostRetiredIds of these. The nil UUID is
  // refused.
  template <class... Args>
  Task<Uuid> start_as(Uuid id, std::string type, Args&&... args) {
    (detail::refuse_destroyed_twice<Args>(), ...);
    return start_json(std::move(type), detail::arguments_json(detail::unmoved(args)...), id);
  }
  // The same, with the arguments as an array, which must be those of the task.
  Task<Uuid> start_json(std::string type, std::string arguments, Uuid id);
  Uuid new_id();

  // Waits until the task has ended. Throws what it failed with, as an Error with the recorded
  // sentence.
  template <class T>
  Task<T> result(Uuid id) {
    return detail::decoded<T>(result_json(id));
  }
  Task<std::string> result_json(Uuid id);

  template <class T>
  Task<void> signal(Uuid task, std::string name, T&& value) {
    detail::refuse_destroyed_twice<T>();
    return signal_json(task, std::move(name), to_json(detail::unmoved(value)));
  }
  Task<void> signal_json(Uuid task, std::string name, std::string value);
  // Keeps a promise. True for the first who does; what comes later is ignored, also after the end
  // of the task, and is told so when the first is on the disk. Errc::durable_stopped: the task
  // ended before anybody did.
  template <class T>
  Task<bool> complete(Uuid promise, T&& value) {
    detail::refuse_destroyed_twice<T>();
    return complete_json(promise, to_json(detail::unmoved(value)), true);
  }
  // Or breaks it: `value` is then a sentence.
  Task<bool> complete_json(Uuid promise, std::string value, bool success);

  Task<void> cancel(Uuid task, std::string why);
  // Ends it without running any more of its code.
  Task<void> kill(Uuid task, std::string why);
  Task<void> pause(Uuid task);
  Task<void> resume(Uuid task);
  // Forgets the end of a task that failed, and everything from that step on: "charge#1".
  Task<void> retry(Uuid task, std::string from);
  // Another task, with the history of one that has ended up to that step, which it does anew, and
  // goes on from there. What it did before the step is not done again; flow.random() and
  // flow.uuid() give what they gave the other.
  Task<Uuid> fork(Uuid task, std::string from);

  // Moves tasks that have ended into the archive, and gives the room of the log free that nobody
  // needs. Their results can still be asked for until they leave the archive; they cannot be
  // retried or forked there. Their ids are kept when they leave it: see start_as.
  Task<Compaction> compact(Retention keep = Retention());

  std::string query(Uuid task, std::string_view name);
  // Of a task in the log or in the archive.
  std::optional<DurableInfo> info(Uuid task) const;
  // Those in the log.
  std::vector<DurableInfo> tasks() const;
  // Where the records are. Needs an open host.
  wal::RecordStore& store();

 private:
  Task<Uuid> start_new(std::string type, std::string arguments);

  std::shared_ptr<HostCore> core_;
};

}  // namespace tiffany
