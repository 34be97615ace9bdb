// Waiting for several things at once: gather, all_settled, race, any. They take everything that can
// be awaited (engine/awaitable.hpp), mixed; to wait for one thing, co_await it.
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
//   auto all  = co_await gather(handles);       std::vector<T>, in the order of the handles
//   auto ends = co_await all_settled(handles);  std::vector<Outcome<T>>
//   auto won  = co_await race(handles);         won.index, won.value, won.rest: the other handles
//
// What these began themselves, a call or a Task, they also end: it is cancelled and has ended
// before they return or throw. What was given as a handle or future goes on: handles are the
// caller's.
//
// gather and all_settled append what the awaited tasks have told (core/store.hpp) to the log of the
// task that awaits, in the order of the arguments: gather when it succeeds; all_settled of those
// that were not cancelled. A task that is awaited twice gives its value twice, and its entries too.
//
// Which value is lost? Of the calls of module sync and of a mailbox exactly one is answered by a
// race: the others are left in that same moment. Every other call and every Task runs as a child
// task, and a loser may have ended before it could be cancelled: bytes read, a connection accepted.
// `rest` of a race or any that was given such calls is a tuple with a std::optional for each
// contender: what the loser gave all the same, if it did. An error of a loser is reported like that
// of any task nobody asked.
//
// Cost: linear in the number awaited. Over handles alone, and race over calls of module sync,
// nothing is spawned; else one child task for each call and Task.
//
// Cancel. Before start: over handles alone no wait is begun; else what is given is begun and
// cancelled at once, unless it can be answered without waiting. While parked: what was begun is
// cancelled and joined, waits for handles are withdrawn, then Cancelled goes on. After completion:
// the result is delivered first.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/core/waitable_handle.hpp"
#include "tiffany/detail/structure/handle_group.hpp"
#include "tiffany/detail/structure/race_calls.hpp"
#include "tiffany/detail/structure/started.hpp"
#include "tiffany/detail/structure/started_race.hpp"
#include "tiffany/engine/awaitable.hpp"

namespace tiffany {

namespace detail {

template <class... As>
inline constexpr bool kHandles = (WaitableHandle<std::remove_cvref_t<As>> && ...);
template <class A>
inline constexpr bool kIsVector = false;
template <class A>
inline constexpr bool kIsVector<std::vector<A>> = true;
// Neither handles alone nor one range.
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

// ---- Over handles alone ----

template <WaitableHandle... Hs>
auto gather(const Hs&... handles) {
  (detail::require_copyable<Hs>(), ...);
  return GatherFixed<Hs...>(handles...);
}
template <WaitableRange R>
auto gather(R&& handles) {
  detail::require_copyable<detail::HandleOf<R>>();
  return GatherRange<detail::HandleOf<R>>(detail::to_vector(std::forward<R>(handles)));
}

template <WaitableHandle... Hs>
auto all_settled(const Hs&... handles) {
  (detail::require_copyable<Hs>(), ...);
  return SettledFixed<Hs...>(handles...);
}
template <WaitableRange R>
auto all_settled(R&& handles) {
  detail::require_copyable<detail::HandleOf<R>>();
  return SettledRange<detail::HandleOf<R>>(detail::to_vector(std::forward<R>(handles)));
}

template <WaitableHandle H, WaitableHandle... Hs>
auto race(const H& first, const Hs&... rest) {
  (detail::require_copyable<Hs>(), ..., detail::require_copyable<H>());
  return RaceFixed<H, Hs...>(first, rest...);
}
template <WaitableRange R>
auto race(R&& handles) {
  detail::require_copyable<detail::HandleOf<R>>();
  return RaceRange<detail::HandleOf<R>>(detail::to_vector(std::forward<R>(handles)));
}

// ---- Over everything else ----

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
