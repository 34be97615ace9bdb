#include "tiffany/core/counters.hpp"

#include "tiffany/core/scheduler.hpp"

namespace tiffany {

// What the loop keeps in another form, because it decides with it or is faster so, is added here.
Counters Scheduler::counters() const noexcept {
  Counters all = counters_;
  all.runs = slices();
  all.completed = ended_[0];
  all.failed = ended_[1];
  all.cancelled = ended_[2];
  all.admitted = live_tasks_ + all.completed + all.failed + all.cancelled;
  for (const std::uint64_t count : throttled_) all.throttled += count;
  all.yields = yields_;
  all.held = held_;
  for (std::size_t kind = 0; kind < kWaitKinds; ++kind) {
    all.parks += all.parks_by[kind];
    all.wakes += all.wakes_by[kind];
    all.withdrawn += all.withdrawn_by[kind];
    all.waiting[kind] = all.parks_by[kind] - all.wakes_by[kind] - all.withdrawn_by[kind];
  }
  return all;
}

namespace {
const PlainCall kYield{"yield"};  // no object of its own; the loop counts it
}  // namespace

std::uint64_t Scheduler::call_count(CallNumber number) const noexcept {
  return calls_[number] + (number == kYield.number() ? yields_ : 0);
}

}  // namespace tiffany
