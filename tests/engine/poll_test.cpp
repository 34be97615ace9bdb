// T17: tasks written as state machines, behind the same handles as coroutines.
#include "tiffany/engine/poll.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace poll_test {

using namespace test;

// An agent made of functions, so that each test says what it does where it is.
template <class T>
class Agent final : public AgentTask<T> {
 public:
  using Step = std::function<Poll<T>(PollContext&)>;

  explicit Agent(Step step) : step_(std::move(step)) {}
  Agent(Step step, Trace& trace) : step_(std::move(step)), trace_(&trace) {}
  ~Agent() override {
    if (trace_ != nullptr) trace_->push_back("agent gone");
  }

  Poll<T> poll(PollContext& context) override { return step_(context); }
  void on_cancel(const CancelReason& reason) noexcept override {
    if (trace_ != nullptr) trace_->push_back("on_cancel: " + reason.message);
  }

 private:
  Step step_;
  Trace* trace_ = nullptr;
};

template <class T, class... Rest>
Handle<T> spawn_steps(typename Agent<T>::Step step, Rest&&... rest) {
  return spawn_agent(std::make_unique<Agent<T>>(std::move(step), std::forward<Rest>(rest)...));
}

// Counts down by timers.
class Countdown final : public AgentTask<std::string> {
 public:
  explicit Countdown(int from) : left_(from) {}
  Poll<std::string> poll(PollContext& context) override {
    if (left_-- == 0) return Poll<std::string>::ready("lift-off");
    context.wake_after(1s);
    return Poll<std::string>::pending();
  }

 private:
  int left_;
};

Task<int> number_after(Duration delay, int number) {
  co_await sleep(delay);
  co_return number;
}

TEST(PollEngine, T17_IsPolledWhenNewAndAfterEachWakeAndJoinedByACoroutine) {
  const auto program = []() -> Task<void> {
    auto handle = spawn_agent(std::make_unique<Countdown>(3));
    EXPECT_EQ(handle.state(), TaskState::pending) << "spawning is not a suspension point";
    const std::string result = co_await handle;
    EXPECT_EQ(result, "lift-off");
    EXPECT_EQ(now(), Time(3s));
    EXPECT_EQ(handle.state(), TaskState::completed);
    const std::string again = co_await handle;
    EXPECT_EQ(again, "lift-off") << "also after it ended";
  };
  run_program(program);
}

TEST(PollEngine, T17_TheContextTellsTheTimeAndTheId) {
  const auto program = []() -> Task<void> {
    co_await sleep(5ms);
    auto handle = spawn_steps<std::pair<Time, TaskId>>([](PollContext& context) {
      EXPECT_EQ(this_task::id(), context.id());
      return Poll<std::pair<Time, TaskId>>::ready({context.now(), context.id()});
    });
    const auto seen = co_await handle;
    EXPECT_EQ(seen.first, Time(5ms));
    EXPECT_EQ(seen.second, handle.id());
  };
  run_program(program);
}

TEST(PollEngine, T17_MayBeSpawnedIntoTheRootScopeFromOutside) {
  Scheduler scheduler(Options().virtual_time());
  auto handle = spawn_agent(scheduler.root(), std::make_unique<Countdown>(1)).named("agent");
  EXPECT_EQ(handle.name(), "agent");
  scheduler.run();
  EXPECT_EQ(handle.state(), TaskState::completed);
  EXPECT_EQ(handle.value(false), "lift-off");
  handle = {};
  expect_nothing_left(scheduler);
  EXPECT_EQ(code_of(thrown_by([] { spawn_agent(std::make_unique<Countdown>(1)); })), Errc::no_task);
}

TEST(PollEngine, T17_BelongsToTheNearestScope) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    co_await scope([&](Scope&) -> Task<void> {
      spawn_steps<void>(
          [first = true](PollContext& context) mutable {
            if (!std::exchange(first, false)) return Poll<void>::ready();
            context.wake_after(1s);
            return Poll<void>::pending();
          },
          trace);
      co_return;
    });
    trace.push_back("scope left");
    EXPECT_EQ(now(), Time(1s));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"agent gone", "scope left"}));
}

TEST(PollEngine, T17_AnAgentMaySpawnCoroutinesAndWaitForThem) {
  const auto program = []() -> Task<void> {
    Handle<int> child;
    auto agent = spawn_steps<int>([&](PollContext& context) {
      if (!child) {
        child = spawn(number_after, 3ms, 4);
        context.wake_on(child);
        return Poll<int>::pending();
      }
      EXPECT_TRUE(child.done());
      return Poll<int>::ready(child.value(false) + 1);
    });
    const int result = co_await agent;
    EXPECT_EQ(result, 5);
    EXPECT_EQ(now(), Time(3ms));
  };
  run_program(program);
}

TEST(PollEngine, T17_IsGatheredTogetherWithCoroutines) {
  const auto program = []() -> Task<void> {
    auto agent = spawn_agent(std::make_unique<Countdown>(2));
    auto coroutine = spawn(number_after, 1s, 7);
    auto both = co_await gather(agent, coroutine);
    EXPECT_EQ(both.get<0>(), "lift-off");
    EXPECT_EQ(both.get<1>(), 7);
    EXPECT_EQ(now(), Time(2s));
  };
  run_program(program);
}

TEST(PollEngine, T17_IsRacedAgainstCoroutinesAndMayWinOrLose) {
  const auto program = []() -> Task<void> {
    auto quick = spawn_agent(std::make_unique<Countdown>(1));
    auto slow = spawn(number_after, 5s, 7);
    auto won = co_await race(slow, quick);
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(won.get<1>(), "lift-off");
    auto late = spawn_agent(std::make_unique<Countdown>(10));
    auto lost = co_await race(late, slow);
    EXPECT_EQ(lost.index, 1u);
    EXPECT_EQ(lost.get<1>(), 7);
    EXPECT_EQ(late.state(), TaskState::blocked) << "the loser goes on";
    co_await late;
    EXPECT_EQ(now(), Time(11s));
  };
  run_program(program);
}

TEST(PollEngine, T17_ItsFailureIsAnOutcomeAmongOthers) {
  const auto program = []() -> Task<void> {
    std::vector<Handle<int>> handles;
    handles.push_back(spawn_steps<int>(
        [](PollContext&) -> Poll<int> { throw std::runtime_error("broken agent"); }));
    handles.push_back(spawn(number_after, 1ms, 1));
    handles.push_back(spawn_steps<int>([](PollContext&) { return Poll<int>::ready(2); }));
    const auto ends = co_await all_settled(handles);
    EXPECT_EQ(ends.size(), 3u);
    EXPECT_EQ(what_of(ends[0].error()), "broken agent");
    EXPECT_EQ(ends[1].value() + ends[2].value(), 3);
  };
  run_program(program);
}

TEST(PollEngine, T9_WithinWaitsForItOnlySoLong) {
  const auto program = []() -> Task<void> {
    auto agent = spawn_agent(std::make_unique<Countdown>(10));
    const auto timed = co_await within(2500ms, agent);
    EXPECT_TRUE(timed.timed_out());
    EXPECT_EQ(agent.state(), TaskState::blocked) << "only the wait is given up";
    agent.cancel();
  };
  run_program(program);
}

// ---- Failures ----

TEST(PollEngine, T10_WhatPollThrowsFailsTheTaskAndReachesItsJoiners) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto handle = spawn_steps<int>(
        [](PollContext&) -> Poll<int> { throw std::out_of_range("no such state"); }, trace);
    const auto error = co_await error_of(handle);
    EXPECT_THROW(std::rethrow_exception(error), std::out_of_range);
    EXPECT_EQ(handle.state(), TaskState::failed);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"agent gone"})) << "and its state machine is gone, without on_cancel";
}

TEST(PollEngine, T10_AFailureThatNobodyAwaitedIsReported) {
  std::string logged;
  Scheduler scheduler(
      Options().virtual_time().log_to([&](const LogLine& line) { logged += line.message; }));
  spawn_agent(scheduler.root(), std::make_unique<Agent<int>>([](PollContext&) -> Poll<int> {
                throw std::runtime_error("unheard");
              }));
  scheduler.run();
  EXPECT_NE(logged.find("unheard"), std::string::npos) << logged;
  EXPECT_NE(logged.find("poll_test.cpp:"), std::string::npos) << logged;
  expect_nothing_left(scheduler);
}

TEST(PollEngine, W8_AReportNamesWhatAnAgentWaitsFor) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = []() -> Task<void> {
    Promise<int> never;
    const Future<int> future = never.future();
    auto stuck = spawn([](Future<int> f) -> Task<int> { co_return co_await f; }, future);
    const auto waits = [&](PollContext& context) {
      context.wake_on(stuck);
      context.wake_on(future);
      return Poll<int>::pending();
    };
    co_await spawn_steps<int>(waits).named("agent");
  };
  scheduler.spawn(program);
  const std::string report = what_of(thrown_by([&] { scheduler.run(); }));
  EXPECT_NE(report.find("\"agent\" waits for task #2 or a promise"), std::string::npos) << report;
}

TEST(PollEngine, T17_PendingWithoutAWayToWakeIsAnError) {
  const auto program = []() -> Task<void> {
    auto handle =
        spawn_steps<void>([](PollContext&) { return Poll<void>::pending(); }).named("forgetful");
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.failed());
    EXPECT_EQ(code_of(outcome.error()), Errc::no_wake_source);
    EXPECT_NE(what_of(outcome.error()).find("\"forgetful\""), std::string::npos);
  };
  run_program(program);
}

TEST(PollEngine, T17_WakeUpsMustBeAskedForEachTime) {
  const auto program = []() -> Task<void> {
    auto handle = spawn_steps<void>([asked = false](PollContext& context) mutable {
      if (!std::exchange(asked, true)) context.wake_after(1ms);
      return Poll<void>::pending();
    });
    const auto outcome = co_await handle.outcome();
    EXPECT_EQ(code_of(outcome.error()), Errc::no_wake_source);
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
}

// As in a coroutine: only a task that was asked to stop is cancelled.
TEST(PollEngine, W4_ACancelledThatStrayedIntoPollIsAnErrorLikeAnyOther) {
  const auto program = []() -> Task<void> {
    Trace trace;
    auto handle = spawn_steps<void>(
        [](PollContext&) -> Poll<void> {
          throw Cancelled(Scheduler::current()->reason(CancelCause::requested, "another one's",
                                                       std::source_location::current()));
        },
        trace);
    static_cast<void>(co_await handle.outcome());
    EXPECT_EQ(handle.state(), TaskState::failed);
    EXPECT_EQ(trace, Trace({"agent gone"}));
  };
  run_program(program);
}

// ---- Waking ----

TEST(PollEngine, T17_TheFirstOfSeveralHandlesWakesItAndEndsTheOtherWaits) {
  const auto program = []() -> Task<void> {
    auto slow = spawn(number_after, 9ms, 9);
    auto quick = spawn(number_after, 4ms, 4);
    int polls = 0;
    auto agent = spawn_steps<int>([&](PollContext& context) {
      if (polls++ == 0) {
        context.wake_on(slow);
        context.wake_on(quick);
        context.wake_on(quick);  // twice is once
        context.wake_after(1h);
        return Poll<int>::pending();
      }
      return Poll<int>::ready(quick.value(false));
    });
    const int result = co_await agent;
    EXPECT_EQ(result, 4);
    EXPECT_EQ(polls, 2);
    EXPECT_EQ(now(), Time(4ms));
    EXPECT_FALSE(slow.waitable().has_waiters());
    EXPECT_EQ(Scheduler::current()->armed_timers(), 1u) << "that of the slow one";
    co_await slow;
    EXPECT_EQ(now(), Time(9ms));
  };
  run_program(program);
}

TEST(PollEngine, T17_TheTimerMayComeBeforeTheHandles) {
  const auto program = []() -> Task<void> {
    auto slow = spawn(number_after, 9ms, 9);
    auto agent = spawn_steps<bool>([&, first = true](PollContext& context) mutable {
      if (!std::exchange(first, false)) return Poll<bool>::ready(slow.done());
      context.wake_on(slow);
      context.wake_after(5ms);
      context.wake_at(Time(2ms));  // the earliest counts
      context.wake_at(Time(7ms));
      return Poll<bool>::pending();
    });
    const bool slow_was_done = co_await agent;
    EXPECT_FALSE(slow_was_done);
    EXPECT_EQ(now(), Time(2ms));
    EXPECT_FALSE(slow.waitable().has_waiters());
  };
  run_program(program);
}

TEST(PollEngine, W3_WaitsForPromisesAndOtherAgentsToo) {
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    const Future<int> future = promise.future();
    auto first = spawn_steps<int>([&](PollContext& context) {
      if (future.done()) return Poll<int>::ready(future.value(false) + 1);
      context.wake_on(future);
      return Poll<int>::pending();
    });
    auto second = spawn_steps<int>([&](PollContext& context) {
      if (first.done()) return Poll<int>::ready(first.value(false) + 1);
      context.wake_on(first);
      return Poll<int>::pending();
    });
    co_await yield();
    promise.complete(1);
    const int result = co_await second;
    EXPECT_EQ(result, 3);
  };
  run_program(program);
}

TEST(PollEngine, T17_AHandleThatHasEndedWakesItAtOnce) {
  const auto program = []() -> Task<void> {
    auto done = spawn(number_after, 0ms, 1);
    co_await done;
    int polls = 0;
    auto agent = spawn_steps<void>([&](PollContext& context) {
      if (++polls == 3) return Poll<void>::ready();
      context.wake_on(done);
      context.wake_after(1h);
      return Poll<void>::pending();
    });
    co_await agent;
    EXPECT_EQ(now(), Time());
    EXPECT_EQ(polls, 3);
  };
  run_program(program);
}

TEST(PollEngine, T17_ATimeThatHasPassedWakesItThroughTheTimers) {
  const auto program = []() -> Task<void> {
    co_await sleep(5ms);
    auto agent = spawn_steps<Time>([first = true](PollContext& context) mutable {
      if (!std::exchange(first, false)) return Poll<Time>::ready(context.now());
      context.wake_at(Time(1ms));
      return Poll<Time>::pending();
    });
    const Time woken = co_await agent;
    EXPECT_EQ(woken, Time(5ms));
  };
  run_program(program);
}

TEST(PollEngine, T6_AgainGivesWayToTheOthers) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto agent = spawn_steps<void>([&, left = 3](PollContext&) mutable {
      trace.push_back("agent");
      return --left > 0 ? Poll<void>::again() : Poll<void>::ready();
    });
    const auto body = [&]() -> Task<void> {
      for (int i = 0; i < 3; ++i) {
        trace.push_back("coroutine");
        co_await yield();
      }
    };
    auto other = spawn(std::ref(body));
    co_await gather(agent, other);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"agent", "coroutine", "agent", "coroutine", "agent", "coroutine"}));
}

TEST(PollEngine, W6_AgainOfAnAgentThatIsAloneGoesOn) {
  const auto program = []() -> Task<void> {
    int polls = 0;
    auto agent = spawn_steps<void>([&](PollContext&) {
      return ++polls < 100'000 ? Poll<void>::again() : Poll<void>::ready();
    });
    co_await agent;
    EXPECT_EQ(polls, 100'000);
  };
  run_program(program);
}

// ---- Results ----

TEST(PollEngine, I7_WithoutAValue) {
  const auto program = []() -> Task<void> {
    auto agent = spawn_steps<void>([](PollContext&) { return Poll<void>::ready(); });
    co_await agent;
    EXPECT_EQ(agent.state(), TaskState::completed);
  };
  run_program(program);
}

TEST(PollEngine, T17_LargeResultsAreKeptWithTheTask) {
  const auto program = []() -> Task<void> {
    using Large = std::array<std::string, 20>;
    auto agent = spawn_steps<Large>([](PollContext&) {
      Large large;
      large[19] = "the last of many strings, none of which fits into the record";
      return Poll<Large>::ready(large);
    });
    const Large result = co_await agent;
    EXPECT_EQ(result[19], "the last of many strings, none of which fits into the record");
  };
  run_program(program);
}

TEST(PollEngine, T17_ResultsThatCanOnlyBeMovedAreTakenOnce) {
  const auto program = []() -> Task<void> {
    auto agent = spawn_steps<std::unique_ptr<int>>(
        [](PollContext&) { return Poll<std::unique_ptr<int>>::ready(std::make_unique<int>(5)); });
    auto copy = agent;
    const std::unique_ptr<int> result = co_await std::move(agent);
    EXPECT_EQ(*result, 5);
    const auto taken = co_await error_of(std::move(copy));
    EXPECT_EQ(code_of(taken), Errc::value_taken);
  };
  run_program(program);
}

TEST(PollEngine, W9_ResultsAreDestroyedWithTheLastHandle) {
  const auto value = std::make_shared<int>(1);
  const auto program = [&]() -> Task<void> {
    {
      auto agent = spawn_steps<std::shared_ptr<int>>(
          [&](PollContext&) { return Poll<std::shared_ptr<int>>::ready(value); });
      static_cast<void>(co_await agent.outcome());
      EXPECT_EQ(value.use_count(), 2);
    }
    EXPECT_EQ(value.use_count(), 1);
    spawn_steps<std::shared_ptr<int>>(
        [&](PollContext&) { return Poll<std::shared_ptr<int>>::ready(value); });
    co_await yield();
    EXPECT_EQ(value.use_count(), 1) << "nobody holds a handle";
  };
  run_program(program);
}

TEST(PollEngine, W9_TheStateMachineIsGoneBeforeItsJoinersGoOn) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto agent = spawn_steps<int>([](PollContext&) { return Poll<int>::ready(1); }, trace);
    co_await agent;
    trace.push_back("joined");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"agent gone", "joined"}));
}

// ---- Cancel ----

TEST(PollCancel, I4_BeforeItsStartPollIsNeverCalled) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto agent = spawn_steps<void>(
        [&](PollContext&) {
          trace.push_back("polled");
          return Poll<void>::ready();
        },
        trace);
    agent.cancel("not wanted");
    EXPECT_EQ(agent.state(), TaskState::cancelled);
    const auto error = co_await agent.outcome();
    EXPECT_EQ(code_of(error.error()), Errc::task_cancelled);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"agent gone"}));
}

TEST(PollCancel, I4_WhileParkedItsWakeUpsAreWithdrawnAndOnCancelIsCalled) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Promise<int> promise;
    auto agent = spawn_steps<void>(
        [&](PollContext& context) {
          trace.push_back("polled");
          context.wake_on(promise.future());
          context.wake_after(1h);
          return Poll<void>::pending();
        },
        trace);
    co_await yield();
    Scheduler& scheduler = *Scheduler::current();
    EXPECT_EQ(scheduler.armed_timers(), 1u);
    EXPECT_TRUE(promise.future().waitable().has_waiters());
    agent.cancel("enough");
    EXPECT_EQ(scheduler.armed_timers(), 0u);
    EXPECT_FALSE(promise.future().waitable().has_waiters());
    const auto outcome = co_await agent.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(now(), Time()) << "the clock does not jump to a timer that is gone";
    const CancelReasonPtr reason = scheduler.find(agent.id())->cancel_reason();
    EXPECT_EQ(reason->message, "enough");
    EXPECT_EQ(reason->requester, this_task::id());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"polled", "on_cancel: enough", "agent gone"}));
}

TEST(PollCancel, I4_AfterItsWakeItIsPolledOnceMoreAndMayFinish) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Promise<int> promise;
    const Future<int> future = promise.future();
    auto agent = spawn_steps<int>(
        [&](PollContext& context) {
          trace.push_back("polled");
          if (future.done()) return Poll<int>::ready(future.value(false));
          context.wake_on(future);
          return Poll<int>::pending();
        },
        trace);
    co_await yield();
    promise.complete(3);
    EXPECT_EQ(agent.state(), TaskState::ready);
    agent.cancel("too late");
    const int result = co_await agent;
    EXPECT_EQ(result, 3);
    EXPECT_EQ(agent.state(), TaskState::completed);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"polled", "polled", "agent gone"}));
}

TEST(PollCancel, I4_AfterItsWakeTheNextPendingEndsIt) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto agent = spawn_steps<int>(
        [&](PollContext& context) {
          trace.push_back("polled");
          context.wake_after(1ms);
          return Poll<int>::pending();
        },
        trace);
    co_await sleep(1ms);  // armed before that of the agent, so this task is the first to go on
    EXPECT_EQ(agent.state(), TaskState::ready);
    agent.cancel("now");
    static_cast<void>(co_await agent.outcome());
    EXPECT_EQ(agent.state(), TaskState::cancelled);
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"polled", "polled", "on_cancel: now", "agent gone"}));
}

TEST(PollCancel, I4_AfterItsWakeTheNextAgainEndsItToo) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Promise<void> promise;
    auto agent = spawn_steps<int>(
        [&](PollContext& context) {
          trace.push_back("polled");
          if (promise.done()) return Poll<int>::again();
          context.wake_on(promise.future());
          return Poll<int>::pending();
        },
        trace);
    co_await yield();
    promise.complete();
    agent.cancel("now");
    static_cast<void>(co_await agent.outcome());
    EXPECT_EQ(agent.state(), TaskState::cancelled);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"polled", "polled", "on_cancel: now", "agent gone"}));
}

TEST(PollCancel, I4_AfterAgainItIsNotPolledAnyMore) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto agent = spawn_steps<int>(
        [&](PollContext&) {
          trace.push_back("polled");
          return Poll<int>::again();
        },
        trace);
    co_await yield();
    EXPECT_EQ(agent.state(), TaskState::suspended);
    agent.cancel("stop");
    static_cast<void>(co_await agent.outcome());
    EXPECT_EQ(agent.state(), TaskState::cancelled);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"polled", "on_cancel: stop", "agent gone"}));
}

TEST(PollCancel, I4_ByItselfFromInsidePollItMayStillFinish) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto finishes = spawn_steps<int>([](PollContext&) {
      this_task::cancel("changed my mind");
      return Poll<int>::ready(1);
    });
    auto waits = spawn_steps<int>(
        [](PollContext& context) {
          this_task::cancel("really");
          context.wake_after(1h);
          return Poll<int>::pending();
        },
        trace);
    static_cast<void>(co_await finishes.outcome());
    static_cast<void>(co_await waits.outcome());
    EXPECT_EQ(finishes.state(), TaskState::completed);
    EXPECT_EQ(waits.state(), TaskState::cancelled);
    EXPECT_EQ(now(), Time());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"on_cancel: really", "agent gone"}));
}

TEST(PollCancel, I4_CancellingOneThatHasEndedKeepsItsValue) {
  const auto program = []() -> Task<void> {
    auto agent = spawn_steps<int>([](PollContext&) { return Poll<int>::ready(1); });
    co_await agent;
    agent.cancel();
    const int result = co_await agent;
    EXPECT_EQ(result, 1);
    EXPECT_EQ(agent.state(), TaskState::completed);
  };
  run_program(program);
}

TEST(PollCancel, I4_AFailingSiblingCancelsAnAgentOfTheScope) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto fails = []() -> Task<void> {
      co_await sleep(1ms);
      throw std::runtime_error("sibling");
    };
    const auto block = [&](Scope& s) -> Task<void> {
      spawn_agent(s, std::make_unique<Agent<void>>(
                         [](PollContext& context) {
                           context.wake_after(1h);
                           return Poll<void>::pending();
                         },
                         trace));
      s.spawn(fails);
      co_return;
    };
    const auto error = co_await error_of(scope(block));
    EXPECT_EQ(what_of(error), "sibling");
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace[0].find("on_cancel: "), 0u) << trace[0];
  EXPECT_EQ(trace[1], "agent gone");
}

// No task runs and nobody drives the scheduler when these cancels come.
TEST(PollCancel, I4_FromOutsideOfTheSchedulersLoop) {
  const auto body = [] {
    Trace trace;
    Scheduler scheduler(Options().virtual_time());
    const auto sleeps = [](PollContext& context) {
      context.wake_after(1h);
      return Poll<void>::pending();
    };
    auto agent = spawn_agent(scheduler.root(), std::make_unique<Agent<void>>(sleeps, trace));
    scheduler.step_until_idle();
    agent.cancel("from outside");
    EXPECT_EQ(scheduler.armed_timers(), 0u);
    scheduler.run();
    EXPECT_EQ(agent.state(), TaskState::cancelled);
    EXPECT_EQ(scheduler.now(), Time());
    EXPECT_EQ(trace, Trace({"on_cancel: from outside", "agent gone"}));
  };
  EXPECT_SURVIVES(body);
}

TEST(PollCancel, T2_ShutdownEndsAgents) {
  const auto body = [] {
    Trace trace;
    Scheduler scheduler(Options().virtual_time());
    const auto sleeps = [](PollContext& context) {
      context.wake_after(1h);
      return Poll<void>::pending();
    };
    spawn_agent(scheduler.root(), std::make_unique<Agent<void>>(sleeps, trace));
    scheduler.step_until_idle();
    scheduler.shutdown("closing");
    EXPECT_EQ(trace, Trace({"on_cancel: closing", "agent gone"}));
    expect_nothing_left(scheduler);
  };
  EXPECT_SURVIVES(body);
}

TEST(PollCancel, T2_TheDestructorOfASchedulerEndsAgentsWhereverTheyAre) {
  const auto body = [] {
    Trace trace;
    {
      Scheduler scheduler(Options().virtual_time());
      const auto sleeps = [](PollContext& context) {
        context.wake_after(1h);
        return Poll<void>::pending();
      };
      const auto spins = [](PollContext&) { return Poll<void>::again(); };
      spawn_agent(scheduler.root(), std::make_unique<Agent<void>>(sleeps, trace));
      spawn_agent(scheduler.root(), std::make_unique<Agent<void>>(spins, trace));
      scheduler.step();
      scheduler.step();
      spawn_agent(scheduler.root(), std::make_unique<Agent<void>>(sleeps, trace));
    }
    EXPECT_EQ(std::count(trace.begin(), trace.end(), "agent gone"), 3);
    EXPECT_EQ(trace.size(), 5u) << "two had begun and heard of it";
  };
  EXPECT_SURVIVES(body);
}

}  // namespace poll_test
}  // namespace tiffany
