// What a durable task can do: the one door between its code and the world.
//
//   co_await flow.step("charge", [&] { return bank.charge(order); })    done once; its result is
//                                                                       recorded
//   co_await flow.sleep(24h)                                             also when the process is
//                                                                        gone meanwhile
//   auto ok = co_await flow.promise<bool>("approval");                   kept from outside, by
//                                                                        ok.id()
//   auto child = co_await flow.spawn("ship", order);                     another durable task
//   co_await ok                                                          the value of a handle,
//                                                                        when it has come
//   auto sent = co_await flow.begin_step("send", send, order);           a step that goes on behind
//                                                                        this statement
//   auto won = co_await flow.race(ok, timer)                             which of them came first,
//                                                                        and its value
//   auto won = co_await flow.any(one, other)                             which of them succeeded
//                                                                        first
//   auto [a, b] = co_await flow.gather(one, other)                       all of them
//   Signal s = co_await flow.signal<Signal>("changed");                  what others say to it:
//                                                                        durable/flow_messages.hpp
//   co_await flow.checkpoint(state);                                     forgets what came before,
//                                                                        and begins anew
//   flow.now(), flow.random(), flow.uuid(), flow.version("change", 1, 2)
//
// When the task comes back after a crash, its code runs again from the start, and each of these
// gives what its log says it gave the first time, in the same order, until the end of the log is
// reached. So the code must ask for everything that may differ from run to run here, and not do
// anything outside of a step.
//
// The code is compared with the log on the way: each call must be the one that was recorded in its
// place, by kind, name and arguments, and each recorded value must be one of the type that the code
// reads. The first that is not stops the task, paused, with both sides in the report; nothing is
// appended to its log, and no step is run. docs/18-durable-tasks.md has what may change and what
// may not.
//
// Steps are named by what they do. Their identity is the path (flow.enter), the name, and how often
// that name was used before: "pay/charge#2".
//
// Cancel of a durable task (Host::cancel): thrown as a DurableCancelled where the task waits, at
// the place in its log where the cancel was recorded, and at every wait after it.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/calendar.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/base/type_name.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/durable/attributes.hpp"
#include "tiffany/durable/begin_step.hpp"
#include "tiffany/durable/calls.hpp"
#include "tiffany/durable/child_options.hpp"
#include "tiffany/durable/durable.hpp"
#include "tiffany/durable/durable_ref.hpp"
#include "tiffany/durable/flow_guards.hpp"
#include "tiffany/durable/flow_messages.hpp"
#include "tiffany/durable/scope_call.hpp"
#include "tiffany/durable/several_calls.hpp"
#include "tiffany/durable/step.hpp"

namespace tiffany {

// The task was cancelled, by Host::cancel or because its parent ended.
class DurableCancelled : public Error {
 public:
  using Error::Error;
};

namespace detail {

int agreed_version(FlowState& flow, std::string_view change, int oldest, int newest,
                   const std::source_location& site);
const std::string* saved_state(FlowState& flow);
void set_attribute(FlowState& flow, const std::string& name, const Attribute& value,
                   const std::source_location& site);
Durable<void> make_checkpoint(FlowState& flow, std::string state, std::source_location site);
HandleCall<void>::Issue issue_child_for(ParentEnd at_end) noexcept;
Durable<Uuid> start_from(FlowState& flow, std::string type, std::string arguments,
                         std::source_location site);
// As the registry of the host has it.
std::string type_for(FlowState& flow, AnyFunction function, std::string_view what);
std::weak_ptr<HostCore> host_of(FlowState& flow);
template <class R>
Durable<DurableRef<R>> start_typed_from(FlowState& flow, std::string type, std::string arguments,
                                        std::source_location site) {
  const Uuid id = co_await start_from(flow, std::move(type), std::move(arguments), site);
  co_return DurableRef<R>(host_of(flow), id);
}
struct FlowAccess;  // for durable tasks of the library itself

}  // namespace detail

class Flow : public FlowMessages {
 public:
  // With the place where it is written.
  struct TypeName {
    TypeName(const char* name, Site at = Site::current()) : text(name), site(at) {}
    TypeName(std::string name, Site at = Site::current()) : text(std::move(name)), site(at) {}
    std::string text;
    Site site;
  };
  using StepName = TypeName;

  explicit Flow(FlowState& state) noexcept : FlowMessages(state) {}

  // Runs `fn`, or gives what it gave when it ran before. `fn` takes nothing or an Attempt&, and
  // returns a value or a Task of one. See durable/step.hpp for retries, timeouts and what an effect
  // may be.
  template <class F>
  auto step(std::string_view name, F&& fn, Site site = Site::current()) {
    return step_with(name, detail::NoStepOptions(), std::forward<F>(fn), site);
  }
  template <class F>
  auto step(std::string_view name, StepOptions options, F&& fn, Site site = Site::current()) {
    return step_with(name, std::move(options), std::forward<F>(fn), site);
  }

  // Begins a step and gives its handle: several run at a time, and race with timers, promises and
  // children. `fn` is a function or a lambda without captures; `fn` and `args` are kept, and the
  // arguments are part of the key of the step. A step whose handle is dropped goes on. The end of
  // the code cancels and awaits those that are under way: await what must be done. Crash: a step
  // without an end in the log is begun again when the task comes back, by its class
  // (durable/step.hpp).
  template <class F, class... Args>
    requires(!std::is_same_v<std::remove_cvref_t<F>, StepOptions>)
  auto begin_step(StepName name, F&& fn, Args&&... args) {
    return begin_step(std::move(name), StepOptions(), std::forward<F>(fn),
                      std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  auto begin_step(StepName name, StepOptions options, F&& fn, Args&&... args) {
    return detail::make_begin_step<std::decay_t<F>>(*state_, std::move(name.text),
                                                    std::move(options), name.site, fn,
                                                    std::forward<Args>(args)...);
  }

  // Until that much time has passed on the clock of the wall, counted from the first time it was
  // asked for.
  detail::SleepCall sleep(Duration delay, Site site = Site::current()) {
    return detail::SleepCall(*state_, delay, site);
  }
  detail::HandleCall<void> timer(Duration delay, Site site = Site::current()) {
    return detail::HandleCall<void>(*state_, &detail::issue_timer, "timer",
                                    std::to_string(delay.count()), site);
  }
  // Something that somebody outside will give: Host::complete(handle.id(), value).
  template <class T>
  detail::HandleCall<T> promise(std::string name, Site site = Site::current()) {
    return detail::HandleCall<T>(*state_, &detail::issue_promise, std::move(name), std::string(),
                                 site);
  }
  // Another durable task, by the name it is registered with. When this one ends before it, it is
  // cancelled, or what the options say. Crash: it is started once, and awaited by the same handle.
  template <class T, class... Args>
  detail::HandleCall<T> spawn(TypeName type, Args&&... args) {
    return spawn<T>(ChildOptions(), std::move(type), std::forward<Args>(args)...);
  }
  template <class T, class... Args>
  detail::HandleCall<T> spawn(ChildOptions options, TypeName type, Args&&... args) {
    (detail::refuse_destroyed_twice<Args>(), ...);
    return detail::HandleCall<T>(*state_, detail::issue_child_for(options.at_end()),
                                 std::move(type.text),
                                 detail::arguments_json(detail::unmoved(args)...), type.site);
  }
  // Starts a durable task that is nobody's child: it goes on whatever becomes of this one. Returns
  // when it is on the disk; the start is a step with the name "start TYPE", and throws StepFailed
  // when it is refused. Crash: it is started once, because its id is made of that of the step.
  template <class R, class... As, class... Args>
  Durable<DurableRef<R>> start(Durable<R> (*body)(Flow&, As...), Args&&... args) {
    (detail::refuse_destroyed_twice<Args>(), ...);
    return detail::start_typed_from<R>(
        *state_, detail::type_for(*state_, detail::any_function(body), type_name<decltype(body)>()),
        detail::Parameters<As...>::json(detail::unmoved(args)...), Site::current());
  }
  template <class... Args>
  Durable<Uuid> start(TypeName type, Args&&... args) {
    (detail::refuse_destroyed_twice<Args>(), ...);
    return detail::start_from(*state_, std::move(type.text),
                              detail::arguments_json(detail::unmoved(args)...), type.site);
  }

  // All values in the order of the handles, as Gathered, or as a vector for a vector; or what the
  // first failure says, thrown. The others go on.
  template <class... Ts>
  detail::GatherCall<Ts...> gather(const DurableHandle<Ts>&... handles) {
    return detail::GatherCall<Ts...>(*state_, detail::slots_of(handles...), Site::current());
  }
  template <class T>
  detail::GatherMany<T> gather(const std::vector<DurableHandle<T>>& handles,
                               Site site = Site::current()) {
    return detail::GatherMany<T>(*state_, detail::slots_of(handles), site);
  }
  // The first that came: its index and its value, as Won; what it failed with is thrown. The others
  // stay with their handles.
  template <class... Ts>
  auto race(const DurableHandle<Ts>&... handles) {
    static_assert(sizeof...(Ts) > 0, "a race needs something to wait for");
    return detail::FirstOf<Ts...>(*state_, detail::First::settled, detail::slots_of(handles...),
                                  Site::current());
  }
  template <class T>
  auto race(const std::vector<DurableHandle<T>>& handles, Site site = Site::current()) {
    return detail::FirstOfMany<T>(*state_, detail::First::settled, detail::slots_of(handles), site);
  }
  // As race, but what failed does not count. Throws when all of them have, with the sentence of the
  // first of these.
  template <class... Ts>
  auto any(const DurableHandle<Ts>&... handles) {
    static_assert(sizeof...(Ts) > 0, "any needs something to wait for");
    return detail::FirstOf<Ts...>(*state_, detail::First::success, detail::slots_of(handles...),
                                  Site::current());
  }
  template <class T>
  auto any(const std::vector<DurableHandle<T>>& handles, Site site = Site::current()) {
    return detail::FirstOfMany<T>(*state_, detail::First::success, detail::slots_of(handles), site);
  }

  // Forgets everything that was recorded so far, and begins the code anew, with `state<S>(...)`
  // giving this: at once, just as after a crash. The call never returns; the locals of the code are
  // destroyed. Signals that nobody has taken are kept. Nothing may be under way. Cancel
  // (Host::cancel): before it is asked for, thrown there as a DurableCancelled; after that, at the
  // first wait of the code that begins anew.
  template <class S>
  Durable<void> checkpoint(S&& state, Site site = Site::current()) {
    detail::refuse_destroyed_twice<S>();
    return detail::make_checkpoint(*state_, to_json(detail::unmoved(state)), site);
  }
  // The state of the last checkpoint; `initial` when there was none. To be asked for first.
  template <class S>
  S state(S initial) const {
    const std::string* saved = detail::saved_state(*state_);
    if (saved == nullptr) return initial;
    return detail::decode<S>(*state_, *saved, [] { return "the state of the last checkpoint"; });
  }

  // Which of two ways to go: the one that was taken when this task came here first. `newest` for a
  // task that comes here now, `oldest` for one that was here before the change was made. The only
  // place where code may ask for something that the log of a task under way does not have.
  int version(std::string_view change, int oldest, int newest, Site site = Site::current()) {
    return detail::agreed_version(*state_, change, oldest, newest, site);
  }

  // By which operators find the task: durable/attributes.hpp. A plain call; recorded with the next
  // command that is synced, kept over checkpoints, and compared when the task comes back.
  void set_attribute(std::string name, const Attribute& value, Site site = Site::current()) {
    detail::set_attribute(*state_, name, value, site);
  }

  // On the clock of the wall: when what the task knows last came to it.
  WallTime now() const noexcept;
  Random& random();
  Uuid uuid();
  // Of this task.
  const Uuid& id() const noexcept;
  // Of the task that asked for what this code asks for next: this one; or, while a fork repeats
  // what was copied, the one that it was copied from. It is the same in each replay.
  Uuid written_by() const noexcept;
  bool replaying() const noexcept;

  // Steps are named below this until the guard goes.
  using Path = FlowPath;
  [[nodiscard]] Path enter(std::string_view name) { return Path(*state_, name); }

  // Everything until the guard goes takes at most so long: when the time is over, the wait of the
  // code, and every one after it, throws ScopeTimedOut. Steps, children and handles of the scope go
  // on; a step that is awaited where it is made is cancelled and awaited. A shield inside holds
  // that back. Crash: when the time ends is in the log, and the same wait throws in every replay.
  //   const auto scope = co_await flow.scope(24h);
  detail::ScopeCall scope(Duration limit, Site site = Site::current()) {
    return detail::ScopeCall(*state_, limit, site);
  }
  // Holds cancels, and the end of scopes around it, back until the guard goes: for what must be put
  // in order first.
  using Shield = FlowShield;
  [[nodiscard]] Shield shield() noexcept { return Shield(*state_); }

 private:
  friend struct detail::FlowAccess;
  template <class Options, class F>
  auto step_with(std::string_view name, Options options, F&& fn, Site site) {
    static_assert(!detail::owns_captures<F>(),
                  "a step captures by reference: write [&], or keep the callable in a variable and "
                  "pass that (GCC 12 destroys owning captures twice in an awaited expression)");
    return detail::StepCall<std::decay_t<F>, Options>(*state_, name, std::move(options),
                                                      std::forward<F>(fn), site);
  }
};

}  // namespace tiffany
