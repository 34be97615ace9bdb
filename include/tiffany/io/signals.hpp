// Signals of the operating system, as something to wait for.
//
//   Signals stop({SIGINT, SIGTERM});
//   co_await stop.next();
//
// While such an object lives its signals do nothing else than to wake the tasks that wait here. Any
// number of objects may name the same signal, in any thread: each of them gets it. When the last
// one for a signal goes, in whatever order, the signal does again what it did before the first one
// came.
//
// A handler takes the signal, in the thread that the kernel chooses; masks of threads are not
// touched. So a signal that every thread has blocked does not come, and a system call of your own
// that a signal interrupts may fail with EINTR. An object keeps up to 65,536 signals that nobody
// has taken; what comes beyond that is lost, as the kernel does after one. Cancel: see
// io/io_call.hpp; a signal that has come is never lost. A process made by fork() gets nothing
// through objects of its parent.
#pragma once

#include <csignal>
#include <initializer_list>

#include "tiffany/io/io_call.hpp"

namespace tiffany {

class World;

// Gives the number of the signal.
class [[nodiscard("next does nothing until awaited: co_await signals.next()")]] NextSignal final
    : public IoCall {
 public:
  static constexpr CallName call_name{"signal"};
  explicit NextSignal(const Descriptor& from) noexcept : IoCall(Kind::read, from) {
    size = sizeof number_;
    stream = true;
  }
  Answer start(Scheduler& scheduler, TaskRecord& task) {
    memory = &number_;
    return IoCall::start(scheduler, task);
  }
  int finish() const {
    outcome();
    return number_;
  }

 private:
  const char* verb() const noexcept override { return "wait for a signal"; }
  unsigned char number_ = 0;
};

class Signals {
 public:
  // Throws IoError for what is no signal or cannot be caught (SIGKILL, SIGSTOP), Errc::bad_argument
  // for a fault of the program (SIGSEGV, SIGBUS, SIGFPE, SIGILL), which cannot be waited for.
  explicit Signals(std::initializer_list<int> numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  NextSignal next() const noexcept { return NextSignal(descriptor_); }

 private:
  Descriptor descriptor_;  // the signals that have come, a byte each
  World* world_;
  void* token_ = nullptr;
};

}  // namespace tiffany
