// Code that does not do what its log says.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/memory_test.hpp"
#include "tiffany/durable/inspect.hpp"

namespace tiffany {
namespace divergence_test {

using namespace std::chrono_literals;

// The program, and changes of it.
enum class Change {
  none,
  renamed,
  swapped,
  removed,
  arguments,
  kind,
  longer_sleep,
  early_end,
  added,
  added_with_version,
};
Change change = Change::none;

Durable<std::string> program(Flow& flow) {
  const auto step = [&flow](const char* name) {
    return flow.step(name, StepOptions().arguments(change == Change::arguments ? 2 : 1), [name] {
      effects.push_back(name);
      return 1;
    });
  };
  int sum = co_await step("a");
  if (change == Change::early_end) co_return "early";
  if (change == Change::added) sum += 100 * co_await step("new");
  if (change == Change::added_with_version && flow.version("new", 1, 2) == 2) {
    sum += 100 * co_await step("new");
  }
  if (change == Change::swapped) {
    sum += 10 * co_await step("c");
    sum += co_await step("b");
  } else {
    if (change == Change::kind) {
      auto promise = co_await flow.promise<int>("b");
    } else if (change != Change::removed) {
      sum += co_await step(change == Change::renamed ? "b2" : "b");
    }
    sum += 10 * co_await step("c");
  }
  co_await flow.sleep(change == Change::longer_sleep ? 2h : 1h);
  co_await step("d");
  co_return std::to_string(sum);
}

class DivergenceTest : public MemoryTest {
 protected:
  // The first life ends in the sleep.
  void begin() {
    change = Change::none;
    only("program", program);
    world.live([&](Host& host) -> Task<void> {
      id = co_await host.start("program");
      co_await sleep(1min);
    });
    effects.clear();
  }
  static Task<void> check_into(const Registry* types, wal::LogOptions log, UpgradeCheck* result) {
    *result = co_await check_upgrade(*types, log);
  }
  UpgradeCheck check() {
    const Registry types = world.types();
    Scheduler scheduler(Options().virtual_time());
    UpgradeCheck result;
    auto task = scheduler.spawn(&DivergenceTest::check_into, &types, world.log_options(), &result);
    scheduler.run();
    const auto outcome = outcome_of(task, false);
    if (!outcome.ok()) std::rethrow_exception(outcome.error());
    return result;
  }
  std::vector<std::string> words_of(Change what) {
    begin();
    const std::vector<std::string> before = world.lines(id);
    change = what;
    std::string detail;
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(world.recovery.diverged, 1u);
      EXPECT_EQ(world.recovery.resumed, 0u);
      EXPECT_EQ(host.info(id)->status, DurableStatus::diverged);
      EXPECT_EQ(co_await error_of(host.result<std::string>(id)), Errc::durable_stopped);
      co_await sleep(24h);
      detail = host.info(id)->detail;
      co_await host.close();
    });
    EXPECT_EQ(world.lines(id), before);
    EXPECT_EQ(effects, (std::vector<std::string>{}));
    // The right code goes on.
    change = Change::none;
    world.live(
        [&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<std::string>(id), "12"); });
    EXPECT_EQ(effects, (std::vector<std::string>{"d"}));
    return {detail};
  }
  void expect_report(Change what, const std::vector<std::string>& parts) {
    const std::string report = words_of(what)[0];
    for (const std::string& part : parts) {
      EXPECT_NE(report.find(part), std::string::npos) << part << "\n  is not in\n" << report;
    }
  }
  Uuid id;
};
TIFFANY_IN_EVERY_STORE(DivergenceTest);

TEST_P(DivergenceTest, D5_ARenamedStepIsReportedWithBothSides) {
  expect_report(Change::renamed, {"step \"b#1\"", "asks for step \"b2#1\"", "divergence_test.cpp"});
}
TEST_P(DivergenceTest, D5_SwappedStepsAreReportedAtTheFirstOfThem) {
  expect_report(Change::swapped, {"step \"b#1\"", "asks for step \"c#1\""});
}
TEST_P(DivergenceTest, D5_ARemovedStepIsReported) {
  expect_report(Change::removed, {"step \"b#1\"", "asks for step \"c#1\""});
}
TEST_P(DivergenceTest, D5_OtherArgumentsAreReported) {
  expect_report(Change::arguments, {"step \"a#1\" with the arguments", "asks for it with"});
}
TEST_P(DivergenceTest, D5_AnotherKindOfCallIsReported) {
  expect_report(Change::kind, {"step \"b#1\"", "asks for promise \"b#1\""});
}
TEST_P(DivergenceTest, D5_AnotherTimeIsReported) {
  expect_report(Change::longer_sleep, {"timer \"timer#1\" with the arguments"});
}
TEST_P(DivergenceTest, D5_AnEarlierEndIsReported) {
  expect_report(Change::early_end, {"step \"b#1\"", "has ended"});
}
TEST_P(DivergenceTest, D5_AnAddedStepIsReportedWhenTheVersionIsTheSame) {
  expect_report(Change::added, {"step \"b#1\"", "asks for step \"new#1\""});
}

// ---- A version that goes on with old logs ----

void accept_old_logs(LoggedCrashTest& world) {
  world.types = [] {
    Registry types;
    types.add("program", 2, program, TypeOptions().accepts_from(1));
    return types;
  };
}

TEST_P(DivergenceTest, ANewerVersionDivergesBeforeAnyNewEffectAndTheCheckSaysSo) {
  for (const Change what : {Change::renamed, Change::removed, Change::arguments, Change::kind,
                            Change::longer_sleep, Change::early_end, Change::added}) {
    world.disk = std::make_shared<MemoryDisk>();
    begin();
    const std::vector<std::string> before = world.lines(id);
    change = what;
    accept_old_logs(world);
    const UpgradeCheck foreseen = check();
    EXPECT_EQ(foreseen.diverge, 1u) << static_cast<int>(what) << foreseen.text();
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(host.info(id)->status, DurableStatus::diverged) << static_cast<int>(what);
      co_await sleep(24h);
      co_await host.close();
    });
    EXPECT_EQ(world.lines(id), before) << static_cast<int>(what);
    EXPECT_EQ(effects, (std::vector<std::string>{})) << static_cast<int>(what);
    // The right code goes on.
    change = Change::none;
    EXPECT_EQ(check().agree, 1u);
    world.live(
        [&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<std::string>(id), "12"); });
  }
}

TEST_P(DivergenceTest, ANewerVersionMayAskForWhatTheLogHasInAnotherOrder) {
  begin();
  change = Change::swapped;
  accept_old_logs(world);
  EXPECT_EQ(check().agree, 1u);
  world.live(
      [&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<std::string>(id), "12"); });
  EXPECT_EQ(effects, (std::vector<std::string>{"d"}));
}

TEST_P(DivergenceTest, AStepIsAddedBehindFlowVersionAndOldTasksGoWithoutIt) {
  begin();
  change = Change::added_with_version;
  EXPECT_EQ(check().agree, 1u);
  accept_old_logs(world);
  EXPECT_EQ(check().agree, 1u);
  Uuid other;
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.resumed, 1u) << world.recovery.text();
    other = co_await host.start("program");
    co_await sleep(1min);
  });
  EXPECT_EQ(check().agree, 2u);
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(id), "12");
    EXPECT_EQ(co_await host.result<std::string>(other), "112");
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"a", "new", "b", "c", "d", "d"}));
}

TEST_P(DivergenceTest, D5_SomebodyWhoWaitsForTheResultIsToldOfADivergence) {
  begin();
  world.host_options.start_paused = true;
  change = Change::renamed;
  world.live([&](Host& host) -> Task<void> {
    auto waits = Scheduler::require("test").spawn(&DivergenceTest::error_of<std::string>,
                                                  host.result<std::string>(id));
    co_await yield();
    co_await host.resume(id);
    EXPECT_EQ(co_await std::move(waits), Errc::durable_stopped);
  });
}

// ---- Waits for signals ----

enum class Wait { none, name, type, removed, early_end, with_time };
Wait wait = Wait::none;

Durable<std::string> waits(Flow& flow) {
  if (wait == Wait::early_end) co_return "early";
  if (wait == Wait::type) {
    co_return co_await flow.signal<std::string>("go");
  } else if (wait == Wait::with_time) {
    co_return co_await flow.signal_within<int>(1h, "go") ? "in time" : "late";
  } else if (wait != Wait::removed) {
    co_await flow.signal<long>(wait == Wait::name ? "goes" : "go");
  }
  co_await flow.step("last", [] { effects.push_back("last"); });
  co_return "done";
}

TEST_P(DivergenceTest, AChangedWaitForASignalIsADivergence) {
  for (const Wait what :
       {Wait::name, Wait::type, Wait::removed, Wait::early_end, Wait::with_time}) {
    for (const bool closed : {false, true}) {
      world.disk = std::make_shared<MemoryDisk>();
      wait = Wait::none;
      only("program", waits);
      world.live([&](Host& host) -> Task<void> {
        id = co_await host.start("program");
        co_await sleep(1min);
        if (closed) co_await host.close();
      });
      const std::vector<std::string> before = world.lines(id);
      EXPECT_EQ(check().agree, 1u);
      wait = what;
      EXPECT_EQ(check().diverge, 1u) << static_cast<int>(what);
      world.live([&](Host& host) -> Task<void> {
        EXPECT_EQ(host.info(id)->status, DurableStatus::diverged) << static_cast<int>(what);
        co_await sleep(24h);
        co_await host.close();
      });
      EXPECT_EQ(world.lines(id), before);
      EXPECT_EQ(effects, (std::vector<std::string>{}));
    }
  }
}

Durable<std::string> waits_as_int(Flow& flow) {
  co_return std::to_string(co_await flow.signal<int>("go"));
}
Durable<std::string> waits_as_double(Flow& flow) {
  co_return std::to_string((co_await flow.signal<std::optional<double>>("go")).value_or(0));
}
TEST_P(DivergenceTest, AWaitForASignalMayReadAWiderType) {
  only("program", waits_as_int);
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("program");
    co_await sleep(1min);
  });
  only("program", waits_as_double);
  EXPECT_EQ(check().agree, 1u);
  world.live([&](Host& host) -> Task<void> {
    co_await host.signal(id, "go", 2);
    EXPECT_EQ(co_await host.result<std::string>(id), "2.000000");
  });
}

}  // namespace divergence_test
}  // namespace tiffany
