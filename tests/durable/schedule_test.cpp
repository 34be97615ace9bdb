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

Durable<int> reports_otherwise(Flow& flow, std::string, int) {
  co_await flow.step("something else", [] {});
  co_return 1;
}

TEST_P(ScheduleTest, ARunThatCannotBeWaitedForIsAProblemAndNotTheEndOfTheSchedule) {
  Uuid stuck;
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    co_await schedules.create("s", Schedule("reports", "x", 90).every(1h).overlap(Overlap::queue));
    co_await sleep(1h + 1min);
    stuck = (co_await schedules.look("s")).last;
    co_await host.close();
  });
  // The type of the run has changed meanwhile, and does what its log does not say.
  world.types = [] {
    Registry types;
    types.add("reports", 1, reports_otherwise);
    add_schedules(types);
    return types;
  };
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(stuck)->status, DurableStatus::diverged);
    Schedules schedules(host);
    co_await sleep(3h);
    const ScheduleState state = co_await schedules.look("s");
    EXPECT_NE(state.problem.find("does not run"), std::string::npos) << state.problem;
    EXPECT_GE(state.skipped, 2u);
    co_await host.kill(stuck, "it diverged");
    co_await sleep(1h);
    const ScheduleState after = co_await schedules.look("s");
    EXPECT_EQ(after.problem, "");
    EXPECT_EQ(after.runs, 2u);
  });
}

TEST_P(ScheduleTest, AZoneThatIsNotThereIsRefusedAtOnce) {
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    EXPECT_EQ(co_await error_of(schedules.create(
                  "s", Schedule("reports", "x", 1).cron("@daily").zone("Nowhere/At_All"))),
              Errc::bad_argument);
    EXPECT_EQ(schedules.list().size(), 0u);
  });
}

TEST_P(ScheduleTest, AMonthOfSecondsThatWereMissedIsCountedAndNotWalked) {
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    co_await schedules.create("s", Schedule("reports", "x", 1).every(1s).overlap(Overlap::skip));
    co_await sleep(2500ms);
    co_await host.pause(host.tasks().front().id);
    co_await sleep(30 * 24h);
    const auto before = std::chrono::steady_clock::now();
    co_await host.resume(host.tasks().front().id);
    co_await sleep(100ms);
    const ScheduleState state = co_await schedules.look("s");
    EXPECT_GT(state.skipped, 2'591'990u);
    EXPECT_EQ(state.next % 1'000'000, state.start % 1'000'000);
    RecordProperty("ms", static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                              std::chrono::steady_clock::now() - before)
                                              .count()));
  });
}

TEST_P(ScheduleTest, TheNameOfAScheduleWhoseTaskHasLeftTheArchiveIsFree) {
  Retention keep;
  keep.age = 60s;
  world.live([&](Host& host) -> Task<void> {
    Schedules schedules(host);
    for (int round = 0; round < 3; ++round) {
      const Uuid id =
          co_await schedules.create("s", Schedule("reports", "x", 1).every(1h).catch_up(0));
      co_await schedules.remove("s");
      co_await host.result_json(id);
      co_await host.compact(keep);
      co_await sleep(2h);
      co_await host.compact(keep);
    }
    EXPECT_EQ(co_await error_of(schedules.pause("s")), Errc::unknown_durable);
    co_await schedules.create("s", Schedule("reports", "x", 1).every(1h));
    co_await schedules.pause("s");
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
