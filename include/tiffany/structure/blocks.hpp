// Blocks of structured concurrency, built from coroutines: scope, within, shield, cancel_and_join.
// For several operations at once see structure/combine.hpp.
//
// In each of them everything that was started has ended when the co_await returns or throws.
#pragma once

#include <exception>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/base/outcome.hpp"
#include "tiffany/base/temporaries.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/engine/awaitable.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany {

// ---- scope ----

namespace detail {

// The second half of every block over a scope: waits for its tasks whatever happens meanwhile, and
// throws what the scope has to throw. It is made before the first task is, and awaited in any case:
// a block that had no memory for its end would leave its tasks behind.
Task<void> close_scope(Scope& scope);

template <class R, class Body>
Task<R> scope_block(ScopePolicy policy, Body body) {
  Scope scope(policy);
  Task<void> close = close_scope(scope);
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
  co_await std::move(close);
  if constexpr (!std::is_void_v<R>) co_return std::move(*result);
}

template <class Body>
Task<TaskId> first_success_block(Body body) {
  Scope scope(ScopePolicy::first_success);
  Task<void> close = close_scope(scope);
  try {
    co_await body(scope);
  } catch (...) {
    scope.block_threw(std::current_exception());
  }
  co_await std::move(close);
  co_return scope.winner();
}

// The type of what the block of a scope returns.
template <class Body>
struct BlockOf {
  using Block = std::decay_t<Body>;
  static_assert(!owns_captures<Body>(),
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
inline constexpr detail::PolicyTag<ScopePolicy::report> report_failures{};

// co_await scope([&](Scope& s) -> Task<R> { ... }): runs the block as part of this task; no task
// spawned into `s` outlives it. Gives what the block returns.
//
// The policy says what a failure does. What the block itself throws always cancels the tasks, and
// is thrown from here.
//
//   scope(block)                 fail_fast: the first failure of a task does the same.
//   scope(collect_all, block)    Every task runs to its end. The failures that nobody has looked at
//                                through a handle by then are thrown together, as TasksFailed.
//   scope(first_success, block)  The first of the tasks that the block started and that completes
//                                cancels the others and, if it still runs, the block. Gives the id
//                                of that task; its handle has the value. AllFailed when none
//                                completes. The failures of the others are reported to the log.
//   scope(report_failures, block)  For servers: a failure of a task is reported to the log and
//                                counted (Scope::failures), and the block and the others go on.
//                                Nothing is kept of a task that has ended and has no handle, so the
//                                memory is that of the tasks that are alive.
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
Task<Awaited<A>> shielded(A operation) {
  CancelRegion region(CancelRegion::Kind::shield);
  co_return co_await std::move(operation);
}

}  // namespace detail

// co_await shield(operation): cancels from outside wait until the operation has ended. For clean-up
// that must be done. Takes everything that can be awaited.
//
// Cancel. Before start, while parked and after completion: held back; the first suspension after
// the shield throws.
template <class A>
auto shield(A&& operation) {
  detail::require_awaitable<A>();
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
Task<Timed<Awaited<A>>> timed(Duration limit, A operation, std::source_location site) {
  using T = Awaited<A>;
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

// co_await within(5ms, operation): the result of the operation, or TimedOut if it takes longer.
// Takes everything that can be awaited. A Task or a call that runs out of time is cancelled and has
// ended before this returns; of a Handle or Future only the wait is given up. A value that arrives
// all the same wins over the timeout.
//
// Cancel. Before start: the operation begins, and throws at its first suspension. While parked: the
// operation is cancelled and has ended before Cancelled goes on. After completion: the result is
// delivered first.
template <class A>
auto within(Duration limit, A&& operation,
            std::source_location site = std::source_location::current()) {
  detail::require_awaitable<A>();
  return detail::timed<std::decay_t<A>>(limit, std::forward<A>(operation), site);
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
