// race, any, gather and all_settled over everything that can be awaited (engine/awaitable.hpp), mixed.
//
//   auto [which, value, rest] = co_await race(jobs.recv(), stop.wait(), sleep(5s));
//   auto [user, orders] = co_await gather(fetch_user(id), socket.read(room));
//   auto [left, right] = co_await all_settled(copy(a), handle);   Outcome of each; never throws
//   auto [which, page, rest] = co_await any(mirror(1), mirror(2));
//
// Or over a std::vector of one kind. gather waits for all and fails fast; all_settled waits for all and
// never throws; race is decided by the first to settle, errors included; any by the first to succeed,
// and throws AllFailed when there is none. Of several that are decided already the first in the list
// counts.
//
// What these began themselves, a call or a Task, they also end: it is cancelled and has ended before
// they return or throw. What was given as a handle or future goes on.
//
// Which value is lost? Of the calls of module sync and of a mailbox exactly one is answered by a race:
// the others are left in that same moment. Every other call and every Task runs as a child task, and a
// loser may have ended before it could be cancelled: bytes read, a connection accepted. `rest` of a race
// or any that was given such calls is a tuple with a std::optional for each contender: what the loser gave
// all the same, if it did. An error of a loser is reported like that of any task nobody asked.
//
// Cost: over handles alone, and race over calls of module sync, nothing is spawned; else one child task
// for each call and Task.
//
// Cancel. Before start: what is given is begun and cancelled at once, unless it can be answered without
// waiting. While parked: what was begun is cancelled and joined, waits for handles are withdrawn, then
// Cancelled goes on. After completion: the result is delivered first.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/outcome.hpp"
#include "tiffany/core/failures.hpp"
#include "tiffany/core/group.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/engine/awaitable.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/engine/structured.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany {

// A call that can wait beside others in one task; see sync/parking_call.hpp.
template <class C>
concept Raceable = Call<C> && std::derived_from<C, Waiter> && std::move_constructible<C> &&
                   requires(C& call, TaskRecord& task) {
                     typename C::value_type;
                     { call.answer(task) } -> std::same_as<bool>;
                     call.enlist(task);
                     call.leave();
                     call.pass_on();
                   };

namespace detail {

// `a`, `a or b`, and how many more when they are too many.
class Alternatives {
 public:
  void add(const std::string& one);
  std::string text() &&;

 private:
  std::string text_;
  std::size_t count_ = 0;
};

// A handle or future among the contenders. kOwn: of a child that the race has started itself.
template <class H, bool kOwn>
class JoinRacer : public Waiter {
 public:
  using value_type = typename H::value_type;
  explicit JoinRacer(H handle) : handle_(std::move(handle)) {
    if constexpr (!kOwn) require_copyable<H>();
  }
  JoinRacer(JoinRacer&& other) noexcept : Waiter(), handle_(std::move(other.handle_)) {}

  bool answer(TaskRecord& asker) const {
    refuse_self_join(handle_.waitable(), asker);
    return handle_.waitable().settled();
  }
  void enlist(TaskRecord& asker) noexcept { handle_.waitable().add_waiter(*this, asker); }
  void leave() noexcept { handle_.waitable().remove_waiter(*this); }
  void pass_on() noexcept {}
  value_type finish() {
    Waitable& target = handle_.waitable();
    if (target.state() != TaskState::completed) std::rethrow_exception(error_to_throw(target));
    if constexpr (!std::is_void_v<value_type>) return handle_.value(kOwn);
  }
  // Of one that lost: what it gave all the same.
  std::optional<ValueOf<value_type>> late() {
    if (!kOwn || handle_.waitable().state() != TaskState::completed) return std::nullopt;
    return handle_.value(true);
  }
  std::string describe() const { return handle_.waitable().describe(); }
  void visit_waits(WaitVisitor& visitor) const { visitor.on_waitable(handle_.waitable()); }

 private:
  H handle_;
};

// What waits for an awaitable in a race: the call itself, or a join.
template <class A>
struct RacerOf {
  using type = JoinRacer<Handle<Awaited<A>>, true>;
};
template <Raceable A>
struct RacerOf<A> {
  using type = A;
};
template <WaitableHandle A>
struct RacerOf<A> {
  using type = JoinRacer<A, false>;
};
template <class A>
using Racer = typename RacerOf<std::remove_cvref_t<A>>::type;

// One result as `V`: itself, or the I-th of a variant.
template <class V, std::size_t I, class R>
V result_of(R& racer) {
  constexpr bool is_void = std::is_void_v<typename R::value_type>;
  if constexpr (is_void) racer.finish();
  if constexpr (std::is_same_v<V, ValueOf<typename R::value_type>>) {
    if constexpr (is_void) {
      return V();
    } else {
      return racer.finish();
    }
  } else if constexpr (is_void) {
    return V(std::in_place_index<I>);
  } else {
    return V(std::in_place_index<I>, racer.finish());
  }
}

// One task waits in several queues at once; the first that has something decides.
template <class... Rs>
class RaceCore : public SystemCall {
 public:
  using Result = typename OneOf<typename Rs::value_type...>::type;

  Answer start(Scheduler&, TaskRecord& task) {
    // All are asked before any is enlisted: none of them must find another in its queue.
    winner_ = 0;
    const bool answered = std::apply(
        [&](Rs&... r) { return (... || (r.answer(task) || (++winner_, false))); }, racers_);
    if (answered) return Answer::now;
    std::apply([&](Rs&... r) { (r.enlist(task), ...); }, racers_);
    return Answer::parked;
  }
  void withdraw(TaskRecord&) noexcept override {
    leave_all();
    pass_on_all();
  }
  void on_settled(Scheduler& scheduler, Waiter& waiter) noexcept override {
    std::size_t at = 0;
    std::apply([&](Rs&... r) { ((is(r, waiter) ? void(winner_ = at) : void(), ++at), ...); },
               racers_);
    leave_all();
    wake(scheduler, *waiter.task);
    pass_on_all();
  }
  std::string describe() const override {
    Alternatives all;
    std::apply([&](const Rs&... r) { (all.add(r.describe()), ...); }, racers_);
    return std::move(all).text();
  }
  void visit_waits(WaitVisitor& visitor) const override {
    std::apply([&](const Rs&... r) { (r.visit_waits(visitor), ...); }, racers_);
  }
  bool waits_for_outside() const noexcept override {
    return std::apply([](const Rs&... r) { return (outside(r) || ...); }, racers_);
  }

 protected:
  explicit RaceCore(std::tuple<Rs...>&& racers) : racers_(std::move(racers)) {}
  RaceCore(RaceCore&& other) noexcept : SystemCall(), racers_(std::move(other.racers_)) {}
  ~RaceCore() = default;

  ValueOf<Result> pick() { return pick(std::index_sequence_for<Rs...>()); }
  std::size_t winner() const noexcept { return winner_; }

  std::tuple<Rs...> racers_;

 private:
  static bool is(const Waiter& racer, const Waiter& waiter) noexcept { return &racer == &waiter; }
  template <class R>
  static bool outside(const R& racer) noexcept {
    if constexpr (Call<R>) return racer.waits_for_outside();
    return false;
  }
  // Out of all queues first: what one of them passes on must not come back to this task.
  void leave_all() noexcept {
    std::apply([](Rs&... r) { (r.leave(), ...); }, racers_);
  }
  void pass_on_all() noexcept {
    std::apply([](Rs&... r) { (r.pass_on(), ...); }, racers_);
  }
  template <std::size_t... Is>
  ValueOf<Result> pick(std::index_sequence<Is...>) {
    using Value = ValueOf<Result>;
    std::optional<Value> value;
    (void)(... ||
           (Is == winner_ && (value.emplace(result_of<Value, Is>(std::get<Is>(racers_))), true)));
    return std::move(*value);
  }

  std::size_t winner_ = 0;
};

// ---- What is started as child tasks ----

void cancel_losers(Scope& scope) noexcept;

template <class A>
auto begin_child(Scope& scope, A&& operation) {
  return scope.spawn(carry<std::remove_cvref_t<A>>, std::forward<A>(operation));
}

template <class A>
Racer<A> racer_for(Scope& scope, A& operation) {
  if constexpr (Raceable<A> || WaitableHandle<A>) {
    return Racer<A>(std::move(operation));
  } else {
    return Racer<A>(begin_child(scope, std::move(operation)));
  }
}

template <class A>
inline constexpr bool kMayLeaveValue =
    !WaitableHandle<A> && !Raceable<A> && !IsTask<A>::value && !std::is_void_v<Awaited<A>>;

// What losers have given all the same; nothing where none can have.
template <class... As>
using LateOf = std::conditional_t<(kMayLeaveValue<As> || ...),
                                  std::tuple<std::optional<ValueOf<Awaited<As>>>...>, Unit>;
template <class... As>
using WonBy = Won<typename OneOf<Awaited<As>...>::type, LateOf<As...>>;

// A race that goes on after it was decided, until its losers have ended.
template <class... As>
class StartedRace final : public RaceCore<Racer<As>...> {
 public:
  static constexpr CallName call_name{"race"};
  StartedRace(Scope& scope, std::tuple<As...>& operations)
      : StartedRace(scope, operations, std::index_sequence_for<As...>()) {}
  void finish() const noexcept {}

  WonBy<As...> result() {
    const std::size_t winner = this->winner();
    auto value = this->pick();
    return WonBy<As...>(winner, std::move(value), rest(std::index_sequence_for<As...>()));
  }

 private:
  template <std::size_t... Is>
  StartedRace(Scope& scope, std::tuple<As...>& operations, std::index_sequence<Is...>)
      // In braces, so that they are started in their order.
      : RaceCore<Racer<As>...>(
            std::tuple<Racer<As>...>{racer_for(scope, std::get<Is>(operations))...}) {}
  template <std::size_t... Is>
  LateOf<As...> rest(std::index_sequence<Is...>) {
    if constexpr (std::is_same_v<LateOf<As...>, Unit>) {
      return Unit();
    } else {
      return LateOf<As...>{late<Is>()...};
    }
  }
  template <std::size_t I>
  auto late() {
    using R = std::tuple_element_t<I, std::tuple<Racer<As>...>>;
    std::optional<ValueOf<typename R::value_type>> left;
    if constexpr (requires(R& racer) { racer.late(); }) {
      if (I != this->winner()) left = std::get<I>(this->racers_).late();
    }
    return left;
  }
};

template <class... As>
Task<WonBy<As...>> race_started(std::tuple<As...> operations) {
  Scope scope(ScopePolicy::isolate);
  Task<void> close = close_scope(scope);
  std::optional<StartedRace<As...>> race;
  try {
    race.emplace(scope, operations);
    co_await std::move(*race);
    cancel_losers(scope);
    scope.keep_result();
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await std::move(close);
  co_return race->result();
}

// The handles of what was given, and of what was started; in the order of the arguments.
template <class A>
using HandleFor = std::conditional_t<WaitableHandle<A>, A, Handle<typename AwaitedBy<A>::type>>;

template <class A>
HandleFor<A> handle_for(Scope& scope, A& operation) {
  if constexpr (WaitableHandle<A>) {
    return std::move(operation);
  } else {
    return begin_child(scope, std::move(operation));
  }
}

template <class... As>
class Handles {
 public:
  void begin(Scope& scope, std::tuple<As...>& operations) {
    begin(scope, operations, std::index_sequence_for<As...>());
  }
  std::array<GroupCall::Entry, sizeof...(As)> entries;
  std::tuple<HandleFor<As>...> handles;

 private:
  template <std::size_t... Is>
  void begin(Scope& scope, std::tuple<As...>& operations, std::index_sequence<Is...>) {
    (begin_one<Is>(scope, std::get<Is>(operations)), ...);
  }
  template <std::size_t I, class A>
  void begin_one(Scope& scope, A& operation) {
    if constexpr (WaitableHandle<A>) require_copyable<A>();
    std::get<I>(handles) = handle_for(scope, operation);
    entries[I].target = &std::get<I>(handles).waitable();
  }
};

template <class... As>
Task<Gathered<Awaited<As>...>> gather_started(std::tuple<As...> operations) {
  Scope scope(ScopePolicy::isolate);
  Task<void> close = close_scope(scope);
  Handles<As...> all;
  GroupWait<GroupMode::gather> wait;
  try {
    all.begin(scope, operations);
    wait.over(all.entries);
    co_await std::move(wait);
    if (wait.decided() != wait.kNone) cancel_losers(scope);
    scope.keep_result();
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await std::move(close);
  wait.throw_decided();
  typename GroupWait<GroupMode::gather>::LogMerge logs(wait);
  auto results = std::apply([](auto&... h) { return Gathered<Awaited<As>...>(h.value(true)...); },
                            all.handles);
  logs.commit();
  co_return results;
}

template <class... As>
Task<Gathered<Outcome<Awaited<As>>...>> settle_started(std::tuple<As...> operations) {
  Scope scope(ScopePolicy::isolate);
  Task<void> close = close_scope(scope);
  Handles<As...> all;
  GroupWait<GroupMode::settled> wait;
  try {
    all.begin(scope, operations);
    wait.over(all.entries);
    co_await std::move(wait);
    scope.keep_result();
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await std::move(close);
  typename GroupWait<GroupMode::settled>::LogMerge logs(wait);
  auto outcomes = std::apply(
      [](auto&... h) { return Gathered<Outcome<Awaited<As>>...>(outcome_of(h, true)...); },
      all.handles);
  logs.commit();
  co_return outcomes;
}

// The value of the one that was decided, and of others that completed all the same.
template <class... As>
class Decided {
 public:
  Decided(Handles<As...>& all, std::size_t winner) noexcept : all_(all), winner_(winner) {}
  WonBy<As...> result() { return result(std::index_sequence_for<As...>()); }

 private:
  using Value = ValueOf<typename OneOf<Awaited<As>...>::type>;
  template <std::size_t... Is>
  WonBy<As...> result(std::index_sequence<Is...>) {
    std::optional<Value> value;
    (void)(... || (Is == winner_ && (put<Is>(value), true)));
    if constexpr (std::is_same_v<LateOf<As...>, Unit>) {
      return WonBy<As...>(winner_, std::move(*value));
    } else {
      return WonBy<As...>(winner_, std::move(*value), LateOf<As...>{late<Is>()...});
    }
  }
  template <std::size_t I>
  void put(std::optional<Value>& value) {
    auto won = std::get<I>(all_.handles).value(true);
    if constexpr (std::is_same_v<decltype(won), Value>) {
      value.emplace(std::move(won));
    } else {
      value.emplace(std::in_place_index<I>, std::move(won));
    }
  }
  template <std::size_t I>
  auto late() {
    using A = std::tuple_element_t<I, std::tuple<As...>>;
    std::optional<ValueOf<Awaited<A>>> left;
    auto& handle = std::get<I>(all_.handles);
    if (!WaitableHandle<A> && I != winner_ && handle.waitable().state() == TaskState::completed) {
      left.emplace(handle.value(true));
    }
    return left;
  }

  Handles<As...>& all_;
  std::size_t winner_;
};

[[noreturn]] void throw_all_failed(GroupCall::Entry* entries, std::size_t count);

template <class... As>
Task<WonBy<As...>> any_started(std::tuple<As...> operations) {
  Scope scope(ScopePolicy::isolate);
  Task<void> close = close_scope(scope);
  Handles<As...> all;
  GroupWait<GroupMode::any> wait;
  try {
    all.begin(scope, operations);
    wait.over(all.entries);
    co_await std::move(wait);
    cancel_losers(scope);
    if (wait.decided() != wait.kNone) scope.keep_result();
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await std::move(close);
  if (wait.decided() == wait.kNone) throw_all_failed(all.entries.data(), all.entries.size());
  co_return Decided<As...>(all, wait.decided()).result();
}

// ---- The same over a vector of one kind ----

template <class A>
void begin_all(Scope& scope, std::vector<A>& operations, std::vector<HandleFor<A>>& handles,
               std::vector<GroupCall::Entry>& entries) {
  handles.reserve(operations.size());
  for (A& operation : operations) handles.push_back(handle_for(scope, operation));
  entries.resize(handles.size());
  for (std::size_t i = 0; i < handles.size(); ++i) entries[i].target = &handles[i].waitable();
}

template <class A>
using VectorRest = std::conditional_t<
    WaitableHandle<A>, std::vector<A>,
    std::conditional_t<kMayLeaveValue<A>, std::vector<std::optional<ValueOf<Awaited<A>>>>, Unit>>;

template <class A>
VectorRest<A> rest_of(std::vector<HandleFor<A>>& handles, std::size_t winner) {
  VectorRest<A> rest;
  if constexpr (WaitableHandle<A>) {
    rest = std::move(handles);
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(winner));
  } else if constexpr (kMayLeaveValue<A>) {
    rest.resize(handles.size());
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (i == winner || handles[i].waitable().state() != TaskState::completed) continue;
      rest[i].emplace(handles[i].value(true));
    }
  }
  return rest;
}

// kMode: race or any.
template <GroupMode kMode, class A>
Task<Won<Awaited<A>, VectorRest<A>>> contest(std::vector<A> operations) {
  using T = Awaited<A>;
  Scope scope(ScopePolicy::isolate);
  Task<void> close = close_scope(scope);
  std::vector<HandleFor<A>> handles;
  std::vector<GroupCall::Entry> entries;
  GroupWait<kMode> wait;
  try {
    begin_all(scope, operations, handles, entries);
    wait.over(entries);
    co_await std::move(wait);
    cancel_losers(scope);
    if (wait.decided() != wait.kNone) scope.keep_result();
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await std::move(close);
  if (wait.decided() == wait.kNone) throw_all_failed(entries.data(), entries.size());
  wait.throw_decided();
  ValueOf<T> value = handles[wait.decided()].value(!WaitableHandle<A>);
  co_return Won<T, VectorRest<A>>(wait.decided(), std::move(value),
                                  rest_of<A>(handles, wait.decided()));
}

template <class A>
auto gather_all(std::vector<A> operations) -> Task<
    std::conditional_t<std::is_void_v<Awaited<A>>, void, std::vector<ValueOf<Awaited<A>>>>> {
  Scope scope(ScopePolicy::isolate);
  Task<void> close = close_scope(scope);
  std::vector<HandleFor<A>> handles;
  std::vector<GroupCall::Entry> entries;
  GroupWait<GroupMode::gather> wait;
  try {
    begin_all(scope, operations, handles, entries);
    wait.over(entries);
    co_await std::move(wait);
    if (wait.decided() != wait.kNone) cancel_losers(scope);
    scope.keep_result();
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await std::move(close);
  wait.throw_decided();
  typename GroupWait<GroupMode::gather>::LogMerge logs(wait);
  if constexpr (std::is_void_v<Awaited<A>>) {
    logs.commit();
  } else {
    std::vector<ValueOf<Awaited<A>>> values;
    values.reserve(handles.size());
    for (auto& handle : handles) values.push_back(handle.value(true));
    logs.commit();
    co_return values;
  }
}

template <class A>
Task<std::vector<Outcome<Awaited<A>>>> settle_all(std::vector<A> operations) {
  Scope scope(ScopePolicy::isolate);
  Task<void> close = close_scope(scope);
  std::vector<HandleFor<A>> handles;
  std::vector<GroupCall::Entry> entries;
  GroupWait<GroupMode::settled> wait;
  try {
    begin_all(scope, operations, handles, entries);
    wait.over(entries);
    co_await std::move(wait);
    scope.keep_result();
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await std::move(close);
  typename GroupWait<GroupMode::settled>::LogMerge logs(wait);
  std::vector<Outcome<Awaited<A>>> outcomes;
  outcomes.reserve(handles.size());
  for (auto& handle : handles) outcomes.push_back(outcome_of(handle, true));
  logs.commit();
  co_return outcomes;
}

template <class... As>
inline constexpr bool kHandles = (WaitableHandle<std::remove_cvref_t<As>> && ...);
template <class A>
inline constexpr bool kIsVector = false;
template <class A>
inline constexpr bool kIsVector<std::vector<A>> = true;
// Neither handles alone (core/group.hpp) nor one range.
template <class... As>
concept Mixed = sizeof...(As) > 0 && !kHandles<As...> &&
                !(sizeof...(As) == 1 && (kIsVector<std::remove_cvref_t<As>> || ...)) &&
                !(sizeof...(As) == 1 && (WaitableRange<std::remove_cvref_t<As>> || ...));

template <class... As>
std::tuple<std::remove_cvref_t<As>...> operands(As&&... each) {
  return std::tuple<std::remove_cvref_t<As>...>(std::forward<As>(each)...);
}

}  // namespace detail

// ---- Calls of module sync alone, and handles beside them: nothing is started ----

template <class... Rs>
class [[nodiscard("race waits only when awaited: co_await race(...)")]] RaceOfCalls final
    : public detail::RaceCore<Rs...> {
 public:
  using value_type = Won<typename detail::RaceCore<Rs...>::Result>;
  static constexpr CallName call_name{"race"};
  explicit RaceOfCalls(Rs&&... racers)
      : detail::RaceCore<Rs...>(std::tuple<Rs...>(std::move(racers)...)) {}
  value_type finish() {
    auto value = this->pick();
    return value_type(this->winner(), std::move(value));
  }
};

// Over any number of calls of one kind.
template <Raceable C>
class [[nodiscard("race waits only when awaited: co_await race(...)")]] RaceOfMany final
    : public SystemCall {
 public:
  using value_type = Won<typename C::value_type>;
  static constexpr CallName call_name{"race"};

  explicit RaceOfMany(std::vector<C> racers) : racers_(std::move(racers)) {
    if (racers_.empty()) detail::throw_empty_race("race()");
  }
  RaceOfMany(RaceOfMany&& other) noexcept : SystemCall(), racers_(std::move(other.racers_)) {}

  Answer start(Scheduler&, TaskRecord& task) {
    for (winner_ = 0; winner_ < racers_.size(); ++winner_) {
      if (racers_[winner_].answer(task)) return Answer::now;
    }
    for (C& racer : racers_) racer.enlist(task);
    return Answer::parked;
  }
  void withdraw(TaskRecord&) noexcept override {
    leave_all();
    pass_on_all();
  }
  void on_settled(Scheduler& scheduler, Waiter& waiter) noexcept override {
    winner_ = static_cast<std::size_t>(static_cast<C*>(&waiter) - racers_.data());
    leave_all();
    wake(scheduler, *waiter.task);
    pass_on_all();
  }
  value_type finish() {
    using Value = ValueOf<typename C::value_type>;
    return value_type(winner_, detail::result_of<Value, 0>(racers_[winner_]));
  }
  std::string describe() const override {
    detail::Alternatives all;
    for (const C& racer : racers_) all.add(racer.describe());
    return std::move(all).text();
  }
  void visit_waits(WaitVisitor& visitor) const override {
    for (const C& racer : racers_) racer.visit_waits(visitor);
  }
  bool waits_for_outside() const noexcept override {
    for (const C& racer : racers_) {
      if (racer.waits_for_outside()) return true;
    }
    return false;
  }

 private:
  void leave_all() noexcept {
    for (C& racer : racers_) racer.leave();
  }
  void pass_on_all() noexcept {
    for (C& racer : racers_) racer.pass_on();
  }

  std::vector<C> racers_;
  std::size_t winner_ = 0;
};

// ---- What users call ----

template <class... As>
  requires detail::Mixed<As...>
auto race(As&&... contenders) {
  if constexpr (((Raceable<std::remove_reference_t<As>> ||
                  WaitableHandle<std::remove_cvref_t<As>>) &&
                 ...)) {
    (detail::require_awaitable<As>(), ...);
    return RaceOfCalls<detail::Racer<As>...>(detail::Racer<As>(std::forward<As>(contenders))...);
  } else if constexpr ((Awaitable<As> && ...)) {
    return detail::race_started(detail::operands(std::forward<As>(contenders)...));
  } else {
    (detail::require_awaitable<As>(), ...);
    return detail::refused<Task<Won<typename detail::OneOf<detail::RefusedResult<As>...>::type>>>();
  }
}
template <class A>
  requires(!WaitableHandle<A>)
auto race(std::vector<A> contenders) {
  detail::require_awaitable<A>();
  if constexpr (Raceable<A>) {
    return RaceOfMany<A>(std::move(contenders));
  } else {
    if (contenders.empty()) detail::throw_empty_race("race()");
    return detail::contest<GroupMode::race>(std::move(contenders));
  }
}

template <class... As>
  requires(sizeof...(As) > 0 && (detail::Mixed<As...> || detail::kHandles<As...>))
auto any(As&&... contenders) {
  if constexpr ((Awaitable<As> && ...)) {
    return detail::any_started(detail::operands(std::forward<As>(contenders)...));
  } else {
    (detail::require_awaitable<As>(), ...);
    return detail::refused<Task<Won<typename detail::OneOf<detail::RefusedResult<As>...>::type>>>();
  }
}
template <class A>
auto any(std::vector<A> contenders) {
  detail::require_awaitable<A>();
  if (contenders.empty()) detail::throw_empty_race("any()");
  return detail::contest<GroupMode::any>(std::move(contenders));
}

template <class... As>
  requires detail::Mixed<As...>
auto gather(As&&... operations) {
  if constexpr ((Awaitable<As> && ...)) {
    return detail::gather_started(detail::operands(std::forward<As>(operations)...));
  } else {
    (detail::require_awaitable<As>(), ...);
    return detail::refused<Task<Gathered<detail::RefusedResult<As>...>>>();
  }
}
template <class A>
  requires(!WaitableHandle<A>)
auto gather(std::vector<A> operations) {
  detail::require_awaitable<A>();
  return detail::gather_all(std::move(operations));
}

template <class... As>
  requires detail::Mixed<As...>
auto all_settled(As&&... operations) {
  if constexpr ((Awaitable<As> && ...)) {
    return detail::settle_started(detail::operands(std::forward<As>(operations)...));
  } else {
    (detail::require_awaitable<As>(), ...);
    return detail::refused<Task<Gathered<Outcome<detail::RefusedResult<As>>...>>>();
  }
}
template <class A>
  requires(!WaitableHandle<A>)
auto all_settled(std::vector<A> operations) {
  detail::require_awaitable<A>();
  return detail::settle_all(std::move(operations));
}

}  // namespace tiffany
