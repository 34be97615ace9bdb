// The watchdog: a thread that reports a slice over its limit while it runs, and that answers for a
// scheduler whose loop is stuck.
//
//   observe::Watchdog watchdog(scheduler, observe::WatchdogOptions().dump_on(SIGUSR1));
//   scheduler.run();
//
// A task that does not give way is reported with its name, where it was spawned, the lines of its
// nested calls (in the innermost one: the line of its last co_await), and the native stack of the
// thread. Once when the limit is over, and again after twice the time each, at least once a minute.
// Options::watch reports the same slice when it has ended, and how long it took. This thread is for
// the one that does not end; a program may have both.
//
// With dump_on(SIGUSR1), the signal makes the watchdog write what the scheduler does: counters, and
// the first 500 tasks with what each waits for, and where. The loop itself is asked for it first;
// one that does not answer within the limit is looked at from outside, and the dump then lacks what
// calls say of themselves.
//
// How. The watchdog looks at the number of turns that the loop has begun, four times in a limit.
// Only when that stands still in the middle of a turn, the thread of the scheduler gets a signal (a
// real-time signal that nobody handled), whose handler writes down which slice it is, and no more:
// nothing is allocated, locked or formatted there. What a program does, its order and its trace
// hash are the same with a watchdog. A slice costs nothing, a turn two stores.
//
// Limits. While the loop is stuck inside of the library or of malloc, the lines of the await stack
// are those of a moment before or after. A thread that blocks all signals is reported without its
// stacks. Blocking calls of the program that a signal interrupts, and that are not restarted by the
// system (nanosleep, poll), return EINTR. The child of a fork has no watchdog; a Watchdog that is
// copied into it does nothing.
//
// Thread safety: a Watchdog is made and destroyed on the thread of its scheduler, before, while or
// after it runs. Sinks are called on the thread of the watchdog.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tiffany/base/time.hpp"

namespace tiffany {
class Scheduler;
}

namespace tiffany::observe {

class WatchdogOptions {
 public:
  WatchdogOptions() = default;

  // Of a slice, in real time. Default: 50 ms. At least 4 ms.
  WatchdogOptions&& limit(Duration longest) && {
    limit_ = longest;
    return std::move(*this);
  }
  // The signal that asks for a dump, from 1 to 64; 0, the default: none. It must have no handler of
  // the program: Error (Errc::bad_argument) when it has, and for another number. Several watchdogs
  // of a process may share it.
  WatchdogOptions&& dump_on(int signal) && {
    signal_ = signal;
    return std::move(*this);
  }
  // Where reports go. Default: a warning in the log (observe/log.hpp), target tiffany::watchdog.
  WatchdogOptions&& report_to(std::function<void(const std::string&)> sink) && {
    report_ = std::move(sink);
    return std::move(*this);
  }
  // Where dumps go. Default: standard error.
  WatchdogOptions&& dump_to(std::function<void(const std::string&)> sink) && {
    dump_ = std::move(sink);
    return std::move(*this);
  }
  // For tests: no thread; somebody calls look() and dump() instead, on another thread than that of
  // the scheduler.
  WatchdogOptions&& by_hand() && {
    by_hand_ = true;
    return std::move(*this);
  }

 private:
  friend class Watchdog;
  Duration limit_ = std::chrono::milliseconds(50);
  int signal_ = 0;
  bool by_hand_ = false;
  std::function<void(const std::string&)> report_;
  std::function<void(const std::string&)> dump_;
};

class Watchdog {
 public:
  // Throws an Error: Errc::bad_argument when the scheduler has a watchdog already, the limit is too
  // short, or the signal has a handler; Errc::io_failed when the system has no thread for it.
  explicit Watchdog(Scheduler& scheduler, WatchdogOptions options = WatchdogOptions());
  // Waits until a report that is being written is written. The scheduler may be gone.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // How many reports and dumps there were, and sinks that threw. Any thread.
  std::uint64_t reports() const noexcept;
  std::uint64_t dumps() const noexcept;
  std::uint64_t failed_sinks() const noexcept;

  // What the thread does at each tick, and when the signal has come. Only with by_hand(). `now`:
  // never before that of the call before.
  void look(Duration now);
  void dump();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace tiffany::observe
