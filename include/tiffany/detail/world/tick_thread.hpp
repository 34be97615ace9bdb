// A thread that does a small work at intervals, and at once when a signal has come to the process.
// For module observe: what must go on while the loop of a scheduler is stuck.
//
// After fork the child has no such thread; there, the destructor does nothing.
#pragma once

#include <functional>
#include <memory>

#include "tiffany/base/time.hpp"

namespace tiffany::detail {

// The program handles this signal itself, or has it taken by somebody else than this library.
bool has_own_handler(int signal) noexcept;

class TickThread {
 public:
  // Both are called on the thread, and must not throw. `signal`: 0 for none. Throws an Error
  // (Errc::io_failed) when the system has no thread or no handler for it.
  TickThread(Duration tick, std::function<void()> on_tick, int signal,
             std::function<void()> on_signal);
  // Waits until a call that runs has returned.
  ~TickThread();
  TickThread(const TickThread&) = delete;
  TickThread& operator=(const TickThread&) = delete;

  // The process is the one that has made the thread.
  bool in_own_process() const noexcept;

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

// Of the monotonic clock, since any point in time.
Duration monotonic_now() noexcept;

}  // namespace tiffany::detail
