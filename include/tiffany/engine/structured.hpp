// Blocks of structured concurrency, built from coroutines: scope, within, shield, race, any.
//
// In each of them everything that was started has ended when the co_await returns or throws.
#pragma once

#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/base/outcome.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/failures.hpp"
#include "tiffany/core/group.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany {

// ---- scope ----

namespace detail {

// The second half of every block over a scope: waits for its tasks whatever happens meanwhile, and
// throws what the scope has to throw. When the block has a result that must not be lost any more
// (`decided`), a cancel that comes while it waits does not count.
Task<void> close_scope(Scope& scope, bool decided = false);

template <class R, class Body>
Task<R> scope_block(ScopePolicy policy, Body body) {
  Scope scope(policy);
  std::optional<ValueOf<R>> result;
  try {
    if constexpr (std::is_void_v<R>) {
      co_await body(scope);
      result.emplace();
    } else {
      result.emplace(co_await body(scope));
    }
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await close_scope(scope);
  if constexpr (!std::is_void_v<R>) co_return std::move(*result);
}

template <class Body>
Task<TaskId> first_success_block(Body body) {
  Scope scope(ScopePolicy::first_success);
  try {
    co_await body(scope);
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await close_scope(scope);
  co_return scope.winner();
}

// The type of what the block of a scope returns.
template <class Body>
struct BlockOf {
  using Block = std::decay_t<Body>;
  static_assert(std::is_lvalue_reference_v<Body> || std::is_trivially_destructible_v<Block>,
                "a scope's block captures by reference: write [&], or keep the block in a variable "
                "and pass that (GCC 12 destroys owning captures twice in an awaited expression)");
  using Result = std::invoke_result_t<Block&, Scope&>;
  static_assert(IsTask<Result>::value,
                "the block of a scope is a coroutine: [&](Scope& s) -> Task<void> { ... }");
  using Value = typename Result::value_type;
};

template <ScopePolicy kPolicy>
struct PolicyTag {};

}  // namespace detail

// What scope() may be given before the block.
inline constexpr detail::PolicyTag<ScopePolicy::fail_fast> fail_fast{};
inline constexpr detail::PolicyTag<ScopePolicy::collect_all> collect_all{};
inline constexpr detail::PolicyTag<ScopePolicy::first_success> first_success{};

// co_await scope([&](Scope& s) -> Task<R> { ... }): runs the block as part of this task; no task
// spawned into `s` outlives it. Gives what the block returns.
//
// The policy says what a failure does. What the block itself throws always cancels the tasks, and is
// thrown from here.
//
//   scope(block)                 fail_fast: the first failure of a task does the same.
//   scope(collect_all, block)    Every task runs to its end. The failures that nobody has looked at
//                                through a handle by then are thrown together, as TasksFailed.
//   scope(first_success, block)  The first of the tasks that the block started and that completes
//                                cancels the others and, if it still runs, the block. Gives the id of
//                                that task; its handle has the value. AllFailed when none completes.
//
// Cancel. Before start: the block begins, and throws at its first suspension. While parked: the
// block unwinds, its tasks are cancelled and joined, then Cancelled goes on outwards. After
// completion of the block: the tasks are cancelled and joined.
template <ScopePolicy kPolicy, class Body>
auto scope(detail::PolicyTag<kPolicy>, Body&& body) {
  using Block = detail::BlockOf<Body>;
  if constexpr (kPolicy == ScopePolicy::first_success) {
    static_assert(
        std::is_void_v<typename Block::Value>,
        "the block of a first_success scope returns nothing, because it may be cut short: "
        "the value is that of the winner, whose id co_await scope(...) gives");
    return detail::first_success_block<typename Block::Block>(std::forward<Body>(body));
  } else {
    return detail::scope_block<typename Block::Value, typename Block::Block>(
        kPolicy, std::forward<Body>(body));
  }
}
template <class Body>
auto scope(Body&& body) {
  return scope(fail_fast, std::forward<Body>(body));
}

// ---- shield ----

namespace detail {

template <class A>
using AwaitedOf = typename std::remove_cvref_t<A>::value_type;

template <class A>
Task<AwaitedOf<A>> shielded(A operation) {
  CancelRegion region(CancelRegion::Kind::shield);
  co_return co_await std::move(operation);
}

}  // namespace detail

// co_await shield(operation): cancels from outside wait until the operation has ended. For clean-up
// that must be done. Takes a Task or a Handle.
//
// Cancel. Before start, while parked and after completion: held back; the first suspension after
// the shield throws.
template <class A>
auto shield(A&& operation) {
  return detail::shielded<std::decay_t<A>>(std::forward<A>(operation));
}

// ---- within ----

namespace detail {

// A region that cancels itself at a point in time.
class TimedRegion : private Timer {
 public:
  TimedRegion(Duration limit, std::source_location site);
  ~TimedRegion();

  // To be asked where a Cancelled was caught: was it this region's, and nobody else's?
  bool expired() noexcept;

 private:
  static void on_time(Scheduler& scheduler, Timer& timer) noexcept;

  Scheduler& scheduler_;
  std::source_location site_;
  CancelRegion region_;
};

template <class A>
Task<Timed<AwaitedOf<A>>> timed(Duration limit, A operation, std::source_location site) {
  using T = AwaitedOf<A>;
  TimedRegion region(limit, site);
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(operation);
      co_return Timed<T>(Unit());
    } else {
      co_return Timed<T>(co_await std::move(operation));
    }
  } catch (const Cancelled&) {
    if (!region.expired()) throw;
  }
  co_return TimedOut();
}

}  // namespace detail

// co_await within(5ms, operation): the result of the operation, or TimedOut if it takes longer. A
// Task that runs out of time is cancelled and has ended before this returns; of a Handle or Future
// only the wait is given up. A value that arrives all the same wins over the timeout.
//
// Cancel. Before start: the operation begins, and throws at its first suspension. While parked: the
// operation is cancelled and has ended before Cancelled goes on. After completion: the result is
// delivered first.
template <class A>
auto within(Duration limit, A&& operation,
            std::source_location site = std::source_location::current()) {
  return detail::timed<std::decay_t<A>>(limit, std::forward<A>(operation), site);
}

// ---- race and any over operations that they start themselves ----

// The winner of a race over tasks of one type.
template <class T>
struct Won {
  Won(std::size_t which, ValueOf<T> what) : index(which), value(std::move(what)) {}
  std::size_t index;
  ValueOf<T> value;
};

namespace detail {

// Makes a task of an operation that lives in the frame of the block that awaits it.
template <class T>
Task<T> carry(Task<T> operation) {
  co_return co_await std::move(operation);
}

template <class T>
std::vector<Handle<T>> start_all(Scope& scope, std::vector<Task<T>>& operations) {
  std::vector<Handle<T>> handles;
  handles.reserve(operations.size());
  for (Task<T>& operation : operations)
    handles.push_back(scope.spawn(carry<T>, std::move(operation)));
  return handles;
}

void cancel_losers(Scope& scope);

enum class Decide : std::uint8_t { first_settled, first_success };

template <class T>
Task<Won<T>> contest(std::vector<Task<T>> operations, Decide by) {
  Scope scope(ScopePolicy::isolate);
  std::vector<Handle<T>> handles;
  std::optional<std::size_t> winner;
  try {
    handles = start_all(scope, operations);
    if (by == Decide::first_settled) {
      winner = co_await FirstSettled<Handle<T>>(handles);
    } else {
      winner = co_await FirstSuccess<Handle<T>>(handles);
    }
    cancel_losers(scope);
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await close_scope(scope, winner.has_value());
  if (!winner) {
    std::vector<std::exception_ptr> errors;
    for (const Handle<T>& handle : handles) errors.push_back(outcome_of(handle, false).error());
    throw AllFailed(std::move(errors));
  }
  Handle<T> won = std::move(handles[*winner]);
  handles.clear();
  if constexpr (std::is_void_v<T>) {
    co_await std::move(won);
    co_return Won<T>(*winner, Unit());
  } else {
    co_return Won<T>(*winner, co_await std::move(won));
  }
}

// Over different types: each contender puts its value into the same variant.
template <class V, std::size_t I, class T>
Task<V> carry_into(Task<T> operation) {
  if constexpr (std::is_void_v<T>) {
    co_await std::move(operation);
    co_return V(std::in_place_index<I>);
  } else {
    co_return V(std::in_place_index<I>, co_await std::move(operation));
  }
}

template <class V, std::size_t... Is, class... Ts>
std::vector<Task<V>> to_variants(std::index_sequence<Is...>, Task<Ts>&&... operations) {
  std::vector<Task<V>> out;
  out.reserve(sizeof...(Ts));
  (out.push_back(carry_into<V, Is, Ts>(std::move(operations))), ...);
  return out;
}

template <class First, class... Rest>
inline constexpr bool all_same = (std::is_same_v<First, Rest> && ...);

template <class T, class... Ts>
auto contest_of(Decide by, Task<T>&& first, Task<Ts>&&... rest) {
  if constexpr (all_same<T, Ts...>) {
    std::vector<Task<T>> operations;
    operations.reserve(1 + sizeof...(Ts));
    operations.push_back(std::move(first));
    (operations.push_back(std::move(rest)), ...);
    return contest<T>(std::move(operations), by);
  } else {
    using V = std::variant<ValueOf<T>, ValueOf<Ts>...>;
    return contest<V>(to_variants<V>(std::make_index_sequence<1 + sizeof...(Ts)>(),
                                     std::move(first), std::move(rest)...),
                      by);
  }
}

}  // namespace detail

// co_await race(a(), b()): starts them all; the first to settle decides, its value or its error. The
// others are cancelled and have ended before this returns. Won<T>, or Won<variant> for several types.
//
// Cancel. Before start: they are started and cancelled at once. While parked: all are cancelled and
// joined, then Cancelled goes on. After completion: the result is delivered first.
template <class T, class... Ts>
auto race(Task<T>&& first, Task<Ts>&&... rest) {
  return detail::contest_of(detail::Decide::first_settled, std::move(first), std::move(rest)...);
}
template <class T>
Task<Won<T>> race(std::vector<Task<T>> operations) {
  if (operations.empty()) detail::throw_empty_race("race()");
  return detail::contest<T>(std::move(operations), detail::Decide::first_settled);
}

// As race, but the first *success* decides; AllFailed when there is none.
template <class T, class... Ts>
auto any(Task<T>&& first, Task<Ts>&&... rest) {
  return detail::contest_of(detail::Decide::first_success, std::move(first), std::move(rest)...);
}
template <class T>
Task<Won<T>> any(std::vector<Task<T>> operations) {
  if (operations.empty()) detail::throw_empty_race("any()");
  return detail::contest<T>(std::move(operations), detail::Decide::first_success);
}

// ---- cancel_and_join ----

namespace detail {
template <class T>
Task<Outcome<T>> join_cancelled(Handle<T> handle) {
  co_return co_await handle.outcome();
}
}  // namespace detail

// Asks the task to stop, now; awaited, waits until it has ended, and says how.
//
// Cancel. Before start and while parked: the wait is given up, the task stays cancelled. After
// completion: the outcome is delivered first.
template <class T>
Task<Outcome<T>> cancel_and_join(Handle<T> handle, std::string_view why = {},
                                 std::source_location site = std::source_location::current()) {
  handle.cancel(why, site);
  return detail::join_cancelled<T>(std::move(handle));
}

}  // namespace tiffany
