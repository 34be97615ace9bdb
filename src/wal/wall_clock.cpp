#include "tiffany/wal/wall_clock.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "tiffany/core/world.hpp"

namespace tiffany::wal {
namespace {

std::int64_t microseconds_of(Time time) noexcept { return time.time_since_epoch().count() / 1000; }

}  // namespace

WallClock::WallClock(Scheduler& scheduler, std::int64_t epoch_time, std::int64_t last_time)
    : scheduler_(&scheduler) {
  const std::int64_t now = microseconds_of(scheduler_->now());
  if (epoch_time >= 0) {
    offset_ = epoch_time;
  } else if (const std::optional<std::int64_t> wall = scheduler_->world().wall_clock_us()) {
    offset_ = *wall - now;
  } else {
    offset_ = last_time;
  }
  // A clock that was set back would let sleeps last longer, and the time of tasks go back.
  behind_ = std::max<std::int64_t>(0, last_time - (now + offset_));
  offset_ += behind_;
}

std::int64_t WallClock::now() const noexcept {
  return microseconds_of(scheduler_->now()) + offset_;
}

Time WallClock::scheduler_time(std::int64_t wall) const noexcept {
  const std::int64_t there = wall - offset_;
  if (there > kEndOfTime.time_since_epoch().count() / 1000) return kEndOfTime;
  return Time(std::chrono::microseconds(there));
}

}  // namespace tiffany::wal
