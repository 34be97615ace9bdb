// finally: cleanup that itself has to wait, and that runs in whatever way the body ends.
//
//   const Page page = co_await finally(
//       [&]() -> Task<Page> { co_return co_await connection.fetch(url); },
//       [&]() -> Task<void> { co_await connection.say_goodbye(); });
//
// Both run as part of this task, the cleanup after the body: when that has returned, has thrown, or
// was cancelled. Gives what the body returns. What need not wait belongs into a destructor instead.
//
// Errors. What the body throws goes on when the cleanup has ended. If the cleanup throws as well,
// its error is reported to the log, like that of a task nobody looked at. If only the cleanup
// throws, its error is thrown. When there is no memory for the cleanup, that is thrown before the
// body begins.
//
// A task that is dropped by force, together with its scheduler, runs no code any more: no cleanup
// either.
//
// Cancel. Before start: the body begins, and throws at its first suspension; then the cleanup runs.
// While parked: in the body, it unwinds, the cleanup runs, then Cancelled goes on; in the cleanup,
// held back until that has ended. After completion: the result is delivered first.
#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "tiffany/base/outcome.hpp"
#include "tiffany/core/async_trace.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/structure/with.hpp"

namespace tiffany {

namespace detail {

// How the two halves of a finally have ended.
class FinallyEnd {
 public:
  void body_threw() noexcept;
  void cleanup_threw() noexcept { cleanup_ = std::current_exception(); }
  // Throws what is to be thrown, and reports what cannot be.
  void finish() const;

 private:
  std::exception_ptr body_;
  AsyncTracePtr trace_;  // of the body's error: that of the cleanup would take its place
  std::exception_ptr cleanup_;
};

template <class R, class Body, class Cleanup>
Task<R> finally_block(Body body, Cleanup cleanup) {
  Task<void> last = cleanup();  // begins when awaited; made here, where lack of memory harms nobody
  FinallyEnd end;
  std::optional<ValueOf<R>> result;
  try {
    if constexpr (std::is_void_v<R>) {
      co_await body();
      result.emplace();
    } else {
      result.emplace(co_await body());
    }
  } catch (...) {
    end.body_threw();
  }
  try {
    CancelRegion region(CancelRegion::Kind::shield);
    co_await std::move(last);
  } catch (...) {
    end.cleanup_threw();
  }
  end.finish();
  if constexpr (!std::is_void_v<R>) co_return std::move(*result);
}

}  // namespace detail

template <class Body, class Cleanup>
auto finally(Body&& body, Cleanup&& cleanup) {
  using R = typename detail::BlockResult<Body>::type;
  static_assert(std::is_void_v<typename detail::BlockResult<Cleanup>::type>,
                "the cleanup of finally() returns nothing: [&]() -> Task<void> { ... }");
  return detail::finally_block<R, std::decay_t<Body>, std::decay_t<Cleanup>>(
      std::forward<Body>(body), std::forward<Cleanup>(cleanup));
}

}  // namespace tiffany
