// The limits of a scheduler and of its scopes (core/guard.hpp), where a spawn looks at them.
#pragma once

#include <cstddef>

#include "tiffany/base/arena.hpp"
#include "tiffany/core/counters.hpp"
#include "tiffany/core/dependency.hpp"
#include "tiffany/core/guard.hpp"
#include "tiffany/core/scope.hpp"

namespace tiffany::detail {

class Observer;

class Limits {
 public:
  Limits(std::size_t tasks, std::size_t fibers, std::size_t fiber_stack,
         Counters& counters) noexcept
      : most_tasks_(tasks), most_fibers_(fibers), fiber_stack_(fiber_stack), counters_(counters) {}

  // Both throw SpawnDenied when a limit is reached. `arena`: that of the scheduler.
  void allow_task(std::size_t live_tasks, const Scope& scope, const Arena& arena) {
    if (live_tasks >= most_tasks_ || scope.live_ >= scope.look_from_ ||
        arena.live_bytes() >= arena.limit()) [[unlikely]]
      look(live_tasks, scope, arena);
  }
  void allow_fiber(std::size_t promised) {
    if (promised >= most_fibers_) [[unlikely]]
      deny(SpawnDenied::Limit::fibers, promised, most_fibers_);
  }
  std::size_t fiber_stack() const noexcept { return fiber_stack_; }
  void set_observer(Observer* observer) noexcept { observer_ = observer; }
  // There is no memory for the arguments: because of a limit, or because the system has none.
  [[noreturn]] void deny_memory(const Scope& scope, const Arena& arena);
  Dependencies::Owner make_waits(const DependencyList& after, const Scope& scope,
                                 const Arena& arena);

 private:
  void look(std::size_t live_tasks, const Scope& scope, const Arena& arena);
  [[noreturn]] void deny(SpawnDenied::Limit limit, std::size_t used, std::size_t allowed);

  std::size_t most_tasks_;
  std::size_t most_fibers_;
  std::size_t fiber_stack_;
  Counters& counters_;
  Observer* observer_ = nullptr;
};

}  // namespace tiffany::detail
