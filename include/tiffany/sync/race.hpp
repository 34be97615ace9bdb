// race over the calls of module sync: which of several things comes first?
//
//   auto won = co_await race(jobs.recv(), urgent.recv(), stop.wait());
//   if (won.index == 2) ...                      // the event; else std::get<0>(won.value), ...
//
// One task waits in several queues at once. The first that has something decides, errors included; of
// several that have something already, the first in the list. The others are left in that same moment,
// so that exactly one value is received, one lock taken, one value sent. (race over tasks cannot promise
// that: two of them may have received before the race is decided, and the loser's value is gone.)
//
// Takes any awaitable of module sync but Condition::wait, and beside at least one of these also handles and
// futures, which go on when they lose. Or a std::vector of calls of one kind. Gives Won<T>, or
// Won<std::variant<...>> when their results differ in type, Unit for void. For a time limit use
// within(5ms, race(...)).
//
// Cancel. Before start: answered when one of them can be, else Cancelled is thrown. While parked: all
// queues are left. After completion: the result is delivered first.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tiffany/core/group.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/engine/structured.hpp"

namespace tiffany {

// A call that can wait beside others; see sync/parking_call.hpp.
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

// A handle or future among the contenders.
template <class H>
class JoinRacer : public Waiter {
 public:
  using value_type = typename H::value_type;
  explicit JoinRacer(H handle) : handle_(std::move(handle)) { require_copyable<H>(); }
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
    if (target.state() != State::completed) std::rethrow_exception(error_to_throw(target));
    if constexpr (!std::is_void_v<value_type>) return handle_.value(false);
  }
  std::string describe() const { return handle_.waitable().describe(); }
  void visit_waits(WaitVisitor& visitor) const { visitor.on_waitable(handle_.waitable()); }

 private:
  H handle_;
};

template <class X>
struct RacerOf {
  using type = X;
};
template <WaitableHandle X>
struct RacerOf<X> {
  using type = JoinRacer<X>;
};

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

template <class... Rs>
struct RaceResult {
  using type = std::variant<ValueOf<typename Rs::value_type>...>;
};
template <class R, class... Rs>
  requires all_same<typename R::value_type, typename Rs::value_type...>
struct RaceResult<R, Rs...> {
  using type = typename R::value_type;
};

}  // namespace detail

// Over contenders that are known one by one.
template <class... Rs>
class [[nodiscard("race waits only when awaited: co_await race(...)")]] RaceOfCalls final
    : public SystemCall {
  using Result = typename detail::RaceResult<Rs...>::type;

 public:
  using value_type = Won<Result>;
  static constexpr CallName call_name{"race"};

  explicit RaceOfCalls(Rs&&... racers) noexcept : racers_(std::move(racers)...) {}
  RaceOfCalls(RaceOfCalls&& other) noexcept : SystemCall(), racers_(std::move(other.racers_)) {}

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
    scheduler.wake(*waiter.task);
    pass_on_all();
  }
  value_type finish() { return pick(std::index_sequence_for<Rs...>()); }
  std::string describe() const override {
    detail::Alternatives all;
    std::apply([&](const Rs&... r) { (all.add(r.describe()), ...); }, racers_);
    return std::move(all).text();
  }
  void visit_waits(WaitVisitor& visitor) const override {
    std::apply([&](const Rs&... r) { (r.visit_waits(visitor), ...); }, racers_);
  }

 private:
  static bool is(const Waiter& racer, const Waiter& waiter) noexcept { return &racer == &waiter; }
  // Out of all queues first: what one of them passes on must not come back to this task.
  void leave_all() noexcept {
    std::apply([](Rs&... r) { (r.leave(), ...); }, racers_);
  }
  void pass_on_all() noexcept {
    std::apply([](Rs&... r) { (r.pass_on(), ...); }, racers_);
  }
  template <std::size_t... Is>
  value_type pick(std::index_sequence<Is...>) {
    using Value = ValueOf<Result>;
    std::optional<Value> value;
    (void)(... || (Is == winner_ &&
                   (value.emplace(detail::result_of<Value, Is>(std::get<Is>(racers_))), true)));
    return value_type(winner_, std::move(*value));
  }

  std::tuple<Rs...> racers_;
  std::size_t winner_ = 0;
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
    scheduler.wake(*waiter.task);
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

template <class... Xs>
  requires((Raceable<Xs> || WaitableHandle<std::remove_cvref_t<Xs>>) && ...) &&
          (Raceable<Xs> || ...)
auto race(Xs&&... contenders) {
  using Race = RaceOfCalls<typename detail::RacerOf<std::remove_cvref_t<Xs>>::type...>;
  return Race(
      typename detail::RacerOf<std::remove_cvref_t<Xs>>::type(std::forward<Xs>(contenders))...);
}
template <Raceable C>
RaceOfMany<C> race(std::vector<C> calls) {
  return RaceOfMany<C>(std::move(calls));
}

}  // namespace tiffany
