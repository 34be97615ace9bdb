// Where coroutine frames tell the run loop of their thread what comes next, by its address: a store
// whose address had first to be loaded from the frame would hold up the loads that follow it.
#pragma once

#include <cstdint>

namespace tiffany::detail {

struct Trampoline {
  // The frame to resume next: a callee that begins, or a caller whose callee has ended. Null when
  // the task made a system call that suspends it. Or one of the two marks below.
  static inline constinit thread_local void* next = nullptr;

  // The outermost frame has ended.
  static void* ended() noexcept { return reinterpret_cast<void*>(std::uintptr_t{1}); }
  // The frame yielded. The one call that the loop handles itself, because it is the most frequent.
  static void* yielded() noexcept { return reinterpret_cast<void*>(std::uintptr_t{2}); }
};

}  // namespace tiffany::detail
