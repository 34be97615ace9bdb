// The pulse of a scheduler, for whoever looks at it from another thread: whether it is in a turn,
// and whether that is the turn of a moment ago. For module observe; a program uses
// observe/watchdog.hpp.
//
// A turn is up to Options::turn slices, so the price is two stores for many slices, and none while
// nobody has set a pulse (Scheduler::set_pulse).
#pragma once

#include <atomic>
#include <cstdint>

namespace tiffany::detail {

class Pulse {
 public:
  // Any thread. Odd: in a turn.
  std::uint64_t turns() const noexcept { return turns_.load(std::memory_order_acquire); }

  // ---- The thread of the scheduler ----

  // A turn begins or ends.
  void beat() noexcept {
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // This thread drives the scheduler from now on; and does not any more.
  virtual void driven() noexcept = 0;
  virtual void left() noexcept = 0;
  // The scheduler is about to go, and must not be used any more.
  virtual void scheduler_gone() noexcept = 0;

  // A wait in the middle of a turn (Options::wait_inline).
  class Rest {
   public:
    explicit Rest(Pulse* pulse) noexcept : pulse_(pulse) {
      if (pulse_ != nullptr) pulse_->beat();
    }
    ~Rest() {
      if (pulse_ != nullptr) pulse_->beat();
    }
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;

   private:
    Pulse* pulse_;
  };

 protected:
  ~Pulse() = default;

 private:
  std::atomic<std::uint64_t> turns_{0};
};

}  // namespace tiffany::detail
