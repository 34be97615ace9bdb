// Tasks that block the thread instead of taking turns.
#include <algorithm>
#include <utility>

#include "core/inline_order.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany {

void InlineOrder::push(TaskRecord& task) {
  tasks_[task.priority()].push_back(&task);
  ++size_;
}

TaskRecord& InlineOrder::pop() {
  const auto best = tasks_.begin();
  TaskRecord& task = *best->second.front();
  best->second.pop_front();
  if (best->second.empty()) tasks_.erase(best);
  --size_;
  return task;
}

void InlineOrder::remove(TaskRecord& task) noexcept {
  const auto found = tasks_.find(task.priority());
  // From the end: it was woken a moment ago.
  std::deque<TaskRecord*>& queue = found->second;
  queue.erase(std::find(queue.rbegin(), queue.rend(), &task).base() - 1);
  if (queue.empty()) tasks_.erase(found);
  --size_;
}

Options&& Options::wait_inline() && {
  policy_ = std::make_unique<InlineOrder>();
  wait_inline_ = true;
  return std::move(*this);
}

bool Scheduler::wait_inline(TaskRecord& task) {
  const bool for_time = task.waiting_on_->waits_for_time();
  if (!for_time && !task.waiting_on_->waits_for_outside()) return false;
  // Meanwhile it is parked like any other, so that a timeout can cancel it.
  running_ = nullptr;
  const detail::Watch::Wait wait(watch_, task);
  const detail::Pulse::Rest rest(pulse_);
  while (task.state_ == TaskState::blocked) {
    look_outside();
    if (task.state_ != TaskState::blocked) break;
    if (!for_time && !ready_.empty()) return false;  // they may be what it waits for
    idle(kEndOfTime);
  }
  inline_order_->remove(task);
  running_ = &task;
  task.state_ = TaskState::running;
  if (task.has(TaskRecord::kDeliverCancel)) {
    task.clear(TaskRecord::kDeliverCancel);
    deliver_cancel_ = true;
  }
  return true;
}

}  // namespace tiffany
