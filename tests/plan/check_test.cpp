#include "tiffany/plan/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany {
namespace check_test {

using plan::check;
using plan::Checked;
using plan::Plan;
using plan::Values;

Plan good(const std::string& text) {
  Checked checked = check(text, "plan.yaml");
  EXPECT_EQ(checked.text(), "");
  return checked.plan.value_or(Plan());
}
std::string mistakes(const std::string& text) {
  const Checked checked = check(text, "p.yaml");
  EXPECT_FALSE(checked.plan.has_value());
  return checked.text();
}

TEST(PlanCheck, TheSmallestPlanIsRead) {
  const Plan plan =
      good("steps: [{name: a, run: [make, test]}, {name: b, needs: [a], run: [make, install]}]");
  EXPECT_EQ(plan.name, "plan");
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[1].run, (std::vector<std::string>{"make", "install"}));
  EXPECT_EQ(plan.steps[1].needs, std::vector<std::string>{"a"});
  EXPECT_EQ(plan.at_once, 8);
}

TEST(PlanCheck, EveryKeyOfAStepIsRead) {
  const Plan plan = good(R"(
name: all
about: everything
at_once: 2
env: {A: "1", B: "2"}
secrets: {TOKEN: {variable: CI_TOKEN}}
params:
  n: {type: integer, default: 3, about: how many}
  who: ada
steps:
  - name: one
    outputs: [x]
    run: [sh, run.sh]
  - name: two
    needs: one
    if: steps.one.outputs.x != '' && params.n > 2
    foreach: [a, "${{ params.who }}"]
    run: [echo, "${{ item }}", 'it''s "${{ steps.one.outputs.x }}"']
    env: {B: "${{ item }}", C: ~}
    secrets: {KEY: {file: /run/key}}
    directory: /tmp
    timeout: 1h30m
    grace: 500ms
    retry: {attempts: 4, pause: 2s, factor: 1.5, longest: 1m, jitter: 0.25}
    class: at_most_once
    locks: [db]
    artifacts: ["dist/${{ item }}.tar"]
    limits: {cpu: 10s, memory: 2G, file_size: 64k, open_files: 100, processes: 50}
    sandbox: {level: 3, read: ["/opt/${{ item }}"], write: ../cache, network: true}
    output_bytes: 10M
    allow_failure: true
  - {name: ask, needs: [two], approve: "go on with ${{ steps.two.status }}?", timeout: 2d}
finally:
  - {name: end, run: [echo, "${{ steps.one.outputs.x }}"]}
schedule: {cron: "30 2 * * *", zone: Europe/Berlin, catch_up: 3, overlap: queue}
)");
  const plan::Step& two = plan.steps.at(1);
  EXPECT_EQ(two.env, (std::vector<std::pair<std::string, std::string>>{
                         {"A", "1"}, {"B", "${{ item }}"}, {"C", ""}}));
  EXPECT_EQ(two.secrets.size(), 2u);
  EXPECT_EQ(two.timeout_ms, 5'400'000);
  EXPECT_EQ(two.grace_ms, 500);
  EXPECT_EQ(two.retry.attempts, 4);
  EXPECT_EQ(two.retry.longest_ms, 60'000);
  EXPECT_DOUBLE_EQ(two.retry.jitter, 0.25);
  EXPECT_TRUE(two.at_most_once);
  EXPECT_EQ(two.limits.memory_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(two.limits.file_bytes, 65536u);
  ASSERT_TRUE(two.sandbox);
  EXPECT_EQ(two.sandbox->level, 3);
  EXPECT_EQ(two.sandbox->write, std::vector<std::string>{"../cache"});
  EXPECT_TRUE(two.sandbox->network && two.sandbox->directory_writable);
  EXPECT_EQ(two.output_bytes, std::uint64_t{10} << 20);
  EXPECT_EQ(two.run[2], "it's \"${{ steps.one.outputs.x }}\"");
  EXPECT_EQ(plan.schedule->catch_up, 3u);
  EXPECT_EQ(to_json(from_json<Plan>(to_json(plan))), to_json(plan)) << "the canonical text";
}

TEST(PlanCheck, TheExamplesAreGoodPlans) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TIFFANY_SOURCES) + "/examples/plans")) {
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(check(text, entry.path().filename()).text(), "");
    ++count;
  }
  EXPECT_GE(count, 4);
}

// The keys of an object in the schema that editors read.
std::set<std::string> keys_in_schema(const std::vector<std::string>& way) {
  std::ifstream file(std::string(TIFFANY_SOURCES) + "/docs/plan.schema.json");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto member_of = [](const std::string& object, const std::string& wanted) {
    JsonReader in(object);
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      const std::string value(in.raw());
      if (name == wanted) return value;
    }
    return std::string("{}");
  };
  for (const std::string& each : way) text = member_of(text, each);
  std::set<std::string> keys;
  JsonReader in(text);
  in.begin_object();
  for (std::string name; in.next_member(name); in.raw()) keys.insert(name);
  return keys;
}
// And those that the checker lists for a key that nobody means.
std::set<std::string> keys_in(const std::string& sentence) {
  std::set<std::string> keys;
  std::string list = sentence.substr(sentence.find("The keys are: ") + 14);
  list = list.substr(0, list.find('.')) + ", ";
  for (std::size_t comma; (comma = list.find(", ")) != std::string::npos;) {
    keys.insert(list.substr(0, comma));
    list.erase(0, comma + 2);
  }
  return keys;
}

TEST(PlanCheck, TheSchemaForEditorsHasTheKeysOfTheChecker) {
  EXPECT_EQ(keys_in_schema({"properties"}),
            keys_in(mistakes("xxxxxxxxxxxx: 1\nsteps: [{name: a, run: [x]}]")));
  EXPECT_EQ(keys_in_schema({"$defs", "step", "properties"}),
            keys_in(mistakes("steps: [{name: a, run: [x], xxxxxxxxxxxxxxx: 1}]")));
}

TEST(PlanCheck, ASandboxNeedsALevelThatThereIsAndADirectory) {
  good(
      "directory: /srv\nsteps: [{name: a, run: [x], sandbox: 2}, {name: b, run: [x], sandbox: "
      "{}}]");
  const std::string all = mistakes(R"(steps:
  - {name: a, run: [x], sandbox: 2}
  - {name: b, run: [x], sandbox: {level: 4, directory: /srv}, directory: /srv}
  - {name: c, run: [x], sandbox: {read: ["${{ params.nobody }}", ""]}, directory: /srv}
  - {name: d, approve: yes, sandbox: 1}
)");
  for (const char* const part :
       {"p.yaml:2:34: The step \"a\" has a sandbox and no directory.",
        "p.yaml:3:42: The level in \"sandbox\" of the step \"b\" is a whole number from 0 to 3.",
        "\"sandbox\" of the step \"b\" has no key \"directory\". The keys are: level",
        "A path in \"sandbox\" of the step \"c\" is empty.", "p.yaml:4", "p.yaml:5:"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  }
}

TEST(PlanCheck, EveryMistakeIsSaidAtOnceWithItsPlaceAndWhatToDo) {
  EXPECT_EQ(mistakes(R"(nme: x
steps:
  - name: build
    run: make all
  - name: test
    need: [build]
    run: [make, test]
    timeout: 30
  - name: test
    needs: [biuld]
    run: []
    class: once
)"),
            "p.yaml:1:1: The plan has no key \"nme\". Did you mean \"name\"?\n"
            "p.yaml:4:10: \"run\" of the step \"build\" is a text. Write the words as a list, "
            "[make, test], which no shell reads, or say shell: true.\n"
            "p.yaml:6:5: The step \"test\" has no key \"need\". Did you mean \"needs\"?\n"
            "p.yaml:8:14: \"timeout\" of the step \"test\" is a time like 500ms, 30s, 5m or 1h30m, "
            "and not \"30\".\n"
            "p.yaml:9:5: There are two steps \"test\"; the first is in line 5. Rename one.\n"
            "p.yaml:10:12: The step \"test\" needs \"biuld\", and there is no step of that name "
            "here. Did you mean \"build\"?\n"
            "p.yaml:11:10: \"run\" of the step \"test\" has no program. Write [make, test].\n"
            "p.yaml:12:12: \"class\" of the step \"test\" is \"idempotent\" (run again when nobody "
            "knows how it ended) or \"at_most_once\" (then it fails).\n");
}

TEST(PlanCheck, ACircleOfNeedsIsNamed) {
  EXPECT_EQ(
      mistakes("steps:\n- {name: a, needs: [c], run: [x]}\n- {name: b, needs: [a], run: [x]}\n"
               "- {name: c, needs: [b], run: [x]}\n- {name: d, needs: [a], run: [x]}\n"),
      "p.yaml:2:20: \"a\" needs \"c\" needs \"b\" needs \"a\": none of them can begin. Take "
      "one of these away.\n");
}

TEST(PlanCheck, ExpressionsThatAskForWhatIsNotThereAreRefused) {
  const std::string said = mistakes(R"(
params: {version: "1"}
steps:
  - {name: a, run: [x]}
  - {name: b, run: [x, "${{ steps.a.outputs.n }}"]}
  - {name: c, needs: [a], run: [x, "${{ steps.a.outputs.n }}"]}
  - {name: d, run: [x, "${{ params.verson }}"]}
  - {name: e, run: [x, "${{ item }}"]}
  - {name: f, run: [x, "${{ "]}
  - {name: g, if: "a ==", run: [x]}
  - {name: h, if: "step.a.status == 'done'", run: [x]}
)");
  for (const char* const sentence :
       {":5:20: The step \"b\" asks for \"steps.a.outputs.n\", and does not come after \"a\". Add "
        "it: needs: [a].",
        ":6:32: The step \"c\" asks for \"steps.a.outputs.n\", and \"a\" does not say that it "
        "gives "
        "this. Add it there: outputs: [n].",
        "and the plan has no such parameter. Did you mean \"version\"?",
        "\"item\", and has no foreach", "A \"${{\" has no \"}}\" behind it.",
        "cannot be read: a value is missing at character 5.", "Did you mean \"steps\"?"}) {
    EXPECT_NE(said.find(sentence), std::string::npos) << sentence << "\nin\n" << said;
  }
}

TEST(PlanCheck, AValueInATextForAShellIsRefused) {
  EXPECT_NE(
      mistakes("params: {x: 1}\nsteps:\n- {name: a, shell: true, run: 'echo ${{ params.x }}'}")
          .find("the shell would run what is in the value. Hand it over as a variable"),
      std::string::npos);
}

TEST(PlanCheck, NamesThatAreNoneAreRefusedWhereverTheyStand) {
  for (const char* const name :
       {"a/b", "..", "a\\nb", "a b", "", "a\\0", "$(id)", "-rf", "1a", "ä"}) {
    const std::string odd = "\"" + std::string(name) + "\"";
    const std::string step = "steps: [{name: a, run: [x], ";
    EXPECT_NE(mistakes("steps: [{name: " + odd + ", run: [x]}]"), "") << name;
    EXPECT_NE(mistakes(step + "locks: [" + odd + "]}]"), "") << name;
    EXPECT_NE(mistakes(step + "outputs: [" + odd + "]}]"), "") << name;
    EXPECT_NE(mistakes(step + "env: {" + odd + ": x}}]"), "") << name;
    EXPECT_NE(mistakes("params: {" + odd + ": x}\nsteps: [{name: a, run: [x]}]"), "") << name;
  }
  EXPECT_NE(mistakes("steps: [{name: a, run: [x], env: {\"A=B\": x}}]"), "");
  EXPECT_NE(mistakes("steps: [{name: a, run: [x], env: {A: \"x\\0y\"}}]"), "");
}

TEST(PlanCheck, ArtifactsStayBelowTheDirectoryOfTheStep) {
  const auto with = [](const std::string& artifacts) {
    return mistakes("steps: [{name: a, run: [x], artifacts: " + artifacts + "}]");
  };
  const std::string step = "steps: [{name: a, run: [x], artifacts: ";
  EXPECT_EQ(good(step + "[dist/*.tar, log]}]").steps[0].artifacts.size(), 2u);
  EXPECT_EQ(good(step + "log}]").steps[0].artifacts.size(), 1u);
  for (const char* const bad :
       {"[../x]", "[a/../../x]", "[/etc/passwd]", "[\"\"]", "[a//b]", "{a: b}"}) {
    EXPECT_NE(with(bad), "") << bad;
  }
  EXPECT_NE(mistakes("steps: [{name: a, approve: go, artifacts: [x]}]"), "");
  EXPECT_NE(mistakes("steps: [{name: a, run: [x], artifacts: ['${{ params.no }}']}]"), "");
}

TEST(PlanCheck, SecretsAreNeverInAPlan) {
  EXPECT_NE(mistakes("steps: [{name: a, run: [x], secrets: {KEY: hunter2}}]")
                .find("The secret KEY is given by reference, and never in the plan"),
            std::string::npos);
}

TEST(PlanCheck, WhatIsNoYamlIsSaidWithItsPlace) {
  EXPECT_NE(mistakes("steps:\n  - {name: a").find("p.yaml:2:1: This is neither YAML nor JSON"),
            std::string::npos)
      << mistakes("steps:\n  - {name: a");
  EXPECT_NE(mistakes("steps: [{name: a, run: [\"x\xff\"]}]").find("This text is not UTF-8."),
            std::string::npos);
  EXPECT_NE(mistakes("").find("The plan is empty."), std::string::npos);
  EXPECT_NE(mistakes("[1, 2]").find("The plan is a map of keys and values, and this is a list."),
            std::string::npos);
  EXPECT_NE(mistakes("{}").find("The plan has no steps."), std::string::npos);
  EXPECT_NE(mistakes("steps: [{name: a, run: [x]}]\n---\nsteps: []").find("more than one document"),
            std::string::npos);
}

TEST(PlanCheck, AnchorsWorkAndOnesThatMultiplyAreRefused) {
  EXPECT_EQ(good("steps:\n- {name: a, run: &words [x, y]}\n- {name: b, run: *words}").steps[1].run,
            (std::vector<std::string>{"x", "y"}));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 8; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  EXPECT_NE(mistakes(bomb).find("Aliases make the plan too large."), std::string::npos);
  EXPECT_NE(mistakes("steps: &s [*s]").find("p.yaml:1:"), std::string::npos);
}

TEST(PlanCheck, WhatIsTooLargeOrTooDeepIsRefused) {
  EXPECT_NE(mistakes(std::string(plan::kMostBytes + 1, ' ')).find("at most 1048576 are read"),
            std::string::npos);
  EXPECT_NE(mistakes("steps: " + std::string(1000, '[')).find("too deep"), std::string::npos);
  std::string many = "steps:\n";
  for (std::size_t i = 0; i <= plan::kMostSteps; ++i) {
    many += "- {name: s" + std::to_string(i) + ", run: [x]}\n";
  }
  EXPECT_NE(mistakes(many).find("a plan has at most 10000"), std::string::npos);
}

// A plan with so many steps, each with these members besides its name and its words.
std::string steps_of(std::size_t count, const std::string& members) {
  std::string text = "steps:\n";
  for (std::size_t i = 0; i < count; ++i) {
    text += "- {name: s" + std::to_string(i) + ", run: [x]" + members + "}\n";
  }
  return text;
}

TEST(PlanCheck, AliasesAreBoundedByTheirBytesToo) {
  const std::string large = "env: {A: &a \"" + std::string(300'000, 'x') + "\"}\n";
  EXPECT_NE(mistakes(large + steps_of(30, ", env: {B: *a}")).find("Aliases make the plan too lar"),
            std::string::npos);
}

TEST(PlanCheck, WhatAPlanSaysForAllStepsIsBoundedByTheNumberOfSteps) {
  const std::string large = "env: {A: \"" + std::string(500'000, 'x') + "\"}\n";
  EXPECT_EQ(check(large + steps_of(2, ""), "p.yaml").text(), "");
  EXPECT_NE(mistakes(large + steps_of(100, "")).find("are copied into each of its 100 steps"),
            std::string::npos);
}

TEST(PlanCheck, AfterAHundredMistakesNoMoreAreLookedFor) {
  const Checked checked = check(steps_of(3'000, ", needs: [nowhere], rum: 3"), "p.yaml");
  EXPECT_EQ(checked.mistakes.size(), 101u);
  EXPECT_NE(checked.text().find("p.yaml: There may be more mistakes; none was looked"),
            std::string::npos);
}

TEST(PlanCheck, ASentenceIsShortWhateverItIsAbout) {
  const std::string nowhere(400'000, 'n');
  std::string text = "steps:\n- {name: a, run: [x], needs: &n " + nowhere + "}\n";
  for (int i = 0; i < 5; ++i) text += "- {name: a, run: [x], needs: *n, rum: *n, foreach: *n}\n";
  for (const plan::Mistake& each : check(text, "p.yaml").mistakes) {
    EXPECT_LT(each.sentence.size(), 2'000u);
  }
}

// Each would take minutes, if it were checked pair by pair.
TEST(PlanCheck, WhatIsLargeAndGoodIsReadInGoodTime) {
  std::string text = "params:\n";
  for (int i = 0; i < 25'000; ++i) text += " p" + std::to_string(i) + ": 1\n";
  text += "steps:\n- {name: s, run: [x";
  for (int i = 0; i < 9'000; ++i) text += ", \"${{ params.p24999 }}\"";
  text += "]}\n";
  EXPECT_EQ(check(text, "p.yaml").text(), "");
  text = "steps:\n";
  for (int i = 0; i < 2'000; ++i) {
    text += "- {name: s" + std::to_string(i) + ", run: [x], needs: [";
    for (int j = std::max(0, i - 40); j < i; ++j) {
      text += (text.back() == '[' ? "s" : ",s") + std::to_string(j);
    }
    text += "]}\n";
  }
  EXPECT_EQ(check(text, "p.yaml").text(), "");
}

TEST(PlanCheck, AStepOfALongPlanMayAskForEveryOneThatComesBeforeIt) {
  std::string text = "steps:\n- {name: s0, outputs: [x], run: [x]}\n";
  for (int i = 1; i < 2'500; ++i) {
    text += "- {name: s" + std::to_string(i) + ", needs: s" + std::to_string(i - 1) +
            ", run: [x, \"${{ steps.s0.outputs.x }}\"]}\n";
  }
  EXPECT_EQ(check(text, "p.yaml").text(), "");
}

// Whatever a text has, the checker gives a plan or sentences, and ends.
TEST(PlanCheck, TextsThatWereChangedAtRandomAreReadOrRefused) {
  const std::string text =
      "name: x\nparams: {a: {type: integer, default: 3}}\nsteps:\n- name: a\n  run: [x, \"${{ "
      "params.a }}\"]\n  if: params.a > 2 && !(1 == 2)\n  retry: {attempts: 3, pause: 1s}\n- "
      "{name: "
      "b, needs: [a], approve: 'yes?', timeout: 1h}\n";
  Random random(7);
  const std::string signs = "{}[]:,-'\"&*!|>%@ \n\tab01$\\#~?\x01\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string changed = text;
    for (std::uint64_t i = random.below(4) + 1; i > 0; --i) {
      const std::size_t at = random.below(changed.size());
      if (random.below(3) == 0) {
        changed.erase(at, random.below(5) + 1);
      } else {
        changed[at] = signs[random.below(signs.size())];
      }
      if (changed.empty()) changed = " ";
    }
    const Checked checked = check(changed, "x");
    EXPECT_NE(checked.plan.has_value(), !checked.mistakes.empty()) << changed;
  }
}

TEST(PlanValues, DefaultsAreTakenAndWhatDoesNotFitIsRefused) {
  const Plan plan = good(
      "params: {n: {type: integer, default: 3}, who: ~, how: {choices: [a, b], default: a}}\n"
      "steps: [{name: a, run: [x]}]");
  EXPECT_EQ(with_defaults(plan, {{"who", "ada"}}),
            (Values{{"n", "3"}, {"who", "ada"}, {"how", "a"}}));
  const auto refused = [&](const Values& values) -> std::string {
    try {
      with_defaults(plan, values);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::bad_plan);
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(refused({}),
            "The parameter \"who\" of the plan \"plan\" has no default, and was not "
            "given.");
  EXPECT_EQ(refused({{"who", "x"}, {"n", "three"}}),
            "The parameter \"n\" is of the type integer, and \"three\" is not.");
  EXPECT_EQ(refused({{"who", "x"}, {"how", "c"}}),
            "The parameter \"how\" is one of a, b, and not \"c\".");
  EXPECT_EQ(refused({{"who", "x"}, {"hows", "c"}}),
            "The plan \"plan\" has no parameter \"hows\". Did you mean \"how\"?");
}

}  // namespace check_test
}  // namespace tiffany
