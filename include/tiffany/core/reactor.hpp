// Where time and outside events come from. One reactor belongs to one scheduler.
//
// This one door is what makes a run repeatable: a scheduler reads no clock and waits for nothing by
// itself. The two reactors here know only the clock; sockets, files and signals come in the same way.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "tiffany/base/time.hpp"

namespace tiffany {

// Lets any thread end the wait of an idle reactor. Kept by everyone who may want to, so it outlives
// the scheduler it wakes.
class Wakeup {
 public:
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  // Thread-safe, does not block. Costs an atomic exchange unless somebody sleeps.
  void notify() noexcept;

  // For the reactor: announces a wait. After this, `notify` makes fd() readable.
  void prepare() noexcept { sleeping_.store(true); }
  // Ends it, and takes back what arrived.
  void finish() noexcept;
  int fd() const noexcept { return fd_; }

 private:
  std::atomic<bool> sleeping_{false};
  int fd_;
};

class Reactor {
 public:
  virtual ~Reactor() = default;

  virtual Time now() = 0;
  // True when time moves only by advance_to().
  virtual bool virtual_time() const noexcept = 0;
  virtual void advance_to(Time time) = 0;
  // Sleeps until `until` (or without limit), or until `wakeup` is notified. The caller has called
  // wakeup.prepare() and has then seen that there was nothing left to do.
  virtual void wait(std::optional<Time> until, Wakeup& wakeup) = 0;
};

// The monotonic clock of the operating system.
std::unique_ptr<Reactor> real_clock();
// Starts at zero and jumps.
std::unique_ptr<Reactor> virtual_clock();

}  // namespace tiffany
