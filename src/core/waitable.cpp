#include "tiffany/core/waitable.hpp"

#include "tiffany/core/system_call.hpp"
#include "tiffany/core/task_record.hpp"

namespace tiffany {

void Waitable::add_waiter(Waiter& waiter, TaskRecord& task) noexcept {
  waiter.task = &task;
  if (first_waiter_ == nullptr) {
    waiter.next = waiter.prev = &waiter;
    first_waiter_ = &waiter;
    return;
  }
  waiter.next = first_waiter_;
  waiter.prev = first_waiter_->prev;
  waiter.prev->next = &waiter;
  first_waiter_->prev = &waiter;
}

void Waitable::remove_waiter(Waiter& waiter) noexcept {
  if (!waiter.linked()) return;
  if (waiter.next == &waiter) {
    first_waiter_ = nullptr;
  } else {
    waiter.prev->next = waiter.next;
    waiter.next->prev = waiter.prev;
    if (first_waiter_ == &waiter) first_waiter_ = waiter.next;
  }
  waiter.next = waiter.prev = nullptr;
}

void Waitable::settle(Scheduler& scheduler, State state) noexcept {
  state_ = state;
  // One at a time from the front: a call that hears of this may withdraw other waiters of its own.
  while (Waiter* waiter = first_waiter_) {
    remove_waiter(*waiter);
    waiter->task->waiting_on()->on_settled(scheduler, *waiter);
  }
}

}  // namespace tiffany
