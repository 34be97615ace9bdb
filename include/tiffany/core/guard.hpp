// What keeps a program that gets out of hand from taking the rest with it: limits on tasks and
// memory, for a scheduler (Options::limit_tasks, Options::limit_memory, Options::limit_fibers) and
// for a scope (Scope::limit_tasks, Scope::limit_memory).
//
// A spawn that would pass a limit throws SpawnDenied where it is called. Nothing has happened then:
// the arguments are as they were or destroyed, no task was made, and there is room again as soon as
// others have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tiffany/base/error.hpp"

namespace tiffany {

class SpawnDenied : public Error {
 public:
  enum class Limit : std::uint8_t {
    tasks,
    tasks_of_scope,
    memory,
    fibers,
    memory_of_scope,
    shutdown,  // Scheduler::refuse_new_tasks; used() and allowed() are 0
  };

  SpawnDenied(Limit limit, std::size_t used, std::size_t allowed);

  Limit limit() const noexcept { return limit_; }
  // Tasks, bytes or fibers that there are, and that there may be.
  std::size_t used() const noexcept { return used_; }
  std::size_t allowed() const noexcept { return allowed_; }

 private:
  Limit limit_;
  std::size_t used_;
  std::size_t allowed_;
};

}  // namespace tiffany
