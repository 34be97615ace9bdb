#include "tiffany/core/interval.hpp"

#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"

namespace tiffany {

Interval::Interval(Duration period, MissedTicks missed) : period_(period), missed_(missed) {
  if (period <= Duration::zero()) {
    throw Error(Errc::bad_argument,
                "An interval was made with a period of " + std::to_string(period.count()) +
                    " ns, so all of its ticks would be due at once. A period is positive.");
  }
  due_ = Scheduler::require("Interval").deadline_in(period);
}

void Interval::reset() { due_ = Scheduler::require("Interval::reset()").deadline_in(period_); }

Interval::Next Interval::next() noexcept { return Next(*this); }

// Another task may have had the same tick before; then the interval has gone on already. A real
// clock is always a little late: the grid of `delay` moves only when nobody waited, or a tick was
// lost.
void Interval::delivered(Time tick, bool waited, const Scheduler& scheduler) noexcept {
  if (tick != due_) return;
  const Time time = scheduler.deadline_in(Duration::zero());
  const Duration late = time - due_;
  Time from = due_;
  if (missed_ == MissedTicks::delay && (!waited || late >= period_)) from = time;
  if (missed_ == MissedTicks::skip) from = due_ + late / period_ * period_;
  due_ = detail::saturating_add(from, period_);
}

bool Interval::Next::answer(TaskRecord& asker) noexcept {
  tick_ = interval_->due_;
  return tick_ <= Scheduler::owner(asker)->now();
}

void Interval::Next::enlist(TaskRecord& asker) noexcept {
  task = &asker;
  Scheduler::owner(asker)->arm(*this, tick_);
}

void Interval::Next::leave() noexcept {
  if (armed()) Scheduler::owner(*task)->disarm(*this);
}

Time Interval::Next::finish() noexcept {
  interval_->delivered(tick_, task != nullptr, *Scheduler::current());
  return tick_;
}

// Alone or in a race: the call that the task is parked on knows.
void Interval::Next::on_alarm(Scheduler& scheduler, Timer& timer) noexcept {
  auto& next = static_cast<Next&>(timer);
  next.task->waiting_on()->on_settled(scheduler, next);
}

std::string Interval::Next::describe() const {
  return "the tick of an interval at " + time_text(tick_);
}

}  // namespace tiffany
