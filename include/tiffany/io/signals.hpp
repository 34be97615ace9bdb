// Signals of the operating system, as something to wait for.
//
//   Signals stop({SIGINT, SIGTERM});
//   co_await stop.next();
//
// While such an object lives its signals are blocked in the thread that made it and do nothing else
// than to wake who waits here. Make it before other threads are started: they inherit the block, and a
// thread that does not have it takes the signal in the usual way. Cancel: see io/io_call.hpp; a signal
// that has come is never lost.
#pragma once

#include <sys/signalfd.h>

#include <csignal>
#include <initializer_list>

#include "tiffany/io/io_call.hpp"

namespace tiffany {

// Gives the number of the signal.
class [[nodiscard("next does nothing until awaited: co_await signals.next()")]] NextSignal final
    : public IoCall {
 public:
  static constexpr CallName call_name{"signal"};
  explicit NextSignal(const Descriptor& from) noexcept : IoCall(Kind::read, from) {
    size = sizeof info_;
  }
  Answer start(Scheduler& scheduler, TaskRecord& task) {
    memory = &info_;
    return IoCall::start(scheduler, task);
  }
  int finish() const {
    outcome();
    return static_cast<int>(info_.ssi_signo);
  }

 private:
  const char* verb() const noexcept override { return "wait for a signal"; }
  signalfd_siginfo info_{};
};

class Signals {
 public:
  explicit Signals(std::initializer_list<int> numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  NextSignal next() const noexcept { return NextSignal(descriptor_); }

 private:
  sigset_t before_{};
  Descriptor descriptor_;
};

}  // namespace tiffany
