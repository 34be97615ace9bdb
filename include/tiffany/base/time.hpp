// Time as Tiffany sees it: nanoseconds on the clock of one scheduler.
//
// A `Time` comes from `tiffany::now()` and is only comparable with times of the same scheduler: a
// virtual clock starts at zero, a real one follows the monotonic clock of the operating system.
// There is deliberately no `SchedulerClock::now()`: time enters a program through its scheduler
// alone, so that the same program can run on either clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace tiffany {

struct SchedulerClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SchedulerClock, duration>;
  static constexpr bool is_steady = true;
};

using Duration = SchedulerClock::duration;
using Time = SchedulerClock::time_point;

// The instant a clock can never pass; adding to a time saturates here instead of overflowing.
inline constexpr Time kEndOfTime = Time::max();

namespace detail {

constexpr Time saturating_add(Time start, Duration delay) noexcept {
  return delay > kEndOfTime - start ? kEndOfTime : start + delay;
}

}  // namespace detail

}  // namespace tiffany
