// Agents from a shell: a real daemon, a real repository, replies from a script.
#include <fstream>
#include <string>

#include "agent/repository.hpp"
#include "app/cli_runner.hpp"

namespace tiffany::daemon_tests {
namespace cli_agents_test {

using agent::canvas_support::shell;

constexpr const char* kFix =
    R"([{"reply":{"text":"I look.","calls":[{"name":"read","arguments":{"path":"main.c"}}]}},
        {"reply":{"calls":[{"name":"edit","arguments":
          {"path":"main.c","old_text":"return 1","new_text":"return 0"}}]}},
        {"reply":{"text":"Return success"}}])";

class CliAgents : public DepotTest {
 protected:
  static std::string file(const std::string& name, const std::string& text) {
    const std::string path = directory_->path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::string repository() {
    const std::string at = scratch_ / "repo";
    shell("git init -q -b main " + at + " && cd " + at +
          " && echo 'int main() { return 1; }' > main.c && git add . && git commit -qm first");
    return at;
  }
  std::string begin(const std::string& repo) {
    const CliSaid said = depot("agent 'Make it succeed.' --detach --repo " + repo + " --script " +
                               file("fix.json", kFix));
    EXPECT_EQ(said.status, 0) << said.err;
    return said.out.substr(0, 36);
  }
  agent::canvas_support::Scratch scratch_;
};

TEST_F(CliAgents, APatchIsShownApprovedByItsDigestAndCommittedToABranchOfItsOwn) {
  const std::string repo = repository();
  const std::string before = shell("cd " + repo + " && git status --short && git rev-parse HEAD");
  const std::string id = begin(repo);
  ASSERT_TRUE(shows("budget " + id, "awaiting approval"));
  const CliSaid patch = depot("diff " + id);
  EXPECT_NE(patch.out.find("-int main() { return 1; }\n+int main() { return 0; }\n"),
            std::string::npos)
      << patch.out;
  EXPECT_EQ(shell("cd " + repo + " && git for-each-ref refs/heads --format '%(refname)'"),
            "refs/heads/main")
      << "nothing is committed before it is approved";
  EXPECT_EQ(depot("approve " + id + " --digest 00").status, 1) << "another patch was shown";
  const CliSaid approved = depot("approve " + id + " -m fine");
  EXPECT_EQ(approved.out, id + "  approved\n") << approved.err;
  for (const char* const shown : {"+int main() { return 0; }", "\"tool\":\"commit\"", "digest "}) {
    EXPECT_NE(approved.err.find(shown), std::string::npos) << shown << approved.err;
  }
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  EXPECT_EQ(shell("cd " + repo + " && git log --format=%s tiffany/" + id), "Return success\nfirst");
  EXPECT_EQ(shell("cd " + repo + " && git status --short && git rev-parse HEAD"), before);
  EXPECT_EQ(shell("cd " + repo + " && git fsck --no-dangling"), "");
  EXPECT_EQ(shell("cd " + repo + " && git for-each-ref refs/tiffany"), "") << "tidied up";
  EXPECT_NE(depot("audit").out.find("decide"), std::string::npos);
}

TEST_F(CliAgents, ABudgetIsReadableAlsoWhenTheAgentHasEnded) {
  const std::string id = begin(repository());
  ASSERT_TRUE(shows("budget " + id, "awaiting approval"));
  const std::string open = depot("budget " + id).out;
  EXPECT_NE(open.find("\nturns       3"), std::string::npos) << open;
  EXPECT_NE(open.find("\nmoney       $0.00\n"), std::string::npos) << open;
  EXPECT_EQ(depot("approve " + id).status, 0);
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  const CliSaid ended = depot("budget " + id);
  EXPECT_NE(ended.out.find("state       completed\nturns       3\n"), std::string::npos)
      << ended.out;
  const CliSaid patch = depot("diff " + id);
  EXPECT_EQ(patch.status, 1);
  EXPECT_NE(patch.err.find("No patch of this agent waits"), std::string::npos) << patch.err;
  const CliSaid other = depot("budget " + started("naps"));
  EXPECT_EQ(other.status, 4);
  EXPECT_NE(other.err.find("is no agent."), std::string::npos) << other.err;
  EXPECT_NE(depot("ps -a").out.find("Return success  (commit "), std::string::npos);
}

TEST_F(CliAgents, APatchThatIsRejectedIsNotCommitted) {
  const std::string repo = repository();
  const std::string id = begin(repo);
  ASSERT_TRUE(shows("budget " + id, "awaiting approval"));
  EXPECT_EQ(depot("reject " + id + " -m 'not like this'").status, 0);
  // The script has no reply to that: the agent fails, and says so.
  EXPECT_NE(depot("result --wait " + id).status, 0);
  EXPECT_EQ(shell("cd " + repo + " && git for-each-ref refs/heads --format '%(refname)'"),
            "refs/heads/main");
}

TEST_F(CliAgents, WhatCannotBeDoneIsASentenceAndStartsNothing) {
  const CliSaid bad = depot("agent x --script " + file("bad.json", R"([{"reply":{"txt":""}}])"));
  EXPECT_EQ(bad.status, 2);
  EXPECT_NE(bad.err.find("has a member \"txt\" that nobody knows"), std::string::npos) << bad.err;
  EXPECT_EQ(depot("agent x --script /nowhere.json").status, 2);
  EXPECT_EQ(depot("agent x --turns many").status, 2);
  const CliSaid nowhere = depot("agent x --repo /nowhere --script " + file("fix.json", kFix));
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_NE(nowhere.out.find("/nowhere is not a git repository"), std::string::npos) << nowhere.out;
  const CliSaid no_model = depot("agent x --repo " + repository());
  EXPECT_EQ(no_model.status, 1);
  EXPECT_NE(no_model.out.find("knows no model"), std::string::npos) << no_model.out;
}

TEST_F(CliAgents, ABudgetThatIsUsedUpIsRaised) {
  const std::string repo = repository();
  const CliSaid said = depot("agent 'Go.' --detach --turns 1 --repo " + repo + " --script " +
                             file("fix.json", kFix));
  const std::string id = said.out.substr(0, 36);
  ASSERT_TRUE(shows("budget " + id, "out of budget"));
  EXPECT_EQ(depot("budget " + id + " --turns 5").status, 0);
  ASSERT_TRUE(shows("budget " + id, "awaiting approval"));
  EXPECT_EQ(depot("cancel --yes " + id).status, 0);
}

TEST_F(CliAgents, AnExportedRunIsAFixtureThatCheckReplays) {
  const std::string id = begin(repository());
  ASSERT_TRUE(shows("budget " + id, "awaiting approval"));
  ASSERT_EQ(depot("approve " + id).status, 0);
  ASSERT_EQ(depot("result --wait " + id).status, 0);
  const std::string fixtures = scratch_ / "fixtures";
  const CliSaid exported =
      depot("wal export " + directory_->path() + "/wal " + id + " --to " + fixtures);
  ASSERT_EQ(exported.status, 0) << exported.err;
  const CliSaid same = depot("check " + fixtures);
  EXPECT_EQ(same.out, id + "  tiffany.agent  ok\n") << same.err;
  EXPECT_EQ(same.status, 0);
  const CliSaid scripted = depot("check " + fixtures + " --script " + file("fix.json", kFix));
  EXPECT_EQ(scripted.status, 0) << scripted.out << scripted.err;
  const CliSaid other = depot("check " + fixtures + " --script " +
                              file("other.json", R"([{"reply":{"text":"I do nothing."}}])"));
  EXPECT_EQ(other.status, 10);
  EXPECT_NE(other.out.find("Turn 1: recorded read {\"path\":\"main.c\"}, now no tool.\n"),
            std::string::npos)
      << other.out;
  EXPECT_EQ(depot("check " + (scratch_ / "nowhere")).status, 1);
  EXPECT_EQ(depot("check").status, 2);
  EXPECT_EQ(depot("check " + fixtures + " --model x").status, 2);
}

TEST_F(CliAgents, APatchIsNoRuleAndARuleThatIsNotThereIsNotFound) {
  const std::string id = begin(repository());
  ASSERT_TRUE(shows("budget " + id, "awaiting approval"));
  const CliSaid refused = depot("approve --scope rule " + id);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("A patch is approved once"), std::string::npos) << refused.err;
  EXPECT_TRUE(shows("budget " + id, "awaiting approval")) << "the promise is intact";
  EXPECT_EQ(depot("rules ls -o json").out, "{\"rules\":[]}\n");
  const CliSaid gone = depot("rules rm 0123456789abcdef");
  EXPECT_EQ(gone.status, 4);
  EXPECT_NE(gone.err.find("There is no rule \"0123456789abcdef\"."), std::string::npos) << gone.err;
}

TEST_F(CliAgents, WhatIfNamesTheFirstDecisionThatDiffers) {
  const std::string repo = repository();
  const std::string id = begin(repo);
  ASSERT_TRUE(shows("budget " + id, "awaiting approval"));
  EXPECT_EQ(depot("approve " + id).status, 0);
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  const std::string same = file("fix.json", kFix);
  const CliSaid none = depot("what-if " + id + " --script " + same);
  EXPECT_EQ(none.out, "No difference in 3 turns.\n") << none.err;
  EXPECT_EQ(none.status, 0);
  std::string changed = kFix;
  changed.replace(changed.find("return 0"), 8, "return 7");
  const CliSaid other = depot("what-if " + id + " --script " + file("other.json", changed));
  EXPECT_EQ(other.status, 10);
  EXPECT_NE(other.out.find("The first difference is in turn 2."), std::string::npos) << other.out;
  EXPECT_NE(other.out.find("return 7"), std::string::npos) << other.out;
  EXPECT_EQ(depot("what-if " + id).status, 2) << "nobody to ask";
  EXPECT_EQ(depot("what-if " + started("naps") + " --script " + same).status, 4) << "no agent";
}

}  // namespace cli_agents_test
}  // namespace tiffany::daemon_tests
