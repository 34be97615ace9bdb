// What a task inherits where it was spawned: its context, its state and its log, behind one
// pointer.
//
// Parent and child share it until one of them changes something; the one that does makes a copy for
// itself first, which costs the same whatever is inside. A task that neither inherited nor set
// anything has none.
//
// Lifetime: counted; a task lets go of it when it ends.
#pragma once

#include <cstdint>

#include "tiffany/base/arena.hpp"
#include "tiffany/base/ref.hpp"
#include "tiffany/core/context.hpp"
#include "tiffany/core/state_map.hpp"
#include "tiffany/core/task_log.hpp"

namespace tiffany {

class Heritage {
 public:
  Heritage() noexcept = default;
  Heritage(const Heritage& other) noexcept
      : context(other.context), state(other.state), log(other.log) {}
  Heritage& operator=(const Heritage&) = delete;

  std::uint32_t refs() const noexcept { return refs_; }
  bool empty() const noexcept { return !context && state.empty() && !log; }

  void add_ref() noexcept { ++refs_; }
  void release() noexcept {
    if (--refs_ == 0) unmake(this);
  }

  Ref<ContextNode> context;
  StateMap state;
  Ref<TaskLog> log;

 private:
  std::uint32_t refs_ = 1;
};

}  // namespace tiffany
