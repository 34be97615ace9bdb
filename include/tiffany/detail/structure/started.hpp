// What race, any, gather and all_settled start: a child task for each call and Task that they were
// given, beside the handles that they were given. All of it has ended when they return or throw.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/outcome.hpp"
#include "tiffany/core/failures.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/detail/structure/group_call.hpp"
#include "tiffany/detail/structure/race_calls.hpp"
#include "tiffany/engine/awaitable.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::detail {

void cancel_losers(Scope& scope) noexcept;

template <class A>
auto begin_child(Scope& scope, A&& operation) {
  return scope.spawn(carry<std::remove_cvref_t<A>>, std::forward<A>(operation));
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

// ---- gather, all_settled, any; and race over a vector ----

[[noreturn]] void throw_all_failed(std::span<const GroupCall::Entry> entries);

constexpr bool is_contest(GroupMode mode) noexcept {
  return mode == GroupMode::race || mode == GroupMode::any;
}

// Operations that were given one by one, perhaps of different types.
template <class... As>
class GivenTuple {
  using Value = ValueOf<typename OneOf<Awaited<As>...>::type>;
  template <GroupMode kMode>
  static auto result_type() {
    if constexpr (is_contest(kMode)) {
      return std::type_identity<WonBy<As...>>();
    } else if constexpr (kMode == GroupMode::gather) {
      return std::type_identity<Gathered<Awaited<As>...>>();
    } else {
      return std::type_identity<Gathered<Outcome<Awaited<As>>...>>();
    }
  }

 public:
  template <GroupMode kMode>
  using Result = typename decltype(result_type<kMode>())::type;

  explicit GivenTuple(std::tuple<As...> operations) : operations_(std::move(operations)) {}
  void begin(Scope& scope) { begin(scope, std::index_sequence_for<As...>()); }
  std::span<GroupCall::Entry> entries() noexcept { return entries_; }

  auto values() {
    return std::apply([](auto&... h) { return Gathered<Awaited<As>...>(h.value(true)...); },
                      handles_);
  }
  auto outcomes() {
    return std::apply(
        [](auto&... h) { return Gathered<Outcome<Awaited<As>>...>(outcome_of(h, true)...); },
        handles_);
  }
  // The value of the one that was decided, and of others that completed all the same.
  WonBy<As...> won(std::size_t winner) { return won(winner, std::index_sequence_for<As...>()); }

 private:
  template <std::size_t... Is>
  void begin(Scope& scope, std::index_sequence<Is...>) {
    (begin_one<Is>(scope, std::get<Is>(operations_)), ...);
  }
  template <std::size_t I, class A>
  void begin_one(Scope& scope, A& operation) {
    if constexpr (WaitableHandle<A>) require_copyable<A>();
    std::get<I>(handles_) = handle_for(scope, operation);
    entries_[I].target = &std::get<I>(handles_).waitable();
  }
  template <std::size_t... Is>
  WonBy<As...> won(std::size_t winner, std::index_sequence<Is...>) {
    std::optional<Value> value;
    (void)(... || (Is == winner && (put<Is>(value), true)));
    if constexpr (std::is_same_v<LateOf<As...>, Unit>) {
      return WonBy<As...>(winner, std::move(*value));
    } else {
      return WonBy<As...>(winner, std::move(*value), LateOf<As...>{late<Is>(winner)...});
    }
  }
  template <std::size_t I>
  void put(std::optional<Value>& value) {
    auto won = std::get<I>(handles_).value(true);
    if constexpr (std::is_same_v<decltype(won), Value>) {
      value.emplace(std::move(won));
    } else {
      value.emplace(std::in_place_index<I>, std::move(won));
    }
  }
  template <std::size_t I>
  auto late(std::size_t winner) {
    using A = std::tuple_element_t<I, std::tuple<As...>>;
    std::optional<ValueOf<Awaited<A>>> left;
    auto& handle = std::get<I>(handles_);
    if (!WaitableHandle<A> && I != winner && handle.waitable().state() == TaskState::completed) {
      left.emplace(handle.value(true));
    }
    return left;
  }

  std::tuple<As...> operations_;
  std::tuple<HandleFor<As>...> handles_;
  std::array<GroupCall::Entry, sizeof...(As)> entries_;
};

template <class A>
using VectorRest = std::conditional_t<
    WaitableHandle<A>, std::vector<A>,
    std::conditional_t<kMayLeaveValue<A>, std::vector<std::optional<ValueOf<Awaited<A>>>>, Unit>>;

// Any number of operations of one type.
template <class A>
class GivenVector {
  using T = Awaited<A>;
  template <GroupMode kMode>
  static auto result_type() {
    if constexpr (is_contest(kMode)) {
      return std::type_identity<Won<T, VectorRest<A>>>();
    } else if constexpr (kMode == GroupMode::settled) {
      return std::type_identity<std::vector<Outcome<T>>>();
    } else if constexpr (std::is_void_v<T>) {
      return std::type_identity<void>();
    } else {
      return std::type_identity<std::vector<ValueOf<T>>>();
    }
  }

 public:
  template <GroupMode kMode>
  using Result = typename decltype(result_type<kMode>())::type;

  explicit GivenVector(std::vector<A> operations) : operations_(std::move(operations)) {}
  void begin(Scope& scope) {
    handles_.reserve(operations_.size());
    for (A& operation : operations_) handles_.push_back(handle_for(scope, operation));
    entries_.resize(handles_.size());
    for (std::size_t i = 0; i < handles_.size(); ++i) entries_[i].target = &handles_[i].waitable();
  }
  std::span<GroupCall::Entry> entries() noexcept { return entries_; }

  auto values() {
    std::vector<ValueOf<T>> values;
    values.reserve(handles_.size());
    for (auto& handle : handles_) values.push_back(handle.value(true));
    return values;
  }
  auto outcomes() {
    std::vector<Outcome<T>> outcomes;
    outcomes.reserve(handles_.size());
    for (auto& handle : handles_) outcomes.push_back(outcome_of(handle, true));
    return outcomes;
  }
  Won<T, VectorRest<A>> won(std::size_t winner) {
    ValueOf<T> value = handles_[winner].value(!WaitableHandle<A>);
    return Won<T, VectorRest<A>>(winner, std::move(value), rest(winner));
  }

 private:
  VectorRest<A> rest(std::size_t winner) {
    VectorRest<A> rest;
    if constexpr (WaitableHandle<A>) {
      rest = std::move(handles_);
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(winner));
    } else if constexpr (kMayLeaveValue<A>) {
      rest.resize(handles_.size());
      for (std::size_t i = 0; i < handles_.size(); ++i) {
        if (i == winner || handles_[i].waitable().state() != TaskState::completed) continue;
        rest[i].emplace(handles_[i].value(true));
      }
    }
    return rest;
  }

  std::vector<A> operations_;
  std::vector<HandleFor<A>> handles_;
  std::vector<GroupCall::Entry> entries_;
};

// Begins what was given, waits as the mode says, ends what it began, and gives the result.
template <GroupMode kMode, class Given>
Task<typename Given::template Result<kMode>> run_started(Given given) {
  Scope scope(ScopePolicy::isolate);
  Task<void> close = close_scope(scope);
  GroupWait<kMode> wait;
  try {
    given.begin(scope);
    wait.over(given.entries());
    co_await std::move(wait);
    const bool decided = wait.decided() != wait.kNone;
    if (decided || is_contest(kMode)) cancel_losers(scope);
    if (decided || !is_contest(kMode)) scope.keep_result();
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await std::move(close);
  if constexpr (is_contest(kMode)) {
    if (wait.decided() == wait.kNone) throw_all_failed(given.entries());
    wait.throw_decided();
    co_return given.won(wait.decided());
  } else {
    wait.throw_decided();
    typename GroupWait<kMode>::LogMerge logs(wait);
    if constexpr (std::is_void_v<typename Given::template Result<kMode>>) {
      logs.commit();
    } else if constexpr (kMode == GroupMode::gather) {
      auto values = given.values();
      logs.commit();
      co_return values;
    } else {
      auto outcomes = given.outcomes();
      logs.commit();
      co_return outcomes;
    }
  }
}

}  // namespace tiffany::detail
