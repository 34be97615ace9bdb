#include "tiffany/core/sleep.hpp"

#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"

namespace tiffany {

void Sleep::on_alarm(Scheduler& scheduler, Timer& timer) noexcept {
  auto& sleep = static_cast<Sleep&>(timer);
  sleep.wake(scheduler, *sleep.task_);
}

std::string Sleep::describe() const { return "the time " + time_text(deadline()); }

Sleep sleep(Duration delay) {
  if (delay < Duration::zero()) {
    throw Error(Errc::bad_argument, "sleep() was asked to sleep for " +
                                        std::to_string(delay.count()) +
                                        " ns. A sleep cannot be negative; for a point in time that "
                                        "may have passed use sleep_until().");
  }
  return Sleep(Scheduler::require("sleep()").deadline_in(delay));
}

Sleep sleep_until(Time deadline) { return Sleep(deadline); }

namespace {
const PlainCall kLog{"log"};
}  // namespace

void log(std::string_view message) {
  Scheduler& scheduler = Scheduler::require("log()");
  scheduler.enter_plain(kLog);
  scheduler.log(message);
}

Time now() { return Scheduler::require("now()").now(); }

namespace this_task {

TaskId id() { return Scheduler::require("this_task::id()").running()->id(); }

void set_name(std::string_view name) {
  Scheduler::require("this_task::set_name()").running()->set_name(name);
}

std::string_view name() { return Scheduler::require("this_task::name()").running()->name(); }

void cancel(std::string_view why, std::source_location site) {
  Scheduler& scheduler = Scheduler::require("this_task::cancel()");
  scheduler.cancel(*scheduler.running(), scheduler.reason(CancelCause::requested, why, site));
}

}  // namespace this_task
}  // namespace tiffany
