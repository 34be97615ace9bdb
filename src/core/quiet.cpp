// The report that everything waits for something from outside, and has for long.
#include <new>
#include <string>

#include "core/wait_text.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany {
namespace {

// How many tasks the report names.
constexpr std::size_t kQuietShown = 10;

}  // namespace

// A timer that is armed will wake somebody: then not everything waits for outside. Slices tell whether
// anything has run, so that the loop has nothing to note while tasks do.
std::optional<Time> Scheduler::look_at_quiet() {
  if (quiet_.limit == Duration::max() || timers_.size() > 0 || live_tasks_ == 0) {
    quiet_.slices = UINT64_MAX;
    return std::nullopt;
  }
  if (quiet_.slices != slices()) {
    quiet_.slices = slices();
    quiet_.since = now_;
    quiet_.reported = false;
  }
  if (quiet_.reported) return std::nullopt;
  const Time due = detail::saturating_add(quiet_.since, quiet_.limit);
  if (now_ < due) return due;
  quiet_.reported = true;
  ++quiet_.spells;
  report_quiet(now_ - quiet_.since);
  return std::nullopt;
}

void Scheduler::report_quiet(Duration how_long) {
  try {
    std::string lines;
    std::size_t waiting = 0;
    for_each_task([&](TaskRecord& task) {
      if (task.waiting_on_ == nullptr || ++waiting > kQuietShown) return;
      append_wait(lines, *this, task);
    });
    if (waiting > kQuietShown)
      lines += "\n  and " + std::to_string(waiting - kQuietShown) + " more";
    log("No task has run for " + duration_text(how_long) +
        ": nothing is ready, no timer is armed, and " + std::to_string(waiting) +
        (waiting == 1 ? " task waits" : " tasks wait") +
        " for something from outside to come. Where that is as it should be, set "
        "Options::quiet_limit to more, or leave it out." +
        lines);
  } catch (const std::bad_alloc&) {
    ++lost_log_lines_;
  }
}

}  // namespace tiffany
