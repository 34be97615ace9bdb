// A plan that failed is taken back to one of its steps.
#include "plan/plan_world.hpp"

namespace tiffany {
namespace plan_retry_test {

using Words = std::vector<std::string>;

class PlanRetry : public PlanTest {
 protected:
  // One life: the plan fails, and is taken back to that step when it fails.
  Task<void> run_and_retry(Host& host, std::string from) {
    co_await start(host);
    for (int tries = 0; tries < 4; ++tries) {
      try {
        end = co_await host.result<plan::PlanEnd>(kPlanTask);
        co_return;
      } catch (const Error& error) {
        if (error.code() != Errc::durable_failed) throw;
      }
      co_await host.retry(kPlanTask, from);
    }
  }
};

TEST_F(PlanRetry, TheCommandsFromThereOnAreRunAgainAndNoneBefore) {
  read(R"(
steps:
  - {name: a, run: [do, a]}
  - {name: b, needs: [a], run: [do, b]}
  - {name: c, needs: [b], run: [do, c]}
finally: [{name: clean, run: [do, clean]}]
)");
  commands.script["b"] = {{.code = 1}, {.code = 1}, {}};
  world.live([&](Host& host) { return run_and_retry(host, "b#1"); });
  EXPECT_EQ(commands.begun, (Words{"a", "b", "clean", "b", "clean", "b", "c", "clean"}));
  EXPECT_EQ(state_of("c"), "done");
}

TEST_F(PlanRetry, WhatAStepHadTriedBeforeIsNoAttemptOfTheNewRound) {
  read("steps: [{name: a, retry: {attempts: 3, pause: 1ms}, run: [do, a]}]");
  commands.script["a"] = {{.code = 1}, {.code = 1}, {.code = 1}, {}};
  world.live([&](Host& host) { return run_and_retry(host, "a#1"); });
  EXPECT_EQ(commands.begun, (Words{"a", "a", "a", "a"}));
  EXPECT_EQ(end.units[0].attempts, 1);
  EXPECT_EQ(commands.specs.size(), 1u) << "and no other attempt is left that looks later";
}

TEST_F(PlanRetry, AStepThatSucceededIsDoneAgainWhenThePlanGoesBackToIt) {
  read("steps: [{name: a, run: [do, a]}, {name: b, needs: [a], run: [do, b]}]");
  commands.script["b"] = {{.code = 1}, {}};
  world.live([&](Host& host) { return run_and_retry(host, "a#1"); });
  EXPECT_EQ(commands.begun, (Words{"a", "b", "a", "b"}));
}

// Each round runs each command once, however often the process ends meanwhile.
TEST_F(PlanRetry, ACrashAnywhereRunsNoCommandOfARoundTwice) {
  read(R"(
steps:
  - {name: a, run: [do, a]}
  - {name: b, needs: [a], class: at_most_once, run: [do, b]}
  - {name: c, needs: [b], run: [do, c]}
)");
  commands.script["b"] = {{.code = 1}, {}};
  world.crash_everywhere(
      [&] { commands.clear(); }, [&](Host& host) { return run_and_retry(host, "b#1"); },
      [&] { EXPECT_EQ(commands.begun, (Words{"a", "b", "b", "c"})) << world.crashed_after; });
}

}  // namespace plan_retry_test
}  // namespace tiffany
