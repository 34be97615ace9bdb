#include "tiffany/detail/world/tick_clock.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "tiffany/base/random.hpp"
#include "tiffany/core/reactor.hpp"

namespace tiffany::tick_clock_test {

using detail::TickClock;
using detail::TickRate;

// A counter and a clock that are moved by hand, read as TickClock reads the real ones.
struct Machine {
  double ticks_per_ns = 2.5;
  double ticks = 7e15;
  double ns = 3e12;
  std::uint64_t pairs = 0;
  TickRate rate{};

  void pass(double nanoseconds) {
    ns += nanoseconds;
    ticks += nanoseconds * ticks_per_ns;
  }
  std::int64_t now() {
    std::int64_t at = 0;
    if (rate.known(static_cast<std::uint64_t>(ticks), at)) return at;
    ++pairs;
    return rate.learn(static_cast<std::uint64_t>(ticks), static_cast<std::int64_t>(ns));
  }
};

TEST(TickRate, FollowsTheClockAndAsksForItSeldom) {
  Machine machine;
  for (int i = 0; i < 1'000'000; ++i) {
    machine.pass(1000);
    ASSERT_NEAR(static_cast<double>(machine.now()), machine.ns, 50) << i;
  }
  // A thousand until the rate is known, and then one in a tenth of a second.
  EXPECT_LT(machine.pairs, 1100u);
}

TEST(TickRate, ARateThatChangesIsLearntWithinATenthOfASecond) {
  Machine machine;
  for (int i = 0; i < 1000; ++i) machine.pass(100'000), machine.now();
  machine.ticks_per_ns *= 1.0005;  // as an adjusted clock does at the most
  std::int64_t before = machine.now();
  for (int i = 0; i < 10'000; ++i) {
    machine.pass(100'000);
    const std::int64_t now = machine.now();
    ASSERT_GE(now, before);
    ASSERT_NEAR(static_cast<double>(now), machine.ns, 60'000);
    if (i > 2000) {
      ASSERT_NEAR(static_cast<double>(now), machine.ns, 100) << i;
    }
    before = now;
  }
}

TEST(TickRate, ACounterThatJumpsOrStandsStillDoesNotTurnTimeBack) {
  Random random(11);
  for (int seed = 0; seed < 50; ++seed) {
    Machine machine;
    std::int64_t before = machine.now();
    for (int i = 0; i < 5000; ++i) {
      machine.pass(static_cast<double>(random.below(1'000'000)));
      if (random.below(500) == 0) machine.ticks -= 1e9;   // moved to another processor
      if (random.below(500) == 0) machine.ticks += 5e12;  // the machine slept
      if (random.below(500) == 0) machine.ns += 1e12;     // the counter did
      if (random.below(500) == 0) machine.ticks = 100;    // a machine that was moved
      const std::int64_t now = machine.now();
      ASSERT_GE(now, before);
      before = now;
    }
    for (int i = 0; i < 400; ++i) machine.pass(1e6), machine.now();
    EXPECT_GE(static_cast<double>(machine.now()), machine.ns - 1000) << "time does not stand still";
  }
}

TEST(TickClock, IsTheMonotonicClock) {
  const auto system = real_clock();
  TickClock clock;
  const auto system_now = [&] { return system->now().time_since_epoch().count(); };
  std::int64_t last = 0;
  // Over the times in which the rate is learnt, and after them.
  for (const std::int64_t end = system_now() + 20'000'000; last < end;) {
    const std::int64_t before = system_now();
    const std::int64_t now = clock.now();
    const std::int64_t after = system_now();
    ASSERT_GE(now, last);
    ASSERT_GE(now, before - 100'000);
    ASSERT_LE(now, after + 100'000);
    last = now;
  }
}

}  // namespace tiffany::tick_clock_test
