// The end of a scheduler that still has tasks: first politely, then without shields, then by force.
#include <utility>

#include "tiffany/core/scheduler.hpp"

namespace tiffany {
namespace {

// How many slices the tasks get to unwind when their scheduler is destroyed, per task.
constexpr std::size_t kTeardownSlices = 64;

}  // namespace

// A task of one of the scopes that this task has opened; null when they have none.
TaskRecord* Scheduler::task_in_scopes_of(const TaskRecord& task) noexcept {
  for (CancelRegion* region = task.region_; region != nullptr; region = region->outer_) {
    if (region->scope_ != nullptr && region->scope_->first_ != nullptr)
      return region->scope_->first_;
  }
  return nullptr;
}

// The tasks of its scopes go first: what they hold may refer to its frames.
void Scheduler::drop_by_force(TaskRecord& first) noexcept {
  for (TaskRecord* next = &first; next != nullptr;) {
    TaskRecord& task = *next;
    next = task_in_scopes_of(task);
    if (next != nullptr) continue;
    if (&task != &first) next = &task.scope_->region_->task();  // back to the one it was found in
    task.add_ref();
    const bool parked = task.waiting_on_ != nullptr;
    if (parked) {
      std::exchange(task.waiting_on_, nullptr)->withdraw(task);
    } else {
      // It is in the queue, and its place there keeps the reference.
      const bool counted =
          task.has(TaskRecord::kDeliverCancel) && task.state_ == TaskState::suspended;
      if (!counted) ++alarms_;
      task.set(TaskRecord::kDeliverCancel);
      ++dead_in_queue_;
      ready_.keep_place(task.priority_);
    }
    task.drop_code();
    finish(task, TaskState::cancelled);
    if (parked) task.release();
  }
}

// First politely, then without shields, then by force.
void Scheduler::drop_everything() noexcept {
  Scheduler* const outer = std::exchange(current_, this);
  const CancelReasonPtr why = reason(CancelCause::shutdown, "its scheduler is being destroyed",
                                     std::source_location::current());
  root_.cancel_all(why);
  // An order of one's own may throw, for lack of memory or because it wants something else. It is asked
  // again, and what it throws is reported once.
  bool reported = false;
  const auto unwind = [this, &reported](std::size_t tasks) {
    for (std::size_t left = tasks * kTeardownSlices; left > 0; --left) {
      // A task whose operation is being taken back leaves it when the kernel has let go of it.
      if (ready_.empty() && !reactor_->await_taken_back(*this)) return;
      try {
        run_turn(1);
      } catch (...) {
        if (!std::exchange(reported, true)) {
          report_lost("The order of the tasks threw while its scheduler was being destroyed",
                      std::current_exception());
        }
      }
    }
  };
  unwind(live_tasks_);
  tearing_down_ = true;
  if (live_tasks_ > 0) {  // or all slots of a million ended tasks would be looked at
    for_each_task([&](TaskRecord& task) {
      const Ref<TaskRecord> held(&task);
      cancel(task, why);
      if (!task.settled()) refresh_cancel(task);
    });
  }
  unwind(live_tasks_);
  // Again, when destructors have spawned some more.
  while (live_tasks_ > 0) {
    for_each_task([this](TaskRecord& task) { drop_by_force(task); });
  }
  unwind(ready_.size());  // places of tasks that have ended
  current_ = outer;
}

}  // namespace tiffany
