// Every transition of a task is counted, once.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

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

std::uint64_t waiting(const Scheduler& scheduler, WaitKind kind) {
  return scheduler.counters().waiting[static_cast<std::size_t>(kind)];
}

TEST(Counters, TasksThatWaitAreCountedByWhatTheyWaitFor) {
  Scheduler scheduler(silent());
  const auto program = []() -> Task<void> {
    auto sleeper = spawn([]() -> Task<void> { co_await sleep(1h); });
    auto joiner = spawn([](Handle<void> of) -> Task<void> { co_await of; }, sleeper);
    Promise<int> promise;
    ExternalPromise<int> outside;
    auto hopes = spawn([](Future<int> f) -> Task<void> { co_await f; }, promise.future());
    auto hears = spawn([](Future<int> f) -> Task<void> { co_await f; }, outside.future());
    spawn.after(sleeper)([]() -> Task<void> { co_return; });
    co_await yield();
    const Scheduler& s = *Scheduler::current();
    EXPECT_EQ(waiting(s, WaitKind::sleep), 1u);
    EXPECT_EQ(waiting(s, WaitKind::join), 1u);
    EXPECT_EQ(waiting(s, WaitKind::event), 1u);
    EXPECT_EQ(waiting(s, WaitKind::external), 1u);
    EXPECT_EQ(waiting(s, WaitKind::io), 0u);
    EXPECT_EQ(s.counters().held, 1u);
    promise.complete(1);
    outside.complete(1);
    sleeper.cancel();
    EXPECT_EQ(waiting(s, WaitKind::event), 0u);
    EXPECT_EQ(s.counters().withdrawn, 1u);
    EXPECT_EQ(s.counters().withdrawn_by[static_cast<std::size_t>(WaitKind::sleep)], 1u);
  };
  scheduler.spawn(program);
  scheduler.run();
  const Counters all = scheduler.counters();
  EXPECT_EQ(all.held, 0u);
  for (const std::uint64_t count : all.waiting) EXPECT_EQ(count, 0u);
  EXPECT_EQ(all.parks, all.wakes + all.withdrawn);
  EXPECT_EQ(all.wakes_by[static_cast<std::size_t>(WaitKind::external)], 1u);
}

TEST(Counters, CallsAreCountedByName) {
  Scheduler scheduler(silent());
  const auto program = []() -> Task<void> {
    for (int i = 0; i < 3; ++i) co_await yield();
    auto other = spawn([]() -> Task<void> {
      for (int i = 0; i < 300; ++i) co_await yield();
      for (int i = 0; i < 2; ++i) co_await sleep(1ms);
    });
    co_await other;
    co_await other;  // answered at once
    log("a line");
  };
  scheduler.spawn(program);
  scheduler.run();
  std::map<std::string, std::uint64_t> calls;
  scheduler.for_each_call([&](std::string_view name, std::uint64_t count) {
    EXPECT_TRUE(calls.emplace(name, count).second) << name << " twice";
  });
  EXPECT_EQ(calls, (std::map<std::string, std::uint64_t>{
                       {"join", 2}, {"log", 1}, {"sleep", 2}, {"yield", 303}}));
  EXPECT_EQ(scheduler.counters().yields, 303u);
}

TEST(Counters, ARefusedSpawnIsDeniedUntilItIsAllowedAgain) {
  Scheduler scheduler(silent());
  const auto returns = []() -> Task<void> { co_return; };
  scheduler.refuse_new_tasks();
  EXPECT_TRUE(scheduler.refuses_new_tasks());
  try {
    scheduler.spawn(returns);
    FAIL() << "it was spawned";
  } catch (const SpawnDenied& denied) {
    EXPECT_EQ(denied.limit(), SpawnDenied::Limit::shutdown);
  }
  EXPECT_EQ(scheduler.counters().denied, 1u);
  scheduler.refuse_new_tasks(false);
  scheduler.spawn(returns);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().completed, 1u);
}

TEST(Counters, ARunThatIsLeftGoesOnWithTheNext) {
  Scheduler scheduler(silent());
  const auto program = []() -> Task<void> {
    co_await sleep(1s);
    Scheduler::current()->leave_run();
    co_await sleep(1s);
  };
  scheduler.spawn(program);
  scheduler.run();
  EXPECT_EQ(scheduler.live_tasks(), 1u);
  EXPECT_EQ(scheduler.now(), Time(1s));
  scheduler.run();
  EXPECT_EQ(scheduler.live_tasks(), 0u);
  EXPECT_EQ(scheduler.now(), Time(2s));
}

}  // namespace counters_test
}  // namespace tiffany
