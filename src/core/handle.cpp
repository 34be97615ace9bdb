#include "tiffany/core/handle.hpp"

namespace tiffany {
namespace detail {

void throw_empty_handle() {
  throw Error(Errc::stale_handle,
              "An empty handle was used: it was default-made or moved from. Use the handle that "
              "spawn() returned.");
}

void throw_value_taken(const TaskRecord& task) {
  throw Error(Errc::value_taken,
              "The result of " + task.describe() +
                  " can only be moved, and an earlier await has taken it. Let one "
                  "waiter take it and share it from there.");
}

}  // namespace detail

void refuse_self_join(const Waitable& target, const TaskRecord& task) {
  if (&target != &task) return;
  throw Error(Errc::self_join, "The " + task.describe() +
                                   " waits for itself, which can never end. Did a handle to the "
                                   "running task get into what it awaits?");
}

Answer begin_join(Waitable& target, TaskRecord& task, Waiter& waiter) {
  if (target.settled()) return Answer::now;
  refuse_self_join(target, task);
  target.add_waiter(waiter, task);
  return Answer::parked;
}

std::exception_ptr error_to_throw(Waitable& target) {
  target.mark_observed();
  std::exception_ptr error = target.error();
  const auto* task = target.as_task();
  Scheduler* scheduler = Scheduler::current();
  if (task != nullptr && scheduler != nullptr) scheduler->exceptions().comes(error, task->trace());
  return error;
}

}  // namespace tiffany
