// Closed circles of waits are found while something else in the program can still go on.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/core/deadlock.hpp"
#include "tiffany/core/options.hpp"

namespace tiffany {
namespace circles_test {

using namespace test;

// A scheduler on virtual time that keeps its log, with a task beside all others that waits for
// outside.
class Bench {
 public:
  explicit Bench(CirclePolicy policy = CirclePolicy::report)
      : scheduler(Options().virtual_time().circles(policy).log_to(
            [this](const LogLine& line) { lines.emplace_back(line.message); })) {
    scheduler.spawn(std::ref(asks_)).named("asks");
  }
  ~Bench() {
    outside->complete(1);
    scheduler.shutdown();
  }
  void expect_one_circle(const std::string& way) const {
    ASSERT_EQ(lines.size(), 1u);
    const std::string expected =
        "tasks wait in a circle, which nothing but a cancel can end: " + way;
    EXPECT_NE(lines[0].find(expected), std::string::npos) << lines[0];
  }

  std::string only_line() const { return lines.size() == 1 ? lines[0] : std::string(); }

  std::vector<std::string> lines;
  std::optional<ExternalPromise<int>> outside;
  Scheduler scheduler;

 private:
  std::function<Task<void>()> asks_ = [this]() -> Task<void> {
    outside.emplace();
    static_cast<void>(co_await outside->future());
  };
};

Task<void> join_it(Handle<void>& target) { co_await target; }

// A and b join one another. The handles must outlive the tasks.
struct Pair {
  Handle<void> a;
  Handle<void> b;
  void spawn_in(Scheduler& scheduler) {
    a = scheduler.spawn(join_it, std::ref(b)).named("a");
    b = scheduler.spawn(join_it, std::ref(a)).named("b");
  }
};

TEST(Circles, TwoTasksThatJoinOneAnotherAreReportedWhileAnExternalPromiseIsPending) {
  Pair pair;
  Bench bench;
  pair.spawn_in(bench.scheduler);
  bench.scheduler.step_until_idle();
  bench.expect_one_circle("task #3 \"b\" -> task #2 \"a\" -> task #3 \"b\"");
  EXPECT_NE(
      bench.only_line().find("\n  task #2 \"a\" waits for task #3 \"b\"\n      at circles_test"),
      std::string::npos)
      << bench.only_line();
  EXPECT_EQ(bench.scheduler.counters().circles, 1u);
}

TEST(Circles, AreReportedBeforeTheClockMovesAndOnce) {
  Pair pair;
  Bench bench;
  const auto ticks = [&]() -> Task<void> {
    for (int i = 0; i < 100; ++i) {
      co_await sleep(1s);
      EXPECT_EQ(bench.lines.size(), 1u) << "at " << i;
    }
  };
  pair.spawn_in(bench.scheduler);
  bench.scheduler.spawn(std::ref(ticks));
  bench.scheduler.run_until(Time(200s));
  EXPECT_EQ(bench.lines.size(), 1u);
}

TEST(Circles, ATaskThatJoinsOneInACircleIsNotInIt) {
  Pair pair;
  Bench bench;
  pair.spawn_in(bench.scheduler);
  bench.scheduler.step_until_idle();
  for (int i = 0; i < 200; ++i) bench.scheduler.spawn(join_it, std::ref(pair.a));  // a look at all
  bench.scheduler.step_until_idle();
  EXPECT_EQ(bench.lines.size(), 1u);
}

TEST(Circles, AMutexWhoseHolderJoinsTheOneWhoWaitsForIt) {
  Mutex mutex;
  Handle<void> waits;
  Bench bench;
  const auto holds = [&]() -> Task<void> {
    const auto guard = co_await mutex.lock();
    co_await yield();
    co_await waits;
  };
  const auto wants = [&]() -> Task<void> { const auto guard = co_await mutex.lock(); };
  bench.scheduler.spawn(std::ref(holds)).named("holds");
  waits = bench.scheduler.spawn(std::ref(wants)).named("wants");
  bench.scheduler.step_until_idle();
  bench.expect_one_circle("task #2 \"holds\" -> task #3 \"wants\" -> task #2 \"holds\"");
  EXPECT_NE(bench.only_line().find("waits for a mutex held by task #2 \"holds\""),
            std::string::npos);
}

TEST(Circles, TwoMutexesInOppositeOrder) {
  Mutex first;
  Mutex second;
  Bench bench;
  const auto locks = [](Mutex& one, Mutex& other) -> Task<void> {
    const auto a = co_await one.lock();
    co_await sleep(1ms);
    const auto b = co_await other.lock();
  };
  bench.scheduler.spawn(locks, std::ref(first), std::ref(second)).named("x");
  bench.scheduler.spawn(locks, std::ref(second), std::ref(first)).named("y");
  bench.scheduler.run_until(Time(1s));
  bench.expect_one_circle("task #3 \"y\" -> task #2 \"x\" -> task #3 \"y\"");
}

TEST(Circles, ThroughAScopeAndAGather) {
  Handle<void> owner;
  Bench bench;
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
  owner = bench.scheduler.spawn(std::ref(block)).named("owner");
  bench.scheduler.step_until_idle();
  ASSERT_EQ(bench.lines.size(), 1u);
  EXPECT_NE(bench.only_line().find("task #2 \"owner\" waits for 1 task of its scope"),
            std::string::npos)
      << bench.only_line();
}

TEST(Circles, WhatARaceOrATimeoutWillEndIsNotClosed) {
  Handle<void> other;
  Bench bench;
  Handle<void> self;
  const auto races = [&]() -> Task<void> { co_await race(other, bench.outside->future()); };
  const auto gives_up = [&]() -> Task<void> { co_await within(5s, other); };
  const auto in_scope = [&]() -> Task<void> {
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        s.set_timeout(5s);
        s.spawn(join_it, std::ref(other));
        co_return;
      });
    } catch (const ScopeCancelled&) {
    }
  };
  for (const std::function<Task<void>()>& code :
       {std::function<Task<void>()>(gives_up), std::function<Task<void>()>(in_scope)}) {
    self = bench.scheduler.spawn(std::ref(code));
    other = bench.scheduler.spawn(join_it, std::ref(self));
    bench.scheduler.run_until(bench.scheduler.now() + 10s);
    EXPECT_TRUE(other.done());
    EXPECT_EQ(bench.lines, std::vector<std::string>());
  }
  self = bench.scheduler.spawn(std::ref(races));
  other = bench.scheduler.spawn(join_it, std::ref(self));
  bench.scheduler.step_until_idle();
  EXPECT_EQ(bench.lines, std::vector<std::string>());
}

TEST(Circles, TheTaskThatClosedItIsCancelledWhereThePolicySaysSo) {
  Pair pair;
  Bench bench(CirclePolicy::cancel_last);
  pair.spawn_in(bench.scheduler);
  bench.scheduler.step_until_idle();
  EXPECT_EQ(pair.b.state(), TaskState::cancelled);
  EXPECT_NE(what_of(pair.b.waitable().error()).find("wait in a circle"), std::string::npos)
      << what_of(pair.b.waitable().error());
  EXPECT_EQ(pair.a.state(), TaskState::failed) << "what it waited for was cancelled";
  pair.a.waitable().mark_observed();
  EXPECT_EQ(bench.lines.size(), 1u);
  EXPECT_EQ(bench.scheduler.live_tasks(), 1u);
}

TEST(Circles, AShieldedTaskIsPassedOverWhenOneIsCancelled) {
  Pair pair;
  Bench bench(CirclePolicy::cancel_last);
  const auto shielded = [&]() -> Task<void> { co_await shield(join_it(pair.a)); };
  pair.a = bench.scheduler.spawn(join_it, std::ref(pair.b)).named("a");
  pair.b = bench.scheduler.spawn(std::ref(shielded)).named("b");
  bench.scheduler.step_until_idle();
  EXPECT_EQ(pair.a.state(), TaskState::cancelled);
  EXPECT_EQ(pair.b.state(), TaskState::failed);
  pair.b.waitable().mark_observed();
}

TEST(Circles, TheRunEndsWhereThePolicySaysSo) {
  Pair pair;
  Bench bench(CirclePolicy::end_run);
  pair.spawn_in(bench.scheduler);
  const std::exception_ptr error = thrown_by([&] { bench.scheduler.run(); });
  EXPECT_EQ(code_of(error), Errc::deadlock);
  EXPECT_NE(what_of(error).find("Deadlock: 2 tasks wait in a circle"), std::string::npos)
      << what_of(error);
  EXPECT_EQ(bench.scheduler.live_tasks(), 3u);
  EXPECT_EQ(bench.lines, std::vector<std::string>());
}

TEST(Circles, AreFoundWhileTasksAreAlwaysReady) {
  Pair pair;
  Bench bench(CirclePolicy::cancel_last);
  const auto busy = [&]() -> Task<void> {
    while (!pair.a.done()) co_await yield();
    bench.outside->complete(1);
  };
  pair.spawn_in(bench.scheduler);
  bench.scheduler.spawn(std::ref(busy));
  bench.scheduler.run();
  EXPECT_EQ(bench.lines.size(), 1u);
  pair.a.waitable().mark_observed();
}

TEST(Circles, OneAmongManyWaitsIsFoundToo) {
  Pair pair;
  Bench bench;
  const auto sleeps = []() -> Task<void> { co_await sleep(1h); };
  const auto nested = [&]() -> Task<void> { co_await spawn(sleeps); };
  for (int i = 0; i < 100; ++i) bench.scheduler.spawn(std::ref(nested));
  pair.spawn_in(bench.scheduler);
  for (int i = 0; i < 300; ++i) bench.scheduler.spawn(std::ref(nested));
  bench.scheduler.step_until_idle();
  EXPECT_EQ(bench.lines.size(), 1u);
  EXPECT_EQ(bench.scheduler.counters().circles, 1u);
}

TEST(Circles, OneThatIsMadeAnewIsReportedAnew) {
  Pair pair;
  Bench bench(CirclePolicy::cancel_last);
  const auto stubborn = [&](Handle<void>& target) -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      try {
        co_await target;
      } catch (const std::exception&) {
        pair.b = spawn(join_it, std::ref(pair.a));
      }
    }
  };
  pair.a = bench.scheduler.spawn(std::ref(stubborn), std::ref(pair.b));
  pair.b = bench.scheduler.spawn(join_it, std::ref(pair.a));
  bench.scheduler.step_until_idle();
  EXPECT_EQ(bench.lines.size(), 3u);
  EXPECT_TRUE(pair.a.done());
}

TEST(Circles, ADeadlockIsReportedOnceByItself) {
  std::vector<std::string> lines;
  Pair pair;
  Scheduler scheduler(Options().virtual_time().log_to(
      [&](const LogLine& line) { lines.emplace_back(line.message); }));
  pair.spawn_in(scheduler);
  EXPECT_THROW(scheduler.run(), Deadlock);
  EXPECT_EQ(lines, std::vector<std::string>());
  scheduler.shutdown();
}

TEST(Circles, TheReportIsTheSameEveryTimeAndChangesNothing) {
  const auto once = [] {
    Pair pair;
    Bench bench;
    pair.spawn_in(bench.scheduler);
    bench.scheduler.step_until_idle();
    return std::pair(bench.lines, bench.scheduler.trace_hash());
  };
  EXPECT_EQ(once(), once());
}

}  // namespace circles_test
}  // namespace tiffany
