// Schedules: when they are due, what becomes of runs that overlap or were missed.
#include "tiffany/durable/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "durable/durable_world.hpp"
#include "durable/memory_test.hpp"

namespace tiffany {
namespace schedule_test {

using namespace std::chrono_literals;

Durable<int> reports(Flow& flow, std::string what, int minutes) {
  co_await flow.step("report", [&] { effects.push_back(what); });
  co_await flow.sleep(std::chrono::minutes(minutes));
  co_return minutes;
}

Registry all_types() {
  Registry types;
  types.add("reports", 1, reports);
  add_schedules(types);
  return types;
}

class ScheduleTest : public MemoryTest {
 protected:
  ScheduleTest() { world.types = all_types; }
};
TIFFANY_IN_EVERY_STORE(ScheduleTest);

TEST_P(ScheduleTest, AnIntervalStartsATaskEachTime) {
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    co_await schedules.create("hourly", Schedule("reports", "hour", 1).every(1h));
    co_await sleep(3h + 1min);
    const ScheduleState state = co_await schedules.look("hourly");
    EXPECT_EQ(state.runs, 3u);
    EXPECT_EQ(state.next, state.start + 4 * 3'600'000'000LL);
  });
  EXPECT_EQ(effects.size(), 3u);
}

TEST_P(ScheduleTest, CronStartsATaskWhenItSays) {
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    co_await schedules.create("quarter", Schedule("reports", "quarter", 1).cron("*/15 * * * *"));
    co_await sleep(1h + 1min);
    const ScheduleState state = co_await schedules.look("quarter");
    EXPECT_EQ(state.runs, 4u);
    EXPECT_EQ(state.next % 900'000'000, 0);
  });
  EXPECT_EQ(effects.size(), 4u);
}

TEST_P(ScheduleTest, ARunThatIsDueWhileTheOneBeforeGoesOnIsSkippedQueuedOrCancelsIt) {
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    for (const Overlap how : {Overlap::skip, Overlap::queue, Overlap::cancel}) {
      const std::string name = std::to_string(static_cast<int>(how));
      co_await schedules.create(name, Schedule("reports", name, 90).every(1h).overlap(how));
    }
    co_await sleep(4h + 1min);
    EXPECT_EQ(std::count(effects.begin(), effects.end(), "0"), 2) << "at 1 and 3; 2 and 4 skipped";
    EXPECT_EQ(std::count(effects.begin(), effects.end(), "1"), 3) << "at 1, 2.5 and 4";
    EXPECT_EQ(std::count(effects.begin(), effects.end(), "2"), 4) << "each hour";
    const ScheduleState skips = co_await schedules.look("0");
    EXPECT_EQ(skips.skipped, 2u);
    std::size_t cancelled = 0;
    for (const DurableInfo& each : host.tasks()) {
      cancelled += each.status == DurableStatus::cancelled ? 1 : 0;
    }
    EXPECT_EQ(cancelled, 3u);
  });
}

class MissedRunsTest : public DurableWorld {};
TIFFANY_ON_EVERY_LAYOUT(MissedRunsTest);

TEST_P(MissedRunsTest, WhatWasMissedWhileNoProcessRanIsMadeUpForAsOftenAsThePolicySays) {
  Effects seen;
  effects.clear();
  types_ = all_types;
  live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    for (const std::uint32_t most : {0u, 1u, 3u}) {
      const std::string name = std::to_string(most);
      auto schedule = Schedule("reports", name, 1).every(1h).overlap(Overlap::queue);
      co_await schedules.create(name, std::move(schedule).catch_up(most));
    }
    co_await sleep(1s);
  });
  effects.clear();  // an hour has passed before the process is gone
  wall_ += 10 * 3'600'000'000LL + 1'800'000'000LL;
  live([&](Host& host) -> Task<void> {
    co_await sleep(10min);
    seen = effects;
    const ScheduleState state = co_await Schedules(host).look("3");
    EXPECT_EQ(state.skipped, 7u);
  });
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "0"), 0);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "1"), 1);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "3"), 3);
}

TEST_P(ScheduleTest, APausedScheduleStartsNothingAndLeavesOutWhatWouldHaveBeenDue) {
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    co_await schedules.create("hourly", Schedule("reports", "hour", 1).every(1h).catch_up(10));
    co_await schedules.pause("hourly");
    co_await sleep(3h + 1min);
    EXPECT_TRUE(effects.empty());
    co_await schedules.run_now("hourly");
    co_await sleep(1min);
    EXPECT_EQ(effects.size(), 1u);
    co_await schedules.resume("hourly");
    co_await sleep(30min);
    EXPECT_EQ(effects.size(), 1u);
    co_await sleep(30min);
    EXPECT_EQ(effects.size(), 2u);
    co_await schedules.remove("hourly");
    co_await sleep(10h);
    EXPECT_EQ(effects.size(), 2u);
    EXPECT_EQ(co_await error_of(schedules.look("hourly")), Errc::unknown_durable);
    co_await schedules.create("hourly", Schedule("reports", "again", 1).every(1h));
    co_await sleep(1h + 1min);
    EXPECT_EQ(effects.back(), "again") << "the name is free again";
  });
}

TEST_P(ScheduleTest, ASecondCreateIsTheSameScheduleAndAnotherOneOfThatNameIsRefused) {
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    const Uuid id = co_await schedules.create("s", Schedule("reports", "x", 1).every(1h));
    EXPECT_EQ(co_await schedules.create("s", Schedule("reports", "x", 1).every(1h)), id);
    EXPECT_EQ(co_await error_of(schedules.create("s", Schedule("reports", "x", 1).every(2h))),
              Errc::start_conflict);
  });
}

TEST_P(ScheduleTest, WhatCannotBeAScheduleIsRefused) {
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    const auto refused = [&](Schedule schedule) {
      try {
        schedule.require_good();
      } catch (const Error& e) {
        return e.code() == Errc::bad_argument;
      }
      return false;
    };
    EXPECT_TRUE(refused(Schedule("reports")));
    EXPECT_TRUE(refused(Schedule("reports").every(1h).cron("* * * * *")));
    EXPECT_TRUE(refused(Schedule("reports").every(1ms)));
    EXPECT_TRUE(refused(Schedule("reports").cron("61 * * * *")));
    EXPECT_TRUE(refused(Schedule("reports").every(1h).zone("../../etc/passwd")));
    EXPECT_TRUE(refused(Schedule("reports").every(1h).zone("/etc/passwd")));
    EXPECT_TRUE(refused(Schedule("reports").every(1h).catch_up(1001)));
    EXPECT_FALSE(refused(Schedule("reports").cron("@daily").zone("Europe/Berlin")));
    co_return;
  });
}

TEST_P(ScheduleTest, ATypeThatIsNotThereIsAProblemOfTheRunAndNotTheEndOfTheSchedule) {
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    co_await schedules.create("s", Schedule("nothing").every(1h));
    co_await sleep(2h + 1min);
    const ScheduleState state = co_await schedules.look("s");
    EXPECT_EQ(state.skipped, 2u);
    EXPECT_NE(state.problem.find("\"nothing\""), std::string::npos) << state.problem;
  });
}

TEST_P(ScheduleTest, EachRunIsStartedOnceWhereverTheProcessDies) {
  std::set<Uuid> ids;
  world.crash_everywhere(
      [&] {
        effects.clear();
        ids.clear();
      },
      [&](Host& host) -> Task<void> {
        Schedules schedules(host);
        co_await schedules.create("s", Schedule("reports", "x", 1).every(1h).catch_up(100));
        for (;;) {
          const ScheduleState state = co_await schedules.look("s");
          if (state.runs >= 2) break;
          co_await sleep(10min);
        }
        for (const DurableInfo& each : host.tasks()) {
          if (each.type == "reports") ids.insert(each.id);
        }
      },
      [&] { EXPECT_EQ(ids.size(), 2u) << "crash after slice " << world.crashed_after; });
}

}  // namespace schedule_test
}  // namespace tiffany
