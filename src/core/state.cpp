#include "tiffany/core/state.hpp"

namespace tiffany {

const char* name_of(State state) noexcept {
  switch (state) {
    case State::pending:
      return "pending";
    case State::ready:
      return "ready";
    case State::running:
      return "running";
    case State::suspended:
      return "suspended";
    case State::preempted:
      return "preempted";
    case State::blocked:
      return "blocked";
    case State::completed:
      return "completed";
    case State::failed:
      return "failed";
    case State::cancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace tiffany
