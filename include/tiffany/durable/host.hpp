// Where durable tasks live: their types, their log, and everything that can be done to them from
// outside.
//
//   Registry types;
//   types.add("order", 1, order);                         // Durable<Receipt> order(Flow&, Order)
//   Host host(types, wal::LogOptions("wal"));
//   const Recovery recovery = co_await host.open();       // everything unfinished goes on
//   const auto ref = co_await host.start(order, x);       // a DurableRef<Receipt>
//   const Receipt receipt = co_await ref.result();
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

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/durable/actor.hpp"
#include "tiffany/durable/attributes.hpp"
#include "tiffany/durable/durable_ref.hpp"
#include "tiffany/durable/flow.hpp"
#include "tiffany/durable/host_options.hpp"
#include "tiffany/durable/host_view.hpp"
#include "tiffany/durable/names.hpp"
#include "tiffany/durable/registry.hpp"
#include "tiffany/durable/start_options.hpp"
#include "tiffany/wal/log_options.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany {

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

  // A task whose code is that function, as the registry has it: its arguments and its result are
  // checked by the compiler. Crash case: when this has returned, the task is in the log and goes on
  // after a crash; before that it may be or not, and a start with the same StartOptions::id() asks.
  template <class R, class... As, class... Args>
  Task<DurableRef<R>> start(StartOptions options, Durable<R> (*body)(Flow&, As...),
                            Args&&... args) {
    (detail::refuse_destroyed_twice<Args>(), ...);
    return detail::started<R>(
        core_,
        start_typed(core_, detail::any_function(body), type_name<decltype(body)>(),
                    detail::Parameters<As...>::json(detail::unmoved(args)...), std::move(options)));
  }
  template <class R, class... As, class... Args>
  Task<DurableRef<R>> start(Durable<R> (*body)(Flow&, As...), Args&&... args) {
    return start(StartOptions(), body, std::forward<Args>(args)...);
  }
  // The task with that id, to wait for its result or to speak to it. Throws Errc::start_conflict
  // when a task of this log has that id and another type.
  template <class R, class... As>
  DurableRef<R> attach(Durable<R> (*body)(Flow&, As...), const Uuid& id) {
    require_type(id, detail::any_function(body), type_name<decltype(body)>());
    return DurableRef<R>(core_, id);
  }

  // By the name of the type, for programs that do not know it: arguments are checked when they are
  // read.
  template <class... Args>
  Task<Uuid> start(std::string type, Args&&... args) {
    (detail::refuse_destroyed_twice<Args>(), ...);
    return start_json(std::move(type), detail::arguments_json(detail::unmoved(args)...),
                      StartOptions());
  }
  // With an id of the caller's choice: a second start with the same one, the same type and the same
  // arguments is the same task, also after a restart and when it is in the archive. With another
  // type or other arguments it is refused (Errc::start_conflict); objects whose members come in
  // another order are other arguments. The id of a task that has left the archive is refused
  // (Errc::id_retired), as long as it is among the last kMostRetiredIds of these. The nil UUID is
  // refused. Other options than those of the first start are not looked at.
  template <class... Args>
  Task<Uuid> start_as(Uuid id, std::string type, Args&&... args) {
    (detail::refuse_destroyed_twice<Args>(), ...);
    return start_json(std::move(type), detail::arguments_json(detail::unmoved(args)...), id);
  }
  // The same, with the arguments as an array, which must be those of the task.
  Task<Uuid> start_json(std::string type, std::string arguments, Uuid id);
  Task<Uuid> start_json(std::string type, std::string arguments, StartOptions options);
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
  // With the type that the signal carries.
  template <class T, class V>
  Task<void> signal(Uuid task, const SignalName<T>& name, V&& value) {
    detail::refuse_destroyed_twice<V>();
    return AnyDurableRef(core_, task).signal(name, detail::unmoved(value));
  }
  Task<void> signal_json(Uuid task, std::string name, std::string value, Actor actor = Actor());
  // What the handler of the task gives (Flow::on_update). The answer is on the disk. With an id of
  // the caller's choice a repeated update is the same one, also after a crash and when the task has
  // ended; nil: a fresh one. Errc::update_refused: its validator threw, and nothing is recorded.
  // Errc::unknown_durable: it has no such update. Errc::durable_stopped: the task does not run, or
  // has ended without an answer. DurableFailed: the handler threw. Cancel: before start nothing is
  // asked; while parked the update goes on, and can be asked for again by its id; after completion
  // the answer is given.
  template <class Q, class A, class V>
  Task<A> update(Uuid task, const UpdateName<Q, A>& name, V&& request, Uuid update = Uuid()) {
    detail::refuse_destroyed_twice<V>();
    return AnyDurableRef(core_, task).update(name, detail::unmoved(request), update);
  }
  Task<std::string> update_json(Uuid task, std::string name, std::string request,
                                Uuid update = Uuid());
  // Keeps a promise. True for the first who does; what comes later is ignored, also after the end
  // of the task, and is told so when the first is on the disk. Errc::durable_stopped: the task
  // ended before anybody did.
  template <class T>
  Task<bool> complete(Uuid promise, T&& value) {
    detail::refuse_destroyed_twice<T>();
    return complete_json(promise, to_json(detail::unmoved(value)), true);
  }
  // Or breaks it: `value` is then a sentence.
  Task<bool> complete_json(Uuid promise, std::string value, bool success, Actor actor = Actor());

  // Each is recorded with the actor who asks for it.
  Task<void> cancel(Uuid task, std::string why, Actor actor = Actor());
  // Ends it without running any more of its code.
  Task<void> kill(Uuid task, std::string why, Actor actor = Actor());
  Task<void> pause(Uuid task, Actor actor = Actor());
  Task<void> resume(Uuid task, Actor actor = Actor());
  // Forgets the end of a task that failed, and everything from that step on: "charge#1".
  Task<void> retry(Uuid task, std::string from, Actor actor = Actor());
  // Another task, with the history of one up to that step, which it does anew, and goes on from
  // there. What it did before the step is not done again; flow.random() and flow.uuid() give what
  // they gave the other. The other goes on as before, if it has not ended; then what was asked for
  // before the step must have come: steps and children have ended, promises are kept. Otherwise
  // Errc::durable_misuse.
  Task<Uuid> fork(Uuid task, std::string from, Actor actor = Actor());

  // Moves tasks that have ended into the archive, and gives the room of the log free that nobody
  // needs. Their results can still be asked for until they leave the archive; they cannot be
  // retried or forked there. Their ids are kept when they leave it: see start_as.
  Task<Compaction> compact(Retention keep = Retention());

  // A copy of the log while it is in use, into an empty directory: everything that had returned
  // from here before the call is in it. Opening the copy is restoring it. See wal/backup.hpp.
  Task<wal::BackupReport> backup(std::string directory);

  // What the code of the task answers (Flow::on_query), after it has come to the end of its log.
  // Errc::unknown_durable when nobody answers that. Nothing is recorded. Cancel: nothing is asked.
  template <class T>
  Task<T> ask(Uuid task, const QueryName<T>& name) {
    return detail::decoded<T>(ask_json(task, name.string()));
  }
  Task<std::string> ask_json(Uuid task, std::string name);
  // The same at once.
  std::string query(Uuid task, std::string_view name);
  // Of a task in the log or in the archive.
  std::optional<DurableInfo> info(Uuid task) const;
  // Those in the log.
  std::vector<DurableInfo> tasks() const;
  // A page of those in the log to which the filter applies: durable/attributes.hpp.
  TaskPage tasks(const TaskFilter& filter, const PageOptions& page = PageOptions()) const;

  // ---- Looking (durable/host_view.hpp); each needs an open host ----

  // What the code of a task of the log waits for now. Empty when its code is not in memory: the
  // task is evicted, queued or paused, or has ended.
  std::vector<DurableWait> waits(Uuid task) const;
  // That nobody has kept yet, by task and name; also of tasks that are paused.
  std::vector<OpenPromise> promises(std::size_t most = 10'000) const;
  // Those of these tasks. Takes a look at each that is open.
  std::vector<OpenPromise> promises_of(std::span<const Uuid> tasks) const;
  // One of them; nothing when there is none of that id, or it has been kept. Does not depend on how
  // many there are.
  std::optional<OpenPromise> promise(const Uuid& id) const;
  StatusCounts counts() const noexcept;
  // Tasks of the log whose ids begin with that text; at most so many.
  std::vector<Uuid> beginning_with(std::string_view text, std::size_t most = 2) const;
  // The lines of a task of the log or the archive, from behind the record with that number.
  std::vector<std::string> records(Uuid task, std::uint64_t after = 0,
                                   std::size_t most = 1000) const;
  // Where the records are.
  wal::RecordStore& store();

 private:
  static Task<Uuid> start_typed(std::shared_ptr<HostCore> core, detail::AnyFunction function,
                                std::string_view what, std::string arguments, StartOptions options);
  void require_type(const Uuid& id, detail::AnyFunction function, std::string_view what);

  std::shared_ptr<HostCore> core_;
};

}  // namespace tiffany
