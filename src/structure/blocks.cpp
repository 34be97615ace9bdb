#include "tiffany/structure/blocks.hpp"

namespace tiffany {

namespace detail {

Task<void> close_scope(Scope& scope) {
  try {
    if (!scope.has_result()) co_await scope.join();
  } catch (const Cancelled&) {
    scope.join_cancelled();
  }
  {
    // From here on a cancel would have nothing to cut short: everything is being cancelled already.
    CancelRegion closing(CancelRegion::Kind::closing);
    co_await scope.join();
  }
  scope.finish();
}

TimedRegion::TimedRegion(Duration limit, std::source_location site)
    : Timer(&TimedRegion::on_time), scheduler_(Scheduler::require("within()")), site_(site) {
  if (limit < Duration::zero()) {
    throw Error(Errc::bad_argument, "within() was given " + std::to_string(limit.count()) +
                                        " ns. A time limit cannot be negative; zero gives the "
                                        "operation no time to wait at all.");
  }
  scheduler_.arm(*this, scheduler_.deadline_in(limit));
  region_.ends_by_time();
}

TimedRegion::~TimedRegion() { scheduler_.disarm(*this); }

bool TimedRegion::expired() noexcept {
  scheduler_.disarm(*this);
  region_.close();
  return region_.cancelled() && !region_.outer_cancelled();
}

void TimedRegion::on_time(Scheduler& scheduler, Timer& timer) noexcept {
  auto& region = static_cast<TimedRegion&>(timer);
  region.region_.cancel(
      scheduler.reason(CancelCause::timeout, "within() ran out of time", region.site_));
}

}  // namespace detail
}  // namespace tiffany
