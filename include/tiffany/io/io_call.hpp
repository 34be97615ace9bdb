// A system call that is an operation of the reactor. Every awaitable of this module is one of
// these.
//
// Cancel, for all of them. Before start: nothing is asked of the system. While parked: the
// operation is taken back, and the task leaves it when the kernel has let go of its memory. After
// completion: the result wins, also when part of a write had gone (its count is returned), and the
// next suspension throws. So no byte that was received or sent is ever forgotten.
//
// The kernel lets go at once of everything that waits for a peer, a process or a signal. A change
// of a file that has begun (write, sync, rename) takes as long as the disk takes, cancelled or not.
#pragma once

#include <cstddef>
#include <string>

#include "tiffany/core/operation.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/io/descriptor.hpp"

namespace tiffany {

class IoCall : public SystemCall, protected Operation {
 public:
  Answer start(Scheduler& scheduler, TaskRecord& task) {
    task_ = &task;
    // Parked with nothing begun: the scheduler throws at once when a cancel is pending.
    if (scheduler.cancel_pending()) [[unlikely]]
      return Answer::parked;
    if (pressure_ != nullptr && is_held()) [[unlikely]]
      return Answer::parked;
    return scheduler.reactor().submit(scheduler, *this) ? Answer::now : Answer::parked;
  }
  void withdraw(TaskRecord& task) noexcept override;
  bool take_back(TaskRecord& task) noexcept override;
  std::string describe() const override;
  static constexpr WaitKind wait_kind() noexcept { return WaitKind::io; }
  bool waits_for_outside() const noexcept override;

 protected:
  IoCall(Kind what, const Descriptor& on) noexcept : IoCall(what, on.fd()) {
    incarnation = on.incarnation();
    made_here = on.made_here();
    if (takes_in(what)) pressure_ = on.pressure();
  }
  // A descriptor of somebody else, or none.
  IoCall(Kind what, int descriptor) noexcept : Operation(what, descriptor, &IoCall::on_done) {}
  // Only while it has not begun. What points into the call itself is set in `start`.
  IoCall(IoCall&&) noexcept = default;
  ~IoCall() = default;

  // The result; throws Cancelled when the operation was taken back, IoError when it failed.
  std::size_t outcome() const {
    if (result < 0) [[unlikely]]
      fail();
    return static_cast<std::size_t>(result);
  }
  // What the operation is called in errors, and what it is about.
  virtual const char* verb() const noexcept = 0;
  virtual std::string subject() const;

 private:
  static bool takes_in(Kind what) noexcept {
    return what == Kind::read || what == Kind::recv || what == Kind::recv_msg ||
           what == Kind::accept;
  }
  // True when the gate of its descriptor is closed, and it waits there now.
  bool is_held() noexcept;
  static void on_done(Scheduler& scheduler, Operation& operation) noexcept;
  [[noreturn]] void fail() const;

  TaskRecord* task_ = nullptr;
  Pressure* pressure_ = nullptr;
  bool held_ = false;
};

}  // namespace tiffany
