// A barrier: tasks wait for each other, round after round.
//
//   Barrier round(3);
//   bool last = co_await round.arrive();   // until three have come; true for the one that came
//                                          // last
//
// The last to come goes on at once, and wakes the others in the order they came; the next round
// begins with that. A task that is cancelled while it waits has not come: another must come in its
// place, unless drop() says that from now on there is one fewer to wait for.
//
// Lifetime: a barrier that is destroyed fails those who wait at it with Errc::primitive_gone.
// Thread safety: none; see core/scheduler.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tiffany/sync/parking_call.hpp"

namespace tiffany {

class Barrier {
 public:
  class Arrive;

  // None is an error (Errc::bad_argument).
  explicit Barrier(std::size_t parties);
  ~Barrier() { detail::tell_all(waiters_, detail::Stage::gone); }
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  // Awaited: whether it was the last of its round.
  Arrive arrive() noexcept;
  // One fewer from now on, also in the round that is under way. With nobody left to drop, an error
  // (Errc::bad_argument).
  void drop();

  std::size_t parties() const noexcept { return parties_; }
  std::size_t waiting() const noexcept { return waiting_; }
  // How many rounds are over.
  std::uint64_t rounds() const noexcept { return rounds_; }

 private:
  void open() noexcept;

  std::size_t parties_;
  std::size_t waiting_ = 0;
  std::uint64_t rounds_ = 0;
  WaiterList waiters_;
};

// Cancel. Before start: answered when it is the last to come, else Cancelled is thrown. While
// parked: its coming is taken back. After completion: the round is over; the next suspension
// throws.
class [[nodiscard(
    "arrive does nothing until awaited: co_await barrier.arrive()")]] Barrier::Arrive final
    : public detail::ParkingCall<Arrive> {
 public:
  using value_type = bool;
  static constexpr CallName call_name{"arrive"};

  explicit Arrive(Barrier& barrier) noexcept : barrier_(&barrier) {}
  Arrive(Arrive&&) noexcept = default;

  bool answer(TaskRecord&) noexcept {
    last_ = barrier_->waiting_ + 1 >= barrier_->parties_;
    if (last_) barrier_->open();
    return last_;
  }
  void enlist(TaskRecord& asker) noexcept {
    barrier_->waiters_.push(*this, asker);
    ++barrier_->waiting_;
  }
  void leave() noexcept;
  bool finish() const {
    if (gone()) detail::throw_gone("a barrier");
    return last_;
  }
  std::string describe() const override;

 private:
  Barrier* barrier_;
  bool last_ = false;
};

inline Barrier::Arrive Barrier::arrive() noexcept { return Arrive(*this); }

}  // namespace tiffany
