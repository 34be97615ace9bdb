// The stacks of the fibers of one scheduler: what the fiber engine keeps beside its tasks.
#pragma once

#include "tiffany/base/stack_pool.hpp"
#include "tiffany/core/engine_state.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany::detail {

class FiberStacks final : public EngineState, public StackPool {
 public:
  explicit FiberStacks(Scheduler& scheduler) : StackPool(scheduler.limits().fiber_stack()) {}
  // Made when they are asked for first, which may throw; a scheduler that has a fiber has them.
  static FiberStacks& of(Scheduler& scheduler) { return scheduler.engine_state<FiberStacks>(); }
};

}  // namespace tiffany::detail
