// The end of a scheduler that still has tasks: first politely, then without shields, then by force.
#include <utility>

#include "core/teardown.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany::detail {
namespace {

// How many slices the tasks get to unwind when their scheduler is destroyed, per task.
constexpr std::size_t kTeardownSlices = 64;

}  // namespace

// A task of one of the scopes that this task has opened; null when they have none.
TaskRecord* Teardown::task_in_scopes_of(const TaskRecord& task) noexcept {
  for (CancelRegion* region = task.region_; region != nullptr; region = region->outer()) {
    if (region->scope() != nullptr && region->scope()->first_ != nullptr)
      return region->scope()->first_;
  }
  return nullptr;
}

// The tasks of its scopes go first: what they hold may refer to its frames.
void Teardown::drop_by_force(TaskRecord& first) noexcept {
  for (TaskRecord* next = &first; next != nullptr;) {
    TaskRecord& task = *next;
    next = task_in_scopes_of(task);
    if (next != nullptr) continue;
    if (&task != &first) next = &task.scope_->region_->task();  // back to the one it was found in
    task.add_ref();
    const bool parked = task.waiting_on_ != nullptr;
    if (parked) {
      scheduler_.leaves_wait(task);
      std::exchange(task.waiting_on_, nullptr)->withdraw(task);
    } else {
      // It is in the queue, and its place there keeps the reference.
      const bool counted =
          task.has(TaskRecord::kDeliverCancel) && task.state_ == TaskState::suspended;
      if (!counted) ++scheduler_.alarms_;
      task.set(TaskRecord::kDeliverCancel);
      ++scheduler_.dead_in_queue_;
      scheduler_.ready_.keep_place(task.priority_);
    }
    task.drop_code();
    scheduler_.finish(task, TaskState::cancelled);
    if (parked) task.release();
  }
}

void Teardown::unwind(std::size_t tasks) noexcept {
  for (std::size_t left = tasks * kTeardownSlices; left > 0; --left) {
    // A task whose operation is being taken back leaves it when the kernel has let go of it.
    if (!scheduler_.has_ready() && !scheduler_.reactor().await_taken_back(scheduler_)) return;
    try {
      scheduler_.run_turn(1);
    } catch (...) {
      // An order of one's own may throw, for lack of memory or because it wants something else. It
      // is asked again, and what it throws is reported once.
      if (!std::exchange(reported_, true)) {
        scheduler_.reports().lost(
            "The order of the tasks threw while its scheduler was being destroyed",
            std::current_exception());
      }
    }
  }
}

// First politely, then without shields, then by force.
void Teardown::run() noexcept {
  Scheduler* const outer = std::exchange(Scheduler::current_, &scheduler_);
  const CancelReasonPtr why = scheduler_.reason(
      CancelCause::shutdown, "its scheduler is being destroyed", std::source_location::current());
  scheduler_.root().cancel_all(why);
  unwind(scheduler_.live_tasks());
  scheduler_.tearing_down_ = true;
  if (scheduler_.live_tasks() > 0) {  // or all slots of a million ended tasks would be looked at
    scheduler_.for_each_task([&](TaskRecord& task) {
      const Ref<TaskRecord> held(&task);
      scheduler_.cancel(task, why);
      if (!task.settled()) scheduler_.refresh_cancel(task);
    });
  }
  unwind(scheduler_.live_tasks());
  // Again, when destructors have spawned some more.
  while (scheduler_.live_tasks() > 0) {
    scheduler_.for_each_task([this](TaskRecord& task) { drop_by_force(task); });
  }
  unwind(scheduler_.ready_.size());  // places of tasks that have ended
  Scheduler::current_ = outer;
}

}  // namespace tiffany::detail
