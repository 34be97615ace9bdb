// Sleep, yield, checkpoint and the other small calls.
#include "tiffany/core/sleep.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/hand_clock.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace sleep_test {

using namespace test;

Task<void> sleep_and_note(Trace& trace, Duration delay, std::string name) {
  co_await sleep(delay);
  trace.push_back(std::move(name));
}

TEST(Sleep, T7_AWokenSleeperReadsItsOwnDeadline) {
  const auto program = []() -> Task<void> {
    co_await sleep(3ms);
    EXPECT_EQ(now(), Time(3ms));
    co_await sleep_until(Time(10ms));
    EXPECT_EQ(now(), Time(10ms));
  };
  run_program(program);
}

TEST(Sleep, T7_CodeBehindASleepHasNotRunBeforeItsTime) {
  Trace trace;
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(sleep_and_note, std::ref(trace), 10ms, "woke");
  scheduler.run_until(Time(10ms) - 1ns);
  EXPECT_EQ(trace, Trace());
  scheduler.run_until(Time(10ms));
  EXPECT_EQ(trace, Trace({"woke"}));
}

TEST(Sleep, T7_EqualDeadlinesWakeInTheOrderTheSleepsBegan) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    for (const char* name : {"a", "b", "c"}) spawn(sleep_and_note, std::ref(trace), 5ms, name);
    co_await sleep(2ms);
    for (const char* name : {"d", "e"}) spawn(sleep_and_note, std::ref(trace), 3ms, name);
    co_await sleep(10ms);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"a", "b", "c", "d", "e"}));
}

TEST(Sleep, T7_ANegativeSleepIsAnErrorAtTheCall) {
  const auto program = []() -> Task<void> {
    const auto error = thrown_by([] { static_cast<void>(sleep(-1ns)); });
    EXPECT_EQ(code_of(error), Errc::bad_argument);
    EXPECT_NE(what_of(error).find("-1 ns"), std::string::npos) << what_of(error);
    co_return;
  };
  run_program(program);
}

TEST(Sleep, T7_ZeroGoesThroughTheTimersAndNotThroughTheQueue) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto sleeper = spawn(sleep_and_note, std::ref(trace), 0ms, "slept");
    co_await yield();
    EXPECT_EQ(sleeper.state(), TaskState::blocked);
    EXPECT_EQ(Scheduler::current()->armed_timers(), 1u);
    for (int i = 0; i < 3; ++i) {
      trace.push_back("yield");
      co_await yield();
    }
  };
  // Timers are looked at between turns, and this turn is long enough for all of main.
  run_program(program, Options().virtual_time().turn(1000));
  EXPECT_EQ(trace, Trace({"yield", "yield", "yield", "slept"}));
}

TEST(Sleep, T7_ATimeThatHasPassedGoesThroughTheTimersLikeZero) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    co_await sleep(5ms);
    auto later = spawn(sleep_and_note, std::ref(trace), 1ms, "later");
    co_await yield();
    co_await sleep_until(Time(2ms));
    trace.push_back("past");
    EXPECT_EQ(now(), Time(5ms));
    co_await later;
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"past", "later"}));
}

// A virtual clock starts at zero, so this time is a negative number.
TEST(Sleep, T7_ATimeBeforeTheClockStartedIsInThePastToo) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto later = spawn(sleep_and_note, std::ref(trace), 1ms, "later");
    auto more = spawn(sleep_and_note, std::ref(trace), 2ms, "even later");
    co_await yield();
    co_await sleep_until(now() - 1s);
    trace.push_back("past");
    EXPECT_EQ(now(), Time());
    co_await gather(later, more);
    co_await sleep(1ms);
    EXPECT_EQ(now(), Time(3ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"past", "later", "even later"}));
}

TEST(Sleep, T7_ASleepUntilTheEndOfTimeDoesNotOverflow) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    co_await sleep(1ms);
    auto endless = spawn(sleep_and_note, std::ref(trace), Duration::max(), "the end");
    co_await sleep(24h * 365 * 100);
    EXPECT_EQ(endless.state(), TaskState::blocked);
    trace.push_back("a century");
    co_await cancel_and_join(endless);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"a century"}));
}

// B87
TEST(Sleep, I4_ACancelledSleepIsDisarmedAndTheVirtualClockDoesNotJumpToIt) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto sleeper = spawn(sleep_and_note, std::ref(trace), 1h, "never");
    co_await sleep(1ms);
    EXPECT_EQ(Scheduler::current()->armed_timers(), 1u);
    sleeper.cancel();
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u) << "at once";
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(scheduler.now(), Time(1ms));
  EXPECT_EQ(trace, Trace());
}

TEST(Sleep, I4_CancellingASleeperWhileNobodyDrivesTheSchedulerWorksToo) {
  const auto body = [] {
    Scheduler scheduler(Options().virtual_time());
    Trace trace;
    auto sleeper = scheduler.spawn(sleep_and_note, std::ref(trace), 1h, "never");
    scheduler.step_until_idle();
    sleeper.cancel();
    EXPECT_EQ(scheduler.armed_timers(), 0u);
    scheduler.run();
    EXPECT_EQ(scheduler.now(), Time());
    EXPECT_EQ(sleeper.state(), TaskState::cancelled);
    sleeper = {};
    expect_nothing_left(scheduler);
  };
  EXPECT_SURVIVES(body);
}

TEST(Sleep, T7_AMillionNanosecondsApartAreStillInOrder) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    for (int i = 9; i >= 0; --i) {
      spawn(sleep_and_note, std::ref(trace), Duration(1'000'000 + i), std::to_string(i));
    }
    co_await sleep(1s);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
}

// ---- Relative times on a real clock: a slice that takes long moves the clock, and not now() ----

TEST(Sleep, ARelativeTimeCountsFromTheCallAndNotFromTheBeginningOfTheTurn) {
  Time clock(1s);
  const auto program = [&]() -> Task<void> {
    const Time turn = now();
    clock += 80ms;  // work
    EXPECT_EQ(now(), turn) << "constant within a turn";
    co_await sleep(50ms);
    EXPECT_EQ(now(), Time(1130ms));
    co_await sleep_until(now() + 5ms);
    EXPECT_EQ(now(), Time(1135ms));
  };
  run_program(program, Options().clock(std::make_unique<HandClock>(clock)));
}

TEST(Sleep, EachOfSeveralSleepsInOneTurnCountsFromItsOwnCall) {
  Time clock(1s);
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto work_then_sleep = [&](Duration work, Duration delay,
                                     std::string name) -> Task<void> {
      clock += work;
      co_await sleep(delay);
      trace.push_back(name + " " + std::to_string(now().time_since_epoch() / 1ms));
    };
    spawn(std::ref(work_then_sleep), 0ms, 100ms, "a");
    spawn(std::ref(work_then_sleep), 80ms, 10ms, "b");
    spawn(std::ref(work_then_sleep), 5ms, 10ms, "c");
    co_await sleep(1s);
  };
  run_program(program, Options().clock(std::make_unique<HandClock>(clock)));
  EXPECT_EQ(trace, Trace({"b 1090", "c 1095", "a 1100"}));
}

TEST(Within, ItsLimitCountsFromTheCallAndNotFromTheBeginningOfTheTurn) {
  Time clock(1s);
  const auto program = [&]() -> Task<void> {
    const auto nap = []() -> Task<int> {
      co_await sleep(20ms);
      co_return 7;
    };
    clock += 80ms;
    const auto in_time = co_await within(50ms, nap());
    EXPECT_FALSE(in_time.timed_out());
    clock += 80ms;
    const auto late = co_await within(10ms, nap());
    EXPECT_TRUE(late.timed_out());
    EXPECT_EQ(now(), Time(1190ms));
  };
  run_program(program, Options().clock(std::make_unique<HandClock>(clock)));
}

TEST(Scope, ATimeoutCountsFromTheCallAndNotFromTheBeginningOfTheTurn) {
  Time clock(1s);
  const auto program = [&]() -> Task<void> {
    clock += 80ms;
    co_await scope([&](Scope& s) -> Task<void> {
      s.set_timeout(50ms);
      co_await sleep(20ms);
    });
    EXPECT_EQ(now(), Time(1100ms));
  };
  run_program(program, Options().clock(std::make_unique<HandClock>(clock)));
}

TEST(Supervision, ABackOffCountsFromTheEndOfTheChildAndNotFromTheBeginningOfTheTurn) {
  Time clock(1s);
  int starts = 0;
  const auto program = [&]() -> Task<void> {
    const auto child = [&]() -> Task<void> {
      if (++starts == 2) {
        EXPECT_EQ(now(), Time(1090ms));
        co_return;
      }
      clock += 80ms;
      throw std::runtime_error("again");
    };
    Supervision how(RestartStrategy::one_for_one);
    how.backoff(10ms, 10ms);
    co_await supervise(how, [&](Supervisor& s) { s.transient("child", std::ref(child)); });
  };
  run_program(program,
              Options().clock(std::make_unique<HandClock>(clock)).log_to([](const LogLine&) {}));
  EXPECT_EQ(starts, 2);
}

// ---- Yield ----

TEST(Yield, T3_GoesToTheBackOfItsPriority) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto other = [&]() -> Task<void> {
      trace.push_back("other");
      co_return;
    };
    spawn.with_priority(20)(std::ref(other));
    co_await yield();
    trace.push_back("a less urgent one did not run");
    spawn(std::ref(other));
    co_await yield();
    trace.push_back("main");
    co_await sleep(1ms);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"a less urgent one did not run", "other", "main", "other"}));
}

// B44: a cancel that came before is delivered at the yield, without a turn in the queue.
TEST(Yield, I4_CancelledBeforeItStartsItThrowsWithoutSuspending) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto body = [&]() -> Task<void> {
      this_task::cancel();
      try {
        co_await yield();
        trace.push_back("never");
      } catch (const Cancelled&) {
        trace.push_back("thrown");
        throw;
      }
    };
    const auto other = [&]() -> Task<void> {
      trace.push_back("other");
      co_return;
    };
    auto handle = spawn(std::ref(body));
    auto neighbour = spawn(std::ref(other));
    co_await neighbour;
    EXPECT_EQ(handle.state(), TaskState::cancelled);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"thrown", "other"}));
}

TEST(Yield, I4_CancelledWhileQueuedItThrows) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto body = [&]() -> Task<void> {
      const AtExit exit(trace, "unwound");
      co_await yield();
      trace.push_back("never");
    };
    auto handle = spawn(std::ref(body));
    co_await yield();
    EXPECT_EQ(handle.state(), TaskState::suspended);
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"unwound"}));
}

TEST(Yield, I4_CancelledAfterItWentOnTheNextSuspensionThrows) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Handle<void> self;
    const auto body = [&]() -> Task<void> {
      co_await yield();
      trace.push_back("went on");
      self.cancel();
      trace.push_back("still here");
      co_await yield();
      trace.push_back("never");
    };
    self = spawn(std::ref(body));
    const auto outcome = co_await self.outcome();
    EXPECT_TRUE(outcome.cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"went on", "still here"}));
}

// ---- Checkpoint ----

TEST(Checkpoint, T9_StopsACancelledLoopAndGivesWayOnlyWhenTheQuantumIsSpent) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto other = [&]() -> Task<void> {
      trace.push_back("other");
      co_return;
    };
    spawn(std::ref(other));
    co_await checkpoint();
    trace.push_back("not given way");
    const auto loop = [&]() -> Task<void> {
      for (;;) co_await checkpoint();
    };
    auto handle = spawn(std::ref(loop));
    co_await sleep(0ms);  // the loop gives way every so often, or this would never return
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
  };
  run_program(program, Options().virtual_time().quantum(10));
  EXPECT_EQ(trace, Trace({"not given way", "other"}));
}

TEST(Log, T3_APlainCallGoesOnInACancelledTask) {
  const auto program = []() -> Task<void> {
    TaskId seen;
    bool logged = false;
    const auto body = [&]() -> Task<void> {
      this_task::cancel();
      seen = this_task::id();
      log("still written");
      logged = true;
      co_await checkpoint();
      logged = false;
    };
    auto handle = spawn(std::ref(body));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(seen, handle.id());
    EXPECT_TRUE(logged);
  };
  run_program(program, Options().virtual_time().log_to([](const LogLine&) {}));
}

}  // namespace sleep_test
}  // namespace tiffany
