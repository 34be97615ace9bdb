// A latch: opens once, when it has been counted down to zero.
//
//   Latch ready(3);
//   ready.count_down();       // by each of three tasks
//   co_await ready.wait();    // by whoever wants to know, before or after
//
// Those who wait go on in the order they came. It never closes again; for rounds use a Barrier.
//
// Lifetime: a latch that is destroyed fails those who wait for it with Errc::primitive_gone. Thread
// safety: none; see core/scheduler.hpp.
#pragma once

#include <cstddef>
#include <string>

#include "tiffany/sync/parking_call.hpp"

namespace tiffany {

class Latch {
 public:
  class Wait;

  // Zero is open from the beginning.
  explicit Latch(std::size_t count) noexcept : left_(count) {}
  ~Latch() { detail::tell_all(waiters_, detail::Stage::gone); }
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  // More than is left is an error (Errc::bad_argument).
  void count_down(std::size_t by = 1);
  Wait wait() noexcept;
  bool open() const noexcept { return left_ == 0; }
  std::size_t left() const noexcept { return left_; }

 private:
  std::size_t left_;
  WaiterList waiters_;
};

// Cancel. Before start: answered when the latch is open, else Cancelled is thrown. While parked:
// the wait is withdrawn; what was counted down stays so. After completion: the latch is open; the
// next suspension throws.
class [[nodiscard("wait does nothing until awaited: co_await latch.wait()")]] Latch::Wait final
    : public detail::ParkingCall<Wait> {
 public:
  using value_type = void;
  static constexpr CallName call_name{"wait_latch"};

  explicit Wait(Latch& latch) noexcept : latch_(&latch) {}
  Wait(Wait&&) noexcept = default;

  bool answer(TaskRecord&) const noexcept { return latch_->open(); }
  void enlist(TaskRecord& asker) noexcept { latch_->waiters_.push(*this, asker); }
  void leave() noexcept { latch_->waiters_.remove(*this); }
  void finish() const {
    if (gone()) detail::throw_gone("a latch");
  }
  std::string describe() const override;

 private:
  Latch* latch_;
};

inline Latch::Wait Latch::wait() noexcept { return Wait(*this); }

}  // namespace tiffany
