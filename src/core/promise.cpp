#include "tiffany/core/promise.hpp"

namespace tiffany {

void PromiseCore::fail(Scheduler& scheduler, std::exception_ptr error) noexcept {
  error_ = std::move(error);
  settle(scheduler, State::failed);
}

namespace detail {

void throw_settled_twice() {
  throw Error(Errc::already_settled,
              "A promise was completed or failed a second time. The first value stands; ask done() "
              "first when several places may complete it.");
}

void break_promise(PromiseCore& core) noexcept {
  // Without a scheduler on this thread there is nobody left who could wait.
  if (Scheduler* scheduler = Scheduler::current()) {
    core.fail(*scheduler, std::make_exception_ptr(
                              Error(Errc::broken_promise,
                                    "A promise was dropped before it was completed, so what was "
                                    "awaited can never come. Complete or fail it on every path.")));
  }
}

}  // namespace detail
}  // namespace tiffany
