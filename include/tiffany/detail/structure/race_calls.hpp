// A race of which nothing has to be started: calls of module sync and of a mailbox, and handles
// beside them. One task waits in several queues at once, and leaves all of them in the moment when
// one has something. Users call race() (structure/combine.hpp).
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/core/handle.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/waitable_handle.hpp"
#include "tiffany/detail/structure/group_call.hpp"
#include "tiffany/engine/awaitable.hpp"
#include "tiffany/structure/results.hpp"

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

}  // namespace detail

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

}  // namespace tiffany
