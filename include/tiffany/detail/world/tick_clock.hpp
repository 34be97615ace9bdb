// The monotonic clock of the operating system, read in half the time: from the counter of the
// processor, where that runs at a constant rate. For measuring, as observe::Recorder does; what
// decides anything reads the clock of the reactor.
//
// now() differs from CLOCK_MONOTONIC by what the rate of the counter changes within a tenth of a
// second, and never goes back. On a processor without such a counter now() reads CLOCK_MONOTONIC.
//
// Thread safety: none; a clock belongs to one thread.
#pragma once

#include <cstdint>

namespace tiffany::detail {

// Nanoseconds from ticks. Learns the rate from pairs of both that are read at the same time; while
// it has none, it asks for a pair each time.
class TickRate {
 public:
  // When the counter stands at `ticks`, in nanoseconds; false: a pair is needed.
  bool known(std::uint64_t ticks, std::int64_t& ns) noexcept {
    const std::uint64_t passed = ticks - ticks_;
    if (passed >= limit_) return false;  // also when the counter went back
    const auto at = ns_ + static_cast<std::int64_t>(passed * factor_ >> kShift);
    ns = last_ = at > last_ ? at : last_;
    return true;
  }
  // Takes a pair in; says what time it is: `ns`, or later when a later time was given out.
  std::int64_t learn(std::uint64_t ticks, std::int64_t ns) noexcept;

 private:
  static constexpr unsigned kShift = 32;

  std::uint64_t ticks_ = 0;   // of the last pair
  std::int64_t ns_ = 0;       // of the last pair
  std::int64_t last_ = 0;     // that was given out
  std::uint64_t limit_ = 0;   // ticks after a pair for which it holds; 0: the rate is not known
  std::uint64_t factor_ = 0;  // nanoseconds per tick, times two to kShift
  bool begun_ = false;        // there is a pair
};

class TickClock {
 public:
  TickClock() noexcept;
  std::int64_t now() noexcept {
#if defined(__x86_64__)
    const std::uint64_t ticks = __builtin_ia32_rdtsc();
    std::int64_t ns = 0;
    if (rate_.known(ticks, ns)) [[likely]]
      return ns;
#endif
    return learn_now();
  }
  // Whether the processor has a counter that can be used.
  bool counts_ticks() const noexcept { return counts_; }

 private:
  std::int64_t learn_now() noexcept;
  bool counts_;
  TickRate rate_;  // without counts_ it learns nothing, and so never knows
};

}  // namespace tiffany::detail
