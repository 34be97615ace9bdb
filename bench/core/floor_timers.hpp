// Timers of the bare floor: a heap for tasks that sleep (all of them fire), and a wheel for timers
// that are armed and cancelled (hardly any fires).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bare {

// A 4-ary min-heap of 16-byte entries: the four children of a node share one cache line, and the
// tree is half as deep as a binary one.
template <class Payload>
class TimerHeap {
 public:
  struct Entry {
    std::uint64_t deadline_ns;
    Payload* payload;
  };

  bool empty() const { return entries_.empty(); }

  void push(Entry entry) {
    std::size_t hole = entries_.size();
    entries_.push_back(entry);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / arity;
      if (entries_[parent].deadline_ns <= entry.deadline_ns) break;
      entries_[hole] = entries_[parent];
      hole = parent;
    }
    entries_[hole] = entry;
  }

  Entry pop() {
    const Entry first = entries_.front();
    const Entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) sift_down(last);
    return first;
  }

 private:
  static constexpr std::size_t arity = 4;

  void sift_down(Entry entry) {
    const std::size_t size = entries_.size();
    std::size_t hole = 0;
    while (true) {
      const std::size_t child = hole * arity + 1;
      if (child >= size) break;
      const std::size_t least = least_of(child, child + arity < size ? child + arity : size);
      if (entry.deadline_ns <= entries_[least].deadline_ns) break;
      entries_[hole] = entries_[least];
      hole = least;
    }
    entries_[hole] = entry;
  }

  std::size_t least_of(std::size_t begin, std::size_t end) const {
    std::size_t least = begin;
    for (std::size_t i = begin + 1; i < end; ++i) {
      least = entries_[i].deadline_ns < entries_[least].deadline_ns ? i : least;
    }
    return least;
  }

  std::vector<Entry> entries_;
};

// A hierarchical wheel of 8 levels of 64 slots; the level is the highest 6-bit digit in which the
// deadline differs from now. Only arming and cancelling are here, with the bitmaps that finding
// the next timer would need; what fires is measured with the heap.
class TimerWheel {
 public:
  struct Link {
    Link* prev;
    Link* next;
  };
  struct Timer : Link {
    std::uint32_t slot;
  };

  TimerWheel() {
    for (Link& slot : slots_) slot = {&slot, &slot};
  }
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // `deadline` in ticks after the wheel's beginning, under 2^48.
  void arm(Timer& timer, std::uint64_t deadline) {
    const auto digit = static_cast<unsigned>(63 - std::countl_zero((deadline ^ now_) | 1)) / 6;
    const auto place = static_cast<unsigned>(deadline >> (digit * 6)) & 63U;
    timer.slot = digit * 64 + place;
    Link& head = slots_[timer.slot];
    timer.prev = head.prev;
    timer.next = &head;
    head.prev->next = &timer;
    head.prev = &timer;
    occupied_[digit] |= std::uint64_t{1} << place;
  }

  void cancel(Timer& timer) {
    timer.prev->next = timer.next;
    timer.next->prev = timer.prev;
    const Link& head = slots_[timer.slot];
    if (head.next == &head) occupied_[timer.slot / 64] &= ~(std::uint64_t{1} << timer.slot % 64);
  }

  bool empty() const {
    std::uint64_t all = 0;
    for (const std::uint64_t level : occupied_) all |= level;
    return all == 0;
  }

 private:
  std::uint64_t now_ = 0;
  std::array<std::uint64_t, 8> occupied_{};
  std::array<Link, 512> slots_;
};

}  // namespace bare
