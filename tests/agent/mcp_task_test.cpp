// Calls that a server goes on with as tasks of its own, and arguments that go as headers.
#include <gtest/gtest.h>

#include <string>

#include "agent/agent_world.hpp"
#include "agent/mcp_headers.hpp"
#include "agent/mcp_world.hpp"

namespace tiffany::agent {
namespace mcp_task_test {

using namespace std::chrono_literals;
using mcp_test::options_of;
using mcp_test::Outcome;
using mcp_test::outcome_of;
using mcp_test::Peer;
using mcp_test::text_result;
using mcp_test::with_tools;

// ---- Tasks ----

// Answers calls with a task that is done when it has been looked at so often.
struct TaskPeer : Peer {
  TaskPeer() {
    modern = true;
    called = [](const std::string&, const std::string&) {
      return std::string(R"({"resultType":"task","taskId":"t-1","status":"working",)"
                         R"("pollIntervalMs":2000})");
    };
    instead = [this](const mcp::Said& asked) -> std::string {
      if (asked.method == "tasks/cancel") {
        ++cancelled;
        return result(asked.id, R"({"resultType":"complete"})");
      }
      if (asked.method != "tasks/get") return "";
      ++looked;
      if (gone) return error(asked.id, -32602, "no such task");
      return result(asked.id, looked < working ? R"({"resultType":"complete","taskId":"t-1",)"
                                                 R"("status":"working","pollIntervalMs":2000})"
                                               : end);
    };
  }
  int looked = 0;
  int working = 3;
  int cancelled = 0;
  bool gone = false;
  std::string end = R"({"resultType":"complete","taskId":"t-1","status":"completed","result":)" +
                    text_result("done at last") + "}";
};

Task<Outcome> awaited(Tool* tool, std::string handle) {
  Outcome outcome;
  ToolContext where;
  where.handle = std::move(handle);
  outcome.answer = co_await tool->await(where);
  co_return outcome;
}

TEST(McpTask, ACallThatTheServerGoesOnWithIsLookedAtUntilItsEnd) {
  TaskPeer peer;
  with_tools(peer, options_of(), [&](ToolSet& tools) -> Task<void> {
    Tool* const echo = tools.find("peer__echo");
    Outcome outcome = co_await outcome_of(echo, "{}");
    EXPECT_EQ(outcome.answer.handle, "t-1");
    const Time before = Scheduler::require("test").deadline_in(Duration::zero());
    outcome = co_await awaited(echo, "t-1");
    const Duration took = Scheduler::require("test").deadline_in(Duration::zero()) - before;
    EXPECT_EQ(outcome.answer.text, "done at last");
    EXPECT_FALSE(outcome.answer.failed);
    EXPECT_GE(took, 4s) << "as often as the server says, and not more often";
  });
  EXPECT_EQ(peer.calls, 1);
  EXPECT_EQ(peer.looked, 3);
  EXPECT_TRUE(peer.was_told(R"("extensions":{"io.modelcontextprotocol/tasks":{}})"));
}

TEST(McpTask, EndsThatAreNoneAreSentences) {
  const auto end_of = [](const std::string& state) {
    TaskPeer peer;
    peer.working = 0;
    peer.end = state;
    std::string text;
    with_tools(peer, options_of(), [&](ToolSet& tools) -> Task<void> {
      const Outcome outcome = co_await awaited(tools.find("peer__echo"), "t-1");
      EXPECT_TRUE(outcome.answer.failed);
      text = outcome.answer.text + (peer.cancelled > 0 ? " (cancelled)" : "");
    });
    return text;
  };
  EXPECT_EQ(end_of(R"({"status":"failed","error":{"code":-1,"message":"no disk"}})"),
            "The server says that the call was begun and failed: no disk");
  EXPECT_EQ(end_of(R"({"status":"cancelled"})"), "The server says that the call was cancelled.");
  EXPECT_EQ(
      end_of(R"({"status":"input_required","statusMessage":"Which one?","inputRequests":{}})"),
      "The tool asks its user for something before it goes on, and nobody is asked here. Its "
      "task was cancelled. Which one? (cancelled)");
  EXPECT_NE(end_of(R"({"status":"dancing"})").find("no status that is known"), std::string::npos);
  EXPECT_NE(end_of(R"({"status":"completed","result":{"resultType":"task","taskId":"t-2"}})")
                .find("a task of a task"),
            std::string::npos);
}

TEST(McpTask, OneThatTheServerHasForgottenOrThatNeverEndsIsGivenUp) {
  TaskPeer peer;
  peer.gone = true;
  with_tools(peer, options_of(), [&](ToolSet& tools) -> Task<void> {
    const Outcome outcome = co_await awaited(tools.find("peer__echo"), "t-1");
    EXPECT_NE(outcome.answer.text.find("does not know it any more (-32602)"), std::string::npos)
        << outcome.answer.text;
  });
  TaskPeer slow;
  slow.working = 1'000'000;
  McpOptions options = options_of();
  options.task = 1h;
  with_tools(slow, options, [&](ToolSet& tools) -> Task<void> {
    const Outcome outcome = co_await awaited(tools.find("peer__echo"), "t-1");
    EXPECT_TRUE(outcome.answer.failed);
    EXPECT_NE(outcome.answer.text.find("did not end the call within"), std::string::npos);
  });
  EXPECT_EQ(slow.cancelled, 1);
}

TEST(McpTask, IdsThatAreNoneAreNoTask) {
  for (const char* const id : {"\"\"", "7", R"("a b")", R"("a\nb")"}) {
    Peer peer;
    peer.modern = true;
    peer.called = [&](const std::string&, const std::string&) {
      return R"({"resultType":"task","taskId":)" + std::string(id) + "}";
    };
    with_tools(peer, options_of(), [&](ToolSet& tools) -> Task<void> {
      const Outcome outcome = co_await outcome_of(tools.find("peer__echo"), "{}");
      EXPECT_EQ(outcome.kind, "step_unknown") << id << outcome.sentence;
    });
  }
}

// ---- An agent that waits for one ----

class SlowTool final : public Tool {
 public:
  SlowTool() {
    offer_.name = "slow";
    offer_.schema = "{}";
    traits_.effect = StepEffect::at_most_once;
  }
  const ToolOffer& offer() const noexcept override { return offer_; }
  const ToolTraits& traits() const noexcept override { return traits_; }
  std::string mistake_in(std::string_view) const override { return ""; }
  Task<ToolAnswer> run(ToolContext where, std::string) override {
    co_await sleep(5ms);
    if (CrashTest::alive()) ++runs;
    ToolAnswer answer;
    answer.canvas = where.canvas;
    answer.handle = "t-1";
    co_return answer;
  }
  Task<ToolAnswer> await(ToolContext where) override {
    EXPECT_EQ(where.handle, "t-1");
    co_await sleep(1h);
    ToolAnswer answer("slowly done");
    answer.canvas = where.canvas;
    co_return answer;
  }
  Task<void> stop(ToolContext where) override {
    stopped += where.handle;
    co_return;
  }
  int runs = 0;
  std::string stopped;

 private:
  ToolOffer offer_;
  ToolTraits traits_;
};

class McpTaskAgent : public testing::Test, public AgentWorld {
 protected:
  McpTaskAgent() {
    services.tools.add(slow);
    model.replies = {calls("slow"), Message::assistant("Done")};
  }
  std::shared_ptr<SlowTool> slow = std::make_shared<SlowTool>();
};

// Cut off while it waits, a call that may happen once is not unknown: its end is asked for again.
TEST_F(McpTaskAgent, WhereverItIsCutOffTheCallIsMadeOnceAndItsEndIsKnownOnceItWasTaken) {
  const Uuid id = Uuid::derived(Uuid(), "slow");
  const Instruction ask = change_something();
  std::size_t known = 0;
  std::string told;
  const std::size_t crashes =
      test.crash_everywhere([&] { slow->runs = 0; },
                            [&](Host& host) -> Task<void> {
                              co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
                              static_cast<void>(co_await host.result<Summary>(id));
                              told = model.last.messages.back().text;
                            },
                            [&] {
                              EXPECT_LE(slow->runs, 1) << "after slice " << test.crashed_after;
                              if (told == "slowly done") ++known;
                            });
  EXPECT_GT(known, crashes / 2) << "of " << crashes;
}

TEST_F(McpTaskAgent, ATaskThatIsCancelledTellsTheServer) {
  const Instruction ask = change_something();
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    co_await sleep(1min);
    co_await host.cancel(id, "enough");
    try {
      static_cast<void>(co_await host.result<Summary>(id));
      ADD_FAILURE() << "cancelled";
    } catch (const Error&) {
    }
  });
  EXPECT_EQ(slow->stopped, "t-1");
}

// ---- Lists that are accepted ----

TEST(McpAccept, WhatIsAcceptedIsTheListThatWasLookedAt) {
  Peer peer;
  peer.tools = mcp_test::tool_json("echo") + "," + mcp_test::tool_json("old");
  mcp_test::with_peer(peer, options_of(), [&](std::shared_ptr<McpServer> server) -> Task<void> {
    co_await server->learn();
    McpDifference none = co_await server->compare();
    EXPECT_TRUE(none.changes.empty());
    EXPECT_EQ(none.kept, none.now);
    peer.tools = mcp_test::tool_json("echo", "says it to all") + "," + mcp_test::tool_json("new");
    const McpDifference found = co_await server->compare();
    std::string all;
    for (const McpChange& each : found.changes) all += each.change + " " + each.tool + ",";
    EXPECT_EQ(all, "changed echo,removed old,added new,");
    EXPECT_NE(found.changes[0].text.find("says it to all"), std::string::npos);
    EXPECT_EQ(server->list_digest(), found.kept) << "looking changes nothing";
    peer.tools = mcp_test::tool_json("echo", "and something else");
    bool refused = false;
    try {
      co_await server->accept(found.now);
    } catch (const Error& error) {
      refused = error.code() == Errc::bad_argument;
    }
    EXPECT_TRUE(refused) << "it is another list by now";
    EXPECT_EQ(server->list_digest(), found.kept);
    const McpDifference again = co_await server->compare();
    co_await server->accept(again.now);
    EXPECT_EQ(server->list_digest(), again.now);
    ToolSet tools;
    add_mcp_tools(tools, server);
    EXPECT_EQ(tools.names(), "peer__echo");
    const Outcome outcome = co_await outcome_of(tools.find("peer__echo"), "{}");
    EXPECT_TRUE(outcome.answer.drift.empty()) << outcome.answer.text;
  });
}

// ---- Arguments as headers ----

TEST(McpHeaders, OfArgumentsThatAreThereInAFormThatEveryHeaderHas) {
  const std::string schema =
      R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},)"
      R"("deep":{"type":"object","properties":)"
      R"({"limit":{"type":"integer","x-mcp-header":"Limit"}}},)"
      R"("sure":{"type":"boolean","x-mcp-header":"Sure"},"x-mcp-header":{"type":"string"}}})";
  EXPECT_EQ(mcp::header_problem(schema), "");
  const auto headers = [&](const std::string& arguments) {
    std::string all;
    for (const auto& [name, value] : mcp::argument_headers(schema, arguments)) {
      all += name + "=" + value + ";";
    }
    return all;
  };
  EXPECT_EQ(headers("{}"), "");
  EXPECT_EQ(headers(R"({"region":null,"deep":{},"sure":null})"), "");
  EXPECT_EQ(headers(R"({"region":"us-west 1","deep":{"limit":-7},"sure":true})"),
            "mcp-param-region=us-west 1;mcp-param-limit=-7;mcp-param-sure=true;");
  EXPECT_EQ(headers(R"({"region":""})"), "mcp-param-region=;");
  EXPECT_EQ(headers(R"({"region":"a\r\nx: y"})"), "mcp-param-region==?base64?YQ0KeDogeQ==?=;");
  EXPECT_EQ(headers(R"({"region":" a"})"), "mcp-param-region==?base64?IGE=?=;");
  EXPECT_EQ(headers(R"({"region":"ö"})"), "mcp-param-region==?base64?w7Y=?=;");
  EXPECT_EQ(headers(R"({"region":"=?base64?YQ==?="})"),
            "mcp-param-region==?base64?PT9iYXNlNjQ/WVE9PT89?=;");
  EXPECT_THROW(headers(R"({"deep":{"limit":9007199254740992}})"), Error);
  EXPECT_THROW(headers(R"({"deep":{"limit":1.5}})"), Error);
  EXPECT_THROW(headers("{\"region\":\"" + std::string(9000, 'a') + "\"}"), Error);
}

TEST(McpHeaders, ASchemaThatNobodyCanFollowIsASentence) {
  const auto problem = [](const std::string& property) {
    return mcp::header_problem(R"({"type":"object","properties":{)" + property + "}}");
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(problem(R"("a":{"type":"string"})"), "");
  EXPECT_TRUE(has(problem(R"("a":{"type":"string","x-mcp-header":"A B"})"), "name is none"));
  EXPECT_TRUE(has(problem(R"("a":{"type":"string","x-mcp-header":""})"), "name is none"));
  EXPECT_TRUE(has(problem(R"("a":{"type":"string","x-mcp-header":"A\r\nB"})"), "name is none"));
  EXPECT_TRUE(has(problem(R"("a":{"type":"number","x-mcp-header":"A"})"), "no string"));
  EXPECT_TRUE(has(problem(R"("a":{"type":"object","x-mcp-header":"A"})"), "no string"));
  EXPECT_TRUE(has(problem(R"("a":{"type":"string","x-mcp-header":"A"},)"
                          R"("b":{"type":"string","x-mcp-header":"a"})"),
                  "same header"));
  EXPECT_TRUE(has(problem(R"("a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}})"),
                  "without a fixed place"));
}

}  // namespace mcp_task_test
}  // namespace tiffany::agent
