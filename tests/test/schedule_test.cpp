// T20: orders as values.
#include "tiffany/test/schedule.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/test/test_scheduler.hpp"

namespace tiffany::test {
namespace schedule_test {

TEST(Schedule, T20_DeviationsAreWrittenAndReadBack) {
  const Deviations deviations{{3, 1}, {7, 2}, {20, 11}};
  EXPECT_EQ(text_of(deviations), "3:1,7:2,20:11");
  EXPECT_EQ(parse_deviations("3:1,7:2,20:11"), deviations);
  EXPECT_EQ(text_of({}), "fifo");
  EXPECT_EQ(parse_deviations("fifo"), Deviations());
}

TEST(Schedule, T20_WhatIsNoListOfDeviationsIsAnErrorThatShowsIt) {
  for (const char* text : {"", "x", "3", "3:", "3:x", "3:0", "3:1,", "3:1 7:2", "3:1,3:2",
                           "7:1,3:1", "-1:1", "3:99999999999999999999"}) {
    const auto error = thrown_by([&] { parse_deviations(text); });
    EXPECT_EQ(code_of(error), Errc::bad_argument) << text;
    EXPECT_NE(what_of(error).find("\"" + std::string(text) + "\""), std::string::npos);
  }
}

TEST(Schedule, T20_StrategiesHaveNames) {
  EXPECT_STREQ(name_of(Strategy::mixed), "mixed");
  EXPECT_STREQ(name_of(Strategy::walk), "walk");
  EXPECT_STREQ(name_of(Strategy::priorities), "priorities");
  EXPECT_STREQ(name_of(Strategy::delays), "delays");
  EXPECT_STREQ(name_of(static_cast<Strategy>(77)), "unknown");
}

struct Result {
  Trace trace;
  Deviations deviations;
  std::size_t choices;
};

// Three tasks with three steps each, under an order.
Result three_by_three(Schedule schedule) {
  TestScheduler test(TestOptions().schedule(std::move(schedule)));
  Result result;
  const auto work = [&](const std::string& name) -> Task<void> {
    for (int i = 1; i <= 3; ++i) {
      result.trace.push_back(name + std::to_string(i));
      co_await yield();
    }
  };
  for (const char* name : {"a", "b", "c"}) test.spawn(std::ref(work), std::string(name));
  test.run();
  result.deviations = test.order().deviations();
  result.choices = test.order().choices();
  return result;
}

TEST(Schedule, T20_WithoutDeviationsItIsFirstInFirstOut) {
  const Result result = three_by_three(Schedule::fifo());
  EXPECT_EQ(result.trace, (Trace{"a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"}));
  EXPECT_EQ(result.deviations, Deviations());
}

TEST(Schedule, T20_ADeviationTakesATaskOutOfItsTurnAndTheRestStaysInLine) {
  const Result result = three_by_three(Schedule::with({{0, 2}, {4, 1}}));
  EXPECT_EQ(result.trace, (Trace{"c1", "a1", "b1", "c2", "b2", "a2", "c3", "b3", "a3"}));
  EXPECT_EQ(result.deviations, (Deviations{{0, 2}, {4, 1}}));
}

TEST(Schedule, T20_ADeviationThatCannotBeIsPassedOverAndNotNoted) {
  const Result result = three_by_three(Schedule::with({{0, 3}, {1, 1}, {500, 1}}));
  EXPECT_EQ(result.deviations, (Deviations{{1, 1}}));
}

TEST(Schedule, T20_TheDeviationsOfASeededRunRepeatIt) {
  for (const Strategy strategy :
       {Strategy::mixed, Strategy::walk, Strategy::priorities, Strategy::delays}) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const Result random = three_by_three(Schedule::seeded(seed, 9, strategy));
      const Result again = three_by_three(Schedule::with(random.deviations));
      EXPECT_EQ(again.trace, random.trace) << name_of(strategy) << " " << seed;
      EXPECT_EQ(again.deviations, random.deviations);
      EXPECT_EQ(again.choices, random.choices);
      EXPECT_EQ(three_by_three(Schedule::seeded(seed, 9, strategy)).trace, random.trace);
    }
  }
}

TEST(Schedule, T20_EachStrategyFindsManyOrders) {
  for (const Strategy strategy :
       {Strategy::mixed, Strategy::walk, Strategy::priorities, Strategy::delays}) {
    std::set<Trace> orders;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      orders.insert(three_by_three(Schedule::seeded(seed, 9, strategy)).trace);
    }
    // Priorities with few points to fall back have far fewer orders to choose from.
    EXPECT_GT(orders.size(), strategy == Strategy::priorities ? 30u : 100u) << name_of(strategy);
  }
}

TEST(Schedule, T20_AMoreUrgentTaskIsNeverPassedOver) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    TestScheduler test(TestOptions().schedule(Schedule::seeded(seed)));
    Trace trace;
    const auto work = [&](const std::string& name) -> Task<void> {
      trace.push_back(name);
      co_await yield();
      trace.push_back(name);
    };
    test.spawn(std::ref(work), std::string("late"));
    test.spawn.with_priority(3)(std::ref(work), std::string("urgent"));
    test.run();
    EXPECT_EQ(trace, (Trace{"urgent", "urgent", "late", "late"})) << seed;
  }
}

TEST(Schedule, T20_ATaskThatWaitsInALoopDoesNotKeepTheOthersFromRunning) {
  for (const Strategy strategy : {Strategy::walk, Strategy::priorities, Strategy::delays}) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      TestScheduler test(
          TestOptions().schedule(Schedule::seeded(seed, 64, strategy)).max_picks(20'000));
      bool flag = false;
      const auto wait = [&]() -> Task<void> {
        while (!flag) co_await yield();
      };
      const auto set = [&]() -> Task<void> {
        for (int i = 0; i < 5; ++i) co_await yield();
        flag = true;
      };
      test.spawn(std::ref(wait));
      test.spawn(std::ref(set));
      EXPECT_EQ(what_of(thrown_by([&] { test.run(); })), "no error") << name_of(strategy) << seed;
    }
  }
}

TEST(Schedule, T20_TooManyPicksAreAnErrorAndTheTasksCanStillEnd) {
  Trace trace;
  {
    TestScheduler test(TestOptions().max_picks(100));
    const auto forever = [&]() -> Task<void> {
      const AtExit at_exit(trace, "unwound");
      for (;;) co_await yield();
    };
    test.spawn(std::ref(forever));
    test.spawn(std::ref(forever));
    const auto error = thrown_by([&] { test.run(); });
    EXPECT_EQ(code_of(error), Errc::never_ends) << what_of(error);
    EXPECT_EQ(test.order().picks(), 100u);
  }
  EXPECT_EQ(trace, (Trace{"unwound", "unwound"}));
}

TEST(Schedule, T20_ARecordedRunSaysWhoWasPickedAndWhere) {
  TestScheduler test(TestOptions().schedule(Schedule::with({{0, 1}})));
  test.order().record();
  const auto work = []() -> Task<void> { co_await yield(); };
  test.spawn(std::ref(work)).named("a");
  test.spawn(std::ref(work)).named("b");
  test.run();
  EXPECT_EQ(test.order().descriptions(),
            (std::vector<std::string>{
                "choice 0: task #2 \"b\", not started, instead of task #1 \"a\", not started"}));
  ASSERT_EQ(test.order().recorded().size(), 4u);
  EXPECT_EQ(test.order().recorded()[0].task, "task #2 \"b\", not started");
  EXPECT_EQ(test.order().recorded()[0].trace_hash, 0u);
  EXPECT_TRUE(test.order().recorded()[3].task.starts_with("task #1 \"a\" at schedule_test.cpp:") ||
              test.order().recorded()[3].task.starts_with("task #2 \"b\" at schedule_test.cpp:"));
  EXPECT_EQ(test.order().widths(), (std::vector<std::size_t>{2, 2, 2}));
}

}  // namespace schedule_test
}  // namespace tiffany::test
