// T20: the scheduler for tests.
#include "tiffany/test/test_scheduler.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/harness.hpp"

namespace tiffany::test {
namespace test_scheduler_test {

Task<std::string> say_after(Duration delay, std::string what) {
  co_await sleep(delay);
  co_return what;
}

TEST(TestScheduler, T20_TimeStandsStillUntilItIsAdvanced) {
  TestScheduler test;
  auto task = test.spawn(say_after, 10ms, "done");
  EXPECT_EQ(test.task_state(task), TaskState::pending);
  EXPECT_EQ(test.step_until_idle(), 1u);
  EXPECT_EQ(test.task_state(task), TaskState::blocked);
  EXPECT_EQ(test.now(), 0ms);
  test.advance(9ms);
  EXPECT_EQ(test.now(), 9ms);
  EXPECT_EQ(test.task_state(task), TaskState::blocked);
  EXPECT_EQ(test.step_until_idle(), 0u);
  test.advance(1ms);
  EXPECT_EQ(test.task_state(task), TaskState::completed);
  EXPECT_EQ(test.result(task), "done");
  EXPECT_EQ(test.now(), 10ms);
}

TEST(TestScheduler, T20_AdvanceLetsEverythingHappenAtItsTime) {
  TestScheduler test;
  Trace trace;
  const auto tick = [&]() -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      co_await sleep(2ms);
      trace.push_back(std::to_string(now().time_since_epoch() / 1ms));
    }
  };
  test.spawn(std::ref(tick));
  test.advance(5ms);
  EXPECT_EQ(trace, (Trace{"2", "4"}));
  EXPECT_EQ(test.now(), 5ms);
  test.advance(100ms);
  EXPECT_EQ(trace, (Trace{"2", "4", "6"}));
  EXPECT_EQ(test.now(), 105ms) << "also when nothing is left";
  test.advance(0ms);
  EXPECT_EQ(code_of(thrown_by([&] { test.advance(-1ms); })), Errc::bad_argument);
}

TEST(TestScheduler, T20_RunLetsTimeJumpUntilAllHasEnded) {
  TestScheduler test;
  auto slow = test.spawn(say_after, 3h, "slow");
  test.spawn(say_after, 1h, "quick");
  test.run();
  EXPECT_EQ(test.now(), 3h);
  EXPECT_EQ(test.result(slow), "slow");
}

TEST(TestScheduler, T20_ResultRunsTheProgramAndThrowsWhatTheTaskThrew) {
  TestScheduler test;
  auto good = test.spawn(say_after, 1ms, "hello");
  EXPECT_EQ(test.result(good), "hello");
  const auto fails = []() -> Task<int> {
    co_await sleep(1ms);
    throw std::runtime_error("no");
  };
  auto bad = test.spawn(std::ref(fails));
  EXPECT_EQ(what_of(thrown_by([&] { test.result(bad); })), "no");
  EXPECT_TRUE(test.unseen_errors().empty());
}

TEST(TestScheduler, T20_StepGivesOneTaskTheProcessorOnce) {
  TestScheduler test;
  Trace trace;
  const auto work = [&](const std::string& name) -> Task<void> {
    trace.push_back(name + "1");
    co_await yield();
    trace.push_back(name + "2");
  };
  auto a = test.spawn(std::ref(work), std::string("a"));
  auto b = test.spawn(std::ref(work), std::string("b"));
  EXPECT_TRUE(test.step());
  EXPECT_EQ(trace, (Trace{"a1"}));
  EXPECT_EQ(test.task_state(a), TaskState::suspended);
  EXPECT_TRUE(test.step());
  EXPECT_TRUE(test.step());
  EXPECT_EQ(trace, (Trace{"a1", "b1", "a2"}));
  EXPECT_EQ(test.task_state(a), TaskState::completed);
  EXPECT_TRUE(test.step());
  EXPECT_FALSE(test.step());
}

TEST(TestScheduler, T20_TheStateOfATaskById) {
  TestScheduler test;
  TaskId id;
  {
    auto task = test.spawn(say_after, 1ms, "x");
    id = task.id();
  }
  EXPECT_EQ(test.task_state(id), TaskState::pending);
  test.step_until_idle();
  EXPECT_EQ(test.task_state(id), TaskState::blocked);
  test.run();
  EXPECT_EQ(test.task_state(id), std::nullopt) << "nobody holds it any more";
}

TEST(TestScheduler, T20_AResultIsPutInWhereACodeWaits) {
  TestScheduler test;
  std::optional<Promise<int>> promise;
  const auto ask = [&]() -> Task<int> {
    promise.emplace();
    co_return co_await promise->future();
  };
  auto answer = test.spawn(std::ref(ask));
  test.step_until_idle();
  test.complete(*promise, 42);
  EXPECT_EQ(test.result(answer), 42);
  EXPECT_EQ(code_of(thrown_by([&] { test.complete(promise->future(), 43); })),
            Errc::already_settled);
  EXPECT_EQ(test.leftovers(), "1 blocks of memory") << "the promise";
  promise.reset();
  EXPECT_EQ(test.leftovers(), "");
}

TEST(TestScheduler, T20_AnErrorIsPutInWhereACodeWaits) {
  TestScheduler test;
  std::optional<Promise<void>> one;
  std::optional<Promise<void>> two;
  const auto ask = [&]() -> Task<void> {
    one.emplace();
    two.emplace();
    co_await one->future();
    co_await two->future();
  };
  auto task = test.spawn(std::ref(ask));
  test.step_until_idle();
  test.complete(*one);
  test.fail(*two, std::make_exception_ptr(std::runtime_error("injected")));
  EXPECT_EQ(what_of(thrown_by([&] { test.result(task); })), "injected");
  one.reset();
  two.reset();
}

TEST(TestScheduler, T20_EventsHappenAtTheirTimeInTheirOrderOutsideOfTasks) {
  TestScheduler test;
  Trace trace;
  const auto note = [&](const char* what) {
    trace.push_back(std::string(what) + "@" + std::to_string(test.now() / 1ms));
  };
  const auto sleeper = [&]() -> Task<void> {
    co_await sleep(5ms);
    note("task");
    co_await sleep(5ms);
    note("task");
  };
  test.at(7ms, [&] { note("c"); });
  test.at(5ms, [&] { note("a"); });
  test.at(5ms, [&] {
    note("b");
    EXPECT_EQ(test.scheduler().running(), nullptr);
  });
  test.spawn(std::ref(sleeper));
  test.run();
  EXPECT_EQ(trace, (Trace{"a@5", "b@5", "task@5", "c@7", "task@10"}));
}

TEST(TestScheduler, T20_EventsCompleteExternalPromisesCancelAndSpawn) {
  TestScheduler test;
  std::optional<ExternalPromise<int>> reply;
  const auto ask = [&]() -> Task<int> {
    reply.emplace();
    co_return co_await reply->future();
  };
  auto answer = test.spawn(std::ref(ask));
  auto doomed = test.spawn(say_after, 1h, "never");
  std::optional<Handle<std::string>> spawned;
  test.at(3ms, [&] { reply->complete(5); });
  test.at(4ms, [&] { doomed.cancel("enough"); });
  test.at(20ms, [&] { spawned = test.spawn(say_after, 1ms, "late"); });
  EXPECT_EQ(test.result(answer), 5);
  EXPECT_EQ(doomed.state(), TaskState::cancelled);
  EXPECT_EQ(test.result(*spawned), "late");
  EXPECT_EQ(test.now(), 21ms) << "an event counts as something left to do";
  reply.reset();
}

TEST(TestScheduler, T20_EventsHappenOnTheWayOfAnAdvanceAlsoWithoutTasks) {
  TestScheduler test;
  Trace trace;
  test.at(3ms, [&] {
    trace.push_back("first");
    test.at(1ms, [&] { trace.push_back("second@" + std::to_string(test.now() / 1ms)); });
  });
  test.at(50ms, [&] { trace.push_back("too late"); });
  test.advance(2ms);
  EXPECT_EQ(trace, Trace());
  test.advance(8ms);
  EXPECT_EQ(trace, (Trace{"first", "second@4"}));
  EXPECT_EQ(test.now(), 10ms);
  EXPECT_EQ(test.leftovers(), "1 timers");
}

TEST(TestScheduler, T20_OfTwoEventsThatThrowAtOneTimeTheSecondIsReported) {
  TestScheduler test;
  test.at(1ms, [] { throw std::runtime_error("thrown"); });
  test.at(1ms, [] { throw std::runtime_error("at the same time"); });
  EXPECT_EQ(what_of(thrown_by([&] { test.advance(1ms); })), "thrown");
  EXPECT_EQ(test.scheduler().counters().unseen_failures, 1u);
  ASSERT_EQ(test.unseen_errors().size(), 1u);
}

TEST(TestScheduler, T20_WhatAnEventThrowsComesOutOfTheCallThatDrives) {
  TestScheduler test;
  test.spawn(say_after, 10ms, "x");
  test.at(1ms, [] { throw std::runtime_error("bad event"); });
  test.at(2ms, [] { throw std::runtime_error("second bad event"); });
  test.at(3ms, [&] { test.step(); });
  EXPECT_EQ(what_of(thrown_by([&] { test.advance(1ms); })), "bad event");
  EXPECT_EQ(what_of(thrown_by([&] { test.advance(1ms); })), "second bad event");
  EXPECT_EQ(code_of(thrown_by([&] { test.advance(1ms); })), Errc::nested_run);
  test.run();
}

TEST(TestScheduler, T20_OfTwoBadEventsInOneGoTheFirstIsThrown) {
  TestScheduler test;
  test.at(1ms, [] { throw std::runtime_error("first"); });
  test.at(1ms, [] { throw std::runtime_error("second"); });
  EXPECT_EQ(what_of(thrown_by([&] { test.run(); })), "first");
  test.run();
}

TEST(TestScheduler, T20_ADeadlockIsThrownWithItsReport) {
  TestScheduler test;
  std::optional<Promise<void>> never;
  const auto wait = [&]() -> Task<void> {
    never.emplace();
    co_await never->future();
  };
  test.spawn(std::ref(wait)).named("stuck");
  const auto error = thrown_by([&] { test.run(); });
  EXPECT_EQ(code_of(error), Errc::deadlock);
  EXPECT_NE(what_of(error).find("task #1 \"stuck\" waits for a promise"), std::string::npos);
  never.reset();
  test.run();
}

TEST(TestScheduler, T20_LogLinesAndUnseenErrorsAreKept) {
  TestScheduler test;
  const auto work = []() -> Task<void> {
    tiffany::log("a line");
    throw std::runtime_error("nobody looks");
    co_return;
  };
  test.spawn(std::ref(work));
  test.run();
  ASSERT_EQ(test.log().size(), 2u);
  EXPECT_EQ(test.log()[0], "a line");
  ASSERT_EQ(test.unseen_errors().size(), 1u);
  EXPECT_EQ(what_of(test.unseen_errors()[0]), "nobody looks");
}

TEST(TestScheduler, T20_LeftoversNameWhatIsNotOver) {
  TestScheduler test;
  EXPECT_EQ(test.leftovers(), "");
  test.spawn(say_after, 1ms, "x");
  test.step_until_idle();
  EXPECT_TRUE(test.leftovers().starts_with("1 tasks, 1 timers, ")) << test.leftovers();
  test.run();
  EXPECT_EQ(test.leftovers(), "");
}

TEST(TestScheduler, T20_TasksAndEventsThatAreLeftEndWithIt) {
  Trace trace;
  const auto work = [&]() -> Task<void> {
    const AtExit at_exit(trace, "unwound");
    co_await sleep(1h);
  };
  {
    TestScheduler test;
    test.spawn(std::ref(work));
    test.at(2h, [&] { trace.push_back("not reached"); });
    test.step_until_idle();
  }
  EXPECT_EQ(trace, (Trace{"unwound"}));
}

TEST(TestScheduler, T20_AQuantumOfOneMakesEveryAwaitASwitch) {
  const auto run = [](TestOptions options) {
    TestScheduler test(std::move(options));
    Trace trace;
    const auto work = [&](const std::string& name) -> Task<void> {
      for (int i = 0; i < 2; ++i) {
        trace.push_back(name);
        co_await checkpoint();
      }
    };
    test.spawn(std::ref(work), std::string("a"));
    test.spawn(std::ref(work), std::string("b"));
    test.run();
    return trace;
  };
  EXPECT_EQ(run(TestOptions()), (Trace{"a", "a", "b", "b"}));
  EXPECT_EQ(run(TestOptions().quantum(1)), (Trace{"a", "b", "a", "b"}));
}

TEST(TestScheduler, CompletingAnExternalPromiseSettlesItForGood) {
  TestScheduler test;
  std::optional<ExternalPromise<int>> promise;
  const auto ask = [&]() -> Task<int> {
    promise.emplace();
    co_return co_await promise->future();
  };
  auto reply = test.spawn(std::ref(ask));
  test.step_until_idle();
  EXPECT_EQ(test.scheduler().pending_externals(), 1u);
  Future<int> future = promise->future();
  test.complete(future, 7);
  EXPECT_EQ(test.scheduler().pending_externals(), 0u);
  EXPECT_FALSE(promise->complete(8)) << "the first completion counts";
  EXPECT_EQ(promise->ignored(), 1u);
  EXPECT_EQ(test.result(reply), 7);
  EXPECT_EQ(future.value(false), 7) << "and is not overwritten";
  EXPECT_EQ(code_of(thrown_by([&] { test.complete(future, 9); })), Errc::already_settled);
  future = {};
  promise.reset();
  test.step_until_idle();
  EXPECT_EQ(test.leftovers(), "");
}

TEST(TestScheduler, ACompletionFromOutsideThatIsUnderWayIsTheFirst) {
  TestScheduler test;
  std::optional<ExternalPromise<int>> promise;
  const auto ask = [&]() -> Task<int> {
    promise.emplace();
    co_return co_await promise->future();
  };
  auto reply = test.spawn(std::ref(ask));
  test.step_until_idle();
  EXPECT_TRUE(promise->complete(8));
  EXPECT_EQ(code_of(thrown_by([&] { test.complete(promise->future(), 7); })),
            Errc::already_settled);
  EXPECT_EQ(test.result(reply), 8);
}

TEST(TestScheduler, FailingAnExternalPromiseSettlesItForGood) {
  TestScheduler test;
  std::optional<ExternalPromise<int>> promise;
  const auto ask = [&]() -> Task<int> {
    promise.emplace();
    co_return co_await promise->future();
  };
  auto reply = test.spawn(std::ref(ask));
  test.step_until_idle();
  test.fail(promise->future(), std::make_exception_ptr(std::runtime_error("unplugged")));
  EXPECT_EQ(test.scheduler().pending_externals(), 0u);
  EXPECT_FALSE(promise->complete(8));
  EXPECT_EQ(what_of(thrown_by([&] { static_cast<void>(test.result(reply)); })), "unplugged");
}

}  // namespace test_scheduler_test
}  // namespace tiffany::test
