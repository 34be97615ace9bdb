// Forks of agents: another task with the history of one up to a step, which goes on by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "agent/agent_world.hpp"
#include "durable/stores.hpp"

namespace tiffany::agent {
namespace agent_fork_test {

using namespace std::chrono_literals;

class AgentForkTest : public testing::Test, public AgentWorld {
 protected:
  // Approves what is asked, for as long as the task goes on, and counts the questions.
  static Task<Summary> approved(Host* host, Uuid id, int* asked = nullptr) {
    for (;;) {
      const auto info = host->info(id);
      if (!info || info->status >= DurableStatus::completed) break;
      const AgentView view = co_await host->ask(id, kAgentView);
      if (view.question) {
        EXPECT_NE(view.question->action.find(id.text()), std::string::npos)
            << "the question is that of " << id.text() << ": " << view.question->action;
        co_await answer(host, *view.question, Verdict::approve);
        if (asked != nullptr) ++*asked;
      }
      co_await sleep(50ms);
    }
    co_return co_await host->result<Summary>(id);
  }
  // The commands of a task, in their order: "think#1", "approve commit#1", ...
  static std::vector<std::string> commands(Host& host, Uuid id) {
    std::vector<std::string> all;
    for (const std::string& line : host.records(id, 0, 1000)) {
      for (const char* const member : {R"("step":")", R"("id":")"}) {
        const std::size_t at = line.find(member);
        if (at == std::string::npos) continue;
        const std::size_t from = at + std::string(member).size();
        const std::string name = line.substr(from, line.find('"', from) - from);
        if (name.find('#') == std::string::npos) continue;
        if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
      }
    }
    return all;
  }
  std::string branch(Uuid id) { return repositories.commits["refs/heads/tiffany/" + id.text()]; }
};

TEST_F(AgentForkTest, AnEndedRunIsForkedFromEachOfItsCommands) {
  services.policy.rules = {{"once", Ruling::ask}};
  model.replies = {calls("read"), calls("once"), calls("write"), Message::assistant("Change it")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const Summary first = co_await approved(&host, id);
    const std::vector<std::string> all = commands(host, id);
    const std::vector<std::string> expected = {
        "instruction#1",  "think#1",     "tool read#1",      "think#2",      "timer#1",
        "approve once#1", "tool once#1", "think#3",          "tool write#1", "think#4",
        "preview#1",      "timer#2",     "approve commit#1", "commit#1",     "finish#1"};
    EXPECT_EQ(all, expected);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const int runs = once->runs;
      const int kept = repositories.kept;
      int asked = 0;
      co_await sleep(24h * 30);  // what was asked a month ago has expired by now
      const Uuid fork = co_await host.fork(id, all[i]);
      const Summary summary = co_await approved(&host, fork, &asked);
      EXPECT_TRUE(summary.success) << all[i];
      EXPECT_EQ(summary.turns, 4) << all[i];
      EXPECT_EQ(summary.spent.tokens, first.spent.tokens) << all[i];
      EXPECT_LE(summary.spent.seconds, 10) << all[i] << ": the month is not its own";
      const bool before_call = i <= 6;
      EXPECT_EQ(once->runs - runs, before_call ? 1 : 0) << all[i] << ": at most once";
      const bool commits = i < all.size() - 1;
      EXPECT_EQ(asked, (before_call ? 1 : 0) + (commits ? 1 : 0)) << all[i];
      EXPECT_EQ(branch(fork), commits ? summary.commit : "") << all[i];
      EXPECT_EQ(repositories.kept - kept, i == 0 ? 0 : 1) << all[i] << ": a ref of its own";
      if (commits) continue;
      EXPECT_EQ(summary.commit, first.commit) << "it was done before";
    }
  });
}

TEST_F(AgentForkTest, ALiveAgentIsForkedAndBothGoOn) {
  model.replies = {calls("read"), calls("write"), Message::assistant("Change it")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    AgentView view = co_await until(&host, id, "awaiting approval");
    std::string refused;
    try {
      static_cast<void>(co_await host.fork(id, "commit#1"));
    } catch (const Error& error) {
      refused = error.what();
    }
    EXPECT_NE(refused.find("has no step \"commit#1\""), std::string::npos) << refused;
    const Uuid waits = co_await host.fork(id, "approve commit#1");
    const Uuid thinks = co_await host.fork(id, "think#2");
    const AgentView other = co_await until(&host, waits, "awaiting approval");
    EXPECT_NE(other.question->digest, view.question->digest);
    EXPECT_NE(other.question->promise, view.question->promise);
    EXPECT_NE(other.question->why.find(waits.text()), std::string::npos) << other.question->why;
    // An answer to the one is none to the other.
    Answer wrong;
    wrong.digest = view.question->digest;
    wrong.verdict = Verdict::approve;
    wrong.who = "ann";
    EXPECT_THROW(require_question(other, wrong, WallTime()), Error);
    EXPECT_FALSE((co_await approved(&host, waits)).commit.empty());
    EXPECT_FALSE((co_await approved(&host, thinks)).commit.empty());
    EXPECT_TRUE(branch(id).empty()) << "nobody has answered that one";
    EXPECT_FALSE((co_await approved(&host, id)).commit.empty());
  });
  EXPECT_EQ(repositories.commits.size(), 3U);
}

TEST_F(AgentForkTest, WhatIsUnderWayIsNotForkedInTheMiddle) {
  services.policy.rules = {{"read", Ruling::ask}};
  model.replies = {calls("read"), Message::assistant("Nothing to do")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    co_await sleep(10ms);  // the model takes 20
    EXPECT_FALSE((co_await host.fork(id, "think#1")).nil()) << "that is done anew";
    co_await until(&host, id, "awaiting approval");
    EXPECT_FALSE((co_await host.fork(id, "timer#1")).nil());
  });
}

TEST_F(AgentForkTest, AForkAfterARejectionThinksAboutIt) {
  model.replies = {calls("write"), Message::assistant("First"), calls("write"),
                   Message::assistant("Second")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await until(&host, id, "awaiting approval");
    co_await answer(&host, *view.question, Verdict::reject, "Not like this.");
    const Summary first = co_await approved(&host, id);
    EXPECT_EQ(first.text, "Second");
    for (const char* const from : {"think#3", "think#4", "commit#1"}) {
      int asked = 0;
      const Uuid fork = co_await host.fork(id, from);
      const Summary summary = co_await approved(&host, fork, &asked);
      EXPECT_EQ(summary.text, "Second") << from;
      EXPECT_EQ(asked, 1) << from;
      EXPECT_EQ(branch(fork), summary.commit) << from;
    }
  });
}

// The patch of the fork fits no more, as that of the first did not: the commit that was refused is
// repeated under the name of the first, and the one that follows is the fork's own.
TEST_F(AgentForkTest, AForkBehindACommitThatWasRefusedAndAMerge) {
  model.replies = {calls("write"), Message::assistant("Change it")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await until(&host, id, "awaiting approval");
    repositories.tip = "moved";
    co_await answer(&host, *view.question, Verdict::approve);
    co_await sleep(1s);
    static_cast<void>(co_await approved(&host, id));
    for (const char* const from : {"merge#1", "preview#2", "commit#2"}) {
      const Uuid fork = co_await host.fork(id, from);
      const Summary summary = co_await approved(&host, fork);
      EXPECT_TRUE(summary.success) << from;
      EXPECT_EQ(branch(fork), summary.commit) << from;
    }
  });
}

TEST_F(AgentForkTest, WhatWasAllowedForTheRestOfATaskIsAskedForInItsFork) {
  services.policy.rules = {{"once", Ruling::ask}};
  model.replies = {calls("once"), calls("once"), calls("once"), Message::assistant("Done")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await until(&host, id, "awaiting approval");
    Answer said;
    said.digest = view.question->digest;
    said.verdict = Verdict::approve;
    said.who = "ann";
    said.scope = AnswerScope::task;
    const Uuid promise = Uuid::parse(view.question->promise).value_or(Uuid());
    co_await host.complete_json(promise, to_json(said), true);
    static_cast<void>(co_await host.result<Summary>(id));
    int asked = 0;
    static_cast<void>(co_await approved(&host, co_await host.fork(id, "tool once#2"), &asked));
    EXPECT_EQ(asked, 2) << "for the second call and the third";
  });
  EXPECT_EQ(once->runs, 5);
}

TEST_F(AgentForkTest, ForksOfForksRepeatEachWhoseWordsTheyWere) {
  services.policy.rules = {{"read", Ruling::ask}};
  model.replies = {calls("read"), calls("read"), calls("write"), Message::assistant("Change it")};
  services.checkpoint_turns = 3;
  const Instruction ask = change_something();
  Uuid last;
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await approved(&host, id));
    const Uuid second = co_await host.fork(id, "preview#1");
    static_cast<void>(co_await approved(&host, second));
    const Uuid third = co_await host.fork(second, "commit#1");
    static_cast<void>(co_await approved(&host, third));
    last = co_await host.fork(third, "finish#1");
    const Summary summary = co_await approved(&host, last);
    EXPECT_EQ(summary.commit, branch(third)) << "that one did it";
  });
  test.live([&](Host& host) -> Task<void> {
    EXPECT_TRUE((co_await host.result<Summary>(last)).success);
  });
  EXPECT_EQ(repositories.commits.size(), 3U);
}

// The same on every store that a host can have.
class AgentForkOnStores : public testing::TestWithParam<StoreKind>, public AgentWorld {
 protected:
  AgentForkOnStores() {
    test.layout = GetParam().layout;
    test.provider = GetParam().provider();
  }
};

TEST_P(AgentForkOnStores, WhereverAForkOfAWaitingAgentIsCutOffBothCommitOnce) {
  model.replies = {calls("once"), calls("write"), Message::assistant("Change it")};
  const Uuid id = Uuid::derived(Uuid(), "forked");
  const Instruction ask = change_something();
  const std::size_t crashes = test.crash_everywhere(
      [&] {
        repositories.commits.clear();
        repositories.committed = once->runs = 0;
      },
      [&](Host& host) -> Task<void> {
        co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
        for (;;) {
          bool all_ended = true;
          const std::vector<DurableInfo> tasks = host.tasks();
          for (const DurableInfo& each : tasks) {
            if (each.status == DurableStatus::completed) continue;
            all_ended = false;
            AgentView view;
            try {
              view = co_await host.ask(each.id, kAgentView);
            } catch (const Error& error) {  // it has ended meanwhile
              if (error.code() != Errc::unknown_durable) throw;
            }
            if (!view.question) continue;
            if (tasks.size() == 1) {
              static_cast<void>(co_await host.fork(id, "preview#1"));
            } else {
              co_await AgentWorld::answer(&host, *view.question, Verdict::approve);
            }
          }
          if (all_ended && tasks.size() >= 2) break;
          co_await sleep(50ms);
        }
      },
      [&] {
        EXPECT_EQ(repositories.commits.size(), 2U) << "after slice " << test.crashed_after;
        EXPECT_EQ(repositories.committed, 2) << "after slice " << test.crashed_after;
        EXPECT_LE(once->runs, 1) << "after slice " << test.crashed_after;
      });
  EXPECT_GT(crashes, 50U);
}

INSTANTIATE_TEST_SUITE_P(Stores, AgentForkOnStores, testing::ValuesIn(StoreKind::all()),
                         StoreKind::name);

}  // namespace agent_fork_test
}  // namespace tiffany::agent
