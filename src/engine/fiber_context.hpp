// The bare switch between stacks, of which there are two: our own for x86-64 and aarch64
// (fiber_context.cpp), and Boost.Context's for everything else (fiber_context_boost.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tiffany/engine/fiber_switch.hpp"

namespace tiffany::detail {

// What the switch may see of a fiber.
struct FiberLayout {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static constexpr std::size_t inside_at = offsetof(Fiber, inside_);
  static constexpr std::size_t inside_pc_at = offsetof(Fiber, inside_pc_);
  static constexpr std::size_t registers_at = offsetof(Fiber, registers_);
  // As Frame::at() finds it, and the debugger.
  static_assert(offsetof(Fiber, resume_) == 0 && offsetof(Fiber, frame_) == 2 * sizeof(void*));
#pragma GCC diagnostic pop
  static void*& inside(Fiber& fiber) noexcept { return fiber.inside_; }
  static void*& inside_pc(Fiber& fiber) noexcept { return fiber.inside_pc_; }
  static void*& outside(Fiber& fiber) noexcept { return fiber.outside_; }
  static void** registers(Fiber& fiber) noexcept { return fiber.registers_; }
  static void run(Fiber& fiber) noexcept { fiber.run_to_its_end(); }
};

// So that the first enter calls tiffany_fiber_main on the stack below `top`.
void prepare_context(Fiber& fiber, std::byte* top) noexcept;

}  // namespace tiffany::detail

extern "C" {
// Goes on inside, where tiffany_fiber_leave then gives `signal`; returns when the fiber leaves.
// Writes down where it came from, for the fiber to leave to.
void tiffany_fiber_enter(tiffany::detail::Fiber* fiber, std::uintptr_t signal,
                         void** outside) noexcept;
std::uintptr_t tiffany_fiber_leave(tiffany::detail::Fiber* fiber, void* outside) noexcept;
// Never returns.
void tiffany_fiber_main(tiffany::detail::Fiber* fiber) noexcept;
}
