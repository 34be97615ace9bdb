// Plans in plans: as files, as tasks, and what goes wrong with them.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "plan/plan_world.hpp"
#include "tiffany/plan/graph.hpp"

namespace tiffany {
namespace sub_plan_test {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

std::string mistakes_of(const std::string& text, const plan::Files& files) {
  return plan::check(text, "jobs/main.yaml", files).text();
}

constexpr const char* kBuild = R"(
name: build
params: {target: {type: string}, jobs: {type: integer, default: 2}}
steps:
  - {name: compile, outputs: [image], run: [do, "${{ params.target }}-${{ params.jobs }}"]}
outputs: {image: "image ${{ steps.compile.outputs.image }}"}
)";

class SubPlanTest : public PlanTest {
 protected:
  void read_with(const std::string& text, const plan::Files& files) {
    plan::Checked checked = plan::check(text, "jobs/main.yaml", files);
    ASSERT_EQ(checked.text(), "");
    plan = *checked.plan;
  }
  // Starts the plan, and cancels or kills it after that time.
  DurableStatus end_after(Duration time, bool kill) {
    DurableStatus status = DurableStatus::running;
    world.live([&](Host& host) -> Task<void> {
      co_await start(host);
      co_await sleep(time);
      if (kill) {
        co_await host.kill(kPlanTask, "enough");
      } else {
        co_await host.cancel(kPlanTask, "enough");
      }
      status = co_await ended(host);
    });
    return status;
  }
};

// ---- Reading ----

TEST(SubPlanCheck, AFileIsNamedFromThePlaceOfThePlanThatNamesIt) {
  const std::string main = "steps: [{name: a, plan: ../lib/./b.yaml}]";
  EXPECT_EQ(plan::files_of(main, "jobs/main.yaml"), Words{"lib/b.yaml"});
  EXPECT_EQ(plan::files_of(main, "/etc/main.yaml"), Words{"/lib/b.yaml"});
  EXPECT_EQ(plan::files_of(main, "main.yaml"), Words{"../lib/b.yaml"});
  EXPECT_EQ(plan::files_of("steps: [{name: a, plan: /x/y.yaml}]", "m.yaml"), Words{"/x/y.yaml"});
  EXPECT_EQ(plan::files_of("steps: [{name: a, plan: /../../y}]", "m.yaml"), Words{"/y"});
  EXPECT_EQ(plan::files_of("[", "m.yaml"), Words{});
  EXPECT_EQ(plan::files_of("steps: [3, [plan], {plan: [x]}, {plan: ''}]", "m.yaml"), Words{});
}

TEST(SubPlanCheck, APlanWithItsSubPlansIsOneTextThatReadsBack) {
  const plan::Files files = {{"jobs/build.yaml", kBuild}};
  const plan::Checked checked = plan::check(
      "steps: [{name: b, plan: build.yaml, with: {target: x}}]", "jobs/main.yaml", files);
  ASSERT_EQ(checked.text(), "");
  const std::string json = to_json(*checked.plan);
  EXPECT_NE(json.find("compile"), std::string::npos);
  EXPECT_EQ(to_json(from_json<plan::Plan>(json)), json);
}

TEST(SubPlanCheck, AFileThatIsNotThereIsAMistakeAtItsPlace) {
  EXPECT_EQ(mistakes_of("steps:\n  - name: a\n    plan: b.yaml\n", {}),
            "jobs/main.yaml:3:11: The step \"a\" has the plan \"b.yaml\", and the file "
            "\"jobs/b.yaml\" is not there, or cannot be read.\n");
}

TEST(SubPlanCheck, ACircleOfPlansIsToldWithItsFiles) {
  const plan::Files files = {{"jobs/b.yaml", "steps: [{name: c, plan: main.yaml}]"}};
  EXPECT_EQ(mistakes_of("steps: [{name: a, plan: b.yaml}]", files),
            "jobs/main.yaml:1:25: jobs/b.yaml:1:25: The step \"c\" would never end: "
            "\"jobs/main.yaml\" has \"jobs/b.yaml\" has \"jobs/main.yaml\" in it.\n");
  EXPECT_NE(mistakes_of("steps: [{name: a, plan: main.yaml}]",
                        {{"jobs/main.yaml", "steps: [{name: a, run: [x]}]"}})
                .find("would never end"),
            std::string::npos);
}

TEST(SubPlanCheck, AHundredPlansInOneAnotherAreRefused) {
  plan::Files files;
  for (int i = 0; i < 100; ++i) {
    files["jobs/" + std::to_string(i) + ".yaml"] =
        "steps: [{name: a, plan: " + std::to_string(i + 1) + ".yaml}]";
  }
  files["jobs/100.yaml"] = "steps: [{name: a, run: [x]}]";
  const std::string text = mistakes_of("steps: [{name: a, plan: 0.yaml}]", files);
  EXPECT_TRUE(text.starts_with("jobs/main.yaml:1:25: ")) << text;
  EXPECT_NE(text.find("more than 8 plans in one another"), std::string::npos) << text;
  // One that is good by itself, and known already, does not pass deeper down.
  EXPECT_EQ(mistakes_of("steps: [{name: a, plan: 94.yaml}]", files), "");
  const std::string twice =
      mistakes_of("steps: [{name: a, plan: 94.yaml}, {name: b, plan: up.yaml}]", [&] {
        files["jobs/up.yaml"] = "steps: [{name: a, plan: 94.yaml}]";
        return files;
      }());
  EXPECT_NE(twice.find("more than 8 plans"), std::string::npos) << twice;
}

TEST(SubPlanCheck, PlansThatMultiplyAreRefusedAndNotMade) {
  plan::Files files;
  for (int i = 0; i < 7; ++i) {
    std::string steps;
    for (int j = 0; j < 50; ++j) {
      steps += "- {name: s" + std::to_string(j) + ", plan: " + std::to_string(i + 1) + ".yaml}\n";
    }
    files["jobs/" + std::to_string(i) + ".yaml"] = "steps:\n" + steps;
  }
  files["jobs/7.yaml"] = "steps: [{name: a, run: [x]}]";
  const std::string text = mistakes_of("steps: [{name: a, plan: 1.yaml}]", files);
  EXPECT_NE(text.find("at most 10000 and"), std::string::npos) << text;
}

TEST(SubPlanCheck, MoreFilesThanAPlanMayHaveAreRefused) {
  plan::Files files;
  std::string steps = "steps:\n";
  for (int i = 0; i < 80; ++i) {
    files["jobs/" + std::to_string(i)] = "steps: [{name: a, run: [x]}]";
    steps += "- {name: s" + std::to_string(i) + ", plan: \"" + std::to_string(i) + "\"}\n";
  }
  EXPECT_NE(mistakes_of(steps, files).find("more than 64 files"), std::string::npos);
  EXPECT_EQ(plan::files_of(steps, "jobs/main.yaml").size(), 64u);
}

TEST(SubPlanCheck, ParametersThatAreMissingUnknownOrOfAnotherTypeAreMistakes) {
  const plan::Files files = {{"jobs/build.yaml", kBuild}};
  EXPECT_EQ(mistakes_of("steps:\n"
                        "  - name: b\n"
                        "    plan: build.yaml\n"
                        "    with: {tarket: x, jobs: many}\n",
                        files),
            "jobs/main.yaml:3:11: The step \"b\" does not give the parameter \"target\" of the "
            "plan \"build\", which has no default. Add it: with: {target: ...}.\n"
            "jobs/main.yaml:4:20: The step \"b\" gives \"tarket\" to the plan \"build\", which "
            "has no such parameter. Did you mean \"target\"?\n"
            "jobs/main.yaml:4:29: The parameter \"jobs\" is of the type integer, and \"many\" is "
            "not.\n");
}

TEST(SubPlanCheck, MistakesOfASubPlanStandAtTheStepWithTheirOwnPlace) {
  const plan::Files files = {{"jobs/b.yaml", "steps:\n  - name: c\n    runn: [x]\n"}};
  const std::string text = mistakes_of("steps: [{name: a, plan: b.yaml}]", files);
  EXPECT_NE(text.find("jobs/main.yaml:1:25: jobs/b.yaml:3:5: The step \"c\" has no key \"runn\""),
            std::string::npos)
      << text;
}

TEST(SubPlanCheck, KeysOfCommandsHaveNoMeaningForAStepThatIsAPlan) {
  const plan::Files files = {{"jobs/b.yaml", "steps: [{name: c, run: [x]}]"}};
  for (const char* const key :
       {"env: {A: b}", "directory: /", "class: at_most_once", "outputs: [x]", "locks: [x]",
        "limits: {cpu: 1s}", "artifacts: [x]", "run: [x]", "approve: yes", "grace: 1s"}) {
    const std::string text =
        mistakes_of("steps: [{name: a, plan: b.yaml, " + std::string(key) + "}]", files);
    EXPECT_NE(text, "") << key;
  }
  EXPECT_NE(mistakes_of("steps: [{name: a, run: [x], with: {a: b}}]", {}), "");
  EXPECT_NE(mistakes_of("steps: [{name: a, plan: \"${{ params.x }}\"}]", {}), "");
  EXPECT_NE(mistakes_of("steps: [{name: a, plan: [b.yaml]}]", files), "");
}

TEST(SubPlanCheck, AnApprovalInASubPlanDoesNotHoldUpWhatPutsThingsInOrder) {
  const plan::Files files = {{"jobs/b.yaml", "steps: [{name: c, plan: c.yaml}]"},
                             {"jobs/c.yaml", "steps: [{name: ask, approve: yes}]"}};
  EXPECT_EQ(mistakes_of("steps: [{name: a, plan: b.yaml}]", files), "");
  EXPECT_NE(mistakes_of("steps: [{name: a, run: [x]}]\nfinally: [{name: b, plan: b.yaml}]", files),
            "");
}

TEST(SubPlanCheck, OutputsThatASubPlanDoesNotGiveAreMistakes) {
  const plan::Files files = {{"jobs/build.yaml", kBuild}};
  const auto asks = [&](const std::string& what) {
    return mistakes_of(
        "steps:\n- {name: b, plan: build.yaml, with: {target: x}}\n"
        "- {name: c, needs: [b], run: [do, \"${{ steps.b.outputs." +
            what + " }}\"]}\n",
        files);
  };
  EXPECT_EQ(asks("image"), "");
  EXPECT_EQ(asks("compile"),
            "jobs/main.yaml:3:30: The step \"c\" asks for \"steps.b.outputs.compile\", and the "
            "plan \"build\" does not say that it gives this. Add it there: outputs: {compile: "
            "...}.\n");
  EXPECT_EQ(
      mistakes_of("steps: [{name: a, run: [x]}]\noutputs: {x: \"${{ steps.a.outputs.x }}\"}", {}),
      "jobs/main.yaml:2:14: The output \"x\" of the plan asks for \"steps.a.outputs.x\", "
      "and \"a\" does not say that it gives this. Add it there: outputs: [x].\n");
}

TEST(SubPlanCheck, DrawingsGoIntoSubPlans) {
  const plan::Files files = {{"jobs/build.yaml", kBuild}};
  const plan::Checked checked = plan::check(
      "steps: [{name: b, plan: build.yaml, with: {target: x}}]", "jobs/main.yaml", files);
  ASSERT_TRUE(checked.plan);
  EXPECT_EQ(plan::graph_text(*checked.plan), "main\n[b]  (plan build)\n  | [compile]\n");
  EXPECT_NE(plan::graph_dot(*checked.plan).find("\"b/compile\""), std::string::npos);
  EXPECT_NE(plan::graph_json(*checked.plan).find("\"kind\":\"plan\""), std::string::npos);
  EXPECT_NE(plan::graph_json(*checked.plan).find("\"compile\""), std::string::npos);
}

// ---- Running ----

TEST_F(SubPlanTest, ASubPlanIsATaskOfItsOwnAndItsOutputsAreThoseOfTheStep) {
  read_with(R"(
params: {target: production}
steps:
  - {name: b, plan: build.yaml, with: {target: "${{ params.target }}"}}
  - {name: c, needs: [b], run: [do, "${{ steps.b.outputs.image }}"]}
outputs: {all: "${{ steps.b.outputs.image }}!"}
)",
            {{"jobs/build.yaml", kBuild}});
  commands.script["production-2"] = {{.outputs = "image=7\n"}};
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, (Words{"production-2", "image 7"}));
  EXPECT_EQ(end.values["all"], "image 7!");
  EXPECT_NE(end.units.at(0).task, "");
  EXPECT_NE(end.units.at(0).task, kPlanTask.text());
}

TEST_F(SubPlanTest, ParametersOfTheSameNameAreNotThoseOfThePlanAround) {
  read_with("params: {x: outer}\nsteps: [{name: a, plan: b.yaml}]",
            {{"jobs/b.yaml",
              "params: {x: inner}\nschedule: {cron: '* * * * *'}\n"
              "steps: [{name: c, run: [do, \"${{ params.x }}\"]}]"}});
  EXPECT_EQ(run({{"x", "given"}}), "");
  EXPECT_EQ(commands.begun, Words{"inner"});
}

TEST_F(SubPlanTest, AForeachRunsTheSubPlanForEachItem) {
  read_with(
      "steps: [{name: a, foreach: [x, y], plan: build.yaml, with: {target: \"${{ item }}\"}}]",
      {{"jobs/build.yaml", kBuild}});
  commands.script["x-2"] = {{.outputs = "image=1\n"}};
  commands.script["y-2"] = {{.outputs = "image=2\n"}};
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, (Words{"x-2", "y-2"}));
  EXPECT_EQ(state_of("a[1]"), "done");
}

TEST_F(SubPlanTest, AValueThatDoesNotFitFailsTheStepWhenItBegins) {
  read_with(R"(
params: {n: many}
steps: [{name: a, plan: build.yaml, with: {target: x, jobs: "${{ params.n }}"}}]
)",
            {{"jobs/build.yaml", kBuild}});
  EXPECT_NE(run().find("\"jobs\" is of the type integer, and \"many\" is not"), std::string::npos);
  EXPECT_EQ(commands.begun, Words{});
}

TEST_F(SubPlanTest, AFailureComesUpAndIsTriedAgainAsOftenAsTheStepSays) {
  read_with(
      "steps: [{name: a, retry: {attempts: 3, pause: 1s}, plan: b.yaml}]\n"
      "finally: [{name: clean, run: [do, clean]}]",
      {{"jobs/b.yaml", "steps: [{name: c, run: [do, c]}]"}});
  commands.script["c"] = {{.code = 1}, {.code = 1}, {.code = 0}};
  EXPECT_EQ(run(), "");
  EXPECT_EQ(commands.begun, (Words{"c", "c", "c", "clean"}));
  commands.clear();
  world.disk = std::make_shared<wal::MemoryDisk>();
  commands.script["c"] = {{.code = 1}};
  const std::string failure = run();
  EXPECT_NE(failure.find("The step \"a\": "), std::string::npos) << failure;
  EXPECT_NE(failure.find("The plan \"b\" failed. The step \"c\": "), std::string::npos) << failure;
  EXPECT_EQ(commands.begun, (Words{"c", "c", "c", "clean"}));
}

TEST_F(SubPlanTest, ATimeoutCancelsTheSubPlanWhichPutsThingsInOrder) {
  read_with(
      "steps: [{name: a, timeout: 50ms, plan: b.yaml}]",
      {{"jobs/b.yaml", "steps: [{name: c, run: [do, c]}]\nfinally: [{name: d, run: [do, d]}]"}});
  commands.script["c"] = {{.takes = 1h}};
  EXPECT_NE(run().find("The plan \"b\" did not end within 50 ms"), std::string::npos);
  EXPECT_EQ(commands.stopped, Words{"c"});
  EXPECT_EQ(commands.begun, (Words{"c", "d"}));
}

TEST_F(SubPlanTest, ACancelGoesDownAndIsAwaitedBeforeThingsArePutInOrder) {
  read_with(
      "steps: [{name: a, plan: b.yaml}]\nfinally: [{name: clean, run: [do, clean]}]",
      {{"jobs/b.yaml", "steps: [{name: m, plan: c.yaml}]"},
       {"jobs/c.yaml", "steps: [{name: c, run: [do, c]}]\nfinally: [{name: d, run: [do, d]}]"}});
  commands.script["c"] = {{.takes = 1h}};
  EXPECT_EQ(end_after(5ms, false), DurableStatus::cancelled);
  EXPECT_EQ(commands.stopped, Words{"c"});
  EXPECT_EQ(commands.begun, (Words{"c", "d", "clean"}));
  EXPECT_EQ(commands.running, 0);
}

TEST_F(SubPlanTest, AKillOfThePlanCancelsItsSubPlans) {
  read_with("steps: [{name: a, plan: b.yaml}]",
            {{"jobs/b.yaml", "steps: [{name: c, run: [do, c]}]"}});
  commands.script["c"] = {{.takes = 1h}};
  EXPECT_EQ(end_after(5ms, true), DurableStatus::cancelled);
  EXPECT_EQ(commands.stopped, Words{"c"});
  EXPECT_EQ(commands.running, 0);
}

TEST_F(SubPlanTest, ASubPlanThatSomebodyCancelledIsNotTriedAgain) {
  read_with("steps: [{name: a, retry: {attempts: 3, pause: 1ms}, plan: b.yaml}]",
            {{"jobs/b.yaml", "steps: [{name: c, run: [do, c]}]"}});
  commands.script["c"] = {{.takes = 1h}};
  std::string failure;
  world.live([&](Host& host) -> Task<void> {
    co_await start(host);
    co_await sleep(5ms);
    const plan::PlanView view = co_await host.ask(kPlanTask, plan::kPlanView);
    co_await host.cancel(*Uuid::parse(view.units.at(0).task), "not this one");
    try {
      co_await host.result<plan::PlanEnd>(kPlanTask);
    } catch (const Error& error) {
      failure = error.what();
    }
  });
  EXPECT_NE(failure.find("not this one"), std::string::npos) << failure;
  EXPECT_EQ(commands.begun, Words{"c"});
}

TEST_F(SubPlanTest, AnApprovalInASubPlanIsAnsweredThere) {
  read_with("steps: [{name: a, plan: b.yaml}]",
            {{"jobs/b.yaml",
              "steps: [{name: ask, approve: go}, {name: c, needs: [ask], run: [do, c]}]"}});
  world.live([&](Host& host) -> Task<void> {
    co_await start(host);
    co_await sleep(5ms);
    const plan::PlanView outer = co_await host.ask(kPlanTask, plan::kPlanView);
    const Uuid child = *Uuid::parse(outer.units.at(0).task);
    const plan::PlanView inner = co_await host.ask(child, plan::kPlanView);
    plan::Approval yes;
    yes.approved = true;
    yes.digest = inner.units.at(0).digest;
    co_await host.complete(*Uuid::parse(inner.units.at(0).promise), yes);
    end = co_await host.result<plan::PlanEnd>(kPlanTask);
  });
  EXPECT_EQ(commands.begun, Words{"c"});
}

// ---- Crashes ----

constexpr const char* kCrashed = R"(
steps:
  - {name: a, run: [do, a]}
  - {name: b, needs: [a], retry: {attempts: 2, pause: 5ms}, plan: b.yaml, with: {x: "1"}}
  - {name: c, needs: [b], run: [do, "${{ steps.b.outputs.y }}"]}
finally: [{name: clean, run: [do, clean]}]
)";
const plan::Files kCrashedFiles = {{"jobs/b.yaml",
                                    "params: {x: {type: integer}}\n"
                                    "steps: [{name: d, outputs: [y], run: [do, d]}]\n"
                                    "outputs: {y: \"${{ steps.d.outputs.y }}\"}"}};

TEST_F(SubPlanTest, WhereverTheProcessDiesASubPlanRunsOnceForEachAttempt) {
  read_with(kCrashed, kCrashedFiles);
  world.crash_everywhere(
      [&] {
        commands.clear();
        commands.script["d"] = {{.code = 1}, {.outputs = "y=2\n"}};
      },
      [&](Host& host) -> Task<void> {
        co_await start(host);
        end = co_await host.result<plan::PlanEnd>(kPlanTask);
      },
      [&] { EXPECT_EQ(commands.begun, (Words{"a", "d", "d", "2", "clean"})); });
}

TEST_F(SubPlanTest, WhereverTheProcessDiesACancelGoesDown) {
  read_with(kCrashed, kCrashedFiles);
  world.crash_everywhere(
      [&] {
        commands.clear();
        commands.script["d"] = {{.takes = 1h}};
      },
      [&](Host& host) -> Task<void> {
        co_await start(host);
        co_await sleep(15ms);
        co_await host.cancel(kPlanTask, "enough");
        try {
          co_await host.result<plan::PlanEnd>(kPlanTask);
        } catch (const Error&) {
        }
      },
      [&] {
        EXPECT_EQ(commands.begun.back(), "clean");
        EXPECT_EQ(commands.running, 0);
        EXPECT_LE(commands.begun.size(), 3u);
      });
}

}  // namespace sub_plan_test
}  // namespace tiffany
