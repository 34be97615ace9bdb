// Sleep, yield, checkpoint; and the plain calls log, now and this_task, which never suspend.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

#include "tiffany/base/time.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/system_call.hpp"

namespace tiffany {

// co_await sleep(10ms): goes on after that long, counted from the call of sleep() and never early:
// on a real clock also when the turn has taken long already, so that now() + 10ms has passed. Zero
// goes through the timers too; a negative time is an error. Cancel. Before start: the timer is not
// armed. While parked: it is disarmed, and a virtual clock does not jump to it any more. After
// completion: the sleep is over, and the next suspension throws.
class [[nodiscard("sleep does nothing until awaited: co_await sleep(...)")]] Sleep final
    : public SystemCall,
      private Timer {
 public:
  static constexpr CallName call_name{"sleep"};
  explicit Sleep(Time deadline) noexcept : Timer(&Sleep::on_alarm, deadline) {}

  Answer start(Scheduler& scheduler, TaskRecord& task) noexcept {
    task_ = &task;
    scheduler.arm(*this, deadline());
    return Answer::parked;
  }
  void withdraw(TaskRecord& task) noexcept override { Scheduler::owner(task)->disarm(*this); }
  void finish() noexcept {}
  std::string describe() const override;
  static constexpr WaitKind wait_kind() noexcept { return WaitKind::sleep; }
  bool waits_for_time() const noexcept override { return true; }

 private:
  static void on_alarm(Scheduler& scheduler, Timer& timer) noexcept;

  TaskRecord* task_ = nullptr;
};

Sleep sleep(Duration delay);
// A time that has passed is allowed, and goes through the timers like zero.
Sleep sleep_until(Time deadline);

// co_await yield(): to the back of the queue; others of the same priority run first.
// Cancel. Before start and while queued: thrown at the yield. It has no result that could win.
// The one call that is no object of its own: the run loop handles it.
class [[nodiscard("yield does nothing until awaited: co_await yield()")]] Yield {
 public:
  constexpr Yield() noexcept = default;
};
constexpr Yield yield() noexcept { return Yield(); }

// co_await checkpoint(): gives way only when the quantum is spent, and stops here if cancelled. For
// loops that compute.
// Cancel. Always thrown here; it has no result that could win.
class [[nodiscard("checkpoint does nothing until awaited")]] Checkpoint final : public InstantCall {
 public:
  static constexpr CallName call_name{"checkpoint"};
  Checkpoint() noexcept = default;
  Answer start(Scheduler& scheduler, TaskRecord&) noexcept {
    // Parked with nothing registered: the scheduler throws at once when a cancel is pending.
    return scheduler.cancel_pending() ? Answer::parked : Answer::now;
  }
  void finish() noexcept {}
};
inline Checkpoint checkpoint() noexcept { return Checkpoint(); }

// log("text"): writes a line to the scheduler's log, with the time and the task. A plain call: it
// never suspends, so a cancel does nothing to it. Counted and traced as the system call it is.
void log(std::string_view message);

// The time of this turn, on the clock of the scheduler that runs the caller.
Time now();

namespace this_task {
TaskId id();
// Shows in reports and logs.
void set_name(std::string_view name);
std::string_view name();
// Asks the running task itself to stop; its next suspension throws.
void cancel(std::string_view why = {}, std::source_location site = std::source_location::current());
}  // namespace this_task

}  // namespace tiffany
