#include "tiffany/core/guard.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "tiffany/base/time_text.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany {
namespace {

std::string sentence(SpawnDenied::Limit limit, std::size_t used, std::size_t allowed) {
  const std::string counts = std::to_string(used) + " of " + std::to_string(allowed);
  switch (limit) {
    case SpawnDenied::Limit::tasks:
      return "A task was not spawned: the scheduler has " + counts +
             " tasks that it may have. Wait for some to end, or raise Options::limit_tasks.";
    case SpawnDenied::Limit::tasks_of_scope:
      return "A task was not spawned: its scope has " + counts +
             " tasks that it may have. Wait for some to end, or raise Scope::limit_tasks.";
    case SpawnDenied::Limit::fibers:
      return "A fiber was not spawned: the scheduler has " + counts +
             " fibers that it may have. Wait for some to end, or raise Options::limit_fibers.";
    case SpawnDenied::Limit::memory_of_scope:
      return "A task was not spawned: the frames of its scope's tasks take " + counts +
             " bytes that they may take. Wait for some to end, or raise Scope::limit_memory.";
    case SpawnDenied::Limit::memory:
      break;
  }
  return "A task was not spawned: the frames of the scheduler's tasks take " + counts +
         " bytes that they may take. Wait for some to end, or raise Options::limit_memory.";
}

std::string calls_text(std::uint64_t steps) {
  return std::to_string(steps) + (steps == 1 ? " system call" : " system calls");
}

}  // namespace

SpawnDenied::SpawnDenied(Limit limit, std::size_t used, std::size_t allowed)
    : Error(Errc::spawn_denied, sentence(limit, used, allowed)),
      limit_(limit),
      used_(used),
      allowed_(allowed) {}

void Scheduler::deny(SpawnDenied::Limit limit, std::size_t used, std::size_t allowed) {
  ++denied_;
  throw SpawnDenied(limit, used, allowed);
}

void Scheduler::look_at_limits(const Scope& scope) {
  using Limit = SpawnDenied::Limit;
  if (live_tasks_ >= most_tasks_) deny(Limit::tasks, live_tasks_, most_tasks_);
  if (scope.live_ >= scope.most_tasks_) {
    deny(Limit::tasks_of_scope, scope.live_, scope.most_tasks_);
  }
  for (const Arena* arena : {arena_.get(), scope.arena_}) {
    if (arena->live_bytes() >= arena->limit()) deny_memory(scope);
  }
}

void Scheduler::deny_fiber() {
  ++denied_;
  throw SpawnDenied(SpawnDenied::Limit::fibers, stacks_.promised(), most_fibers_);
}

void Scheduler::deny_memory(const Scope& scope) {
  const auto room = [](const Arena& arena) {
    return arena.limit() - std::min(arena.limit(), arena.live_bytes());
  };
  const bool scope_is_tighter = room(*scope.arena_) < room(*arena_);
  const Arena& full = scope_is_tighter ? *scope.arena_ : *arena_;
  if (full.limit() == SIZE_MAX) throw std::bad_alloc();
  deny(scope_is_tighter ? SpawnDenied::Limit::memory_of_scope : SpawnDenied::Limit::memory,
       full.live_bytes(), full.limit());
}

Dependencies::Owner Scheduler::make_waits(const DependencyList& after, const Scope& scope) {
  try {
    return Dependencies::make(*scope.arena_, after);
  } catch (const std::bad_alloc&) {
    deny_memory(scope);
  }
}

// What is watched is measured beside the loop and decides nothing.
void Scheduler::watch_slice(TaskRecord& task, void (*slice)(Scheduler&, TaskRecord&)) {
  const Ref<TaskRecord> watched(&task);  // it may end
  running_ = nullptr;                    // the task before may have ended
  const std::uint64_t steps = task.steps_;
  if (watch_.most_steps) watch_.stretch_of(task);
  if (watch_.clock) watch_.begun = watch_.clock();
  slice(*this, task);
  running_ = nullptr;
  task.steps_ += ready_.take_last_yields(task);
  if (watch_.clock) {
    const Duration took = watch_.clock() - watch_.begun;
    if (took > watch_.limit) {
      ++hogs_;
      report_watched(task, "ran for " + duration_text(took) + " and " +
                               calls_text(task.steps_ - steps) + " before it gave way");
    }
  }
  if (watch_.most_steps) watch_stretch(task);
}

Scheduler::Watch::Stretch* Scheduler::Watch::stretch_of(const TaskRecord& task) noexcept {
  const std::size_t slot = task.id_.slot() - 1;
  if (slot >= stretches.size()) {
    try {
      stretches.resize(std::max(slot + 1, 2 * stretches.size()));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  Stretch& stretch = stretches[slot];
  if (stretch.task != task.id_) stretch = Stretch{task.id_, task.steps_};
  return &stretch;
}

Scheduler::Watch::Wait::Wait(Watch& watch, const TaskRecord& task) : watch_(watch), task_(task) {
  if (watch_.clock) begun_ = watch_.clock();
}

Scheduler::Watch::Wait::~Wait() {
  if (watch_.clock) watch_.begun += watch_.clock() - begun_;
  Stretch* const stretch = watch_.most_steps ? watch_.stretch_of(task_) : nullptr;
  if (stretch == nullptr) return;
  // One that is too long already is reported when the slice is over.
  const bool too_long = task_.steps_ - stretch->from > *watch_.most_steps;
  if (!too_long || stretch->reported) *stretch = Stretch{task_.id_, task_.steps_};
}

void Scheduler::watch_stretch(TaskRecord& task) {
  Watch::Stretch* const stretch = watch_.stretch_of(task);
  if (stretch == nullptr) return;
  const std::uint64_t steps = task.steps_ - stretch->from;
  const bool over = steps > *watch_.most_steps && !std::exchange(stretch->reported, true);
  if (task.state_ == TaskState::blocked) *stretch = Watch::Stretch();
  if (!over) return;
  ++spinners_;
  report_watched(task, "made " + calls_text(steps) + " and did not wait for anything meanwhile");
}

void Scheduler::report_watched(const TaskRecord& task, const std::string& what) {
  std::string message = task.describe() + ", spawned at " + site_text(task.spawn_site_) + ", " +
                        what + "; " + name_of(task.state_) + " now";
  AwaitStack stack;
  task.visit_frames(stack);
  append_stack(message, stack);
  write_log(LogLine{now_, task.id_, task.name(), message, nullptr});
}

}  // namespace tiffany
