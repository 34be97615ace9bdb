#include "tiffany/core/promise.hpp"

#include <cstdio>

namespace tiffany {

void PromiseCore::fail(Scheduler& scheduler, std::exception_ptr error) noexcept {
  error_ = std::move(error);
  flags_ = kWasFailed;
  settle(scheduler, TaskState::failed);
}

// A future may outlive its scheduler, so the log is that of the scheduler that runs here, if one
// does.
void PromiseCore::report_unseen() const noexcept {
  if (Scheduler* const scheduler = Scheduler::current()) {
    return scheduler->reports().lost("A promise was failed, and nobody looked at the error",
                                     error_);
  }
  try {
    std::fprintf(stderr, "A promise was failed, and nobody looked at the error: %s\n",
                 error_text(error_).c_str());
  } catch (const std::bad_alloc&) {
    std::fputs("A promise was failed, and nobody looked at the error\n", stderr);
  }
}

void PromiseCore::abandon() noexcept {
  try {
    error_ = std::make_exception_ptr(
        Error(Errc::broken_promise,
              "A promise was dropped before it was completed, so what was awaited can never come. "
              "Complete or fail it on every path."));
  } catch (const std::bad_alloc&) {
    error_ = std::current_exception();
  }
  // It may be dropped while nobody drives the scheduler; those who wait know theirs.
  Scheduler* scheduler = has_waiters() ? Scheduler::owner(*waiters_.front()->task) : nullptr;
  if (scheduler != nullptr) {
    settle(*scheduler, TaskState::failed);
  } else {
    state_ = TaskState::failed;
  }
}

namespace detail {

void throw_settled_twice() {
  throw Error(Errc::already_settled,
              "A promise was completed or failed a second time. The first value stands; ask done() "
              "first when several places may complete it.");
}

}  // namespace detail
}  // namespace tiffany
