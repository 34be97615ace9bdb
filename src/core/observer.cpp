// Level 1: what the scheduler does for whoever looks at it; and what it refuses on its way out.
#include "tiffany/detail/core/observer.hpp"

#include "tiffany/core/scheduler.hpp"

namespace tiffany {

// The rest of a park that few schedulers have.
bool Scheduler::park_aside(TaskRecord& task, const CallName& name) {
  if (observer_ != nullptr) {
    const SystemCall& call = *task.waiting_on_;
    observer_->parked(task, call, name, call.parked_for());
  }
  return inline_order_ != nullptr && wait_inline(task);
}

// A wake that is told.
[[gnu::noinline]] void Scheduler::tell_woken(TaskRecord& task, const SystemCall& call) noexcept {
  const WaitKind kind = call.parked_for();
  task.waiting_on_ = nullptr;
  ++counters_.wakes_by[static_cast<std::size_t>(kind)];
  make_ready(task, TaskState::ready);
  observer_->woken(task, kind, false);
}

void Scheduler::set_observer(detail::Observer* observer) noexcept {
  observer_ = observer;
  limits_.set_observer(observer);
  watch_.set_observed(observer != nullptr);
  park_aside_ = inline_order_ != nullptr || observer_ != nullptr;
  // The slices after the one that runs are told apart. (Those of an order of one's own are anyway.)
  if (running_ != nullptr && ready_.policy() == nullptr) last_head_ = ring_->head;
}

void Scheduler::set_pulse(detail::Pulse* pulse) noexcept {
  if (pulse_ != nullptr && current_ == this) pulse_->left();
  pulse_ = pulse;
  if (pulse_ == nullptr || current_ != this) return;
  if (running_ != nullptr) pulse_->beat();  // the turn that runs ends with another one
  pulse_->driven();
}

void Scheduler::refuse_new_tasks(bool refuse) noexcept {
  root_.refusing_ = refuse;
  root_.look_from_ = refuse || root_.own_arena_ ? 0 : root_.most_tasks_;
}

}  // namespace tiffany
