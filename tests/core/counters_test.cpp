// Every transition of a task is counted, once.
#include <gtest/gtest.h>

#include <stdexcept>

#include "support/tasks.hpp"
#include "tiffany/core/counters.hpp"

namespace tiffany {
namespace counters_test {

using namespace test;

Options silent() {
  return Options().virtual_time().log_to([](const LogLine&) {});
}

TEST(Counters, BeginAtZero) {
  const Scheduler scheduler(silent());
  const Counters all = scheduler.counters();
  EXPECT_EQ(all.admitted + all.runs + all.parks + all.wakes + all.cancels, 0u);
  EXPECT_EQ(all.completed + all.failed + all.cancelled, 0u);
  EXPECT_EQ(all.throttled + all.denied + all.hogs + all.spinners + all.unseen_failures, 0u);
  EXPECT_EQ(all.circles + all.quiet_spells + all.lost_log_lines, 0u);
}

TEST(Counters, ATaskThatSleepsIsAdmittedRunsParksWakesRunsAndEnds) {
  Scheduler scheduler(silent());
  const auto naps = []() -> Task<void> { co_await sleep(1ms); };
  scheduler.spawn(naps);
  EXPECT_EQ(scheduler.counters().admitted, 1u);
  EXPECT_EQ(scheduler.counters().runs, 0u);
  scheduler.step();
  EXPECT_EQ(scheduler.counters().runs, 1u);
  EXPECT_EQ(scheduler.counters().parks, 1u);
  EXPECT_EQ(scheduler.counters().wakes, 0u);
  scheduler.run();
  const Counters all = scheduler.counters();
  EXPECT_EQ(all.runs, 2u);
  EXPECT_EQ(all.parks, 1u);
  EXPECT_EQ(all.wakes, 1u);
  EXPECT_EQ(all.completed, 1u);
}

TEST(Counters, AYieldIsARunAndNoPark) {
  Scheduler scheduler(silent());
  const auto yields = []() -> Task<void> {
    for (int i = 0; i < 10; ++i) co_await yield();
  };
  scheduler.spawn(yields);
  scheduler.spawn(yields);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().runs, 22u);
  EXPECT_EQ(scheduler.counters().parks, 0u);
}

TEST(Counters, EachEndIsCountedAsWhatItIs) {
  Scheduler scheduler(silent());
  const auto sleeps = []() -> Task<void> { co_await sleep(1h); };
  const auto returns = []() -> Task<void> { co_return; };
  scheduler.spawn(returns);
  scheduler.spawn(fails_after, 1, "broken");
  auto parked = scheduler.spawn(sleeps);
  auto unbegun = scheduler.spawn(sleeps);
  unbegun.cancel();
  unbegun.cancel();  // asked before
  scheduler.step_until_idle();
  parked.cancel();
  scheduler.run();
  parked.cancel();  // has ended
  const Counters all = scheduler.counters();
  EXPECT_EQ(all.admitted, 4u);
  EXPECT_EQ(all.completed, 1u);
  EXPECT_EQ(all.failed, 1u);
  EXPECT_EQ(all.cancelled, 2u);
  EXPECT_EQ(all.cancels, 2u);
  EXPECT_EQ(all.unseen_failures, 1u);
  EXPECT_EQ(all.parks, 2u) << "the one that failed slept before";
  EXPECT_EQ(all.wakes, 1u) << "a cancel is no wake";
}

TEST(Counters, AWaitThatIsAnsweredAtOnceDoesNotPark) {
  Scheduler scheduler(silent());
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    promise.complete(1);
    static_cast<void>(co_await promise.future());
  };
  scheduler.spawn(program);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().parks, 0u);
}

TEST(Counters, ATaskAfterAnotherIsAdmittedAtItsSpawn) {
  Scheduler scheduler(silent());
  const auto program = []() -> Task<void> {
    const auto naps = []() -> Task<void> { co_await sleep(1ms); };
    auto first = spawn(naps);
    spawn.after(first)(naps);
    EXPECT_EQ(Scheduler::current()->counters().admitted, 3u);
    co_return;
  };
  scheduler.spawn(program);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().completed, 3u);
}

}  // namespace counters_test
}  // namespace tiffany
