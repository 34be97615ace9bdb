// D2: what the library has for tests of durable tasks.
#include "tiffany/durable/crash_test.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "tiffany/tiffany.hpp"

namespace tiffany {
namespace crash_everywhere_test {

using namespace std::chrono_literals;

std::map<std::string, int> done;  // by what, how often

Durable<int> careful(Flow& flow, int amount) {
  co_await flow.step("pay", StepOptions().at_most_once(), [&] {
    ++done["paid"];
    return amount;
  });
  co_await flow.sleep(24h);
  co_return amount;
}

// Does something outside of a step.
Durable<int> careless(Flow& flow, int amount) {
  ++done["paid"];
  co_await flow.sleep(24h);
  co_return amount;
}

template <class R, class... As>
CrashTest test_of(Durable<R> (*body)(Flow&, As...)) {
  return CrashTest([body] {
    Registry types;
    types.add("task", 1, body);
    return types;
  });
}

const Uuid kTask = Uuid::derived(Uuid(), "task");

Task<void> runs_it(Host& host) {
  co_await host.start_json("task", "[7]", kTask);
  try {
    EXPECT_EQ(co_await host.result<int>(kTask), 7);
  } catch (const Error& e) {  // nobody knows whether it was paid
    EXPECT_EQ(e.code(), Errc::durable_failed);
  }
}

TEST(CrashEverywhere, D2_ATaskThatKeepsToStepsHasItsEffectOnceWhereverItIsCutOff) {
  CrashTest test = test_of(careful);
  std::set<std::size_t> places;
  const std::size_t crashes = test.crash_everywhere(
      [] { done.clear(); }, runs_it,
      [&] {
        EXPECT_LE(done["paid"], 1) << "cut off after slice " << test.crashed_after;
        EXPECT_EQ(test.recovery.quarantined, 0u);
        places.insert(test.crashed_after);
      });
  EXPECT_GT(crashes, 10u);
  EXPECT_EQ(places.size(), crashes + 1) << "each of them, and once undisturbed";
}

TEST(CrashEverywhere, D2_ATaskThatDoesThingsOutsideOfStepsIsFound) {
  CrashTest test = test_of(careless);
  int twice = 0;
  test.crash_everywhere([] { done.clear(); }, runs_it, [&] { twice += done["paid"] > 1 ? 1 : 0; });
  EXPECT_GT(twice, 0);
}

TEST(CrashEverywhere, D2_ALifeThatIsCutOffLosesWhatWasNotSynced) {
  CrashTest test = test_of(careful);
  EXPECT_TRUE(test.live(runs_it));
  EXPECT_EQ(test.recovery.finished, 0u);
  EXPECT_TRUE(test.live(runs_it, test.slices));
  EXPECT_EQ(test.recovery.finished, 1u);
  test.disk = std::make_shared<wal::MemoryDisk>();
  EXPECT_FALSE(test.live(runs_it, 1));
  EXPECT_TRUE(test.live(runs_it));
  EXPECT_EQ(test.recovery.resumed + test.recovery.finished, 0u) << "nothing was there yet";
}

struct SaysSo {
  bool& alive;
  ~SaysSo() { alive = CrashTest::alive(); }
};

TEST(CrashEverywhere, D2_WhatADeadProcessLeavesIsDestroyedWhileNobodyIsAlive) {
  CrashTest test = test_of(careful);
  bool alive = true;
  const auto waits = [&](Host&) -> Task<void> {
    const SaysSo at_the_end{alive};
    for (;;) co_await sleep(1h);
  };
  EXPECT_FALSE(test.live(waits, 30));
  EXPECT_FALSE(alive);
  EXPECT_TRUE(CrashTest::alive());
}

TEST(CrashEverywhere, D2_AProgramThatWaitsForEverOrThrowsIsAnError) {
  CrashTest test = test_of(careful);
  const auto waits = [](Host&) -> Task<void> {
    ManualResetEvent never;
    co_await never.wait();
  };
  try {
    test.live(waits);
    ADD_FAILURE() << "it cannot end";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::deadlock);
  }
  const auto throws = [](Host&) -> Task<void> {
    throw std::runtime_error("no");
    co_return;
  };
  EXPECT_THROW(test.live(throws), std::runtime_error);
  EXPECT_TRUE(test.live(runs_it)) << "and the next life is as if nothing had been";
}

}  // namespace crash_everywhere_test
}  // namespace tiffany
