// A stack with code on it that can be left and come back to: what the fiber engine is made of.
// Users want engine/fiber.hpp.
//
// A Fiber looks like the frame of a coroutine: its first word is the function that resumes it, and
// where a coroutine has its promise it has a Frame. So the run loop resumes it as it resumes any
// coroutine, a coroutine that it awaits has it as its caller, and dumps and the debugger see both
// alike. docs/decisions/0013-fibers.md has the measurements behind the rest.
//
// What is kept across a switch: the registers that a function must preserve, and the exceptions
// that are being handled or thrown. What is not: the control words of the floating-point unit
// (rounding, exception masks) and the signal mask, which belong to the thread.
//
// A fiber may go on in another thread, when its scheduler is driven by another one. Code in a fiber
// must not keep the address of a thread_local across an await.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "tiffany/base/stack_pool.hpp"
#include "tiffany/core/task_record.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany {

namespace detail {

// Unwinds a fiber whose task is dropped by force. Not for users to catch; what catches everything
// must throw it again.
class FiberDropped {};

// The exceptions of a thread, as the C++ ABI of Itanium lays them out.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;
  bool any() const noexcept { return caught != nullptr || uncaught != 0; }
};

class alignas(64) Fiber {
 public:
  using Entry = void (*)(Fiber&) noexcept;

  // At the top of a stack. `entry` is called when it is resumed for the first time; when it
  // returns, the fiber is over, and the trampoline is told so.
  static Fiber& make(const StackPool::Stack& stack, Entry entry, TaskRecord* owner) noexcept;

  // To the fiber, until it leaves. Called through the first word of the frame.
  static void resume(void* address);
  // The one that runs on this thread; null when none does.
  static Fiber* running() noexcept;

  // From the fiber back to where it was resumed, until it is resumed again; says what has come
  // meanwhile. To be called by code of this fiber, after the trampoline was told what is next.
  enum Signal : std::uintptr_t {
    kNothing = 0,
    kCancelled = 1,  // Scheduler::resumed() will throw
    kDropped = 2,    // drop_here() must be called
  };
  std::uintptr_t leave() noexcept;

  // Resumes a suspended fiber so that it throws FiberDropped where it is, and again wherever it
  // waits. False when it does not come to its end: it throws that away, or waits in a destructor
  // meanwhile. It is never resumed again then, and its stack must stay as it is.
  bool unwind() noexcept;
  bool dropped() const noexcept { return (care_ & kBeingDropped) != 0; }
  // Called by code of a fiber that is being dropped instead of waiting.
  [[noreturn]] void drop_here();
  // An exception is on its way through frames of this fiber, which must be the running one: whoever
  // calls is a destructor.
  static bool unwinding() noexcept;

  Frame& frame() noexcept { return frame_; }
  TaskRecord* owner() const noexcept { return owner_; }
  const StackPool::Stack& stack() const noexcept { return stack_; }

  // How the task ended; for the entry and the owner.
  TaskState end() const noexcept { return end_; }
  void set_end(TaskState end) noexcept { end_ = end; }

 private:
  friend struct FiberLayout;
  friend std::uintptr_t fiber_yield(PromiseBase::Site site);

  // Why a switch must look at more than the registers.
  enum Care : std::uintptr_t {
    kHasExceptions = 1,  // exceptions_ is not empty, or outer_exceptions_ is not
    kBeingDropped = kDropped,
    kOver = 4,
    kNested = 8,  // it was resumed by code of another fiber, of another scheduler
  };

  Fiber(const StackPool::Stack& stack, Entry entry, TaskRecord* owner) noexcept;
  void enter_with_care() noexcept;
  void leave_with_care() noexcept;
  void run_to_its_end() noexcept;

  // As in the frame of a coroutine.
  [[maybe_unused]] void (*resume_)(void*);
  [[maybe_unused]] void (*destroy_)(void*) = nullptr;
  Frame frame_;
  // Where to go on. The switch knows these by their offsets. Registers are kept here and not on the
  // stack, because this is what the run loop has fetched ahead.
  void* inside_ = nullptr;
  void* inside_pc_ = nullptr;
  std::uintptr_t care_ = 0;
#if defined(__aarch64__)
  void* registers_[19] = {};
#else
  void* registers_[6] = {};
#endif
  TaskRecord* owner_;
  // ---- what most switches do not touch ----
  void* outside_ = nullptr;          // for Boost.Context
  ExceptionState exceptions_;        // while it is suspended
  ExceptionState outer_exceptions_;  // while it runs
  Fiber* outer_ = nullptr;           // kNested: by whom, and where that one was entered from
  void* outer_outside_ = nullptr;
  Entry entry_;
  StackPool::Stack stack_;
  std::uint32_t thrown_away_ = 0;
  TaskState end_ = TaskState::cancelled;
  struct Sanitizers {  // what the sanitizers know of the stacks
    void* fake_stack = nullptr;
    const void* outer_stack = nullptr;
    std::size_t outer_size = 0;
    void* fiber = nullptr;
    void* outer_fiber = nullptr;
  };
  Sanitizers sanitizers_;
};

// The whole of fiber::yield() but for the exception. When it gives anything but nothing,
// fiber_interrupted() must be called. In one piece, and the exception apart, so that nothing has to
// be returned from after the switch: the processor foresees returns by the calls that it has seen,
// and the last ones were in another fiber.
std::uintptr_t fiber_yield(PromiseBase::Site site);
void fiber_interrupted();
// The same, slowly: while exceptions are being handled, and where it is an error.
void yield_with_care(PromiseBase::Site site);

// Writes a report and goes on to whoever was there before when a fiber has used up its stack. Once
// per process, and a stack for it to run on once per thread.
void watch_for_overflow() noexcept;

}  // namespace detail
}  // namespace tiffany
