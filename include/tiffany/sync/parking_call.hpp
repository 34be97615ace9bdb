// What the system calls of module sync have in common.
//
// All of them park in the queue of one primitive, first in first out, and can do so in two ways:
// alone (co_await) or beside others (race, structure/combine.hpp). So what a call does is cut into
// small steps:
//
//   bool answer(TaskRecord& task);  // takes what is asked for if that is possible at once
//   void enlist(TaskRecord& task);  // joins the queue
//   void leave() noexcept;          // leaves it again
//   void pass_on() noexcept;        // lets those go on who waited only behind this one
//
// A call that has not begun may be moved, so that within() and shield() can take it.
#pragma once

#include <cstdint>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/waiter.hpp"

namespace tiffany::detail {

// How far a call has come. Primitives that have nothing to say need not write it.
enum class Stage : std::uint8_t {
  fresh,    // not begun, or answered inline
  waiting,  // in a queue, or about to be
  arrived,  // it has what it was for
  ended,    // the channel is closed
  gone,     // the primitive was destroyed
};

class SyncCall : public SystemCall, public Waiter {
 public:
  void on_settled(Scheduler& scheduler, Waiter&) noexcept override { wake(scheduler, *task); }
  static constexpr WaitKind wait_kind() noexcept { return WaitKind::event; }

 protected:
  SyncCall() noexcept = default;
  SyncCall(SyncCall&&) noexcept {}
  ~SyncCall() = default;

  bool gone() const noexcept { return stage_ == Stage::gone; }

  Stage stage_ = Stage::fresh;

 private:
  friend void tell_all(WaiterList& waiters, Stage stage) noexcept;
};

// `Base`: SyncCall, or what a primitive needs to know of the calls in its queue besides.
template <class C, class Base = SyncCall>
class ParkingCall : public Base {
 public:
  Answer start(Scheduler&, TaskRecord& asker) {
    C& self = static_cast<C&>(*this);
    if (self.answer(asker)) return Answer::now;
    self.enlist(asker);
    return Answer::parked;
  }
  void withdraw(TaskRecord&) noexcept override {
    C& self = static_cast<C&>(*this);
    self.leave();
    self.pass_on();
  }
  void pass_on() noexcept {}

 protected:
  using Base::Base;
  ParkingCall(ParkingCall&&) noexcept = default;
  ~ParkingCall() = default;
};

// What this waiter waited for has come. It is in the queue no more.
void arrived(Waiter& waiter) noexcept;
// The same for everyone in the queue, in their order.
void tell_all(WaiterList& waiters, Stage stage = Stage::arrived) noexcept;

// For calls that were told Stage::gone. `what`: "a mutex".
[[noreturn]] void throw_gone(const char* what);

}  // namespace tiffany::detail
