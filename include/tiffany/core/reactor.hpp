// Where time and outside events come from: the event side of a World (core/world.hpp). One reactor
// belongs to one scheduler.
//
// This one door is what makes a run repeatable: a scheduler reads no clock and waits for nothing by
// itself. Two of the reactors here know only the clock; the third is the operating system with its
// sockets, files and processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

#include "tiffany/base/time.hpp"
#include "tiffany/core/operation.hpp"

namespace tiffany {

class Scheduler;
class World;

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
  bool unread_ = false;  // somebody has written, or is about to
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

  // ---- Operations; a reactor that knows only the clock carries none out, and says so ----

  // Begins one. True: it is over already and has its result. False: collect() will call done().
  virtual bool submit(Scheduler& scheduler, Operation& operation);
  // Asks for one back that has begun. True: it is back, and done() will not come. False: it comes
  // as always, with what there is by then, or -ECANCELED when nothing has happened.
  virtual bool take_back(Operation& operation) noexcept;
  // The same at once, whatever it costs: nobody has the operation or its memory any more.
  virtual void drop(Operation& operation) noexcept;
  // Waits until one that is being taken back is over, and calls its done(). False: there is none.
  virtual bool await_taken_back(Scheduler& scheduler) noexcept;
  // Calls done() for what is over. `busy`: tasks are ready, so that wait() will not come soon.
  virtual void collect(Scheduler& scheduler, bool busy) noexcept;
  // A descriptor is about to be closed: operations on it end with -ECANCELED.
  virtual void closing(int fd) noexcept;
  // False: submit() refuses everything. Who has to, makes plain calls instead.
  virtual bool performs_operations() const noexcept { return false; }
  // False: what its operations wait for can come only from tasks of its scheduler, as in a world in
  // memory, so that a scheduler whose tasks all wait for them is in a deadlock.
  virtual bool hears_from_outside() const noexcept { return true; }
  // The side that is answered at once. Default: the operating system; with a virtual clock, without
  // its wall clock and entropy.
  virtual World& world() noexcept;
  // How many operations have begun and are not over.
  std::size_t in_flight() const noexcept { return in_flight_; }

 protected:
  std::size_t in_flight_ = 0;
};

// The operating system: its monotonic clock, and io_uring or epoll; see world/system_reactor.hpp.
// Takes nothing from the system before the first operation.
std::unique_ptr<Reactor> system_reactor();
// The monotonic clock of the operating system, and nothing else.
std::unique_ptr<Reactor> real_clock();
// Starts at zero and jumps.
std::unique_ptr<Reactor> virtual_clock();

}  // namespace tiffany
