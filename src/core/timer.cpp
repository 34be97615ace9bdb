#include "tiffany/core/timer.hpp"

#include <algorithm>
#include <bit>

#include "tiffany/base/assert.hpp"

namespace tiffany {

TimerWheel::TimerWheel(Time start) noexcept : base_(key_of(start)) {
  for (auto& level : slots_) {
    for (auto& slot : level) slot.next = slot.prev = &slot;
  }
}

TimerWheel::~TimerWheel() {
  TIFFANY_ASSERT(size_ == 0, "a timer outlived its scheduler; cancel it before it is destroyed");
}

void TimerWheel::arm(Timer& timer, Time deadline) noexcept {
  TIFFANY_ASSERT(!timer.armed(), "a timer was armed twice; cancel it first");
  timer.deadline_ = deadline;
  ++size_;
  place(timer);
}

void TimerWheel::cancel(Timer& timer) noexcept {
  if (!timer.armed()) return;
  unlink(timer);
  --size_;
}

// A deadline in the past is placed at the wheel's own time: it is due, behind what is due already.
void TimerWheel::place(Timer& timer) noexcept {
  const std::uint64_t key = std::max(key_of(timer.deadline_), base_);
  const std::uint64_t differing = key ^ base_;
  const int level = differing == 0 ? 0 : (63 - std::countl_zero(differing)) / kBits;
  const int slot = static_cast<int>((key >> (level * kBits)) & (kSlots - 1));
  TimerLink& head = slots_[level][slot];
  timer.prev = head.prev;
  timer.next = &head;
  head.prev->next = &timer;
  head.prev = &timer;
  used_[level][slot / 64] |= std::uint64_t{1} << (slot % 64);
  levels_used_ |= 1u << level;
}

void TimerWheel::unlink(Timer& timer) noexcept {
  TimerLink* next = timer.next;
  timer.prev->next = next;
  next->prev = timer.prev;
  timer.next = timer.prev = nullptr;
  // The list is empty when its head points at itself; then `next` is that head.
  if (next->next == next) {
    const auto index = static_cast<std::size_t>(next - &slots_[0][0]);
    const std::size_t level = index / kSlots;
    const std::size_t slot = index % kSlots;
    used_[level][slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
    std::uint64_t any = 0;
    for (std::uint64_t word : used_[level]) any |= word;
    if (any == 0) levels_used_ &= ~(1u << level);
  }
}

int TimerWheel::lowest_level() const noexcept { return std::countr_zero(levels_used_); }

int TimerWheel::first_slot(int level) const noexcept {
  int word = 0;
  while (used_[level][word] == 0) ++word;  // the level is used, or it would not be asked for
  return word * 64 + std::countr_zero(used_[level][word]);
}

Timer* TimerWheel::first(int level, int slot) noexcept {
  return static_cast<Timer*>(slots_[level][slot].next);
}

namespace {
// The first key of a slot: the digits of the base above the level, then the slot, then zeros.
std::uint64_t slot_start(std::uint64_t base, int level, int slot, int bits) noexcept {
  const int shift = level * bits;
  const std::uint64_t below = shift + bits >= 64 ? 0 : ~std::uint64_t{0} << (shift + bits);
  return (base & below) | (static_cast<std::uint64_t>(slot) << shift);
}
}  // namespace

std::optional<Time> TimerWheel::next_hint() const noexcept {
  if (size_ == 0) return std::nullopt;
  const int level = lowest_level();
  const int slot = first_slot(level);
  const TimerLink& head = slots_[level][slot];
  if (head.next == head.prev) return static_cast<const Timer*>(head.next)->deadline_;
  return Time(Duration(static_cast<Duration::rep>(slot_start(base_, level, slot, kBits))));
}

void TimerWheel::spread(int level, int slot) noexcept {
  TimerLink& head = slots_[level][slot];
  TimerLink* node = head.next;
  head.next = head.prev = &head;
  used_[level][slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
  std::uint64_t any = 0;
  for (std::uint64_t word : used_[level]) any |= word;
  if (any == 0) levels_used_ &= ~(1u << level);
  while (node != &head) {
    TimerLink* next = node->next;
    __builtin_prefetch(next->next);
    place(*static_cast<Timer*>(node));
    node = next;
  }
}

// Moves the wheel's time. Slots that time enters are spread; those it passes are empty, because
// nothing may be left behind.
void TimerWheel::advance(std::uint64_t to) noexcept {
  if (to <= base_) return;
  const std::uint64_t differing = to ^ base_;
  base_ = to;
  const int top = (63 - std::countl_zero(differing)) / kBits;
  for (int level = top; level > 0; --level) {
    const int slot = static_cast<int>((to >> (level * kBits)) & (kSlots - 1));
    if ((used_[level][slot / 64] >> (slot % 64)) & 1) spread(level, slot);
  }
}

std::optional<Time> TimerWheel::next_until(Time limit) noexcept {
  const std::uint64_t last = key_of(limit);
  while (size_ > 0) {
    const int level = lowest_level();
    const int slot = first_slot(level);
    Timer* timer = first(level, slot);
    const bool alone = slots_[level][slot].prev == static_cast<TimerLink*>(timer);
    if (level == 0 || alone) {
      if (timer->deadline_ > limit) return std::nullopt;
      return std::max(timer->deadline_, Time(Duration(static_cast<Duration::rep>(base_))));
    }
    const std::uint64_t start = slot_start(base_, level, slot, kBits);
    if (start > last) return std::nullopt;
    advance(start);
  }
  return std::nullopt;
}

void TimerWheel::fire_due(Scheduler& scheduler, Time now) noexcept {
  while (next_until(now)) {
    const int level = lowest_level();
    Timer* timer = first(level, first_slot(level));
    advance(std::max(key_of(timer->deadline_), base_));
    cancel(*timer);
    timer->fire_(scheduler, *timer);
  }
  advance(key_of(now));
}

}  // namespace tiffany
