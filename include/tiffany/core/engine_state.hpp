// What an engine keeps for a scheduler beside its tasks: the stacks of fibers, for instance. An
// engine derives its state from this class; the scheduler owns the state and knows nothing of it.
//
//   class FiberStacks final : public EngineState {
//    public:
//     explicit FiberStacks(Scheduler& scheduler);
//   };
//   FiberStacks& stacks = scheduler.engine_state<FiberStacks>();
//
// Made at the first use, and destroyed with the scheduler, after the code of its last task.
#pragma once

#include <memory>

namespace tiffany {

class EngineState {
 public:
  EngineState() noexcept = default;
  virtual ~EngineState() = default;
  EngineState(const EngineState&) = delete;
  EngineState& operator=(const EngineState&) = delete;

  // A state, and by which type it is asked for.
  struct Kept {
    const void* type;
    std::unique_ptr<EngineState> state;
  };
  template <class State>
  static inline constexpr char type_of = 0;  // its address names the type
};

}  // namespace tiffany
