#include "tiffany/detail/core/quiet.hpp"

#include <new>
#include <string>

#include "core/wait_text.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany::detail {
namespace {

// How many tasks the report names.
constexpr std::size_t kQuietShown = 10;

}  // namespace

// A timer that is armed will wake somebody: then not everything waits for outside. Slices tell
// whether anything has run, so that the loop has nothing to note while tasks do.
std::optional<Time> Quiet::look(Scheduler& scheduler) {
  if (limit_ == Duration::max() || scheduler.armed_timers() > 0 || scheduler.live_tasks() == 0) {
    slices_ = UINT64_MAX;
    return std::nullopt;
  }
  if (slices_ != scheduler.slices()) {
    slices_ = scheduler.slices();
    since_ = scheduler.now();
    reported_ = false;
  }
  if (reported_) return std::nullopt;
  const Time due = saturating_add(since_, limit_);
  if (scheduler.now() < due) return due;
  reported_ = true;
  ++counters_.quiet_spells;
  report(scheduler, scheduler.now() - since_);
  return std::nullopt;
}

void Quiet::report(Scheduler& scheduler, Duration how_long) {
  try {
    std::string lines;
    std::size_t waiting = 0;
    scheduler.for_each_task([&](TaskRecord& task) {
      if (task.waiting_on() == nullptr || ++waiting > kQuietShown) return;
      append_wait(lines, scheduler, task);
    });
    if (waiting > kQuietShown)
      lines += "\n  and " + std::to_string(waiting - kQuietShown) + " more";
    scheduler.log("No task has run for " + duration_text(how_long) +
                  ": nothing is ready, no timer is armed, and " + std::to_string(waiting) +
                  (waiting == 1 ? " task waits" : " tasks wait") +
                  " for something from outside to come. Where that is as it should be, set "
                  "Options::quiet_limit to more, or leave it out." +
                  lines);
  } catch (const std::bad_alloc&) {
    ++counters_.lost_log_lines;
  }
}

}  // namespace tiffany::detail
