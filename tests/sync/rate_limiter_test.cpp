#include "tiffany/sync/rate_limiter.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/hand_clock.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace rate_limiter_test {

using namespace test;

TEST(RateLimiter, TheBurstIsThereAtOnceAndThenTheRateCounts) {
  run_program([]() -> Task<void> {
    RateLimiter limiter(100, 1s, 3);
    std::vector<Time> times;
    for (int i = 0; i < 6; ++i) {
      co_await limiter.acquire();
      times.push_back(now());
    }
    EXPECT_EQ(times, std::vector<Time>(
                         {Time(0ms), Time(0ms), Time(0ms), Time(10ms), Time(20ms), Time(30ms)}));
  });
}

TEST(RateLimiter, WhatIsNotUsedIsKeptUpToTheBurst) {
  run_program([]() -> Task<void> {
    RateLimiter limiter(100, 1s, 3);
    co_await limiter.acquire(3);
    EXPECT_EQ(limiter.available(), 0u);
    co_await sleep(25ms);
    EXPECT_EQ(limiter.available(), 2u);
    co_await sleep(1h);
    EXPECT_EQ(limiter.available(), 3u);
    EXPECT_EQ(limiter.burst(), 3u);
    const Time before = now();
    co_await limiter.acquire(3);
    EXPECT_EQ(now(), before);
    co_await limiter.acquire(3);
    EXPECT_EQ(now(), before + 30ms);
  });
}

TEST(RateLimiter, ARateThatDoesNotDivideTheTimeAddsUpExactly) {
  run_program([]() -> Task<void> {
    RateLimiter limiter(3, 1s, 1);
    for (int i = 0; i < 3001; ++i) co_await limiter.acquire();
    // Each token is had at the first whole nanosecond: a part of one is never given away or lost.
    EXPECT_EQ(now(), Time(1000s));
  });
}

TEST(RateLimiter, WhoAsksForManyIsNotOvertakenByThoseWhoAskForFew) {
  run_program([]() -> Task<void> {
    RateLimiter limiter(1, 10ms, 4);
    co_await limiter.acquire(3);
    Trace trace;
    const auto ask = [&](std::string name, std::uint64_t tokens) -> Task<void> {
      co_await limiter.acquire(tokens);
      trace.push_back(name + "@" + std::to_string(now().time_since_epoch() / 1ms));
    };
    auto a = spawn(std::ref(ask), "a", 4u);
    auto b = spawn(std::ref(ask), "b", 1u);
    auto c = spawn(std::ref(ask), "c", 2u);
    co_await yield();
    EXPECT_EQ(limiter.available(), 1u);
    EXPECT_FALSE(limiter.try_acquire()) << "somebody is in line";
    co_await gather(a, b, c);
    EXPECT_EQ(trace, Trace({"a@30", "b@40", "c@60"}));
  });
}

TEST(RateLimiter, ACancelGivesUpThePlaceAndLosesNoTokens) {
  run_program([]() -> Task<void> {
    RateLimiter limiter(1, 10ms, 4);
    co_await limiter.acquire(2);
    const auto ask = [&](std::uint64_t tokens) -> Task<void> { co_await limiter.acquire(tokens); };
    auto many = spawn(std::ref(ask), 4u);
    auto few = spawn(std::ref(ask), 1u);
    co_await sleep(5ms);
    EXPECT_EQ(few.state(), TaskState::blocked);
    many.cancel();
    EXPECT_EQ(few.state(), TaskState::ready) << "it had only waited behind the other";
    const auto outcome = co_await many.outcome();
    EXPECT_TRUE(outcome.cancelled());
    co_await few;
    EXPECT_EQ(now(), Time(5ms));
    EXPECT_EQ(limiter.available(), 1u);
    co_await sleep(5ms);
    EXPECT_EQ(limiter.available(), 2u) << "the half token from before the cancel counts";
  });
}

TEST(RateLimiter, ACancelledWaitLeavesNoTimerBehind) {
  run_program([]() -> Task<void> {
    RateLimiter limiter(1, 1h, 1);
    co_await limiter.acquire();
    const auto timed_out = (co_await within(1ms, limiter.acquire())).timed_out();
    EXPECT_TRUE(timed_out);
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    EXPECT_EQ(now(), Time(1ms));
  });
}

TEST(RateLimiter, ACancelBeforeTheCallIsAnsweredWhenTokensAreThere) {
  run_program([]() -> Task<void> {
    RateLimiter limiter(1, 10ms, 1);
    Trace trace;
    const auto ask = [&]() -> Task<void> {
      this_task::cancel();
      co_await limiter.acquire();
      trace.push_back("first");
      co_await limiter.acquire();
      trace.push_back("second");
    };
    auto handle = spawn(std::ref(ask));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"first"}));
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
  });
}

TEST(RateLimiter, ARaceTakesTokensOfOneLimiterOnly) {
  run_program([]() -> Task<void> {
    RateLimiter slow(1, 20ms, 1);
    RateLimiter quick(1, 10ms, 1);
    co_await slow.acquire();
    co_await quick.acquire();
    const auto won = co_await race(slow.acquire(), quick.acquire(), slow.acquire());
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(now(), Time(10ms));
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    co_await sleep(10ms);
    EXPECT_TRUE(slow.try_acquire()) << "the race spent nothing of it";
  });
}

TEST(RateLimiter, NumbersThatMakeNoSenseAreErrors) {
  Scheduler scheduler(Options().virtual_time());
  const auto make = [&](std::uint64_t count, Duration per, std::uint64_t burst) {
    return code_of(thrown_by([&] { RateLimiter limiter(scheduler, count, per, burst); }));
  };
  EXPECT_EQ(make(0, 1s, 1), Errc::bad_argument);
  EXPECT_EQ(make(1, 0s, 1), Errc::bad_argument);
  EXPECT_EQ(make(1, -1s, 1), Errc::bad_argument);
  EXPECT_EQ(make(1, 1s, 0), Errc::bad_argument);
  EXPECT_EQ(code_of(thrown_by([] { RateLimiter limiter(1, 1s, 1); })), Errc::no_task);
  RateLimiter limiter(scheduler, 1, 1s, 2);
  const auto error = thrown_by([&] { static_cast<void>(limiter.acquire(3)); });
  EXPECT_EQ(code_of(error), Errc::bad_argument);
  EXPECT_NE(what_of(error).find("asked for 3 tokens of a rate limiter that never has more than 2"),
            std::string::npos)
      << what_of(error);
  EXPECT_EQ(code_of(thrown_by([&] { static_cast<void>(limiter.acquire(0)); })), Errc::bad_argument);
  EXPECT_EQ(code_of(thrown_by([&] { limiter.try_acquire(3); })), Errc::bad_argument);
  EXPECT_TRUE(limiter.try_acquire(2));
  EXPECT_FALSE(limiter.try_acquire(1));
}

TEST(RateLimiter, TheLargestNumbersDoNotOverflow) {
  run_program([]() -> Task<void> {
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    RateLimiter slow(1, Duration::max(), kMost);
    EXPECT_EQ(slow.available(), kMost);
    co_await slow.acquire(kMost);
    const bool timed_out = (co_await within(1h, slow.acquire(kMost))).timed_out();
    EXPECT_TRUE(timed_out);
    RateLimiter fast(kMost, 1ns, kMost);
    co_await fast.acquire(kMost);
    const Time before = now();
    co_await fast.acquire(kMost);
    EXPECT_EQ(now(), before + 1ns);
  });
}

TEST(RateLimiter, OneThatIsDestroyedFailsThoseWhoWait) {
  run_program([]() -> Task<void> {
    auto limiter = std::make_unique<RateLimiter>(1, 1h, 2);
    co_await limiter->acquire(2);
    const auto ask = [&]() -> Task<void> { co_await limiter->acquire(); };
    const auto either = [&]() -> Task<void> {
      co_await race(limiter->acquire(), limiter->acquire(2));
    };
    const std::vector<Handle<void>> waiting = {spawn(std::ref(ask)), spawn(std::ref(either)),
                                               spawn(std::ref(ask))};
    co_await yield();
    limiter.reset();
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    for (const auto& handle : waiting) {
      const auto error = co_await error_of(handle);
      EXPECT_EQ(code_of(error), Errc::primitive_gone);
      EXPECT_NE(what_of(error).find("a rate limiter"), std::string::npos);
    }
  });
}

TEST(RateLimiter, ASchedulerMayGoWhileItsTasksWait) {
  auto scheduler = std::make_unique<Scheduler>(Options().virtual_time());
  RateLimiter limiter(*scheduler, 1, 1h, 1);
  const auto ask = [&]() -> Task<void> { co_await limiter.acquire(); };
  for (int i = 0; i < 3; ++i) scheduler->spawn(std::ref(ask));
  scheduler->step_until_idle();
  scheduler.reset();
}

TEST(RateLimiter, ATaskOfAnotherSchedulerIsRefused) {
  Scheduler other(Options().virtual_time());
  RateLimiter limiter(other, 1, 1s, 1);
  run_program([&]() -> Task<void> {
    EXPECT_EQ(code_of(co_await error_of(limiter.acquire())), Errc::bad_argument);
  });
}

TEST(RateLimiter, AReportSaysWhatIsWaitedFor) {
  run_program([]() -> Task<void> {
    RateLimiter limiter(1, 10ms, 3);
    co_await limiter.acquire(2);
    const auto ask = [&]() -> Task<void> { co_await limiter.acquire(3); };
    auto handle = spawn(std::ref(ask));
    co_await yield();
    EXPECT_NE(Scheduler::current()->dump_text().find("3 tokens of a rate limiter (1 of 3 there)"),
              std::string::npos)
        << Scheduler::current()->dump_text();
    co_await handle;
  });
}

// now() stands still within a turn, and a rate counted from it would be exceeded after a long one.
TEST(RateLimiter, OnARealClockTokensAreSpentWhenTheyAreAndNotWhenTheTurnBegan) {
  Time time;
  const auto program = [&]() -> Task<void> {
    RateLimiter limiter(1, 10ms, 1);
    time += 7ms;  // work
    co_await limiter.acquire();
    co_await limiter.acquire();
    EXPECT_EQ(time, Time(17ms));
    time += 25ms;
    EXPECT_EQ(limiter.available(), 1u);
  };
  Scheduler scheduler(Options().clock(std::make_unique<HandClock>(time)));
  run_on_scheduler(scheduler, program);
}

}  // namespace rate_limiter_test
}  // namespace tiffany
