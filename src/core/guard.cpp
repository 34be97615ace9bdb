#include "tiffany/core/guard.hpp"

#include <algorithm>
#include <new>

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

// The time that a slice takes is measured on a clock of its own and decides nothing.
void Scheduler::watch_slice(TaskRecord& task, void (*slice)(Scheduler&, TaskRecord&)) {
  const Ref<TaskRecord> watched(&task);  // it may end
  running_ = nullptr;                    // the task before may have ended
  const std::uint64_t steps = task.steps();
  const Duration start = watch_.clock();
  slice(*this, task);
  running_ = nullptr;
  const Duration took = watch_.clock() - start;
  if (took > watch_.limit) report_hog(task, took, task.steps() - steps);
}

void Scheduler::report_hog(const TaskRecord& task, Duration took, std::uint64_t steps) {
  ++hogs_;
  std::string message = task.describe() + ", spawned at " + site_text(task.spawn_site_) +
                        ", ran for " + duration_text(took) + " and " + std::to_string(steps) +
                        (steps == 1 ? " system call" : " system calls") + " before it gave way; " +
                        name_of(task.state_) + " now";
  AwaitStack stack;
  task.visit_frames(stack);
  append_stack(message, stack);
  log_(LogLine{now_, task.id_, task.name(), message, nullptr});
}

}  // namespace tiffany
