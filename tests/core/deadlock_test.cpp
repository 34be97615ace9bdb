// W8: nothing can ever wake the tasks that are left.
#include "tiffany/core/deadlock.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace deadlock_test {

using namespace test;

// The report of a scheduler that must be stuck. Ends what is left, so that nothing remains.
std::string report_of(Scheduler& scheduler) {
  std::string report;
  try {
    scheduler.run();
    ADD_FAILURE() << "no deadlock";
  } catch (const Deadlock& deadlock) {
    EXPECT_EQ(deadlock.code(), Errc::deadlock);
    report = deadlock.what();
  }
  return report;
}

void expect_in(const std::string& report, const std::string& text) {
  EXPECT_NE(report.find(text), std::string::npos) << "missing: " << text << "\nin: " << report;
}

std::string here(unsigned line) { return "deadlock_test.cpp:" + std::to_string(line); }

TEST(Deadlock, W8_NamesEveryWaiterWhatItWaitsForAndItsAwaitStack) {
  Scheduler scheduler(Options().virtual_time());
  unsigned inner_line = 0;
  unsigned outer_line = 0;
  unsigned join_line = 0;
  unsigned spawn_line = 0;
  const auto inner = [&](Future<int> future) -> Task<void> {
    inner_line = static_cast<unsigned>(__LINE__ + 1);
    static_cast<void>(co_await future);
  };
  const auto outer = [&]() -> Task<void> {
    Promise<int> never;
    outer_line = static_cast<unsigned>(__LINE__ + 1);
    co_await inner(never.future());
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(outer)).named("consumer");
    spawn_line = static_cast<unsigned>(__LINE__ - 1);
    join_line = static_cast<unsigned>(__LINE__ + 1);
    co_await handle;
  };
  scheduler.spawn(std::ref(program)).named("main");
  const std::string report = report_of(scheduler);
  expect_in(report, "nothing can wake the 2 tasks that are left");
  expect_in(report, "task #1 \"main\" waits for task #2 \"consumer\"\n      at " + here(join_line));
  expect_in(report, "task #2 \"consumer\" waits for a promise\n      at " + here(inner_line) +
                        "\n      at " + here(outer_line));
  expect_in(report, "spawned at " + here(spawn_line) + " by task #1");
  EXPECT_EQ(report.find("circle"), std::string::npos) << report;
  scheduler.shutdown();
  expect_nothing_left(scheduler);
}

TEST(Deadlock, W8_ShowsTheCycle) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = []() -> Task<void> {
    Handle<void> a;
    Handle<void> b;
    Handle<void> c;
    const auto wait = [](Handle<void>& target) -> Task<void> { co_await target; };
    a = spawn(wait, std::ref(b)).named("a");
    b = spawn(wait, std::ref(c)).named("b");
    c = spawn(wait, std::ref(a)).named("c");
    co_await all_settled(a);
    co_await all_settled(b, c);
  };
  scheduler.spawn(std::ref(program)).named("main");
  const std::string report = report_of(scheduler);
  expect_in(report, "4 tasks");
  expect_in(report,
            "They wait in a circle: task #2 \"a\" -> task #3 \"b\" -> task #4 \"c\" -> "
            "task #2 \"a\"");
  scheduler.shutdown();
  expect_nothing_left(scheduler);
}

TEST(Deadlock, W8_ACycleThroughGatherAndScopeIsFoundToo) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = []() -> Task<void> {
    Handle<void> owner;
    Promise<int> never;
    const auto child = [&]() -> Task<void> {
      const std::vector<Handle<void>> handles = {owner};
      co_await gather(handles);
    };
    const auto block = [&]() -> Task<void> {
      co_await scope([&](Scope& s) -> Task<void> {
        s.spawn(std::ref(child)).named("child");
        co_return;
      });
    };
    owner = spawn(std::ref(block)).named("owner");
    co_await race(owner, never.future());
  };
  scheduler.spawn(std::ref(program)).named("main");
  const std::string report = report_of(scheduler);
  expect_in(report, "task #1 \"main\" waits for task #2 \"owner\" or a promise");
  expect_in(report, "task #2 \"owner\" waits for 1 task of its scope");
  expect_in(report, "circle: task #2 \"owner\" -> task #3 \"child\" -> task #2 \"owner\"");
  scheduler.shutdown();
  expect_nothing_left(scheduler);
}

TEST(Deadlock, W8_LongListsAndDeepStacksAreCutShort) {
  Scheduler scheduler(Options().virtual_time());
  std::function<Task<void>(int, Future<int>)> deep = [&](int depth, Future<int> f) -> Task<void> {
    if (depth > 0) {
      co_await deep(depth - 1, f);
    } else {
      static_cast<void>(co_await f);
    }
  };
  const auto program = [&]() -> Task<void> {
    std::vector<Promise<int>> promises(20);
    std::vector<Future<int>> futures;
    for (auto& promise : promises) futures.push_back(promise.future());
    auto digger = spawn(std::ref(deep), 100, futures.front());
    co_await gather(futures);
  };
  scheduler.spawn(std::ref(program));
  const std::string report = report_of(scheduler);
  expect_in(report, "and 12 more");
  expect_in(report, "... and 69 more");
  scheduler.shutdown();
  expect_nothing_left(scheduler);
}

TEST(Deadlock, W8_IsNotRaisedWhileATimerIsArmedOrATaskIsReady) {
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    const auto later = [&]() -> Task<void> {
      co_await sleep(24h);
      promise.complete(1);
    };
    spawn(std::ref(later));
    const int value = co_await promise.future();
    EXPECT_EQ(value, 1);
  };
  run_program(program);
}

TEST(Deadlock, W8_APendingExternalPromiseHoldsItOffUntilItIsSettled) {
  Scheduler scheduler(Options().virtual_time());
  std::optional<ExternalPromise<int>> outside;
  const auto program = [&]() -> Task<void> {
    outside.emplace();
    Promise<int> never;
    static_cast<void>(co_await outside->future());
    static_cast<void>(co_await never.future());
  };
  scheduler.spawn(std::ref(program));
  scheduler.step_until_idle();
  EXPECT_EQ(scheduler.pending_externals(), 1u);
  expect_in(scheduler.wait_report(), "waits for an external promise");
  EXPECT_FALSE(scheduler.poll(Time(1s))) << "waits, and does not throw";
  outside->complete(1);
  expect_in(report_of(scheduler), "waits for a promise");
  scheduler.shutdown();
}

// The tasks are still there: they can be looked at, and helped, and ended.
TEST(Deadlock, W8_TheSchedulerIsUsableAfterwards) {
  Scheduler scheduler(Options().virtual_time());
  std::optional<Promise<int>> promise;
  int seen = 0;
  const auto waiter = [&]() -> Task<void> {
    promise.emplace();
    seen = co_await promise->future();
  };
  auto handle = scheduler.spawn(std::ref(waiter));
  report_of(scheduler);
  EXPECT_EQ(handle.state(), TaskState::blocked);
  EXPECT_EQ(scheduler.live_tasks(), 1u);
  const auto helper = [&]() -> Task<void> {
    promise->complete(7);
    co_return;
  };
  scheduler.spawn(std::ref(helper));
  scheduler.run();
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(handle.state(), TaskState::completed);
}

TEST(Deadlock, W8_TasksUnwindWhenTheSchedulerGoesAfterADeadlock) {
  Trace trace;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto stuck = [&]() -> Task<void> {
      const AtExit exit(trace, "unwound");
      Promise<int> never;
      static_cast<void>(co_await never.future());
    };
    scheduler.spawn(std::ref(stuck));
    report_of(scheduler);
  }
  EXPECT_EQ(trace, Trace({"unwound"}));
}

TEST(Deadlock, W8_TheReportIsTheSameEveryTime) {
  const auto once = [] {
    Scheduler scheduler(Options().virtual_time());
    const auto program = []() -> Task<void> {
      Promise<int> never;
      const auto wait = [](Future<int> future) -> Task<void> {
        static_cast<void>(co_await future);
      };
      std::vector<Handle<void>> handles;
      for (int i = 0; i < 5; ++i) handles.push_back(spawn(wait, never.future()));
      co_await gather(handles);
    };
    scheduler.spawn(std::ref(program));
    const std::string report = report_of(scheduler);
    EXPECT_EQ(report, scheduler.wait_report());
    scheduler.shutdown();
    return report;
  };
  EXPECT_EQ(once(), once());
}

TEST(WaitReport, SaysDeadlockOnlyWhenThereIsOne) {
  Scheduler scheduler(Options().virtual_time());
  const auto sleeps = []() -> Task<void> { co_await sleep(5ms); };
  scheduler.spawn(sleeps);
  scheduler.spawn(sleeps);
  EXPECT_EQ(scheduler.wait_report(), "0 of 2 tasks wait.");
  scheduler.step_until_idle();
  EXPECT_EQ(scheduler.wait_report().find("2 of 2 tasks wait.\n  task #1 waits for the time 5 ms"),
            0u)
      << scheduler.wait_report();
  scheduler.run();
}

}  // namespace deadlock_test
}  // namespace tiffany
