#include "tiffany/core/waitable.hpp"

#include "tiffany/core/system_call.hpp"
#include "tiffany/core/task_record.hpp"

namespace tiffany {

void Waitable::settle(Scheduler& scheduler, TaskState state) noexcept {
  state_ = state;
  // One at a time from the front: a call that hears of this may withdraw other waiters of its own.
  while (Waiter* waiter = waiters_.pop()) {
    waiter->task->waiting_on()->on_settled(scheduler, *waiter);
  }
}

}  // namespace tiffany
