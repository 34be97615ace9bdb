// One task at a time uses the socket in one direction; one other may wait until it has. Internal.
//
// Reading may have to send, and writing may have to receive, so the task that reads and the task
// that writes meet here. Cancel of the one that waits: it is forgotten.
#pragma once

#include <cassert>
#include <string>
#include <utility>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/system_call.hpp"

namespace tiffany::io {

class TlsLane {
 public:
  class Wait;

  TlsLane() noexcept = default;
  TlsLane(const TlsLane&) = delete;
  TlsLane& operator=(const TlsLane&) = delete;

  bool busy() const noexcept { return busy_; }

  // Holds the lane; whoever waits goes on when it is destroyed.
  class Turn {
   public:
    explicit Turn(TlsLane& lane) noexcept : lane_(lane) {
      assert(!lane.busy_);
      lane_.busy_ = true;
    }
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    TlsLane& lane_;
  };

  class Wait final : public SystemCall {
   public:
    static constexpr CallName call_name{"tls_wait"};
    explicit Wait(TlsLane& lane) noexcept : lane_(lane) {}
    Answer start(Scheduler&, TaskRecord& task) noexcept {
      assert(lane_.waiting_ == nullptr);
      if (!lane_.busy_) return Answer::now;
      task_ = &task;
      lane_.waiting_ = this;
      return Answer::parked;
    }
    void go_on() noexcept { wake(*task_); }
    void withdraw(TaskRecord&) noexcept override { lane_.waiting_ = nullptr; }
    void finish() noexcept {}
    std::string describe() const override { return "another task that uses the same TLS stream"; }
    // The other task waits for the socket.
    static constexpr WaitKind wait_kind() noexcept { return WaitKind::io; }
    bool waits_for_outside() const noexcept override { return true; }

   private:
    TlsLane& lane_;
    TaskRecord* task_ = nullptr;
  };
  Wait wait() noexcept { return Wait(*this); }

 private:
  Wait* waiting_ = nullptr;
  bool busy_ = false;
};

inline TlsLane::Turn::~Turn() {
  lane_.busy_ = false;
  if (Wait* const next = std::exchange(lane_.waiting_, nullptr)) next->go_on();
}

}  // namespace tiffany::io
