#include "tiffany/plan/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plan/plan_world.hpp"

namespace tiffany {
namespace plan_run_test {

using namespace std::chrono_literals;
using plan::Approval;
using plan::PlanEnd;
using plan::PlanView;
using plan::Values;
using Words = std::vector<std::string>;

class PlanRunTest : public PlanTest {};

constexpr const char* kDiamond = R"(
steps:
  - {name: a, run: [do, a]}
  - {name: b, needs: [a], run: [do, b]}
  - {name: c, needs: [a], run: [do, c]}
  - {name: d, needs: [b, c], run: [do, d]}
)";

TEST_F(PlanRunTest, StepsBeginWhenWhatTheyNeedIsDoneAndSideBySideOtherwise) {
  read(kDiamond);
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, (Words{"a", "b", "c", "d"}));
  EXPECT_EQ(commands.most_running, 2);
  EXPECT_EQ(state_of("d"), "done");
}

TEST_F(PlanRunTest, OutputsAndParametersAreHandedOnAsOneWord) {
  read(R"(
params: {who: ~}
steps:
  - {name: a, outputs: [version], run: [do, a]}
  - {name: b, needs: [a], env: {V: "v${{ steps.a.outputs.version }}"},
     run: [echo, "${{ steps.a.outputs.version }}", "hello ${{ params.who }}"]}
)");
  commands.script["a"] = {{.outputs = "version=1; rm -rf / $(x)\n"}};
  EXPECT_EQ(run({{"who", "a b"}}), "");
  const exec::CommandSpec& spec = commands.specs[plan::command_id(kPlanTask, "b", 1)];
  EXPECT_EQ(spec.argv, (Words{"echo", "1; rm -rf / $(x)", "hello a b"}));
  EXPECT_EQ(spec.environment[0].second, "v1; rm -rf / $(x)");
  EXPECT_EQ(end.outputs["a"]["version"], "1; rm -rf / $(x)");
}

TEST_F(PlanRunTest, ACommandHasTheSandboxOfItsStepWithExpressionsInItsPaths) {
  read(R"(
params: {kit: ~}
directory: /srv
steps:
  - {name: a, run: [do, a]}
  - {name: b, run: [do, b], sandbox: {level: 2, read: ["/opt/${{ params.kit }}"], write: [out]}}
)");
  EXPECT_EQ(run({{"kit", "gcc"}}), "");
  EXPECT_FALSE(commands.specs[plan::command_id(kPlanTask, "a", 1)].sandbox);
  const auto& sandbox = commands.specs[plan::command_id(kPlanTask, "b", 1)].sandbox;
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(sandbox->level, 2);
  EXPECT_EQ(sandbox->read, Words{"/opt/gcc"});
  EXPECT_EQ(sandbox->write, Words{"out"});
}

TEST_F(PlanRunTest, AnOutputThatWasPromisedAndNotGivenFailsTheStep) {
  read("steps: [{name: a, outputs: [x], run: [do, a]}]");
  EXPECT_NE(run().find("The command did not write the output \"x\""), std::string::npos);
}

TEST_F(PlanRunTest, AnOutputThatIsNoTextFailsTheStep) {
  read("steps: [{name: a, outputs: [x], run: [do, a]}]");
  commands.script["a"] = {{.outputs = "x=\xff\n"}};
  EXPECT_NE(run().find("that is not UTF-8"), std::string::npos);
}

TEST_F(PlanRunTest, AnIfThatDoesNotHoldSkipsTheStepAndWhatNeedsIt) {
  read(R"(
params: {n: {type: integer, default: 3}}
steps:
  - {name: a, if: params.n > 3, run: [do, a]}
  - {name: b, needs: [a], run: [do, b]}
  - {name: c, if: params.n == 3, run: [do, c]}
)");
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, Words{"c"});
  EXPECT_EQ(state_of("a"), "skipped");
  EXPECT_EQ(state_of("b"), "skipped");
}

TEST_F(PlanRunTest, AForeachRunsEveryItemAndNoMoreAtATimeThanThePlanSays) {
  read(R"(
at_once: 2
steps:
  - {name: list, outputs: [all], run: [do, list]}
  - {name: each, needs: [list], foreach: [x, y, z, x], run: [do, "item ${{ item }}"]}
  - {name: last, needs: [each], run: [do, last]}
)");
  commands.script["list"] = {{.outputs = "all=p\n"}};
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, (Words{"list", "item x", "item y", "item z", "item x", "last"}));
  EXPECT_EQ(commands.most_running, 2);
  EXPECT_EQ(state_of("each[3]"), "done");
}

TEST_F(PlanRunTest, AForeachWithoutAnyItemIsDone) {
  read(R"(
params: {hosts: ""}
steps:
  - {name: each, foreach: "${{ params.hosts }}", run: [do, "${{ item }}"]}
  - {name: last, needs: [each], run: [do, last]}
)");
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, Words{"last"});
}

TEST_F(PlanRunTest, StepsWithOneLockRunOneAfterTheOther) {
  read(R"(
steps:
  - {name: a, locks: db, run: [do, a]}
  - {name: b, locks: [db, x], run: [do, b]}
  - {name: c, run: [do, c]}
)");
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, (Words{"a", "c", "b"}));
  EXPECT_EQ(commands.most_running, 2);
}

TEST_F(PlanRunTest, ACommandThatFailsIsTriedAgainWithPausesAndUnderANewId) {
  read("steps: [{name: a, retry: {attempts: 3, pause: 1m}, run: [do, a]}]");
  commands.script["a"] = {{.code = 1}, {.code = 1}, {}};
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, (Words{"a", "a", "a"}));
  EXPECT_EQ(commands.specs.size(), 3u);
  EXPECT_EQ(end.units[0].attempts, 3);
  EXPECT_GE(end.units[0].ended_us - end.units[0].begun_us, 120'000'000);
}

TEST_F(PlanRunTest, WhatFailedAsOftenAsItMayFailsThePlanAndOthersGoOn) {
  read(R"(
steps:
  - {name: a, retry: 2, run: [do, a]}
  - {name: b, run: [do, b]}
  - {name: c, needs: [b], run: [do, c]}
  - {name: d, needs: [a], run: [do, d]}
on_failure: [{name: tell, run: [do, tell]}]
finally: [{name: clean, run: [do, clean]}]
)");
  commands.script["a"] = {{.code = 7}};
  const std::string said = run();
  EXPECT_NE(said.find("The plan \"plan\" failed. The step \"a\": exit code 7."), std::string::npos)
      << said;
  EXPECT_EQ(commands.begun, (Words{"a", "b", "c", "a", "tell", "clean"}));
}

TEST_F(PlanRunTest, AFailureThatIsAllowedDoesNotFailThePlan) {
  read(R"(
steps:
  - {name: a, allow_failure: true, run: [do, a]}
  - {name: b, needs: [a], run: [do, b]}
on_failure: [{name: tell, run: [do, tell]}]
finally: [{name: clean, run: [do, clean]}]
)");
  commands.script["a"] = {{.code = 7}};
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, (Words{"a", "b", "clean"}));
}

TEST_F(PlanRunTest, ACommandWhoseEndNobodyKnowsIsRunAgainUnlessItMayRunOnceOnly) {
  read("steps: [{name: a, run: [do, a]}]");
  commands.script["a"] = {{.unknown = true}, {}};
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun.size(), 2u);
}

TEST_F(PlanRunTest, AnEndWithoutASentenceIsNoSuccess) {
  read("steps: [{name: a, class: at_most_once, run: [do, a]}]");
  commands.script["a"] = {{.unknown = true, .silent = true}};
  EXPECT_NE(run().find("The step \"a\": unknown"), std::string::npos);
}

TEST_F(PlanRunTest, AnAtMostOnceCommandWhoseEndNobodyKnowsFails) {
  read("steps: [{name: a, class: at_most_once, retry: 5, run: [do, a]}]");
  commands.script["a"] = {{.unknown = true}};
  EXPECT_NE(run().find("Nobody knows. The step is of the class at_most_once, and is not run again"),
            std::string::npos);
  EXPECT_EQ(commands.begun.size(), 1u);
}

// ---- Cancel, and crashes ----

TEST_F(PlanRunTest, ACancelStopsWhatRunsThenPutsThingsInOrderAndEndsCancelled) {
  read(R"(
steps:
  - {name: long, run: [do, long]}
  - {name: flaps, retry: {attempts: 9, pause: 1d}, run: [do, flaps]}
  - {name: after, needs: [long], run: [do, after]}
on_failure: [{name: undo, run: [do, undo]}]
finally: [{name: clean, run: [do, clean]}]
)");
  commands.script["long"] = {{.takes = 1h}};
  commands.script["flaps"] = {{.code = 1}};
  std::string said;
  world.live([&](Host& host) -> Task<void> {
    co_await start(host);
    co_await sleep(1min);
    co_await host.cancel(kPlanTask, "enough");
    try {
      co_await host.result<PlanEnd>(kPlanTask);
    } catch (const Error& error) {
      said = error.what();
    }
    EXPECT_EQ(host.info(kPlanTask)->status, DurableStatus::cancelled);
  });
  EXPECT_EQ(commands.stopped, Words{"long"});
  EXPECT_EQ(commands.begun, (Words{"long", "flaps", "undo", "clean"})) << said;
}

TEST_F(PlanRunTest, WhatHasNotBegunWhenThePlanIsCancelledNeverBegins) {
  read(R"(
at_once: 1
steps:
  - {name: long, run: [do, long]}
  - {name: other, run: [do, other]}
finally: [{name: clean, run: [do, clean]}]
)");
  commands.script["long"] = {{.takes = 1h}};
  world.live([&](Host& host) -> Task<void> {
    co_await start(host);
    co_await sleep(1min);
    co_await host.cancel(kPlanTask, "enough");
    try {
      co_await host.result<PlanEnd>(kPlanTask);
    } catch (const Error&) {  // cancelled
    }
  });
  EXPECT_EQ(commands.begun, (Words{"long", "clean"}));
}

TEST_F(PlanRunTest, AThousandStepsBeginInTheOrderOfTheFileAndEachAfterWhatItNeeds) {
  std::string text = "at_once: 3\nsteps:\n";
  for (int i = 0; i < 1000; ++i) {
    const std::string needs = i < 10 ? "" : "needs: [s" + std::to_string(i - 10) + "], ";
    text += "  - {name: s" + std::to_string(i) + ", " + needs + "run: [do, " + std::to_string(i) +
            "]}\n";
  }
  read(text);
  EXPECT_EQ(run(), "");
  ASSERT_EQ(commands.begun.size(), 1000u);
  EXPECT_EQ(commands.most_running, 3);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(commands.begun[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST_F(PlanRunTest, AScheduleOfAPlanStartsItWithItsValues) {
  read(
      "schedule: {cron: '30 2 * * *', catch_up: 2, overlap: queue}\n"
      "params: {x: 3}\nsteps: [{name: a, run: [do, a]}]");
  const Schedule::Data made = plan::schedule_of(plan, {{"x", "4"}}).data();
  EXPECT_EQ(made.type, "tiffany.plan");
  EXPECT_EQ(made.catch_up, 2u);
  EXPECT_EQ(made.overlap, static_cast<int>(Overlap::queue));
  EXPECT_TRUE(made.arguments.ends_with(",{\"x\":\"4\"}]")) << made.arguments;
  plan.schedule.reset();
  EXPECT_THROW(plan::schedule_of(plan, {}), Error);
}

TEST_F(PlanRunTest, TheViewSaysWhatEveryStepDoes) {
  read(kDiamond);
  commands.script["b"] = {{.takes = 1h}};
  world.live([&](Host& host) -> Task<void> {
    co_await start(host);
    co_await sleep(1min);
    const PlanView view = co_await host.ask(kPlanTask, plan::kPlanView);
    std::string all;
    for (const plan::UnitView& each : view.units) all += each.name + " " + each.state + ", ";
    EXPECT_EQ(all, "a done, b running, c done, d waiting, ");
    EXPECT_EQ(view.units[1].output, "/commands/" + plan::command_id(kPlanTask, "b", 1).text());
  });
}

TEST_F(PlanRunTest, WhereverTheProcessDiesEachCommandBeginsOnceAndThePlanEndsAsUndisturbed) {
  read(R"(
at_once: 3
steps:
  - {name: a, outputs: [v], run: [do, a]}
  - {name: b, needs: [a], foreach: [p, q], run: [do, "b${{ item }}"]}
  - {name: c, needs: [a], retry: {attempts: 3, pause: 1m}, class: at_most_once, run: [do, c]}
  - {name: ask, needs: [b, c], approve: "go?"}
  - {name: d, needs: [ask], run: [do, "d${{ steps.a.outputs.v }}"]}
finally: [{name: clean, run: [do, clean]}]
)");
  commands.script["a"] = {{.outputs = "v=7\n"}};
  commands.script["c"] = {{.code = 1}, {}};
  const std::size_t crashes = world.crash_everywhere(
      [&] { commands.clear(); },
      [&](Host& host) -> Task<void> {
        co_await start(host);
        for (;;) {
          const auto info = host.info(kPlanTask);
          if (info->status != DurableStatus::running) break;
          const PlanView view = co_await host.ask(kPlanTask, plan::kPlanView);
          for (const plan::UnitView& each : view.units) {
            if (each.state != "awaiting approval") continue;
            Approval yes;
            yes.approved = true;
            yes.digest = each.digest;
            co_await host.complete(*Uuid::parse(each.promise), yes);
          }
          co_await sleep(5s);
        }
        end = co_await host.result<PlanEnd>(kPlanTask);
      },
      [&] {
        Words all = commands.begun;
        std::sort(all.begin(), all.end());
        EXPECT_EQ(all, (Words{"a", "bp", "bq", "c", "c", "clean", "d7"}))
            << "crash after slice " << world.crashed_after;
        EXPECT_EQ(state_of("clean"), "done");
      });
  EXPECT_GT(crashes, 50u);
}

}  // namespace plan_run_test
}  // namespace tiffany
