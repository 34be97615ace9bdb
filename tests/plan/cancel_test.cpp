// Plans that are cancelled, at every moment that a cancel can come.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "plan/plan_world.hpp"

namespace tiffany {
namespace plan_cancel_test {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

constexpr const char* kTwoSteps = R"(
steps:
  - {name: a, locks: db, run: [do, a]}
  - {name: b, needs: [a], locks: db, retry: {attempts: 3, pause: 5ms}, run: [do, b]}
on_failure: [{name: undo, locks: db, run: [do, undo]}]
finally: [{name: clean, run: [do, clean]}]
)";

class PlanCancelTest : public PlanTest {
 protected:
  // Starts the plan, and cancels it after that time and so many slices of other tasks. Gives how
  // the task ended.
  DurableStatus cancel_after(Duration time, int slices) {
    world.disk = std::make_shared<wal::MemoryDisk>();
    commands.clear();
    DurableStatus status = DurableStatus::running;
    world.live([&](Host& host) -> Task<void> {
      co_await start(host);
      if (time > 0ms) co_await sleep(time);
      for (int i = 0; i < slices; ++i) co_await yield();
      co_await host.cancel(kPlanTask, "enough");
      status = co_await ended(host);
    });
    return status;
  }
  bool cleaned() const {
    const Words& all = commands.begun;
    return all.size() >= 2 && all[all.size() - 2] == "undo" && all.back() == "clean";
  }
};

TEST_F(PlanCancelTest, ACancelBeforeTheFirstStepBeginsNothingButWhatPutsThingsInOrder) {
  read(kTwoSteps);
  EXPECT_EQ(cancel_after(0ms, 0), DurableStatus::cancelled);
  EXPECT_EQ(commands.begun, (Words{"undo", "clean"}));
}

TEST_F(PlanCancelTest, ACancelInAnySliceEndsThePlanAndWhatPutsThingsInOrderRuns) {
  read(kTwoSteps);
  commands.script["b"] = {{.code = 1}};
  for (const auto time : {0ms, 10ms, 20ms, 25ms, 35ms}) {
    for (int slices = 0; slices < 16; ++slices) {
      SCOPED_TRACE(std::to_string(time.count()) + " ms, slice " + std::to_string(slices));
      EXPECT_EQ(cancel_after(time, slices), DurableStatus::cancelled);
      EXPECT_TRUE(cleaned());
      EXPECT_EQ(commands.running, 0);
    }
  }
}

TEST_F(PlanCancelTest, ACancelAtTheMomentOfAnApprovalEndsThePlan) {
  read(R"(
steps:
  - {name: ask, timeout: 10ms, approve: "go?"}
  - {name: a, needs: [ask], run: [do, a]}
on_failure: [{name: undo, run: [do, undo]}]
finally: [{name: clean, run: [do, clean]}]
)");
  for (int slices = 0; slices < 12; ++slices) {
    for (const auto time : {0ms, 10ms}) {
      const DurableStatus status = cancel_after(time, slices);
      EXPECT_TRUE(status == DurableStatus::cancelled || status == DurableStatus::failed);
      EXPECT_TRUE(cleaned()) << slices;
    }
  }
}

TEST_F(PlanCancelTest, AStepThatWaitedForItsTurnDoesNotBeginAmongWhatPutsThingsInOrder) {
  read(R"(
at_once: 1
steps:
  - {name: a, run: [do, a]}
  - {name: b, run: [do, b]}
finally: [{name: clean, run: [do, clean]}]
)");
  EXPECT_EQ(cancel_after(5ms, 0), DurableStatus::cancelled);
  EXPECT_EQ(commands.begun, (Words{"a", "clean"}));
}

TEST_F(PlanCancelTest, AStopThatFailsIsTriedAgain) {
  read(kTwoSteps);
  commands.script["a"] = {{.takes = 1h}};
  commands.broken_stops = 3;
  EXPECT_EQ(cancel_after(5ms, 0), DurableStatus::cancelled);
  EXPECT_EQ(commands.stopped, Words{"a"});
  EXPECT_TRUE(cleaned());
}

TEST_F(PlanCancelTest, AStopThatNeverSucceedsLeavesTheWaitAndThePhasesAsTheyWere) {
  read(kTwoSteps);
  commands.script["a"] = {{.takes = 1h}};
  commands.broken_stops = 1'000'000;
  EXPECT_EQ(cancel_after(5ms, 0), DurableStatus::cancelled);
  EXPECT_EQ(commands.stopped, Words{});
  EXPECT_TRUE(cleaned());
}

TEST_F(PlanCancelTest, WhereverTheProcessDiesACancelledPlanIsPutInOrder) {
  read(kTwoSteps);
  commands.script["a"] = {{.takes = 1h}};
  world.crash_everywhere(
      [&] { commands.clear(); },
      [&](Host& host) -> Task<void> {
        co_await start(host);
        co_await sleep(5ms);
        co_await host.cancel(kPlanTask, "enough");
        try {
          co_await host.result<plan::PlanEnd>(kPlanTask);
        } catch (const Error&) {
        }
        EXPECT_EQ(host.info(kPlanTask)->status, DurableStatus::cancelled);
      },
      [&] { EXPECT_TRUE(cleaned()) << "crash after slice " << world.crashed_after; });
}

// ---- Commands that cannot be begun, or not attached to ----

TEST_F(PlanCancelTest, ARefusalBeforeTheBeginIsAFailedAttemptOfEveryClass) {
  for (const Errc code : {Errc::command_failed, Errc::sandbox_missing}) {
    world.disk = std::make_shared<wal::MemoryDisk>();
    commands.clear();
    read("steps: [{name: a, class: at_most_once, retry: 3, run: [do, a]}]");
    commands.script["a"] = {{.refused = code}, {}};
    EXPECT_EQ(run(), "");
    EXPECT_EQ(end.units[0].attempts, 2);
  }
}

TEST_F(PlanCancelTest, AnErrorAfterTheBeginIsAnUnknownEndAndAtMostOnceIsNotRunAgain) {
  for (const Errc code : {Errc::command_damaged, Errc::io_failed}) {
    world.disk = std::make_shared<wal::MemoryDisk>();
    commands.clear();
    read("steps: [{name: a, class: at_most_once, retry: 3, run: [do, a]}]");
    commands.script["a"] = {{.refused = code}};
    const std::string said = run();
    EXPECT_NE(said.find("The disk has a scratch. "), std::string::npos) << said;
    EXPECT_NE(said.find("at_most_once, and is not run again"), std::string::npos) << said;
    EXPECT_EQ(commands.begun, Words{"a"});
    EXPECT_EQ(commands.stopped, Words{"a"});
  }
}

TEST_F(PlanCancelTest, AnErrorAfterTheBeginThatPassesLosesNothing) {
  read("steps: [{name: a, class: at_most_once, run: [do, a]}]");
  commands.script["a"] = {{.refused = Errc::io_failed, .refusals = 2}};
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, Words{"a"});
  EXPECT_EQ(end.units[0].attempts, 1);
}

}  // namespace plan_cancel_test
}  // namespace tiffany
