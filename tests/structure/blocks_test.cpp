// Blocks that start, decide and end their operations: within, race, any, cancel_and_join.
#include "tiffany/structure/blocks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/hand_clock.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace blocks_test {

using namespace test;

Task<int> after_ms(int ms, int value) {
  co_await sleep(std::chrono::milliseconds(ms));
  co_return value;
}
// Says how it ended: by itself, or unwound.
Task<int> traced(Trace& trace, int ms, std::string name) {
  const AtExit exit(trace, name + " gone");
  co_await sleep(std::chrono::milliseconds(ms));
  trace.push_back(name);
  co_return ms;
}
Task<int> fails_after_ms(int ms, std::string why) {
  co_await sleep(std::chrono::milliseconds(ms));
  throw std::runtime_error(why);
}
Task<void> nothing_after_ms(int ms) { co_await sleep(std::chrono::milliseconds(ms)); }
Task<std::string> text_after_ms(int ms, std::string text) {
  co_await sleep(std::chrono::milliseconds(ms));
  co_return text;
}

// ---- within ----

TEST(Within, T9_GivesTheValueThatComesInTimeAndDisarmsItsTimer) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = []() -> Task<void> {
    const auto result = co_await within(5ms, after_ms(3, 7));
    EXPECT_FALSE(result.timed_out());
    EXPECT_EQ(*result, 7);
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(scheduler.now(), Time(3ms));
}

TEST(Within, T9_ATimeoutIsAValueAndTheOperationHasEndedBeforeItReturns) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto result = co_await within(5ms, traced(trace, 50, "operation"));
    trace.push_back("returned");
    EXPECT_TRUE(result.timed_out());
    EXPECT_EQ(now(), Time(5ms));
    co_await sleep(1ms);  // the one who asked was not cancelled
    trace.push_back("goes on");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"operation gone", "returned", "goes on"}));
}

TEST(Within, T9_TheOperationSeesTheReason) {
  const auto program = []() -> Task<void> {
    CancelCause cause{};
    unsigned line = 0;
    const auto operation = [&]() -> Task<void> {
      try {
        co_await sleep(1h);
      } catch (const Cancelled& cancelled) {
        cause = cancelled.reason().cause;
        line = cancelled.reason().site.line();
        throw;
      }
    };
    const auto result = co_await within(1ms, operation());
    const auto here = static_cast<unsigned>(__LINE__ - 1);
    EXPECT_TRUE(result.timed_out());
    EXPECT_EQ(cause, CancelCause::timeout);
    EXPECT_EQ(line, here);
  };
  run_program(program);
}

TEST(Within, T9_WaitsForAShieldInsideTheOperation) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto operation = [&]() -> Task<void> {
      co_await shield(traced(trace, 8, "shielded"));
      co_await sleep(1ms);
      trace.push_back("never");
    };
    const auto result = co_await within(5ms, operation());
    EXPECT_TRUE(result.timed_out());
    EXPECT_EQ(now(), Time(8ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"shielded", "shielded gone"}));
}

TEST(Within, T9_AValueThatArrivesAllTheSameWins) {
  const auto program = []() -> Task<void> {
    const auto swallows = []() -> Task<int> {
      try {
        co_await sleep(1h);
      } catch (const Cancelled&) {
      }
      co_return 6;
    };
    const auto kept = co_await within(1ms, swallows());
    EXPECT_EQ(kept.value(), 6);
  };
  run_program(program);
}

TEST(Within, I4_AResultThatArrivedBeforeTheTimeRanOutWinsThoughItWasNotSeenYet) {
  Time time{};
  Scheduler scheduler(Options().clock(std::make_unique<HandClock>(time)).turn(1));
  bool got = false;
  const auto program = [&]() -> Task<void> {
    Promise<int> promise;
    const auto waits = [&]() -> Task<void> {
      const auto result = co_await within(2ms, promise.future());
      got = result.value() == 3;
      co_await sleep(1ms);  // the timeout is over with its block
    };
    auto waiter = spawn(std::ref(waits));
    co_await yield();
    promise.complete(3);
    EXPECT_EQ(waiter.state(), TaskState::ready);
    time = Time(2ms);  // the next turn fires the timer, before the waiter runs
    co_await waiter;
  };
  run_on_scheduler(scheduler, program);
  EXPECT_TRUE(got);
}

TEST(Within, T9_AnErrorInTimePassesThrough) {
  const auto program = []() -> Task<void> {
    const auto error = co_await error_of(within(5ms, fails_after_ms(1, "early")));
    EXPECT_EQ(what_of(error), "early");
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
  };
  run_program(program);
}

TEST(Within, T9_ANegativeLimitIsAnErrorAndZeroGivesNoTimeToWait) {
  const auto program = []() -> Task<void> {
    const auto error = co_await error_of(within(-1ns, after_ms(1, 1)));
    EXPECT_EQ(code_of(error), Errc::bad_argument);
    const auto waits = co_await within(0ms, after_ms(1, 1));
    EXPECT_TRUE(waits.timed_out());
    EXPECT_EQ(now(), Time());
    const auto at_once = []() -> Task<int> { co_return 2; };
    const auto result = co_await within(0ms, at_once());
    EXPECT_EQ(result.value(), 2);
  };
  run_program(program);
}

TEST(Within, I7_OverVoidAndFutures) {
  const auto program = []() -> Task<void> {
    const auto done = co_await within(5ms, nothing_after_ms(1));
    EXPECT_TRUE(done.has_value());
    const auto late = co_await within(5ms, nothing_after_ms(50));
    EXPECT_TRUE(late.timed_out());
    Promise<int> promise;
    const auto never = co_await within(1ms, promise.future());
    EXPECT_TRUE(never.timed_out());
    EXPECT_FALSE(promise.future().waitable().has_waiters());
  };
  run_program(program);
}

TEST(Within, T9_TheShorterOfTwoNestedLimitsDecides) {
  const auto program = []() -> Task<void> {
    const auto inner_short = []() -> Task<bool> {
      const auto inner = co_await within(2ms, nothing_after_ms(50));
      co_return inner.timed_out();
    };
    const auto a = co_await within(5ms, inner_short());
    EXPECT_EQ(a.value(), true);
    EXPECT_EQ(now(), Time(2ms));
    bool reached = false;
    const auto inner_long = [&]() -> Task<void> {
      co_await within(50ms, nothing_after_ms(90));
      reached = true;
    };
    const auto b = co_await within(5ms, inner_long());
    EXPECT_TRUE(b.timed_out()) << "the outer limit is not the inner one's to keep";
    EXPECT_FALSE(reached);
    EXPECT_EQ(now(), Time(7ms));
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
  };
  run_program(program);
}

TEST(Within, T9_EqualNestedLimitsAreATimeoutOfTheOuterOne) {
  const auto program = []() -> Task<void> {
    bool reached = false;
    const auto inner = [&]() -> Task<void> {
      co_await within(5ms, nothing_after_ms(50));
      reached = true;
    };
    const auto result = co_await within(5ms, inner());
    EXPECT_TRUE(result.timed_out());
    EXPECT_FALSE(reached);
  };
  run_program(program);
}

TEST(Within, I4_ACancelFromOutsideIsNotMistakenForATimeout) {
  Trace trace;
  const auto body = [&]() -> Task<void> {
    co_await within(5ms, traced(trace, 50, "operation"));
    trace.push_back("never");
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(body));
    co_await sleep(1ms);
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(now(), Time(1ms));
    // Both in the same instant: the cancel comes from further out, so it goes on. The body is less
    // urgent, so that it hears of its timeout only after the cancel has come.
    auto both = spawn.with_priority(20)(std::ref(body));
    co_await sleep_until(Time(6ms));
    EXPECT_EQ(both.state(), TaskState::ready);
    both.cancel();
    const auto second = co_await both.outcome();
    EXPECT_TRUE(second.cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"operation gone", "operation gone"}));
}

// ---- race over tasks ----

TEST(RaceOfTasks, I5_TheFirstToSettleDecidesAndTheOthersHaveEndedBeforeItReturns) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto won = co_await race(traced(trace, 50, "slow"), traced(trace, 2, "quick"),
                                   traced(trace, 70, "slower"));
    trace.push_back("returned");
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(won.value, 2);
    EXPECT_EQ(now(), Time(2ms));
    EXPECT_EQ(Scheduler::current()->live_tasks(), 1u);
    co_await sleep(1ms);  // the winner's end cancelled the others only
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"quick", "quick gone", "slow gone", "slower gone", "returned"}));
}

TEST(RaceOfTasks, I5_JoinsALoserThatTakesItsTime) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto stubborn = [&]() -> Task<int> {
      co_return co_await shield(traced(trace, 9, "late"));
    };
    const auto won = co_await race(stubborn(), after_ms(1, 5));
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(now(), Time(9ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"late", "late gone"}));
}

TEST(RaceOfTasks, W4_AnErrorThatComesFirstWinsAndTheOthersAreCancelled) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto error =
        co_await error_of(race(traced(trace, 50, "slow"), fails_after_ms(1, "broken")));
    EXPECT_EQ(what_of(error), "broken");
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"slow gone"}));
}

TEST(RaceOfTasks, T9_WhenNotAllCanBeStartedThoseThatWereHaveEndedBeforeItThrows) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto error = co_await error_of(
        race(traced(trace, 1, "started"), traced(trace, 1, "denied"), traced(trace, 1, "too")));
    EXPECT_EQ(code_of(error), Errc::spawn_denied);
    EXPECT_EQ(Scheduler::current()->live_tasks(), 1u);
    EXPECT_EQ(now(), Time()) << "they were cancelled";
  };
  run_program(program, Options().virtual_time().limit_tasks(2));
  EXPECT_EQ(trace, Trace());
}

TEST(RaceOfTasks, I5_OverDifferentTypes) {
  const auto program = []() -> Task<void> {
    auto won = co_await race(after_ms(9, 1), text_after_ms(2, "text"), nothing_after_ms(5));
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(std::get<1>(won.value), "text");
    auto quiet = co_await race(after_ms(9, 1), nothing_after_ms(5));
    EXPECT_EQ(quiet.index, 1u);
    EXPECT_EQ(std::get<1>(quiet.value), Unit());
  };
  run_program(program);
}

TEST(RaceOfTasks, I5_OverAnyNumber) {
  const auto program = []() -> Task<void> {
    std::vector<Task<int>> operations;
    for (int i = 0; i < 10; ++i) operations.push_back(after_ms(20 - i, i));
    const auto won = co_await race(std::move(operations));
    EXPECT_EQ(won.index, 9u);
    EXPECT_EQ(won.value, 9);
  };
  run_program(program);
}

TEST(RaceOfTasks, W4_OfNothingIsAnErrorAtTheCall) {
  const auto program = []() -> Task<void> {
    const auto raced = thrown_by([] { static_cast<void>(race(std::vector<Task<int>>())); });
    EXPECT_EQ(code_of(raced), Errc::empty_race);
    const auto any_of = thrown_by([] { static_cast<void>(any(std::vector<Task<int>>())); });
    EXPECT_EQ(code_of(any_of), Errc::empty_race);
    EXPECT_NE(what_of(any_of).find("any()"), std::string::npos);
    co_return;
  };
  run_program(program);
}

TEST(RaceOfTasks, I5_MoveOnlyResultsAreMoved) {
  const auto program = []() -> Task<void> {
    const auto make = [](int ms) -> Task<std::unique_ptr<int>> {
      co_await sleep(std::chrono::milliseconds(ms));
      co_return std::make_unique<int>(ms);
    };
    auto won = co_await race(make(5), make(2));
    EXPECT_EQ(*won.value, 2);
  };
  run_program(program);
}

TEST(RaceOfTasks, T9_TasksThatContendersSpawnedAreEndedToo) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto contender = [&]() -> Task<int> {
      spawn(traced, std::ref(trace), 50, "grandchild");
      co_return co_await after_ms(1, 1);
    };
    const auto won = co_await race(contender(), after_ms(20, 2));
    EXPECT_EQ(won.index, 0u);
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"grandchild gone"}));
}

// ---- any ----

TEST(Any, W1_TheFirstSuccessWinsAndTheOthersAreCancelledAndJoined) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto won =
        co_await any(fails_after_ms(1, "no"), traced(trace, 50, "slow"), traced(trace, 3, "good"));
    trace.push_back("returned");
    EXPECT_EQ(won.index, 2u);
    EXPECT_EQ(won.value, 3);
    EXPECT_EQ(now(), Time(3ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"good", "good gone", "slow gone", "returned"}));
}

TEST(Any, W4_WhenAllFailTheErrorCarriesAllOfThemInTheirOrder) {
  const auto program = []() -> Task<void> {
    std::vector<std::string> errors;
    std::string what;
    try {
      co_await any(fails_after_ms(3, "a"), fails_after_ms(1, "b"), fails_after_ms(2, "c"));
    } catch (const AllFailed& failed) {
      EXPECT_EQ(failed.code(), Errc::all_failed);
      for (const auto& error : failed.errors()) errors.push_back(what_of(error));
      what = failed.what();
    }
    EXPECT_EQ(errors, std::vector<std::string>({"a", "b", "c"}));
    EXPECT_NE(what.find("None of the 3"), std::string::npos) << what;
    EXPECT_EQ(now(), Time(3ms));
  };
  run_program(program);
}

// ---- cancel_and_join ----

TEST(CancelAndJoin, T9_AsksAtTheCallAndWaitsWhenAwaited) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(traced, std::ref(trace), 50, "target");
    co_await yield();
    auto joining = cancel_and_join(handle, "stop it");
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u) << "cancelled, though not awaited yet";
    const auto outcome = co_await std::move(joining);
    trace.push_back("joined");
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_NE(what_of(outcome.error()).find("stop it"), std::string::npos);
    EXPECT_EQ(now(), Time());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"target gone", "joined"}));
}

TEST(CancelAndJoin, T9_OfAFinishedTaskGivesItsValue) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(after_ms, 1, 4);
    co_await sleep(2ms);
    const auto outcome = co_await cancel_and_join(handle);
    EXPECT_EQ(outcome.value(), 4);
  };
  run_program(program);
}

TEST(CancelAndJoin, T9_WaitsForCleanUp) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto body = [&]() -> Task<void> { co_await shield(traced(trace, 7, "clean-up")); };
    auto handle = spawn(std::ref(body));
    co_await sleep(1ms);
    const auto outcome = co_await cancel_and_join(handle);
    EXPECT_TRUE(outcome.ok()) << "it ended without another suspension";
    EXPECT_EQ(now(), Time(7ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"clean-up", "clean-up gone"}));
}

Task<void> nap(Duration length) { co_await sleep(length); }

TEST(Race, W4_TasksWithoutAValueCompeteToo) {
  run_program([]() -> Task<void> {
    const auto won = co_await race(nap(2ms), nap(1ms));
    EXPECT_EQ(won.index, 1u);
    const auto first = co_await any(nap(3ms), nap(4ms));
    EXPECT_EQ(first.index, 0u);
    EXPECT_EQ(now(), Time(4ms));
  });
}

}  // namespace blocks_test
}  // namespace tiffany
