// The states of a task, and of anything else that can be waited for.
#pragma once

#include <cstdint>

namespace tiffany {

//   Pending ──> Running ──> Completed | Failed | Cancelled
//      │         │   ^
//      │         │   └── Suspended   it yielded; it is queued
//      │         │   └── Preempted   its quantum was spent; it is queued, and has its result
//      │         │   └── Ready <── Blocked   what it waited for arrived; it is queued
//      └─────────┴──> Cancelled
//
// The three last ones are final: whatever reached one of them never changes again.
// A promise is Pending until it is Completed, Failed, or (as a task) Cancelled.
enum class TaskState : std::uint8_t {
  pending,
  ready,
  running,
  suspended,
  preempted,
  blocked,
  completed,
  failed,
  cancelled,
};

constexpr bool is_final(TaskState state) noexcept { return state >= TaskState::completed; }
const char* name_of(TaskState state) noexcept;

}  // namespace tiffany
