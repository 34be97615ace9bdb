// Interrupts a thread, to see where it is: a signal makes the thread run a function and write down
// its native stack, in the middle of whatever it does. For module observe.
//
// Thread safety: enter() and leave() are called by the thread that is to be interrupted,
// interrupt() by one other thread at a time. The object outlives both.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>

#include "tiffany/base/time.hpp"

namespace tiffany::detail {

class ThreadProbe {
 public:
  // Runs in a signal handler: must not allocate, lock, throw or wait.
  using Visit = void (*)(void* context) noexcept;

  // All probes of a process share one signal, a real-time signal that nobody handled when the first
  // probe was made. No such signal: interrupt() is always false.
  ThreadProbe();
  ThreadProbe(const ThreadProbe&) = delete;
  ThreadProbe& operator=(const ThreadProbe&) = delete;

  // This thread can be interrupted from now on; and cannot any more. A thread is in one probe at a
  // time, the one that it entered last.
  void enter() noexcept;
  void leave() noexcept;

  // Runs `visit` in the thread that has entered, and returns when that is done. False, and `visit`
  // has not run and will not: no thread has entered, or it blocks the signal, longer than `wait`.
  bool interrupt(Visit visit, void* context, Duration wait) noexcept;
  // Of the last interrupt() that was true: the native stack of the thread, innermost first.
  std::span<void* const> stack() const noexcept {
    return std::span(frames_).subspan(first_, depth_ - first_);
  }

  // For the signal handler. `at`: the instruction that was interrupted; null: not known.
  void answer(const void* at) noexcept;

 private:
  enum State : int { kIdle, kAsked, kTaken, kDone };
  std::atomic<int> thread_{0};
  std::atomic<int> state_{kIdle};
  Visit visit_ = nullptr;
  void* context_ = nullptr;
  std::array<void*, 64> frames_{};
  std::size_t depth_ = 0;
  std::size_t first_ = 0;  // of the frames that are not the handler
};

// What is at these addresses of a native stack: `spin at shop.cpp:40` where the program has debug
// information, else the function, else the object file. Inlined functions have a line of their own.
// Takes long: it reads the debug information of the program.
std::string native_stack_text(std::span<void* const> stack);

}  // namespace tiffany::detail
