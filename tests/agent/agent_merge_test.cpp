// An agent whose branch moves while it waits: merges, conflicts, and crashes in the middle.
#include <gtest/gtest.h>

#include <string>

#include "agent/agent_world.hpp"

namespace tiffany::agent {
namespace agent_merge_test {

using namespace std::chrono_literals;

class AgentMergeTest : public testing::Test, public AgentWorld {};

TEST_F(AgentMergeTest, ABranchThatMovedIsMergedAndAskedForAnew) {
  model.replies = {calls("write"), Message::assistant("Change it")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    AgentView view = co_await until(&host, id, "awaiting approval");
    const std::string before = view.question->digest;
    repositories.tip = "moved";
    co_await answer(&host, *view.question, Verdict::approve);
    co_await sleep(2s);
    view = co_await until(&host, id, "awaiting approval");
    EXPECT_NE(view.question->digest, before);
    EXPECT_EQ(view.canvas.base, "moved");
    co_await answer(&host, *view.question, Verdict::approve);
    static_cast<void>(co_await host.result<Summary>(id));
  });
  EXPECT_EQ(repositories.committed, 1);
  EXPECT_EQ(repositories.merges, 1);
}

TEST_F(AgentMergeTest, AConflictStandsInTheFilesAndIsMendedBeforeAnybodyIsAsked) {
  repositories.conflict = "a.c: Both have changed it.";
  model.replies = {calls("write"), Message::assistant("Change it"), Message::assistant("Done"),
                   calls("write"), Message::assistant("Change it on top")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    AgentView view = co_await until(&host, id, "awaiting approval");
    const std::string before = view.question->digest;
    repositories.tip = "moved";
    co_await answer(&host, *view.question, Verdict::approve);
    co_await sleep(2s);
    view = co_await until(&host, id, "awaiting approval");
    EXPECT_NE(view.question->digest, before);
    EXPECT_EQ(view.question->diff, "+tree+write on moved <<<<<<<+write");
    co_await answer(&host, *view.question, Verdict::approve);
    const Summary summary = co_await host.result<Summary>(id);
    EXPECT_TRUE(summary.success);
  });
  ASSERT_EQ(model.last.messages.size(), 10U);
  const Message& told = model.last.messages[5];
  EXPECT_TRUE(told.text.starts_with("The branch has moved, and your changes do not fit to it."))
      << told.text;
  EXPECT_TRUE(told.text.ends_with("a.c: Both have changed it.\n")) << told.text;
  EXPECT_TRUE(told.tainted);
  const Message& left = model.last.messages[7];
  EXPECT_TRUE(left.text.starts_with("Nothing was committed: conflicts of the merge are left"))
      << left.text;
  EXPECT_TRUE(left.text.ends_with("\na.c\n")) << left.text;
  EXPECT_TRUE(left.tainted);
  EXPECT_EQ(repositories.committed, 1);
  EXPECT_EQ(repositories.merges, 1);
}

TEST_F(AgentMergeTest, ATaskThatIsCancelledInAConflictLeavesNothing) {
  repositories.conflict = "a.c: Both have changed it.";
  model.replies = {calls("write"), Message::assistant("Change it"), calls("once")};
  services.policy.rules = {{"once", Ruling::ask}};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    AgentView view = co_await until(&host, id, "awaiting approval");
    repositories.tip = "moved";
    co_await answer(&host, *view.question, Verdict::approve);
    co_await sleep(2s);
    view = co_await until(&host, id, "awaiting approval");
    EXPECT_EQ(view.question->tool, "once");
    co_await host.cancel(id, "enough");
    try {
      static_cast<void>(co_await host.result<Summary>(id));
      ADD_FAILURE() << "cancelled";
    } catch (const Error&) {
    }
  });
  EXPECT_EQ(repositories.committed, 0);
  EXPECT_EQ(repositories.forgotten, 1) << "what a cancelled task left in the repository";
}

// Somebody else has made the same change: there is nothing to commit, and nobody is asked.
TEST_F(AgentMergeTest, AMergeThatLeavesNothingOfThePatchEndsWithoutACommit) {
  model.replies = {calls("write"), Message::assistant("Change it")};
  const Instruction ask = change_something();
  repositories.merged_tree = "tree on moved";
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await until(&host, id, "awaiting approval");
    repositories.tip = "moved";
    co_await answer(&host, *view.question, Verdict::approve);
    const Summary summary = co_await host.result<Summary>(id);
    EXPECT_TRUE(summary.success);
    EXPECT_TRUE(summary.commit.empty());
  });
  EXPECT_EQ(repositories.committed, 0);
}

TEST_F(AgentMergeTest, CrashesAroundAMergeWithConflictsLeaveOneCommitOfWhatWasApproved) {
  repositories.conflict = "a.c: Both have changed it.";
  model.replies = {calls("write"), Message::assistant("Change it"), Message::assistant("Done"),
                   calls("write"), Message::assistant("Change it on top")};
  const Uuid id = Uuid::derived(Uuid(), "conflict");
  const Instruction ask = change_something();
  const std::size_t crashes = test.crash_everywhere(
      [&] {
        repositories.tip = "base";
        repositories.commits.clear();
        repositories.committed = 0;
      },
      [&](Host& host) -> Task<void> {
        co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
        for (;;) {
          const auto info = host.info(id);
          if (info && info->status == DurableStatus::completed) break;
          const AgentView view = co_await host.ask(id, kAgentView);
          if (view.question) {
            repositories.tip = "moved";
            co_await answer(&host, *view.question, Verdict::approve);
          }
          co_await sleep(50ms);
        }
      },
      [&] {
        EXPECT_EQ(repositories.committed, 1) << "after slice " << test.crashed_after;
        EXPECT_TRUE(repositories.commits.begin()->second.find("<<<<<<<+write") != std::string::npos)
            << "after slice " << test.crashed_after;
      });
  EXPECT_GT(crashes, 50U);
}

}  // namespace agent_merge_test
}  // namespace tiffany::agent
