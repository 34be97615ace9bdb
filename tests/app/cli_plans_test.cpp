// Plans from a shell.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "app/cli_runner.hpp"

namespace tiffany::daemon_tests {
namespace cli_plans_test {

class CliPlans : public DepotTest {
 protected:
  static std::string file(const std::string& name, const std::string& text) {
    const std::string path = directory_->path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
};

constexpr const char* kGreeting =
    "name: greeting\n"
    "params: {who: {default: ann}}\n"
    "steps:\n"
    " - {name: greet, run: [echo, 'hello ${{ params.who }}']}\n"
    " - {name: ok, needs: [greet], approve: 'go on?'}\n"
    " - {name: wave, needs: [ok], run: [\"true\"]}\n";

TEST_F(CliPlans, APlanRunsIsApprovedAndItsOutputShown) {
  const std::string plan = file("greeting.yaml", kGreeting);
  EXPECT_EQ(depot("plan check " + plan).status, 0);
  const CliSaid run = depot("run --detach --param who=bob " + plan);
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string id = run.out.substr(0, 36);
  ASSERT_TRUE(shows("plan status " + id, "awaiting approval"));
  EXPECT_EQ(depot("output " + id + " greet").out, "hello bob\n");
  EXPECT_EQ(depot("approve " + id + " --digest 00").status, 1) << "another text was shown";
  const CliSaid approved = depot("approve " + id + " -m fine");
  EXPECT_EQ(approved.out, id + "  approve ok\n") << approved.err;
  EXPECT_NE(approved.err.find("go on?"), std::string::npos) << approved.err;
  EXPECT_NE(approved.err.find("digest "), std::string::npos) << approved.err;
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  EXPECT_NE(depot("plan status " + id).out.find("wave"), std::string::npos);
  // Of its end nothing depends on where it was kept.
  const std::string fixtures = directory_->path() + "/fixtures";
  ASSERT_EQ(depot("wal export " + directory_->path() + "/wal " + id + " --to " + fixtures).status,
            0);
  EXPECT_EQ(depot("check " + fixtures).out, id + "  tiffany.plan  ok\n");
}

// Its code, which knew how the steps stood, is gone.
TEST_F(CliPlans, TheStepsOfAPlanThatFailedAreShown) {
  const std::string plan = file("broken.yaml",
                                "steps:\n"
                                " - {name: good, run: [\"true\"]}\n"
                                " - {name: bad, needs: [good], shell: true, run: exit 3}\n"
                                " - {name: ship, needs: [bad], run: [\"true\"]}\n"
                                "finally:\n"
                                " - {name: clean, run: [\"true\"]}\n");
  const CliSaid run = depot("run --id broken " + plan);
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_NE(run.out.find("failed            bad"), std::string::npos) << run.out;
  const std::string id = run.err.substr(5, 36);
  EXPECT_EQ(std::regex_replace(depot("plan status " + id).out, std::regex("[0-9]+s"), "0s"),
            "UNIT   STATE    ATTEMPTS  TOOK  TEXT\n"
            "good   done     1         0s\n"
            "bad    failed   1         0s    exit code 3\n"
            "ship   skipped  0               \"bad\" failed.\n"
            "clean  done     1         0s\n");
  EXPECT_NE(depot("logs " + id).out.find("step       bad#1: exit code 3\n"), std::string::npos);
  EXPECT_EQ(depot("output " + id + " bad").status, 0);
  const CliSaid nothing = depot("output " + id + " dance");
  EXPECT_EQ(nothing.status, 4);
  EXPECT_NE(nothing.err.find("has no step \"dance\""), std::string::npos) << nothing.err;
}

TEST_F(CliPlans, WhatIsSaidOfPlansIsAlsoJson) {
  const std::string good = file("one.yaml", "steps:\n - {name: a, run: [\"true\"]}\n");
  const std::string bad = file("two.yaml", "steps:\n - {name: a, needs: [b], run: [\"true\"]}\n");
  EXPECT_EQ(depot("plan check " + good).out, good + ": good, 1 step\n");
  const CliSaid checked = depot("plan check -o json " + good + " " + bad);
  EXPECT_EQ(checked.status, 1);
  EXPECT_TRUE(
      checked.out.starts_with("[{\"file\":\"" + good + "\",\"good\":true,\"mistakes\":[]},\n"))
      << checked.out;
  EXPECT_NE(checked.out.find("\"good\":false,\"mistakes\":[{\"line\":2,"), std::string::npos);
  EXPECT_TRUE(depot("plan graph -o json " + good).out.starts_with("{"));
  EXPECT_TRUE(depot("plan ls -o json").out.starts_with("{\"plans\":["));
  const CliSaid missing = depot("plan check /nowhere.yaml");
  EXPECT_EQ(missing.err, "depot: There is no file /nowhere.yaml.\n");
}

TEST_F(CliPlans, MistakesAreSaidWithTheirPlaces) {
  const std::string bad = file("bad.yaml", "steps:\n - {name: a, needs: [b], run: [\"true\"]}\n");
  const CliSaid checked = depot("plan check " + bad);
  EXPECT_EQ(checked.status, 1);
  EXPECT_NE(checked.err.find(bad + ":2:"), std::string::npos) << checked.err;
  EXPECT_EQ(depot("run " + bad).status, 2);
  EXPECT_NE(depot("run /nowhere.yaml").status, 0);
  EXPECT_EQ(depot("run nobody-knows-it").status, 4);
  EXPECT_EQ(depot("plan status " + started("naps")).status, 4) << "a task that is no plan";
}

// Somebody else's plan may name any file of the one who runs it.
TEST_F(CliPlans, AFileThatIsNoPlanIsNotSentToTheDaemon) {
  file("diary.txt", "dear: diary\nyesterday: rain\n");
  const std::string plan = file("reads.yaml", "steps: [{name: a, plan: diary.txt}]");
  const CliSaid said = run_shell(std::string(DEPOT) + " --socket /nowhere/x.sock run " + plan);
  EXPECT_EQ(said.status, 2) << said.err;
  EXPECT_EQ(said.err.find("No daemon"), std::string::npos) << "nobody was asked: " << said.err;
  EXPECT_EQ(said.err.find("\\n"), std::string::npos) << "a line for each: " << said.err;
}

TEST_F(CliPlans, AFailedPlanEndsTheCommandThatFollowsIt) {
  const std::string plan = file("f.yaml", "steps:\n - {name: a, run: [\"false\"]}\n");
  const CliSaid said = depot("run " + plan);
  EXPECT_EQ(said.status, 1) << said.out << said.err;
}

TEST_F(CliPlans, ARunEndsWithTheStatusOfTheTaskAndHeedsWhatItIsTold) {
  const std::string plan = file("greeting.yaml", kGreeting);
  const CliSaid asked = depot("run " + plan);
  EXPECT_EQ(asked.status, 6) << asked.out << asked.err;
  EXPECT_NE(asked.err.find("--through-approvals"), std::string::npos) << asked.err;
  const CliSaid late = depot("run --through-approvals --timeout 20ms " + plan);
  EXPECT_EQ(late.status, 5) << late.out << late.err;
  const std::string id = depot("run --detach " + plan).out.substr(0, 36);
  ASSERT_TRUE(shows("plan status " + id, "awaiting approval"));
  EXPECT_EQ(depot("reject " + id).status, 0);
  EXPECT_EQ(depot("result --wait " + id).status, 7);
  const std::string word = file("w.yaml", "steps: [{name: rejected, run: [\"false\"]}]\n");
  EXPECT_EQ(depot("run " + word).status, 1) << "a word is no rejection";
}

TEST_F(CliPlans, APlanIsRunWithThePlansThatItsStepsName) {
  std::filesystem::create_directories(directory_->path() + "/jobs");
  file("jobs/inner.yaml",
       "params: {who: {type: string}}\nsteps: [{name: greet, outputs: [x], shell: true, env: "
       "{W: \"${{ params.who }}\"}, run: 'echo \"x=hi $W\" >> $TIFFANY_OUTPUT'}]\n"
       "outputs: {x: \"${{ steps.greet.outputs.x }}\"}\n");
  const std::string outer =
      file("outer.yaml",
           "steps:\n- {name: in, plan: jobs/inner.yaml, with: {who: ann}}\n"
           "- {name: out, needs: [in], run: [echo, \"${{ steps.in.outputs.x }}\"]}\n");
  EXPECT_EQ(depot("plan check " + outer).status, 0);
  EXPECT_NE(depot("plan graph " + outer).out.find("  | [greet]"), std::string::npos);
  const std::string id = depot("run --detach " + outer).out.substr(0, 36);
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  EXPECT_EQ(depot("output " + id + " out").out, "hi ann\n");
  file("jobs/inner.yaml",
       "params: {who: x}\nsteps: [{name: ok, approve: 'go on?'}]\n"
       "outputs: {x: y}\n");
  const CliSaid asked = depot("run " + outer);
  EXPECT_EQ(asked.status, 6) << "the sub-plan asks" << asked.err;
  EXPECT_NE(asked.out.find("in/ok"), std::string::npos) << asked.out;
  std::filesystem::remove(directory_->path() + "/jobs/inner.yaml");
  const CliSaid gone = depot("run " + outer);
  EXPECT_EQ(gone.status, 2);
  EXPECT_NE(gone.err.find(":2:20: The step \"in\" has the plan"), std::string::npos) << gone.err;
}

TEST_F(CliPlans, APlanThatWaitsForALockSaysWhoHasIt) {
  const std::string go = directory_->path() + "/lock-go";
  Followed fifo(go);
  const auto plan = [&](const char* name, const char* run) {
    return file(name, std::string("steps: [{name: a, locks: [tape], shell: true, run: '") + run +
                          "', env: {GO: " + go + "}}]\n");
  };
  const std::string first =
      depot("run --detach " + plan("l1.yaml", "read x < $GO")).out.substr(0, 36);
  ASSERT_TRUE(shows("plan status " + first, "running"));
  const std::string second = depot("run --detach " + plan("l2.yaml", "true")).out.substr(0, 36);
  EXPECT_TRUE(shows("show " + second, "lock tape, for a; a of " + first + " has it"));
  EXPECT_NE(depot("tree").out.find("lock tape, for a"), std::string::npos);
  std::ofstream(go) << "on\n";
  EXPECT_EQ(depot("result --wait " + second).status, 0);
}

TEST_F(CliPlans, FilesThatAStepLeavesAreListedAndFetchedAndNothingElseIs) {
  const std::string plan =
      file("a.yaml", "steps:\n - {name: a, directory: " + directory_->path() +
                         ", artifacts: ['dist/*'], shell: true,\n"
                         "    run: 'mkdir -p dist; printf one > \"dist/a b\"'}\n");
  const CliSaid run = depot("run --detach " + plan);
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string id = run.out.substr(0, 36);
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  const CliSaid listed = depot("artifacts " + id);
  EXPECT_NE(listed.out.find("dist/a b"), std::string::npos) << listed.out << listed.err;
  EXPECT_NE(listed.out.find("7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"),
            std::string::npos)
      << listed.out;
  EXPECT_EQ(depot("artifacts " + id + " 'dist/a b'").out, "one");
  EXPECT_EQ(depot("artifacts " + id + " 'dist/a b' --unit a").out, "one");
  EXPECT_EQ(depot("artifacts " + id + " 'dist/a b' --unit b").status, 4);
  for (const char* const odd : {"../../etc/passwd", "/etc/passwd", "artifact.0", "dist", "."}) {
    EXPECT_EQ(depot("artifacts " + id + " " + odd).status, 4) << odd;
  }
  EXPECT_NE(depot("ps -a").out.find("1 of 1 steps ok"), std::string::npos) << depot("ps -a").out;
}

TEST_F(CliPlans, AValueThatIsNoAnswerIsRefusedAndThePromiseStays) {
  const std::string id = waiting("typed");
  const CliSaid said = depot("approve " + id + " --value '\"text\"'");
  EXPECT_EQ(said.status, 2) << said.out;
  EXPECT_NE(said.err.find("The promise is as it was."), std::string::npos) << said.err;
  EXPECT_EQ(depot("approve " + id).status, 0);
  EXPECT_EQ(depot("result --wait " + id).status, 0);
}

TEST_F(CliPlans, ASecretOfAPlanIsInNoFileOfTheDaemonAndInNoAnswer) {
  const std::string secret = "hunter22-of-the-plan";
  const TempDirectory elsewhere;
  std::ofstream(elsewhere.path() + "/key") << secret << "\n";
  const std::string plan = file(
      "s.yaml", "steps:\n - {name: a, outputs: [x], secrets: {KEY: {file: " + elsewhere.path() +
                    "/key}}, shell: true,\n"
                    "    run: 'echo \"$KEY\"; echo \"$KEY\" >&2; echo \"x=$KEY\" >> "
                    "\"$TIFFANY_OUTPUT\"; printf %s \"$KEY\" | base64;\n      cat "
                    "/proc/[0-9]*/cmdline 2>/dev/null | grep -caF -f " +
                    elsewhere.path() + "/key; true'}\n");
  const CliSaid run = depot("run --detach " + plan);
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string id = run.out.substr(0, 36);
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  EXPECT_EQ(depot("output " + id + " a").out, "***\n***\n0\n");
  for (const char* const verb : {"show ", "result ", "watch ", "plan status ", "inspect "}) {
    EXPECT_EQ(depot(verb + id + " -o json").out.find(secret), std::string::npos) << verb;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_->path())) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(content_of_file(entry.path()).find(secret), std::string::npos) << entry.path();
  }
}

TEST_F(CliPlans, ALocalRunThatIsKilledGoesOnWhereItWas) {
  const std::string path = directory_->path();
  const std::string plan =
      file("local.yaml",
           "env: {D: " + path +
               "}\nsteps:\n"
               " - {name: a, shell: true, run: 'echo a >> $D/ledger'}\n"
               " - {name: b, needs: [a], shell: true, run: 'echo begun > $D/begun; read x < $D/go; "
               "echo b >> $D/ledger'}\n"
               " - {name: c, needs: [b], shell: true, run: 'echo c >> $D/ledger'}\n");
  Followed begun(path + "/begun");
  Followed go(path + "/go");
  const std::string line =
      "exec " + words("run --local --data " + path + "/local --id mine " + plan) + " >/dev/null";
  const pid_t first = fork();
  if (first == 0) {
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  ASSERT_TRUE(begun.has("begun"));
  kill(first, SIGKILL);
  waitpid(first, nullptr, 0);
  std::ofstream(path + "/go") << "on\n";
  const CliSaid again = depot("run --local --data " + path + "/local --id mine " + plan);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(content_of_file(path + "/ledger"), "a\nb\nc\n");
}

}  // namespace cli_plans_test
}  // namespace tiffany::daemon_tests
