// An event: something that has happened, or has not yet.
//
//   ManualResetEvent stop;
//   co_await stop.wait();     // at once when it is set
//   stop.set();               // all who wait go on, in the order they came
//
// It stays set until reset(). Whoever was waiting when it was set goes on, also when it is reset
// before they run. For something that happens once and carries a value use a Promise.
//
// Lifetime: an event that is destroyed fails those who wait for it with Errc::primitive_gone.
// Thread safety: none; see core/scheduler.hpp.
#pragma once

#include <string>

#include "tiffany/sync/parking_call.hpp"

namespace tiffany {

class ManualResetEvent {
 public:
  class Wait;

  explicit ManualResetEvent(bool set = false) noexcept : set_(set) {}
  ~ManualResetEvent() { detail::tell_all(waiters_, detail::Stage::gone); }
  ManualResetEvent(const ManualResetEvent&) = delete;
  ManualResetEvent& operator=(const ManualResetEvent&) = delete;

  Wait wait() noexcept;
  bool is_set() const noexcept { return set_; }
  void set() noexcept;
  void reset() noexcept { set_ = false; }
  // For system calls that wait for it and say more than Wait does.
  WaiterList& waiters() noexcept { return waiters_; }

 private:
  bool set_;
  WaiterList waiters_;
};

// Cancel. Before start: answered when the event is set, else Cancelled is thrown. While parked: the
// wait is withdrawn. After completion: the event was set; the next suspension throws.
class [[nodiscard(
    "wait does nothing until awaited: co_await event.wait()")]] ManualResetEvent::Wait final
    : public detail::ParkingCall<Wait> {
 public:
  using value_type = void;
  static constexpr CallName call_name{"wait_event"};

  explicit Wait(ManualResetEvent& event) noexcept : event_(&event) {}
  Wait(Wait&&) noexcept = default;

  bool answer(TaskRecord&) const noexcept { return event_->set_; }
  void enlist(TaskRecord& asker) noexcept { event_->waiters_.push(*this, asker); }
  void leave() noexcept { event_->waiters_.remove(*this); }
  void finish() const {
    if (gone()) detail::throw_gone("an event");
  }
  std::string describe() const override { return "an event to be set"; }

 private:
  ManualResetEvent* event_;
};

inline ManualResetEvent::Wait ManualResetEvent::wait() noexcept { return Wait(*this); }

}  // namespace tiffany
