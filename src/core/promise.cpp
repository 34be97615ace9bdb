#include "tiffany/core/promise.hpp"

namespace tiffany {

void PromiseCore::fail(Scheduler& scheduler, std::exception_ptr error) noexcept {
  error_ = std::move(error);
  settle(scheduler, State::failed);
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
    settle(*scheduler, State::failed);
  } else {
    state_ = State::failed;
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
