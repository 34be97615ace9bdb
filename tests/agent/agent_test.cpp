// The loop of an agent: think, act, propose, approve, commit; and what crashes do to it.
#include "tiffany/agent/agent.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/agent_world.hpp"
#include "durable/stores.hpp"

namespace tiffany::agent {
namespace agent_test {

using namespace std::chrono_literals;

class AgentTest : public testing::Test, public AgentWorld {
 protected:
  // Starts, approves what is asked, and gives the summary.
  Summary whole_run(const Instruction& ask) {
    Summary summary;
    test.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start(kAgentType, ask);
      const AgentView view = co_await until(&host, id, "awaiting approval");
      if (view.question) co_await answer(&host, *view.question, Verdict::approve);
      summary = co_await host.result<Summary>(id);
    });
    return summary;
  }
};

TEST_F(AgentTest, A1_AnInstructionBecomesAPatchThatIsApprovedAndCommitted) {
  model.replies = {calls("read"), calls("write"), Message::assistant("Change it")};
  const Summary summary = whole_run(change_something());
  EXPECT_TRUE(summary.success);
  EXPECT_EQ(summary.turns, 3);
  EXPECT_EQ(summary.text, "Change it");
  EXPECT_EQ(repositories.committed, 1);
  EXPECT_EQ(summary.commit, repositories.commits[summary.ref]);
  EXPECT_TRUE(summary.ref.starts_with("refs/heads/tiffany/")) << summary.ref;
  EXPECT_EQ(summary.spent.tokens, 3 * 110);
  EXPECT_EQ(summary.spent.tool_runs, 2);
}

TEST_F(AgentTest, TheModelIsToldWhatToolsAnsweredAndThatTextIsTainted) {
  read->says = "int x;";
  model.replies = {calls("read", R"({"path":"a"})", "c7"), Message::assistant("Nothing to do")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await host.result<Summary>(id));
  });
  ASSERT_EQ(model.last.messages.size(), 4U);
  EXPECT_EQ(model.last.messages[0].role, Role::system);
  EXPECT_EQ(model.last.messages[1].text, "Change something.");
  EXPECT_EQ(model.last.messages[2].calls.at(0).id, "c7");
  EXPECT_EQ(model.last.messages[3].call_id, "c7");
  EXPECT_EQ(model.last.messages[3].text, "int x;");
  EXPECT_TRUE(model.last.messages[3].tainted);
  EXPECT_EQ(repositories.committed, 0) << "nothing was changed";
}

TEST_F(AgentTest, ToolsThatAreNotThereAndWrongArgumentsAreTheModelsToMend) {
  model.replies = {calls("fly"), calls("read", R"({"bad":1})"), Message::assistant("I give up")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await host.result<Summary>(id));
  });
  EXPECT_EQ(model.last.messages[3].text, "There is no tool \"fly\". Tools: once, read, write");
  EXPECT_EQ(model.last.messages[5].text, "bad is not known.");
  EXPECT_EQ(read->runs, 0);
}

TEST_F(AgentTest, A5_APatchThatIsNotApprovedGoesBackToTheModelWithTheComment) {
  model.replies = {calls("write"), Message::assistant("First"), calls("write"),
                   Message::assistant("Second")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    AgentView view = co_await until(&host, id, "awaiting approval");
    EXPECT_EQ(view.question->diff, "+tree+write");
    co_await answer(&host, *view.question, Verdict::reject, "Not like this.");
    co_await sleep(10ms);
    view = co_await until(&host, id, "awaiting approval");
    EXPECT_EQ(view.question->diff, "+tree+write+write");
    co_await answer(&host, *view.question, Verdict::approve);
    const Summary summary = co_await host.result<Summary>(id);
    EXPECT_EQ(summary.text, "Second");
  });
  EXPECT_EQ(model.last.messages[5].text, "The patch was not approved. Not like this.");
  EXPECT_EQ(repositories.committed, 1);
}

TEST_F(AgentTest, A5_AnAnswerForAnotherDigestIsNoneAndTheQuestionIsAskedAgain) {
  model.replies = {calls("write"), Message::assistant("Change it")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    AgentView view = co_await until(&host, id, "awaiting approval");
    Question other = *view.question;
    other.digest = std::string(64, '0');
    EXPECT_TRUE(co_await answer(&host, other, Verdict::approve)) << "past the door";
    co_await sleep(1s);
    EXPECT_EQ(repositories.committed, 0);
    view = co_await host.ask(id, kAgentView);
    EXPECT_EQ(view.state, "awaiting approval");
    EXPECT_NE(view.question->promise, other.promise);
    co_await answer(&host, *view.question, Verdict::approve);
    static_cast<void>(co_await host.result<Summary>(id));
  });
  EXPECT_EQ(repositories.committed, 1);
}

TEST_F(AgentTest, A5_NobodyAnswersForAWeekAndNothingIsCommitted) {
  model.replies = {calls("write"), Message::assistant("Change it")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const Summary summary = co_await host.result<Summary>(id);
    EXPECT_TRUE(summary.commit.empty());
    EXPECT_FALSE(summary.success) << "a patch is left that nobody approved";
  });
  EXPECT_EQ(repositories.committed, 0);
}

TEST_F(AgentTest, TheDoorRefusesWhatDoesNotFitAndLeavesThePromiseAsItIs) {
  AgentView view;
  Answer said;
  said.who = "ann";
  said.digest = "d1";
  const WallTime now{};
  EXPECT_THROW(require_question(view, said, now), Error);
  view.question.emplace();
  view.question->digest = "d2";
  view.question->expires_us = 10;
  EXPECT_THROW(require_question(view, said, now), Error) << "another digest";
  said.digest = "d2";
  EXPECT_NO_THROW(require_question(view, said, now));
  EXPECT_THROW(require_question(view, said, now + 10us), Error) << "too late";
  said.who.clear();
  EXPECT_THROW(require_question(view, said, now), Error) << "nobody";
}

TEST_F(AgentTest, AnExhaustedBudgetPausesUntilSomebodyRaisesIt) {
  services.budget.turns = 1;
  model.replies = {calls("read"), Message::assistant("Nothing to do")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await until(&host, id, "out of budget");
    EXPECT_EQ(view.about, "The budget has 1 turns, of which 1 are used, and 1 more are needed.");
    co_await sleep(1h);
    EXPECT_EQ(model.asked, 1);
    Amounts more;
    more.turns = 5;
    co_await host.signal(id, kRaiseBudget, more);
    const Summary summary = co_await host.result<Summary>(id);
    EXPECT_EQ(summary.turns, 2);
  });
}

TEST_F(AgentTest, ARaiseThatIsNoneDoesNotStopTheAgentAndSaysSo) {
  services.budget.turns = 1;
  model.replies = {calls("read"), Message::assistant("Nothing to do")};
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await until(&host, id, "out of budget"));
    for (const char* const bad : {R"({"turns":"many"})", "7", "null", R"([1,[2]])", R"("x")",
                                  R"({"turns":-5})", R"({"turns":1e400})"}) {
      try {
        co_await host.signal_json(id, "budget", bad);
      } catch (const Error&) {  // that is no JSON for a log
      }
      co_await sleep(1s);
      const AgentView view = co_await host.ask(id, kAgentView);
      EXPECT_EQ(view.state, "out of budget") << bad;
      EXPECT_EQ(view.limits.turns, 1) << bad;
    }
    co_await host.signal_json(id, "budget", R"({"turns":3})");
    const Summary summary = co_await host.result<Summary>(id);
    EXPECT_EQ(summary.turns, 2);
  });
}

TEST_F(AgentTest, AnInstructionCannotHaveMoreThanTheOperatorAllows) {
  services.budget.turns = 1;
  Instruction ask = change_something();
  ask.budget.turns = 1'000;
  model.replies = {calls("read"), Message::assistant("Nothing to do")};
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await until(&host, id, "out of budget");
    EXPECT_EQ(view.limits.turns, 1);
  });
}

TEST_F(AgentTest, AQuestionThatFailsIsAskedAgainAndPaidAgain) {
  model.refuse = [](int attempt) { return attempt < 3; };
  model.replies = {Message::assistant("Nothing to do")};
  Instruction ask = change_something();
  ask.repository.clear();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const Summary summary = co_await host.result<Summary>(id);
    EXPECT_GT(summary.spent.tokens, 2 * 8'192) << "two that failed, as they were estimated";
  });
  EXPECT_EQ(model.asked, 3);
}

TEST_F(AgentTest, SecretsAreTakenOutOfWhatToolsAndModelsSay) {
  services.secrets.add("hunter22");
  read->says = "password=hunter22";
  model.replies = {calls("read"), Message::assistant("It is hunter22")};
  Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const Summary summary = co_await host.result<Summary>(id);
    EXPECT_EQ(summary.text, "It is ***");
    for (const std::string& line : host.records(id, 0, 1000)) {
      EXPECT_EQ(line.find("hunter22"), std::string::npos) << line;
    }
  });
  EXPECT_EQ(model.last.messages[3].text, "password=***");
}

TEST_F(AgentTest, APatchForABranchThatIsCheckedOutIsAskedForAgainWithTheReason) {
  for (const char* const onto : {"main", ""}) {
    model.replies = {calls("write"), Message::assistant("Change it")};
    services.policy.own_branch_is_free = true;
    repositories.held = "The branch is checked out.";
    repositories.committed = 0;
    Instruction ask = change_something();
    ask.onto = onto;
    test.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start(kAgentType, ask);
      if (!ask.onto.empty()) {
        const AgentView first = co_await until(&host, id, "awaiting approval");
        EXPECT_EQ(first.question->why, "A patch is to be committed to refs/heads/main.");
        co_await answer(&host, *first.question, Verdict::approve);
        co_await sleep(1s);
      }
      const AgentView again = co_await until(&host, id, "awaiting approval");
      EXPECT_NE(again.question->why.find("The last try failed: "), std::string::npos)
          << again.question->why;
      EXPECT_NE(again.question->why.find("The branch is checked out."), std::string::npos)
          << again.question->why;
      repositories.held.clear();
      co_await answer(&host, *again.question, Verdict::approve);
      const Summary summary = co_await host.result<Summary>(id);
      EXPECT_TRUE(summary.success);
    });
    EXPECT_EQ(repositories.committed, 1) << onto;
  }
}

TEST_F(AgentTest, WhatAModelSaysIsShownToItsEndEvenIfThatCouldBeTheBeginningOfASecret) {
  services.secrets.add("hunter22");
  observe::Pal pal;
  services.pal = &pal;
  observe::PalSubscription reader = pal.subscribe(observe::PalFilter());
  model.replies = {Message::assistant("hunter22 goes out to hunt")};
  Instruction ask = change_something();
  ask.repository.clear();
  std::string shown;
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await host.result<Summary>(id));
    while (const auto frame = reader.try_next()) shown += *frame->text;
  });
  services.pal = nullptr;
  EXPECT_NE(shown.find(R"("piece":"*** goes out to ")"), std::string::npos) << shown;
  EXPECT_NE(shown.find(R"("piece":"hunt")"), std::string::npos) << shown;
}

TEST_F(AgentTest, SecretsAreTakenOutOfNamesOfToolsConflictsAndWhatIsThrown) {
  services.secrets.add("hunter22");
  repositories.conflict = "password=hunter22";
  read->throws = "The server said: hunter22";
  const std::string arguments = R"({"a":"\u0068unter22","b":[1,{"hunter22":null}]})";
  model.replies = {calls("hunter22", arguments, "hunter22"), calls("read"), calls("write"),
                   Message::assistant("Change it")};
  model.refusal = "The key hunter22 is not known.";
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await until(&host, id, "awaiting approval");
    repositories.tip = "moved";
    co_await answer(&host, *view.question, Verdict::approve);
    std::string failed;
    try {
      static_cast<void>(co_await host.result<Summary>(id));
    } catch (const DurableFailed& error) {
      failed = error.what();
    }
    EXPECT_NE(failed.find("The key *** is not known."), std::string::npos) << failed;
    EXPECT_EQ(repositories.merges, 1);
    for (const std::string& line : host.records(id, 0, 1000)) {
      EXPECT_EQ(line.find("hunter22"), std::string::npos) << line;
    }
  });
}

TEST_F(AgentTest, D1_TheLogHasARecordOfItsOwnTypeForEachStage) {
  model.replies = {calls("write"), Message::assistant("Change it")};
  std::string types;
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await until(&host, id, "awaiting approval");
    co_await answer(&host, *view.question, Verdict::approve);
    static_cast<void>(co_await host.result<Summary>(id));
    for (const std::string& line : host.records(id, 0, 1000)) {
      types += std::string(wal::view_of(line).type_name) + " ";
    }
  });
  EXPECT_EQ(types,
            "Spawn StepStart InstructionStart StepStart LLMPlan StepStart ToolResult StepStart "
            "LLMPlan StepStart PatchPreview Command Command Approval StepStart Commit StepStart "
            "TaskComplete TaskExit ");
}

TEST_F(AgentTest, ACheckpointKeepsTheConversationAndCrashesAroundItLoseNothing) {
  services.checkpoint_turns = 2;
  services.policy.rules = {{"read", Ruling::ask}};
  model.replies = {calls("read"), calls("write"), calls("read"), calls("write"),
                   Message::assistant("Change it")};
  const Uuid id = Uuid::derived(Uuid(), "checkpoints");
  const Instruction ask = change_something();
  const std::size_t crashes = test.crash_everywhere(
      [&] {
        repositories.commits.clear();
        repositories.committed = 0;
      },
      [&](Host& host) -> Task<void> {
        co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
        for (;;) {
          const auto info = host.info(id);
          if (info && info->status == DurableStatus::completed) break;
          const AgentView view = co_await host.ask(id, kAgentView);
          if (view.question) co_await answer(&host, *view.question, Verdict::approve);
          co_await sleep(50ms);
        }
        const Summary summary = co_await host.result<Summary>(id);
        EXPECT_EQ(summary.turns, 5);
        EXPECT_EQ(summary.spent.tool_runs, 4);
      },
      [&] {
        EXPECT_EQ(repositories.committed, 1) << "after slice " << test.crashed_after;
        EXPECT_EQ(
            repositories.commits.begin()->second.find("tree+write+write") != std::string::npos,
            true);
      });
  EXPECT_GT(crashes, 50U);
  EXPECT_EQ(model.last.messages.size(), 10U) << "all of it is asked again and again";
}

// The same text in each question would be a hundred times as much.
TEST_F(AgentTest, ALongConversationIsInTheLogOnce) {
  constexpr std::size_t kTurns = 100;
  model.replies.assign(kTurns, calls("read"));
  model.replies.push_back(Message::assistant("Nothing to do"));
  read->says = std::string(8'000, 'x');
  const Instruction ask = change_something();
  std::size_t recorded = 0;
  Uuid id;
  test.live([&](Host& host) -> Task<void> {
    id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await host.result<Summary>(id));
    for (const std::string& line : host.records(id, 0, 10'000)) recorded += line.size();
  });
  std::size_t said = 0;
  for (const Message& each : model.last.messages) said += each.text.size();
  EXPECT_GE(said, 790'000U);
  EXPECT_GE(recorded, said) << "all of it is in the records themselves";
  EXPECT_LE(recorded, said + said / 5);
}

// The same on every store that a host can have.
class AgentOnStores : public testing::TestWithParam<StoreKind>, public AgentWorld {
 protected:
  AgentOnStores() {
    test.layout = GetParam().layout;
    test.provider = GetParam().provider();
  }
};

TEST_P(AgentOnStores, D2_WhereverItIsCutOffThereIsOneCommitAndNothingHappensTwice) {
  model.replies = {calls("read"), calls("once"), calls("write"), Message::assistant("Change it")};
  const Uuid id = Uuid::derived(Uuid(), "agent");
  const Instruction ask = change_something();
  const std::size_t crashes = test.crash_everywhere(
      [&] {
        repositories.commits.clear();
        repositories.committed = once->runs = 0;
      },
      [&](Host& host) -> Task<void> {
        co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
        for (;;) {
          const auto info = host.info(id);
          if (info && info->status == DurableStatus::completed) break;
          const AgentView view = co_await host.ask(id, kAgentView);
          if (view.question) co_await answer(&host, *view.question, Verdict::approve);
          co_await sleep(50ms);
        }
      },
      [&] {
        EXPECT_EQ(repositories.committed, 1) << "after slice " << test.crashed_after;
        EXPECT_LE(once->runs, 1) << "after slice " << test.crashed_after;
      });
  EXPECT_GT(crashes, 50U);
}

INSTANTIATE_TEST_SUITE_P(Stores, AgentOnStores, testing::ValuesIn(StoreKind::all()),
                         StoreKind::name);

}  // namespace agent_test
}  // namespace tiffany::agent
