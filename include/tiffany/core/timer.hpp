// Timers: arming and cancelling cost a few nanoseconds however many there are, and they fire in
// exact order: by deadline, and in the order they were armed where deadlines are equal.
//
// The wheel is a radix structure over the bits of the deadline, to the nanosecond: a timer sits on
// the level of the highest digit in which its deadline differs from the wheel's time. When time
// enters a slot, the slot is spread over the levels below. Two timers with one deadline are always
// in the same slot, in the order they were armed, which is why the order is exact and not rounded
// to a tick. docs/decisions/0004-timers.md has the measurements against a heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tiffany/base/time.hpp"

namespace tiffany {

class Scheduler;

struct TimerLink {
  TimerLink* next = nullptr;
  TimerLink* prev = nullptr;
};

// Embedded in whatever waits for a point in time; owns nothing. Must be disarmed (by firing or by
// cancelling) before it is destroyed.
class Timer : private TimerLink {
 public:
  using Fire = void (*)(Scheduler&, Timer&) noexcept;

  explicit Timer(Fire fire, Time deadline = Time()) noexcept : deadline_(deadline), fire_(fire) {}
  // Only while it is not armed.
  Timer(Timer&& other) noexcept : TimerLink(), deadline_(other.deadline_), fire_(other.fire_) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  bool armed() const noexcept { return next != nullptr; }
  Time deadline() const noexcept { return deadline_; }

 private:
  friend struct DebugLayout;
  friend class TimerWheel;
  Time deadline_;
  Fire fire_;
};

class TimerWheel {
 public:
  explicit TimerWheel(Time start) noexcept;
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  void arm(Timer& timer, Time deadline) noexcept;
  // Harmless when the timer is not armed.
  void cancel(Timer& timer) noexcept;

  std::size_t size() const noexcept { return size_; }

  // A time at which something may be due: never later than the first deadline, and exactly it when
  // that is near. A real clock that sleeps until then wakes early at most once per level.
  std::optional<Time> next_hint() const noexcept;

  // The first deadline that is not after `limit`, exactly; moves the wheel's own time up to it.
  std::optional<Time> next_until(Time limit) noexcept;

  // Fires everything that is due at `now`, in order. A timer armed by a firing one for a time that
  // is already due fires in the same call, after those that were armed before it.
  void fire_due(Scheduler& scheduler, Time now) noexcept;

 private:
  friend struct DebugLayout;
  static constexpr int kBits = 8;
  static constexpr int kSlots = 1 << kBits;
  static constexpr int kLevels = 8;
  static constexpr int kWords = kSlots / 64;

  static std::uint64_t key_of(Time time) noexcept {
    // A time before the clock's zero is long due.
    const auto count = time.time_since_epoch().count();
    return count > 0 ? static_cast<std::uint64_t>(count) : 0;
  }
  void place(Timer& timer) noexcept;
  void unlink(Timer& timer) noexcept;
  void advance(std::uint64_t to) noexcept;
  int lowest_level() const noexcept;
  int first_slot(int level) const noexcept;
  void spread(int level, int slot) noexcept;
  Timer* first(int level, int slot) noexcept;

  std::uint64_t base_;  // no armed timer is before this, except those already due when armed
  std::size_t size_ = 0;
  std::uint32_t levels_used_ = 0;
  std::uint64_t used_[kLevels][kWords] = {};
  TimerLink slots_[kLevels][kSlots];
};

}  // namespace tiffany
