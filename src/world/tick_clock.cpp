#include "tiffany/detail/world/tick_clock.hpp"

#include <algorithm>
#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tiffany::detail {

namespace {

std::int64_t monotonic_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

#if defined(__x86_64__)
// "Invariant TSC": at one rate in all states of the processor. The kernel calls it constant_tsc
// and nonstop_tsc.
bool has_constant_ticks() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1U << 8) != 0;
}
std::uint64_t read_ticks() noexcept { return __builtin_ia32_rdtsc(); }
#else
bool has_constant_ticks() noexcept { return false; }
std::uint64_t read_ticks() noexcept { return 0; }
#endif

// A pair is read within some ten nanoseconds, so that a rate from a millisecond is right to a
// hundred-thousandth, and one from a tenth of a second to a ten-millionth.
constexpr std::int64_t kShortestNs = 1'000'000;
constexpr std::int64_t kLongestNs = 100'000'000;
constexpr std::uint64_t kGrowth = 8;  // of the time for which a rate holds

}  // namespace

std::int64_t TickRate::learn(std::uint64_t ticks, std::int64_t ns) noexcept {
  last_ = std::max(last_, ns);
  const std::uint64_t passed = ticks - ticks_;
  const std::int64_t took = ns - ns_;
  const bool forward = begun_ && ticks > ticks_ && took >= 0;
  if (forward && took < kShortestNs) return last_;
  const auto rate = forward ? static_cast<double>(took) / static_cast<double>(passed) : 0.0;
  // Between 10 MHz and 20 GHz. What is outside is no rate but a pause of one of the two: a machine
  // that slept or was moved to another one.
  if (rate >= 0.05 && rate <= 100) {
    factor_ = static_cast<std::uint64_t>(rate * static_cast<double>(std::uint64_t{1} << kShift));
    const auto longest = static_cast<std::uint64_t>(static_cast<double>(kLongestNs) / rate);
    limit_ = std::min(passed < longest ? passed * kGrowth : longest, longest);
  } else {
    limit_ = 0;
  }
  begun_ = true;
  ticks_ = ticks;
  ns_ = ns;
  return last_;
}

TickClock::TickClock() noexcept : counts_(has_constant_ticks()) {}

std::int64_t TickClock::learn_now() noexcept {
  if (!counts_) return monotonic_ns();
  const std::uint64_t ticks = read_ticks();
  return rate_.learn(ticks, monotonic_ns());
}

}  // namespace tiffany::detail
