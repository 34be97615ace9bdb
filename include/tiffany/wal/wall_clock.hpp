// The time of records: microseconds since 1970, by the clock of a scheduler and an offset that is
// fixed when a store is opened. It never goes back, also when the clock of the system does between
// two processes.
#pragma once

#include <cstdint>

#include "tiffany/core/scheduler.hpp"

namespace tiffany::wal {

class WallClock {
 public:
  // `epoch_time`: of the first moment of the scheduler's clock; negative: by the clock of the
  // system, or under a virtual clock that of the youngest record. `last_time` is the time of the
  // youngest record.
  WallClock(Scheduler& scheduler, std::int64_t epoch_time, std::int64_t last_time);

  // Constant within a turn of the scheduler.
  std::int64_t now() const noexcept;
  // By how many microseconds the clock was behind the youngest record: zero, unless it was set
  // back. now() goes on from that record then, and is ahead of the clock by so much.
  std::int64_t behind() const noexcept { return behind_; }
  // When the clock of the scheduler will show that time.
  Time scheduler_time(std::int64_t wall) const noexcept;

 private:
  Scheduler* scheduler_;
  std::int64_t offset_ = 0;  // wall time minus the scheduler's
  std::int64_t behind_ = 0;
};

}  // namespace tiffany::wal
