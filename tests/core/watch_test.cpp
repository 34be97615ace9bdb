// T12: the watch for tasks that do not give way, by time and by steps.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/core/options.hpp"

namespace tiffany {
namespace watch_test {

using namespace test;

Task<void> yield_times(int times) {
  for (int i = 0; i < times; ++i) co_await yield();
}
// Every await is answered at once.
Task<void> ask_times(Future<int> kept, int times) {
  for (int i = 0; i < times; ++i) co_await kept;
}

TEST(Watch, T12_ATaskThatDoesNotGiveWayIsReportedWithWhereItThenWas) {
  for (const bool with_policy : {false, true}) {
    Duration wall{};
    std::vector<std::string> lines;
    Options options =
        Options().virtual_time().watch(50ms, [&] { return wall; }).log_to([&](const LogLine& line) {
          lines.emplace_back(line.message);
        });
    if (with_policy) options = std::move(options).order(fifo_order());
    Scheduler scheduler(std::move(options));
    const auto busy = [&]() -> Task<void> {
      co_await yield_times(3);
      wall += 60ms;
      co_await sleep(1ms);
      wall += 50ms;  // just within
      co_await yield();
    };
    scheduler.spawn(busy).named("busy");
    scheduler.spawn(yield_times, 9);
    scheduler.run();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("task #1 \"busy\", spawned at watch_test.cpp:"), std::string::npos)
        << lines[0];
    EXPECT_NE(lines[0].find("ran for 60 ms and 1 system call before it gave way; blocked now"),
              std::string::npos)
        << lines[0];
    EXPECT_NE(lines[0].find("\n      at watch_test.cpp:"), std::string::npos) << lines[0];
    EXPECT_EQ(scheduler.counters().hogs, 1u);
  }
}

TEST(Watch, T12_TheWatchChangesNothingButTheLog) {
  const auto trace = [](Options options) {
    Scheduler scheduler(std::move(options).virtual_time().log_to([](const LogLine&) {}));
    for (int i = 1; i < 5; ++i) {
      scheduler.spawn.with_priority(static_cast<std::uint8_t>(i))(yield_times, 7 * i);
    }
    scheduler.run();
    return scheduler.trace_hash();
  };
  EXPECT_EQ(trace(Options()), trace(Options().watch(0ms)));
  EXPECT_EQ(trace(Options()), trace(Options().watch_steps(1)));
}

TEST(Watch, T12_ATaskThatSpinsIsReportedOnceWithWhereItThenWas) {
  for (const bool with_policy : {false, true}) {
    std::vector<std::string> lines;
    Options options = Options().virtual_time().watch_steps(100).log_to(
        [&](const LogLine& line) { lines.emplace_back(line.message); });
    if (with_policy) options = std::move(options).order(fifo_order());
    Scheduler scheduler(std::move(options));
    bool arrived = false;
    const auto spins = [&]() -> Task<void> {
      while (!arrived) co_await yield();
    };
    const auto arrives = [&]() -> Task<void> {
      for (int i = 0; i < 300; ++i) co_await sleep(1ms);  // many steps, and a wait in each
      arrived = true;
    };
    scheduler.spawn(spins).named("spins");
    scheduler.spawn(arrives);
    for (int i = 0; i < 1000; ++i) scheduler.step();
    ASSERT_EQ(lines.size(), 1u) << "once, however long it goes on";
    EXPECT_EQ(lines[0].find("task #1 \"spins\", spawned at watch_test.cpp:"), 0u) << lines[0];
    EXPECT_NE(lines[0].find(", made 101 system calls and did not wait for anything meanwhile; "
                            "suspended now\n      at watch_test.cpp:"),
              std::string::npos)
        << lines[0];
    EXPECT_EQ(scheduler.counters().spinners, 1u);
    EXPECT_EQ(scheduler.counters().hogs, 0u);
    arrived = true;
    scheduler.run();
    EXPECT_EQ(lines.size(), 1u);
  }
}

TEST(Watch, T12_AWaitBeginsTheCountAnew) {
  std::vector<std::string> lines;
  Scheduler scheduler(Options().virtual_time().watch_steps(10).log_to(
      [&](const LogLine& line) { lines.emplace_back(line.message); }));
  const auto program = []() -> Task<void> {
    for (int i = 0; i < 5; ++i) {
      co_await yield_times(9);
      co_await sleep(1ms);  // the tenth
    }
    co_await yield_times(11);
    co_await sleep(1ms);
    co_await yield_times(11);
    co_await yield_times(50);
  };
  scheduler.spawn(program);
  scheduler.spawn(yield_times, 10);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().spinners, 2u);
  EXPECT_EQ(lines.size(), 2u);
}

TEST(Watch, T12_CallsThatAreAnsweredAtOnceCountAndSoDoThoseOfATaskThatEnds) {
  std::vector<std::string> lines;
  Scheduler scheduler(Options().virtual_time().quantum(1000).watch_steps(20).log_to(
      [&](const LogLine& line) { lines.emplace_back(line.message); }));
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    promise.complete(1);
    auto few = spawn(ask_times, promise.future(), 20);
    auto many = spawn(ask_times, promise.future(), 30);
    co_await few;
    co_await many;
  };
  scheduler.spawn(program);
  scheduler.run();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(", made 30 system calls and did not wait for anything meanwhile; "
                          "completed now"),
            std::string::npos)
      << lines[0];
}

TEST(Watch, T12_ATaskInTheSlotOfOneThatEndedIsCountedFromItsBeginning) {
  Scheduler scheduler(Options().virtual_time().watch_steps(10).log_to([](const LogLine&) {}));
  const auto waits = []() -> Task<void> {
    for (int i = 0; i < 20; ++i) co_await sleep(1ms);
    co_await yield_times(3);
  };
  for (int i = 0; i < 5; ++i) {
    scheduler.spawn(yield_times, 9);
    scheduler.run();
    scheduler.spawn(waits);
    scheduler.run();
  }
  EXPECT_EQ(scheduler.counters().spinners, 0u);
  for (int i = 0; i < 5; ++i) {
    scheduler.spawn(yield_times, 11);
    scheduler.run();
  }
  EXPECT_EQ(scheduler.counters().spinners, 5u);
}

TEST(Watch, T12_TheStepsThatAreWatchedAreThoseThatAreCounted) {
  Scheduler scheduler(Options().virtual_time().watch_steps(1'000'000));
  std::vector<Handle<void>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(scheduler.spawn(yield_times, 10 * i));
  scheduler.spawn.with_priority(3)(yield_times, 7);
  scheduler.run();
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(scheduler.find(tasks[i].id())->steps(), 10 * i);
  }
}

TEST(Watch, T12_WhoWaitsInlineIsNotTakenForOneThatDoesNotGiveWay) {
  std::vector<std::string> lines;
  Scheduler* clock = nullptr;
  Scheduler scheduler(Options()
                          .virtual_time()
                          .wait_inline()
                          .watch(50ms, [&] { return clock->now().time_since_epoch(); })
                          .watch_steps(10)
                          .log_to([&](const LogLine& line) { lines.emplace_back(line.message); }));
  clock = &scheduler;
  const auto waits = []() -> Task<void> {
    for (int i = 0; i < 30; ++i) co_await sleep(60ms);
  };
  scheduler.spawn(waits);
  scheduler.run();
  EXPECT_EQ(lines, std::vector<std::string>{});
  const auto spins = []() -> Task<void> {
    Promise<int> promise;
    promise.complete(1);
    co_await ask_times(promise.future(), 20);
    co_await sleep(60ms);
    co_await ask_times(promise.future(), 5);
  };
  scheduler.spawn(spins);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().spinners, 1u);
  EXPECT_EQ(scheduler.counters().hogs, 0u);
}

}  // namespace watch_test
}  // namespace tiffany
