#include "tiffany/agent/what_if.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/agent_world.hpp"

namespace tiffany::agent {
namespace what_if_test {

using namespace std::chrono_literals;

class WhatIfTest : public testing::Test, public AgentWorld {
 protected:
  // A run with a rejection, a conflict that is not mended at first, a call that is turned down and
  // one that fails, up to the second approval.
  RecordedRun eventful_run() {
    model.replies = {calls("fly"),
                     calls("write"),
                     Message::assistant("First"),
                     calls("write"),
                     Message::assistant("Second"),
                     Message::assistant("Third"),
                     calls("read"),
                     calls("fly")};
    read->throws = "The disk is ill.";
    repositories.conflict = "a.c:\n<<<<<<<";
    RecordedRun run;
    const Instruction ask = change_something();
    test.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start(kAgentType, ask);
      AgentView view = co_await until(&host, id, "awaiting approval");
      co_await answer(&host, *view.question, Verdict::reject, "No.");
      co_await sleep(10ms);
      view = co_await until(&host, id, "awaiting approval");
      repositories.tip = "moved";
      co_await answer(&host, *view.question, Verdict::approve);
      co_await sleep(1min);
      run = recorded_run(host.records(id, 0, 1000),
                         [&](std::string_view value) { return host.store().value_of(value); });
    });
    return run;
  }
  WhatIf compared(const RecordedRun& run, Model& other) {
    WhatIf found;
    Scheduler scheduler(Options().virtual_time());
    const auto program = [&]() -> Task<void> { found = co_await what_if(run, other, ""); };
    scheduler.spawn(program);
    scheduler.run();
    return found;
  }
};

TEST_F(WhatIfTest, TheSameModelDecidesTheSameAndIsAskedTheSame) {
  const RecordedRun run = eventful_run();
  const std::vector<Message> asked = model.last.messages;
  const int runs = write->runs;
  const WhatIf found = compared(run, model);
  EXPECT_FALSE(found.difference) << found.difference->problem;
  EXPECT_EQ(found.turns, 8);
  EXPECT_EQ(write->runs, runs) << "no tool is run";
  // The last question of all, word for word, but for the one behind the last record.
  ASSERT_LE(model.last.messages.size(), asked.size());
  for (std::size_t i = 0; i < model.last.messages.size(); ++i) {
    EXPECT_EQ(model.last.messages[i].text, asked[i].text) << i;
    EXPECT_EQ(model.last.messages[i].role, asked[i].role) << i;
  }
}

TEST_F(WhatIfTest, AnswersStandInTheOrderOfTheirCallsAndOneThatFailedIsThere) {
  Message both = calls("slow", "{}", "c1");
  both.calls.push_back(calls("quick", "{}", "c2").calls.front());
  both.calls.push_back(calls("read", "{}", "c3").calls.front());
  model.replies = {both, Message::assistant("Nothing to do")};
  ToolTraits beside;
  beside.concurrent = true;
  const auto slow = std::make_shared<CountedTool>("slow", beside);
  slow->throws = "The disk is ill.";  // and is tried again, while the other ends
  services.tools.add(slow);
  services.tools.add(std::make_shared<CountedTool>("quick", beside));
  RecordedRun run;
  Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await host.result<Summary>(id));
    run = recorded_run(host.records(id, 0, 1000),
                       [&](std::string_view value) { return host.store().value_of(value); });
  });
  ASSERT_EQ(run.events.size(), 5U);
  for (const std::size_t i : {1U, 2U, 3U}) {
    EXPECT_EQ(run.events[i].message.call_id, "c" + std::to_string(i));
    EXPECT_EQ(run.events[i].message.text, model.last.messages[i + 2].text);
  }
  EXPECT_EQ(run.events[1].message.text, "The disk is ill.");
}

TEST_F(WhatIfTest, TheFirstDecisionThatDiffersIsNamed) {
  const RecordedRun run = eventful_run();
  ListedModel other;
  other.replies = model.replies;
  other.replies[3] = calls("read");
  const WhatIf found = compared(run, other);
  ASSERT_TRUE(found.difference);
  EXPECT_EQ(found.difference->turn, 4);
  EXPECT_EQ(found.difference->recorded.calls.at(0).name, "write");
  EXPECT_EQ(found.difference->other.calls.at(0).name, "read");
}

TEST_F(WhatIfTest, WordsAndTheOrderOfMembersAreNoDifference) {
  RecordedRun run;
  RunEvent event;
  event.decided = true;
  event.message = calls("read", R"({"a":1,"b":2})");
  run.events = {event};
  ListedModel other;
  other.replies = {calls("read", R"({ "b": 2, "a": 1 })")};
  other.replies[0].text = "in other words";
  EXPECT_FALSE(compared(run, other).difference);
}

TEST_F(WhatIfTest, AModelThatDoesNotReplyIsADifferenceWithASentence) {
  const RecordedRun run = eventful_run();
  ListedModel silent;
  const WhatIf found = compared(run, silent);
  ASSERT_TRUE(found.difference);
  EXPECT_EQ(found.difference->turn, 1);
  EXPECT_EQ(found.difference->problem, "Nothing more is written down.");
}

TEST_F(WhatIfTest, ATaskThatIsNoAgentIsRefused) {
  EXPECT_THROW(recorded_run({}, [](std::string_view text) { return std::string(text); }), Error);
}

}  // namespace what_if_test
}  // namespace tiffany::agent
