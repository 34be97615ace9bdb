// An interval: ticks, one every so long, on the scheduler's clock.
//
//   Interval ticks(100ms);
//   for (;;) {
//     co_await ticks.next();   // 100 ms after the interval was made, then 200 ms, 300 ms, ...
//     work();                  // however long this takes
//   }
//
// The ticks lie on a grid that begins where the interval is made, so they do not drift as sleeps in
// a loop do. What becomes of ticks that were due while nobody waited is said by MissedTicks.
//
// Lifetime: an interval is made in a task and used by tasks of the same scheduler; it outlives the
// calls of next(). Of several tasks that wait for one tick each gets it. Thread safety: none; see
// core/scheduler.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "tiffany/base/time.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/timer.hpp"
#include "tiffany/core/waiter.hpp"

namespace tiffany {

enum class MissedTicks : std::uint8_t {
  burst,  // each is delivered, at once, until the grid is reached again
  delay,  // the first of them is; the next comes one period later, and the grid begins there
  skip,   // the first of them is; the next is the next one on the grid
};

class Interval {
 public:
  class Next;

  // In a task. A period that is not positive is an error (Errc::bad_argument).
  explicit Interval(Duration period, MissedTicks missed = MissedTicks::burst);
  Interval(const Interval&) = delete;
  Interval& operator=(const Interval&) = delete;

  // Awaited: the time at which the tick was due. At once when that has passed.
  Next next() noexcept;

  // When the next tick is due.
  Time due() const noexcept { return due_; }
  Duration period() const noexcept { return period_; }
  // The next tick is due one period from now, and the grid begins there.
  void reset();

 private:
  void delivered(Time tick, bool waited, const Scheduler& scheduler) noexcept;

  const Duration period_;
  const MissedTicks missed_;
  Time due_;
};

// Cancel. Before start: answered when the tick is due, else Cancelled is thrown. While parked: the
// timer is disarmed; the tick is still to come. After completion: the tick is delivered; the next
// suspension throws.
class [[nodiscard("next does nothing until awaited: co_await ticks.next()")]] Interval::Next final
    : public SystemCall,
      public Waiter,
      private Timer {
 public:
  using value_type = Time;
  static constexpr CallName call_name{"next_tick"};

  explicit Next(Interval& interval) noexcept : Timer(&Next::on_alarm), interval_(&interval) {}
  Next(Next&& other) noexcept
      : SystemCall(), Waiter(), Timer(&Next::on_alarm), interval_(other.interval_) {}

  Answer start(Scheduler&, TaskRecord& asker) noexcept {
    if (answer(asker)) return Answer::now;
    enlist(asker);
    return Answer::parked;
  }
  void withdraw(TaskRecord&) noexcept override { leave(); }
  void on_settled(Scheduler& scheduler, Waiter&) noexcept override { wake(scheduler, *task); }
  Time finish() noexcept;
  std::string describe() const override;
  static constexpr WaitKind wait_kind() noexcept { return WaitKind::sleep; }
  bool waits_for_time() const noexcept override { return true; }

  // For race; see sync/parking_call.hpp.
  bool answer(TaskRecord& asker) noexcept;
  void enlist(TaskRecord& asker) noexcept;
  void leave() noexcept;
  void pass_on() noexcept {}

 private:
  static void on_alarm(Scheduler& scheduler, Timer& timer) noexcept;

  Interval* interval_;
  Time tick_;
};

}  // namespace tiffany
