#include "tiffany/engine/fiber_switch.hpp"

#include <cxxabi.h>

#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "fiber_context.hpp"
#include "tiffany/core/scheduler.hpp"

#if defined(__SANITIZE_THREAD__)
#define TIFFANY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TIFFANY_TSAN 1
#endif
#endif
#ifndef TIFFANY_TSAN
#define TIFFANY_TSAN 0
#endif

#if TIFFANY_ASAN
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if TIFFANY_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace tiffany::detail {
namespace {

// What this thread is doing. Functions that look at it and switch do not look again after: they may
// be in another thread then, and the compiler may have kept the address.
struct Here {
  Fiber* fiber = nullptr;
  void* outside = nullptr;  // where the fiber was entered from
  ExceptionState* exceptions = &unknown;
  // Until a fiber has run on this thread: as if there were exceptions, so that it is entered with
  // care.
  static constinit ExceptionState unknown;
};
constinit ExceptionState Here::unknown{nullptr, 1};
constinit thread_local Here here;

// Code that throws this away more often will not stop doing so.
constexpr std::uint32_t kMostThrownAway = 64;

// Stacks lie at equal distances, and what is at the same place of a page meets in the same lines of
// the cache. So their tops are spread over half a page.
constexpr std::size_t kColours = 32;
constexpr std::size_t kLine = 64;
std::size_t colour_of(const StackPool::Stack& stack) noexcept {
  const auto size = static_cast<std::size_t>(stack.top - stack.low);
  return reinterpret_cast<std::uintptr_t>(stack.top) / size % kColours * kLine;
}

}  // namespace

Fiber::Fiber(const StackPool::Stack& stack, Entry entry, TaskRecord* owner) noexcept
    : resume_(&Fiber::resume), owner_(owner), entry_(entry), stack_(stack) {}

Fiber& Fiber::make(const StackPool::Stack& stack, Entry entry, TaskRecord* owner) noexcept {
  const auto top = reinterpret_cast<std::uintptr_t>(stack.top) - colour_of(stack) - sizeof(Fiber);
  auto* const place = reinterpret_cast<std::byte*>(top & ~(alignof(Fiber) - 1));
  Fiber& fiber = *new (place) Fiber(stack, entry, owner);
  prepare_context(fiber, place);
#if TIFFANY_TSAN
  fiber.sanitizers_.fiber = __tsan_create_fiber(0);
#endif
  return fiber;
}

Fiber* Fiber::running() noexcept { return here.fiber; }
bool Fiber::unwinding() noexcept { return here.exceptions->uncaught > 0; }

// ---- The switch, with all that belongs to it ----

// The first on its thread, inside of another fiber, or there are exceptions: what has been caught,
// and what is on its way, belongs to the code that did that.
[[gnu::noinline]] void Fiber::enter_with_care() noexcept {
  if (here.exceptions == &Here::unknown) {
    here.exceptions = reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
    watch_for_overflow();
  }
  if (here.fiber != nullptr) {
    outer_ = here.fiber;
    outer_outside_ = here.outside;
    care_ |= kNested;
  }
  if ((care_ & kHasExceptions) != 0 || here.exceptions->any()) {
    outer_exceptions_ = std::exchange(*here.exceptions, exceptions_);
    care_ |= kHasExceptions;
  }
}

[[gnu::noinline]] void Fiber::leave_with_care() noexcept {
  if ((care_ & kNested) != 0) {
    here.fiber = outer_;
    here.outside = outer_outside_;
    care_ &= ~std::uintptr_t{kNested};
  }
  exceptions_ = std::exchange(*here.exceptions, std::exchange(outer_exceptions_, {}));
  care_ = exceptions_.any() ? care_ | kHasExceptions : care_ & ~std::uintptr_t{kHasExceptions};
}

// In this function and the two below nothing may come behind the switch: see fiber_yield.
void Fiber::resume(void* address) {
  auto* const fiber = static_cast<Fiber*>(address);
  if (fiber->care_ != 0 || here.fiber != nullptr || here.exceptions->any()) [[unlikely]]
    fiber->enter_with_care();
  here.fiber = fiber;
  const std::uintptr_t signal = static_cast<std::uintptr_t>(Scheduler::must_throw()) * kCancelled |
                                (fiber->care_ & kBeingDropped);
#if TIFFANY_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, fiber->stack_.low,
                                 static_cast<std::size_t>(fiber->stack_.top - fiber->stack_.low));
  tiffany_fiber_enter(fiber, signal, &here.outside);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#elif TIFFANY_TSAN
  fiber->sanitizers_.outer_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber->sanitizers_.fiber, 0);
  tiffany_fiber_enter(fiber, signal, &here.outside);
  if ((fiber->care_ & kOver) != 0) __tsan_destroy_fiber(fiber->sanitizers_.fiber);
#else
  tiffany_fiber_enter(fiber, signal, &here.outside);
#endif
}

std::uintptr_t Fiber::leave() noexcept {
  void* const outside = here.outside;
  here.fiber = nullptr;
  if (care_ != 0 || here.exceptions->any()) [[unlikely]]
    leave_with_care();
#if TIFFANY_ASAN
  const bool for_good = (care_ & kOver) != 0;
  __sanitizer_start_switch_fiber(for_good ? nullptr : &sanitizers_.fake_stack,
                                 sanitizers_.outer_stack, sanitizers_.outer_size);
  const std::uintptr_t signal = tiffany_fiber_leave(this, outside);
  __sanitizer_finish_switch_fiber(sanitizers_.fake_stack, &sanitizers_.outer_stack,
                                  &sanitizers_.outer_size);
  return signal;
#else
#if TIFFANY_TSAN
  __tsan_switch_to_fiber(sanitizers_.outer_fiber, 0);
#endif
  return tiffany_fiber_leave(this, outside);
#endif
}

std::uintptr_t fiber_yield(PromiseBase::Site site) {
  Fiber* const fiber = here.fiber;
  if (fiber == nullptr || fiber->care_ != 0 || here.exceptions->any()) [[unlikely]] {
    yield_with_care(site);
    return Fiber::kNothing;
  }
  fiber->frame_.site = std::bit_cast<std::source_location>(site);
  Scheduler::Trampoline::next = Scheduler::Trampoline::yielded();
#if TIFFANY_ASAN || TIFFANY_TSAN
  return fiber->leave();
#else
  here.fiber = nullptr;
  return tiffany_fiber_leave(fiber, here.outside);
#endif
}

// ---- The ends of a fiber ----

void Fiber::run_to_its_end() noexcept {
#if TIFFANY_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &sanitizers_.outer_stack, &sanitizers_.outer_size);
#endif
  entry_(*this);
  care_ |= kOver;
  Scheduler::Trampoline::next = Scheduler::Trampoline::ended();
  leave();
  std::abort();
}

bool Fiber::unwind() noexcept {
  care_ |= kBeingDropped;
  resume(this);
  return (care_ & kOver) != 0;
}

void Fiber::drop_here() {
  // An exception that left a destructor would end the program.
  if (!unwinding() && ++thrown_away_ <= kMostThrownAway) throw FiberDropped();
#if TIFFANY_ASAN
  // What only this stack refers to stays, and is no leak.
  __lsan_register_root_region(stack_.low, static_cast<std::size_t>(stack_.top - stack_.low));
#endif
  leave();
  std::abort();
}

}  // namespace tiffany::detail

// Called from assembler only, which -flto does not see.
[[gnu::used]] void tiffany_fiber_main(tiffany::detail::Fiber* fiber) noexcept {
  tiffany::detail::FiberLayout::run(*fiber);
}
