// race, any, gather and all_settled over everything that can be awaited (engine/awaitable.hpp),
// mixed.
//
//   auto [which, value, rest] = co_await race(jobs.recv(), stop.wait(), sleep(5s));
//   auto [user, orders] = co_await gather(fetch_user(id), socket.read(room));
//   auto [left, right] = co_await all_settled(copy(a), handle);   Outcome of each; never throws
//   auto [which, page, rest] = co_await any(mirror(1), mirror(2));
//
// Or over a std::vector of one kind. gather waits for all and fails fast; all_settled waits for all
// and never throws; race is decided by the first to settle, errors included; any by the first to
// succeed, and throws AllFailed when there is none. Of several that are decided already the first
// in the list counts.
//
// What these began themselves, a call or a Task, they also end: it is cancelled and has ended
// before they return or throw. What was given as a handle or future goes on.
//
// Which value is lost? Of the calls of module sync and of a mailbox exactly one is answered by a
// race: the others are left in that same moment. Every other call and every Task runs as a child
// task, and a loser may have ended before it could be cancelled: bytes read, a connection accepted.
// `rest` of a race or any that was given such calls is a tuple with a std::optional for each
// contender: what the loser gave all the same, if it did. An error of a loser is reported like that
// of any task nobody asked.
//
// Cost: over handles alone, and race over calls of module sync, nothing is spawned; else one child
// task for each call and Task.
//
// Cancel. Before start: what is given is begun and cancelled at once, unless it can be answered
// without waiting. While parked: what was begun is cancelled and joined, waits for handles are
// withdrawn, then Cancelled goes on. After completion: the result is delivered first.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/core/group.hpp"
#include "tiffany/detail/engine/started.hpp"
#include "tiffany/detail/engine/started_race.hpp"
#include "tiffany/engine/awaitable.hpp"
#include "tiffany/engine/race_calls.hpp"

namespace tiffany {

namespace detail {

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
template <class... As>
GivenTuple<std::remove_cvref_t<As>...> given(As&&... each) {
  return GivenTuple<std::remove_cvref_t<As>...>(operands(std::forward<As>(each)...));
}

}  // namespace detail

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
    return detail::run_started<GroupMode::race>(detail::GivenVector<A>(std::move(contenders)));
  }
}

template <class... As>
  requires(sizeof...(As) > 0 && (detail::Mixed<As...> || detail::kHandles<As...>))
auto any(As&&... contenders) {
  if constexpr ((Awaitable<As> && ...)) {
    return detail::run_started<GroupMode::any>(detail::given(std::forward<As>(contenders)...));
  } else {
    (detail::require_awaitable<As>(), ...);
    return detail::refused<Task<Won<typename detail::OneOf<detail::RefusedResult<As>...>::type>>>();
  }
}
template <class A>
auto any(std::vector<A> contenders) {
  detail::require_awaitable<A>();
  if (contenders.empty()) detail::throw_empty_race("any()");
  return detail::run_started<GroupMode::any>(detail::GivenVector<A>(std::move(contenders)));
}

template <class... As>
  requires detail::Mixed<As...>
auto gather(As&&... operations) {
  if constexpr ((Awaitable<As> && ...)) {
    return detail::run_started<GroupMode::gather>(detail::given(std::forward<As>(operations)...));
  } else {
    (detail::require_awaitable<As>(), ...);
    return detail::refused<Task<Gathered<detail::RefusedResult<As>...>>>();
  }
}
template <class A>
  requires(!WaitableHandle<A>)
auto gather(std::vector<A> operations) {
  detail::require_awaitable<A>();
  return detail::run_started<GroupMode::gather>(detail::GivenVector<A>(std::move(operations)));
}

template <class... As>
  requires detail::Mixed<As...>
auto all_settled(As&&... operations) {
  if constexpr ((Awaitable<As> && ...)) {
    return detail::run_started<GroupMode::settled>(detail::given(std::forward<As>(operations)...));
  } else {
    (detail::require_awaitable<As>(), ...);
    return detail::refused<Task<Gathered<Outcome<detail::RefusedResult<As>>...>>>();
  }
}
template <class A>
  requires(!WaitableHandle<A>)
auto all_settled(std::vector<A> operations) {
  detail::require_awaitable<A>();
  return detail::run_started<GroupMode::settled>(detail::GivenVector<A>(std::move(operations)));
}

}  // namespace tiffany
