#include "tiffany/detail/core/watch.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "tiffany/base/time_text.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/options.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany::detail {
namespace {

std::function<Duration()> wall_time() {
  return
      [clock = std::shared_ptr<Reactor>(real_clock())] { return clock->now().time_since_epoch(); };
}

std::string calls_text(std::uint64_t steps) {
  return std::to_string(steps) + (steps == 1 ? " system call" : " system calls");
}

}  // namespace

Watch::Watch(Options& options, Counters& counters, Reports& reports)
    : counters_(counters),
      reports_(reports),
      asked_for_(options.watch_limit_ || options.watch_steps_),
      on_(asked_for_),
      most_steps_(options.watch_steps_) {
  if (!options.watch_limit_) return;
  limit_ = *options.watch_limit_;
  clock_ = options.watch_clock_ ? std::move(options.watch_clock_) : wall_time();
}

void Watch::slice_begins(const TaskRecord& task) {
  steps_ = task.recorded_steps();
  if (most_steps_) stretch_of(task);
  if (clock_) begun_ = clock_();
}

void Watch::slice_ended(const TaskRecord& task, Time now) {
  if (clock_) {
    const Duration took = clock_() - begun_;
    if (took > limit_) {
      ++counters_.hogs;
      report(task, now,
             "ran for " + duration_text(took) + " and " +
                 calls_text(task.recorded_steps() - steps_) + " before it gave way");
    }
  }
  if (most_steps_) look_at_stretch(task, now);
}

Watch::Stretch* Watch::stretch_of(const TaskRecord& task) noexcept {
  const std::size_t slot = task.id().slot() - 1;
  if (slot >= stretches_.size()) {
    try {
      stretches_.resize(std::max(slot + 1, 2 * stretches_.size()));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  Stretch& stretch = stretches_[slot];
  if (stretch.task != task.id()) stretch = Stretch{task.id(), task.recorded_steps()};
  return &stretch;
}

void Watch::look_at_stretch(const TaskRecord& task, Time now) {
  Stretch* const stretch = stretch_of(task);
  if (stretch == nullptr) return;
  const std::uint64_t steps = task.recorded_steps() - stretch->from;
  const bool over = steps > *most_steps_ && !std::exchange(stretch->reported, true);
  if (task.state() == TaskState::blocked) *stretch = Stretch();
  if (!over) return;
  ++counters_.spinners;
  report(task, now, "made " + calls_text(steps) + " and did not wait for anything meanwhile");
}

void Watch::report(const TaskRecord& task, Time now, const std::string& what) {
  std::string message = task.describe() + ", spawned at " + site_text(task.spawn_site()) + ", " +
                        what + "; " + name_of(task.state()) + " now";
  AwaitStack stack;
  task.visit_frames(stack);
  append_stack(message, stack);
  reports_.write(LogLine{now, task.id(), task.name(), message, nullptr});
}

Watch::Wait::Wait(Watch& watch, const TaskRecord& task) : watch_(watch), task_(task) {
  if (watch_.clock_) begun_ = watch_.clock_();
}

Watch::Wait::~Wait() {
  if (watch_.clock_) watch_.begun_ += watch_.clock_() - begun_;
  Stretch* const stretch = watch_.most_steps_ ? watch_.stretch_of(task_) : nullptr;
  if (stretch == nullptr) return;
  // One that is too long already is reported when the slice is over.
  const std::uint64_t steps = task_.recorded_steps();
  const bool too_long = steps - stretch->from > *watch_.most_steps_;
  if (!too_long || stretch->reported) *stretch = Stretch{task_.id(), steps};
}

}  // namespace tiffany::detail
