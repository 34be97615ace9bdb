#include "tiffany/core/state.hpp"

#include <array>

namespace tiffany {
namespace {

// In the order of TaskState.
constexpr std::array kStates = {"pending", "ready",     "running", "suspended", "preempted",
                                "blocked", "completed", "failed",  "cancelled"};
static_assert(kStates.size() == static_cast<std::size_t>(TaskState::cancelled) + 1);

}  // namespace

const char* name_of(TaskState state) noexcept { return kStates[static_cast<std::size_t>(state)]; }

}  // namespace tiffany
