// Slices that are told apart: for a watch (Options::watch), and for an observer.
#include <coroutine>

#include "tiffany/core/scheduler.hpp"

namespace tiffany::detail {

void Loop::watch_slice(TaskRecord& task, void (*slice)(Loop&, TaskRecord&)) {
  const Ref<TaskRecord> watched(&task);  // it may end
  running_ = nullptr;                    // the task before may have ended
  const bool dead = task.settled();      // only its place was left
  watch_.slice_begins(task);
  if (observer_ != nullptr && !dead) observer_->slice_begins(task);
  slice(*this, task);
  running_ = nullptr;
  task.steps_ += ready_.take_last_yields(task);
  if (observer_ != nullptr && !dead) observer_->slice_ends(task, task.state_);
  watch_.slice_ended(task, now_);
}

// What run_batch does, for an observer: slices of coroutines that yield again, each told apart.
// Ends with the first slice that did something else; false: the one at the head has to be run with
// care, and is not begun.
[[gnu::noinline]] bool Loop::run_observed(ReadyQueue::Ring& ring, std::uint64_t until) {
  const auto plain = [&] {
    return alarms_ == 0 && ring.yields[ring.head & ring.mask] < ReadyQueue::kLook;
  };
  if (observer_ == nullptr || !plain()) return false;
  count_slices_by(ring, until);
  TaskRecord* task = &tasks_.in_slot(ring.places[ring.head & ring.mask].slot());
  observer_->slice_begins(*task);
  for (;;) {
    const ReadyQueue::Place place = ring.places[ring.head & ring.mask];
    const std::uint32_t yields = ring.yields[ring.head & ring.mask];
    ++ring.head;
    running_ = task;
    resume(place.frame(ready_.origin()));
    if (Trampoline::next != Trampoline::yielded() || alarms_ > 0 || ring.empty()) {
      const Ref<TaskRecord> watched(task);  // it may end
      task->steps_ += ring.take_running_yields();
      slice_goes_on(*task, task->cursor_);
      running_ = nullptr;
      if (observer_ != nullptr) observer_->slice_ends(*task, task->state_);
      return true;
    }
    trace_ = mix(trace_, place.slot());
    count(yields_);
    ring.push(place, yields + 1);
    running_ = nullptr;
    if (observer_ == nullptr) return true;
    if (ring.head == last_head_ || !ready_.is_best(ring) || !plain()) {
      observer_->slice_ends(*task, TaskState::suspended);
      return true;
    }
    TaskRecord* const next = &tasks_.in_slot(ring.places[ring.head & ring.mask].slot());
    observer_->slice_switches(*task, *next);
    task = next;
  }
}

}  // namespace tiffany::detail
