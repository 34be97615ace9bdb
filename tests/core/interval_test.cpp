#include "tiffany/core/interval.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/hand_clock.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace interval_test {

using namespace test;

std::string ms(Time time) { return std::to_string(time.time_since_epoch() / 1ms); }

// Five ticks, the second of which is followed by 35 ms of work: when they came, and for when.
Trace ticks_with_a_long_break(MissedTicks missed) {
  Trace trace;
  run_program([&]() -> Task<void> {
    Interval ticks(10ms, missed);
    for (int i = 1; i <= 6; ++i) {
      const Time due = co_await ticks.next();
      trace.push_back(ms(due) + "@" + ms(now()));
      if (i == 2) co_await sleep(35ms);
    }
  });
  return trace;
}

TEST(Interval, ATickEveryPeriodHoweverLongTheWorkBetweenTakes) {
  run_program([]() -> Task<void> {
    Interval ticks(10ms);
    EXPECT_EQ(ticks.period(), 10ms);
    EXPECT_EQ(ticks.due(), Time(10ms));
    for (int i = 1; i <= 5; ++i) {
      EXPECT_EQ(co_await ticks.next(), Time(i * 10ms));
      EXPECT_EQ(now(), Time(i * 10ms));
      co_await sleep(7ms);
    }
  });
}

TEST(Interval, MissedTicksComeInABurst) {
  EXPECT_EQ(ticks_with_a_long_break(MissedTicks::burst),
            Trace({"10@10", "20@20", "30@55", "40@55", "50@55", "60@60"}));
}

TEST(Interval, MissedTicksDelayTheOthers) {
  EXPECT_EQ(ticks_with_a_long_break(MissedTicks::delay),
            Trace({"10@10", "20@20", "30@55", "65@65", "75@75", "85@85"}));
}

TEST(Interval, MissedTicksAreSkipped) {
  EXPECT_EQ(ticks_with_a_long_break(MissedTicks::skip),
            Trace({"10@10", "20@20", "30@55", "60@60", "70@70", "80@80"}));
}

TEST(Interval, ACancelledWaitDisarmsItsTimerAndLosesNoTick) {
  run_program([]() -> Task<void> {
    Interval ticks(10ms);
    const bool timed_out = (co_await within(4ms, ticks.next())).timed_out();
    EXPECT_TRUE(timed_out);
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    const auto wait = [&]() -> Task<void> { static_cast<void>(co_await ticks.next()); };
    auto handle = spawn(std::ref(wait));
    co_await yield();
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    EXPECT_EQ(now(), Time(4ms));
    EXPECT_EQ(co_await ticks.next(), Time(10ms));
  });
}

TEST(Interval, ATickThatIsDueWinsOverACancelAndTheNextSuspensionThrows) {
  run_program([]() -> Task<void> {
    Trace trace;
    const auto wait = [&]() -> Task<void> {
      Interval ticks(10ms);
      co_await shield(sleep(15ms));
      this_task::cancel();
      trace.push_back(ms(co_await ticks.next()));
      trace.push_back(ms(co_await ticks.next()));
    };
    auto handle = spawn(std::ref(wait));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"10"}));
  });
}

TEST(Interval, ARaceThatATickLosesLeavesTheTick) {
  run_program([]() -> Task<void> {
    static_assert(Raceable<Interval::Next>);
    Interval quick(10ms);
    Interval slow(15ms);
    ManualResetEvent never;
    auto won = co_await race(slow.next(), never.wait(), quick.next());
    EXPECT_EQ(won.index, 2u);
    EXPECT_EQ(std::get<2>(won.value), Time(10ms));
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    won = co_await race(slow.next(), never.wait(), quick.next());
    EXPECT_EQ(won.index, 0u);
    EXPECT_EQ(std::get<0>(won.value), Time(15ms));
    EXPECT_EQ(now(), Time(15ms));
  });
}

TEST(Interval, AllWhoWaitForATickGetItInTheOrderTheyCame) {
  run_program([]() -> Task<void> {
    Interval ticks(10ms);
    Trace trace;
    const auto wait = [&](std::string who) -> Task<void> {
      const Time due = co_await ticks.next();
      trace.push_back(who + ms(due));
    };
    auto a = spawn(std::ref(wait), "a");
    auto b = spawn(std::ref(wait), "b");
    auto c = spawn(std::ref(wait), "c");
    co_await gather(a, b, c);
    EXPECT_EQ(trace, Trace({"a10", "b10", "c10"}));
    EXPECT_EQ(ticks.due(), Time(20ms)) << "it was one tick";
  });
}

TEST(Interval, AResetBeginsTheGridAnew) {
  run_program([]() -> Task<void> {
    Interval ticks(10ms);
    co_await sleep(3ms);
    ticks.reset();
    EXPECT_EQ(co_await ticks.next(), Time(13ms));
    EXPECT_EQ(co_await ticks.next(), Time(23ms));
  });
}

TEST(Interval, PeriodsThatMakeNoSenseAreErrors) {
  run_program([]() -> Task<void> {
    EXPECT_EQ(code_of(thrown_by([] { Interval none(0ms); })), Errc::bad_argument);
    EXPECT_EQ(code_of(thrown_by([] { Interval back(-1ms); })), Errc::bad_argument);
    Interval longest(Duration::max(), MissedTicks::skip);
    co_await sleep(1ms);
    const bool timed_out = (co_await within(1h, longest.next())).timed_out();
    EXPECT_TRUE(timed_out);
  });
  EXPECT_EQ(code_of(thrown_by([] { Interval outside(1ms); })), Errc::no_task);
}

TEST(Interval, ASchedulerMayGoWhileATaskWaitsForATick) {
  Scheduler scheduler(Options().virtual_time());
  const auto wait = []() -> Task<void> {
    Interval ticks(10ms);
    for (;;) static_cast<void>(co_await ticks.next());
  };
  scheduler.spawn(std::ref(wait));
  scheduler.step_until_idle();
  EXPECT_EQ(scheduler.armed_timers(), 1u);
  EXPECT_NE(scheduler.dump_text().find("the tick of an interval at"), std::string::npos)
      << scheduler.dump_text();
}

// A real clock is always a little late; that is no missed tick.
TEST(Interval, ATickThatIsDeliveredALittleLateDelaysNothing) {
  Time time;
  const auto program = [&]() -> Task<void> {
    const auto busy = [&]() -> Task<void> {
      for (;;) {
        co_await sleep_until(time + 10ms);
        time += 1ms;  // before the other task sees its tick
      }
    };
    auto before = spawn.with_priority(1)(std::ref(busy));
    Interval ticks(10ms, MissedTicks::delay);
    co_await ticks.next();
    EXPECT_EQ(time, Time(11ms));
    EXPECT_EQ(ticks.due(), Time(20ms));
    time += 25ms;
    EXPECT_EQ(co_await ticks.next(), Time(20ms));
    EXPECT_GE(ticks.due(), Time(46ms)) << "nobody waited: one period from where it is now";
    before.cancel();
  };
  Scheduler scheduler(Options().clock(std::make_unique<HandClock>(time)));
  run_on_scheduler(scheduler, program);
}

}  // namespace interval_test
}  // namespace tiffany
