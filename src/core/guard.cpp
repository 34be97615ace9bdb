#include "tiffany/core/guard.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "tiffany/detail/core/limits.hpp"
#include "tiffany/detail/core/observer.hpp"

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
    case SpawnDenied::Limit::shutdown:
      return "A task was not spawned: its scheduler is shutting down and takes no new work into "
             "its root scope. Tasks that belong to work that has begun are spawned into a scope.";
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

namespace detail {

void Limits::deny(SpawnDenied::Limit limit, std::size_t used, std::size_t allowed) {
  ++counters_.denied;
  if (observer_ != nullptr) observer_->denied(limit);
  throw SpawnDenied(limit, used, allowed);
}

void Limits::look(std::size_t live_tasks, const Scope& scope, const Arena& arena) {
  using Limit = SpawnDenied::Limit;
  if (scope.refusing_) deny(Limit::shutdown, 0, 0);
  if (live_tasks >= most_tasks_) deny(Limit::tasks, live_tasks, most_tasks_);
  if (scope.live_ >= scope.most_tasks_) {
    deny(Limit::tasks_of_scope, scope.live_, scope.most_tasks_);
  }
  for (const Arena* each : {&arena, static_cast<const Arena*>(scope.arena_)}) {
    if (each->live_bytes() >= each->limit()) deny_memory(scope, arena);
  }
}

void Limits::deny_memory(const Scope& scope, const Arena& arena) {
  const auto room = [](const Arena& of) {
    return of.limit() - std::min(of.limit(), of.live_bytes());
  };
  const bool scope_is_tighter = room(*scope.arena_) < room(arena);
  const Arena& full = scope_is_tighter ? *scope.arena_ : arena;
  if (full.limit() == SIZE_MAX) throw std::bad_alloc();
  deny(scope_is_tighter ? SpawnDenied::Limit::memory_of_scope : SpawnDenied::Limit::memory,
       full.live_bytes(), full.limit());
}

Dependencies::Owner Limits::make_waits(const DependencyList& after, const Scope& scope,
                                       const Arena& arena) {
  try {
    return Dependencies::make(*scope.arena_, after);
  } catch (const std::bad_alloc&) {
    deny_memory(scope, arena);
  }
}

}  // namespace detail
}  // namespace tiffany
