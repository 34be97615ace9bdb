// Agents of agents: files, budget, taint, crashes; calls beside one another; standing rules.
#include "tiffany/agent/delegate.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "agent/agent_run.hpp"
#include "agent/agent_world.hpp"
#include "tiffany/agent/meters.hpp"

namespace tiffany::agent {
namespace delegate_test {

using namespace std::chrono_literals;

// Says what it is told to say by the instruction of who asks.
class ModelOfSeveral final : public Model {
 public:
  Task<Reply> ask(Request request, Try, LiveText) override {
    co_await sleep(10ms);
    ++asked;
    const std::string& instruction = request.messages[1].text;
    std::size_t turn = 0;
    for (const Message& each : request.messages) turn += each.role == Role::assistant ? 1 : 0;
    const std::vector<Message>& said = replies[instruction];
    if (turn >= said.size()) throw NotRetryable("Nothing more is written down.");
    offers[instruction].clear();
    for (const ToolOffer& each : request.tools) offers[instruction].insert(each.name);
    Reply reply;
    reply.message = said[turn];
    reply.model = "several";
    reply.usage.input = 100;
    reply.usage.output = 10;
    reply.usage.known = true;
    last[instruction] = request;
    co_return reply;
  }
  std::map<std::string, std::vector<Message>> replies;
  std::map<std::string, Request> last;
  std::map<std::string, std::set<std::string>> offers;
  int asked = 0;
};

Message delegated(const std::string& instruction, const std::string& more = "") {
  return calls(kDelegate, "{\"instruction\":" + to_json(instruction) + more + "}");
}
Message several(std::vector<ToolCall> all) { return Message::assistant("", std::move(all)); }
ToolCall call_of(std::string id, std::string tool, std::string arguments = "{}") {
  ToolCall call;
  call.id = std::move(id);
  call.name = std::move(tool);
  call.arguments = std::move(arguments);
  return call;
}

class DelegateTest : public testing::Test {
 protected:
  DelegateTest() : services(model, repositories), test([this] { return types(); }) {
    ToolTraits beside;
    beside.concurrent = true;
    read = std::make_shared<CountedTool>("read", beside);
    write->writes = true;
    for (const auto& each : {read, write, once, send}) services.tools.add(each);
    add_delegate_tool(services.tools);
  }
  Registry types() {
    Registry all;
    add_agent(all, services);
    return all;
  }
  static ToolTraits outside() {
    ToolTraits traits;
    traits.writes_outside = true;
    traits.untrusted = false;
    return traits;
  }
  // Approves everything, and gives the end.
  static Task<Summary> approved(Host* host, Uuid id) {
    for (;;) {
      const auto info = host->info(id);
      if (info && info->status != DurableStatus::running) break;
      const AgentView view = co_await host->ask(id, kAgentView);
      if (view.question) co_await AgentWorld::answer(host, *view.question, Verdict::approve);
      co_await sleep(50ms);
    }
    co_return co_await host->result<Summary>(id);
  }
  static Instruction asks(const std::string& text) {
    Instruction ask = AgentWorld::change_something();
    ask.instruction = text;
    return ask;
  }

  ModelOfSeveral model;
  CountedRepositories repositories;
  std::shared_ptr<CountedTool> read;
  std::shared_ptr<CountedTool> write = std::make_shared<CountedTool>("write");
  std::shared_ptr<CountedTool> once =
      std::make_shared<CountedTool>("once", AgentWorld::at_most_once());
  std::shared_ptr<CountedTool> send = std::make_shared<CountedTool>("send", outside());
  AgentServices services;
  CrashTest test;
};

TEST_F(DelegateTest, AChildGoesOnWithTheFilesAndItsChangesArePartOfThePatch) {
  model.replies["main"] = {calls("write"), delegated("part"), Message::assistant("Do all of it")};
  model.replies["part"] = {calls("write"), Message::assistant("The part is done")};
  const Instruction ask = asks("main");
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const Summary summary = co_await approved(&host, id);
    EXPECT_TRUE(summary.success);
    EXPECT_EQ(summary.canvas.tree, "tree+write+write");
    EXPECT_EQ(summary.spent.tokens, 5 * 110) << "those of the child are its parent's";
    EXPECT_EQ(summary.spent.turns, 5);
    EXPECT_EQ(summary.spent.tool_runs, 3);
  });
  EXPECT_EQ(repositories.committed, 1) << "a child commits nothing";
  EXPECT_EQ(model.last["main"].messages.back().text,
            "The part is done\n[It has changed files. The changes are in your files now.]");
  EXPECT_TRUE(model.last["main"].messages.back().tainted);
  EXPECT_EQ(repositories.forgotten, 2) << "nothing of either is left in the repository";
}

TEST_F(DelegateTest, TheLastOfAChainOfAgentsIsOfferedNobodyToDelegateTo) {
  model.replies["0"] = {delegated("1"), Message::assistant("0 done")};
  model.replies["1"] = {delegated("2"), Message::assistant("1 done")};
  model.replies["2"] = {delegated("3"), Message::assistant("2 done")};
  model.replies["3"] = {delegated("4"), Message::assistant("3 done")};
  const Instruction ask = asks("0");
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const Summary summary = co_await approved(&host, id);
    EXPECT_EQ(summary.text, "0 done");
    EXPECT_EQ(summary.spent.turns, 8);
  });
  EXPECT_TRUE(model.offers["2"].contains(kDelegate));
  EXPECT_FALSE(model.offers["3"].contains(kDelegate));
  EXPECT_FALSE(model.replies.contains("4")) << "nobody asked for it";
  EXPECT_EQ(model.last["3"].messages.back().text,
            "You are the last of a chain of agents: do this yourself.");
}

TEST_F(DelegateTest, AChildHasHalfOfWhatIsLeftAndAllOfThemTogetherNeverMoreThanTheBudget) {
  services.budget.turns = 8;
  model.replies["main"] = {delegated("endless"), Message::assistant("Done")};
  model.replies["endless"].assign(100, calls("read"));
  const Instruction ask = asks("main");
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView parent = co_await AgentWorld::until(&host, id, "delegating");
    EXPECT_EQ(parent.spent.turns, 1 + 3) << "one turn, and half of seven are reserved";
    co_await sleep(1h);
    EXPECT_EQ(model.asked, 1 + 3);
    Uuid child;
    for (const DurableInfo& each : host.tasks()) {
      if (each.id != id) child = each.id;
    }
    const AgentView stuck = co_await host.ask(child, kAgentView);
    EXPECT_EQ(stuck.state, "out of budget");
    model.replies["endless"][5] = Message::assistant("Enough");
    Amounts more;
    more.turns = 3;
    co_await host.signal(child, kRaiseBudget, more);
    const Summary summary = co_await approved(&host, id);
    EXPECT_EQ(summary.spent.turns, 1 + 6 + 1);
    EXPECT_EQ(summary.raised.turns, 3) << "what the child was given counts for its parent";
  });
}

TEST_F(DelegateTest, AChildThatFailsIsAnAnswerAndKeepsWhatWasReservedForIt) {
  services.budget.turns = 9;
  model.replies["main"] = {delegated("broken", ",\"turns\":2"), Message::assistant("Then not")};
  model.replies["broken"] = {};
  const Instruction ask = asks("main");
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const Summary summary = co_await approved(&host, id);
    EXPECT_EQ(summary.text, "Then not");
    EXPECT_EQ(summary.spent.turns, 2 + 2);
  });
  const std::string& told = model.last["main"].messages.back().text;
  EXPECT_NE(told.find("The agent failed: "), std::string::npos) << told;
  EXPECT_NE(told.find("Nothing more is written down."), std::string::npos) << told;
}

// Without that a child would read in private, and its parent would send.
TEST_F(DelegateTest, WhatAChildHasMetItsParentHasMetAndTheOtherWayRound) {
  ToolTraits secret;
  secret.reads_private = true;
  services.tools.add(std::make_shared<CountedTool>("secret", secret));
  model.replies["main"] = {delegated("look"), calls("send"), Message::assistant("Done")};
  model.replies["look"] = {calls("secret"), Message::assistant("It is 42")};
  model.replies["first"] = {calls("secret"), delegated("tell"), Message::assistant("Done")};
  model.replies["tell"] = {calls("send"), Message::assistant("Told")};
  for (const char* const instruction : {"main", "first"}) {
    send->runs = 0;
    const Instruction ask = asks(instruction);
    test.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start(kAgentType, ask);
      co_await sleep(1h);
      EXPECT_EQ(send->runs, 0) << instruction;
      bool asked = false;
      for (const DurableInfo& each : host.tasks()) {
        if (each.status != DurableStatus::running) continue;
        const AgentView view = co_await host.ask(each.id, kAgentView);
        asked = asked || view.state == "awaiting approval";
      }
      EXPECT_TRUE(asked) << instruction;
      co_await host.cancel(id, "enough");
      try {
        static_cast<void>(co_await host.result<Summary>(id));
      } catch (const Error&) {
      }
    });
  }
}

TEST_F(DelegateTest, ACancelledParentTakesItsChildAlongAndNothingIsLeftInTheRepository) {
  model.replies["main"] = {delegated("part")};
  model.replies["part"] = {calls("write"), calls("send")};
  services.policy.rules = {{"send", Ruling::ask}};
  const Instruction ask = asks("main");
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    co_await sleep(1h);
    co_await host.cancel(id, "enough");
    try {
      static_cast<void>(co_await host.result<Summary>(id));
    } catch (const Error&) {
    }
    for (const DurableInfo& each : host.tasks()) {
      EXPECT_EQ(each.status, DurableStatus::cancelled) << each.id.text();
    }
  });
  EXPECT_GE(repositories.forgotten, 2);
}

TEST_F(DelegateTest, D2_WhereverItIsCutOffAChildWorksOnceAndTheBudgetHolds) {
  services.budget.turns = 20;
  model.replies["main"] = {delegated("part"), Message::assistant("Do it")};
  model.replies["part"] = {calls("once"), calls("write"), Message::assistant("The part is done")};
  const Uuid id = Uuid::derived(Uuid(), "delegates");
  const Instruction ask = asks("main");
  const std::size_t crashes = test.crash_everywhere(
      [&] {
        repositories.commits.clear();
        repositories.committed = once->runs = 0;
      },
      [&](Host& host) -> Task<void> {
        co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
        const Summary summary = co_await approved(&host, id);
        EXPECT_EQ(summary.spent.turns, 5);
        EXPECT_EQ(summary.spent.tool_runs, 3);
        EXPECT_EQ(summary.canvas.tree, "tree+write");
      },
      [&] {
        EXPECT_EQ(repositories.committed, 1) << "after slice " << test.crashed_after;
        EXPECT_LE(once->runs, 1) << "after slice " << test.crashed_after;
      });
  EXPECT_GT(crashes, 50U);
}

// ---- Beside one another ----

TEST_F(DelegateTest, CallsOfOneReplyThatChangeNothingRunBesideOneAnotherAndAreToldInTheirOrder) {
  model.replies["main"] = {
      several({call_of("a", "read", "1"), call_of("b", "read", "2"), call_of("c", "read", "3"),
               call_of("d", "write"), call_of("e", "read", "4")}),
      Message::assistant("Done")};
  const Instruction ask = asks("main");
  std::string order;
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const Summary summary = co_await approved(&host, id);
    EXPECT_EQ(summary.spent.tool_runs, 5);
    for (const std::string& line : host.records(id, 0, 1000)) {
      const wal::RecordType type = wal::view_of(line).type;
      if (type == wal::RecordType::StepStart) order += "(";
      if (type == wal::RecordType::ToolResult) order += ")";
      if (type == wal::RecordType::LLMPlan) order += "!";
    }
  });
  EXPECT_NE(order.find("((()))"), std::string::npos) << order;
  std::vector<std::string> told;
  for (const Message& each : model.last["main"].messages) {
    if (each.role == Role::tool) told.push_back(each.call_id + " " + each.text);
  }
  EXPECT_EQ(told,
            (std::vector<std::string>{"a did 1", "b did 2", "c did 3", "d did {}", "e did 4"}));
}

TEST_F(DelegateTest, ABudgetForTwoRunsRunsTwoOfThreeAndWaitsForTheThird) {
  services.budget.tool_runs = 2;
  model.replies["main"] = {
      several({call_of("a", "read"), call_of("b", "read"), call_of("c", "read")}),
      Message::assistant("Done")};
  const Instruction ask = asks("main");
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await AgentWorld::until(&host, id, "out of budget");
    EXPECT_EQ(view.spent.tool_runs, 2);
    EXPECT_EQ(read->runs, 2);
  });
}

TEST_F(DelegateTest, D2_CallsBesideOneAnotherAreRunOnceWhereverTheProcessIsCutOff) {
  ToolTraits traits = AgentWorld::at_most_once();
  traits.concurrent = true;
  const auto one = std::make_shared<CountedTool>("one", traits);
  const auto two = std::make_shared<CountedTool>("two", traits);
  services.tools.add(one);
  services.tools.add(two);
  model.replies["main"] = {
      several({call_of("a", "one"), call_of("b", "two"), call_of("c", "read")}),
      Message::assistant("Done")};
  const Uuid id = Uuid::derived(Uuid(), "beside");
  const Instruction ask = asks("main");
  const std::size_t crashes =
      test.crash_everywhere([&] { one->runs = two->runs = 0; },
                            [&](Host& host) -> Task<void> {
                              co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
                              static_cast<void>(co_await approved(&host, id));
                            },
                            [&] {
                              EXPECT_LE(one->runs, 1) << "after slice " << test.crashed_after;
                              EXPECT_LE(two->runs, 1) << "after slice " << test.crashed_after;
                            });
  EXPECT_GT(crashes, 20U);
}

// ---- What a process may change between two lives ----

TEST_F(DelegateTest, APolicyAndToolsThatChangedDoNotChangeWhatWasDecidedBefore) {
  model.replies["main"] = {calls("read"), calls("once"), calls("send"), Message::assistant("Done")};
  services.policy.rules = {{"send", Ruling::ask}};
  const Instruction ask = asks("main");
  Uuid id;
  test.live([&](Host& host) -> Task<void> {
    id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await AgentWorld::until(&host, id, "awaiting approval"));
  });
  services.policy.rules = {{"read", Ruling::refuse}, {"once", Ruling::ask}};
  ToolSet others;
  others.add(std::make_shared<CountedTool>("send", outside()));
  services.tools = others;
  test.live([&](Host& host) -> Task<void> {
    AgentView view = co_await AgentWorld::until(&host, id, "awaiting approval");
    EXPECT_NE(view.question->why.find("send"), std::string::npos);
    const Summary summary = co_await approved(&host, id);
    EXPECT_EQ(summary.text, "Done");
  });
  EXPECT_EQ(read->runs, 1);
  EXPECT_EQ(once->runs, 1);
}

TEST(CallCheckTest, AllOfItIsReadAsItWasWritten) {
  CallCheck check;
  check.traits.untrusted = true;
  EXPECT_EQ(to_json(check), R"({"is":"untrusted"})");
  for (const bool set : {false, true}) {
    check.traits.ask = check.traits.reads_private = check.traits.untrusted = set;
    check.traits.writes_outside = check.traits.concurrent = check.ruled = set;
    check.traits.effect = set ? StepEffect::at_most_once : StepEffect::idempotent;
    check.traits.level = set ? 3 : 0;
    check.traits.pin = set ? "ab" : "";
    check.mistake = set ? "No." : "";
    const auto read = from_json<CallCheck>(to_json(check));
    EXPECT_EQ(to_json(read), to_json(check));
    EXPECT_EQ(read.traits.ask, set);
    EXPECT_EQ(read.traits.reads_private, set);
    EXPECT_EQ(read.traits.untrusted, set);
    EXPECT_EQ(read.traits.writes_outside, set);
    EXPECT_EQ(read.traits.concurrent, set);
    EXPECT_EQ(read.ruled, set);
    EXPECT_EQ(read.traits.effect, check.traits.effect);
    EXPECT_EQ(read.traits.level, check.traits.level);
    EXPECT_EQ(read.traits.pin, check.traits.pin);
    EXPECT_EQ(read.mistake, check.mistake);
  }
  EXPECT_THROW(from_json<CallCheck>(R"({"is":"harmless"})"), Error);
  EXPECT_THROW(from_json<CallCheck>(R"({"effect":"none"})"), Error);
}

TEST_F(DelegateTest, AToolThatIsAnotherOneThanWasApprovedIsNotRun) {
  ToolTraits asking;
  asking.ask = true;
  asking.pin = "first";
  const auto deploy = std::make_shared<CountedTool>("deploy", asking);
  ToolSet before;
  before.add(deploy);
  services.tools = before;
  model.replies["main"] = {calls("deploy"), Message::assistant("Done")};
  const Instruction ask = asks("main");
  Uuid id;
  test.live([&](Host& host) -> Task<void> {
    id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await AgentWorld::until(&host, id, "awaiting approval"));
  });
  asking.pin = "second";
  const auto changed = std::make_shared<CountedTool>("deploy", asking);
  ToolSet after;
  after.add(changed);
  services.tools = after;
  test.live([&](Host& host) -> Task<void> { static_cast<void>(co_await approved(&host, id)); });
  EXPECT_EQ(deploy->runs + changed->runs, 0);
  EXPECT_EQ(model.last["main"].messages.back().text,
            "This tool is another one since the call was judged. Call it again.");
}

TEST_F(DelegateTest, AnInstructionWithANegativeBudgetFailsAtOnce) {
  Instruction ask = asks("main");
  ask.budget.tokens = -1;
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    try {
      static_cast<void>(co_await host.result<Summary>(id));
      ADD_FAILURE() << "failed";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("less than no tokens"), std::string::npos)
          << error.what();
    }
  });
}

// ---- Standing rules ----

TEST_F(DelegateTest, AnAnswerAsARuleCountsForTheSameCallOfEveryTaskAndForNoOther) {
  std::string saved;
  RuleBook book("", [&](const std::string& text) { saved = text; });
  services.rules = &book;
  services.policy.rules = {{"once", Ruling::ask}};
  model.replies["main"] = {calls("once", R"({"a": 1, "b": 2})"), Message::assistant("Done")};
  model.replies["other"] = {calls("once", R"({"b":2,"a":1})"), calls("once", R"({"a":2})"),
                            Message::assistant("Done")};
  const Instruction ask = asks("main");
  const Instruction later = asks("other");
  Instruction elsewhere = asks("main");
  elsewhere.repository = "elsewhere";
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    const AgentView view = co_await AgentWorld::until(&host, id, "awaiting approval");
    Answer said;
    said.digest = view.question->digest;
    said.verdict = Verdict::approve;
    said.who = "ann";
    said.scope = AnswerScope::rule;
    co_await host.complete_json(Uuid::parse(view.question->promise).value_or(Uuid()), to_json(said),
                                true);
    static_cast<void>(co_await host.result<Summary>(id));
    EXPECT_EQ(once->runs, 1);
    const Uuid second = co_await host.start(kAgentType, later);
    static_cast<void>(co_await AgentWorld::until(&host, second, "awaiting approval"));
    EXPECT_EQ(once->runs, 2) << "the same call needs no answer, another one does";
    const Uuid third = co_await host.start(kAgentType, elsewhere);
    static_cast<void>(co_await AgentWorld::until(&host, third, "awaiting approval"));
    EXPECT_EQ(once->runs, 2) << "in another repository it does, too";
  });
  ASSERT_EQ(book.all().size(), 1U);
  EXPECT_EQ(book.all()[0].who, "ann");
  EXPECT_EQ(book.all()[0].arguments, R"({"a":1,"b":2})");
  const RuleBook again(saved);
  EXPECT_EQ(again.all(), book.all());
  EXPECT_TRUE(book.remove(book.all()[0].id));
  EXPECT_EQ(saved, "[]");
}

TEST_F(DelegateTest, ARuleThatWasAddedAfterwardsDoesNotChangeAReplay) {
  RuleBook book;
  services.rules = &book;
  services.policy.rules = {{"once", Ruling::ask}};
  model.replies["main"] = {calls("once"), calls("send"), Message::assistant("Done")};
  services.policy.rules.push_back({"send", Ruling::ask});
  const Instruction ask = asks("main");
  Uuid id;
  test.live([&](Host& host) -> Task<void> {
    id = co_await host.start(kAgentType, ask);
    AgentView view = co_await AgentWorld::until(&host, id, "awaiting approval");
    co_await AgentWorld::answer(&host, *view.question, Verdict::approve);
    for (int i = 0; i < 100 && once->runs == 0; ++i) co_await sleep(50ms);
    static_cast<void>(co_await AgentWorld::until(&host, id, "awaiting approval"));
  });
  StandingRule rule;
  rule.tool = "once";
  rule.arguments = "{}";
  rule.repository = "there";
  book.add(rule);
  test.live([&](Host& host) -> Task<void> {
    const Summary summary = co_await approved(&host, id);
    EXPECT_EQ(summary.text, "Done");
  });
  EXPECT_EQ(once->runs, 1);
}

TEST_F(DelegateTest, ARuleDoesNotCoverWhatWouldGiveSomethingAway) {
  RuleBook book;
  services.rules = &book;
  StandingRule rule;
  rule.tool = "send";
  rule.arguments = "{}";
  rule.repository = "there";
  book.add(rule);
  ToolTraits secret;
  secret.reads_private = true;
  services.tools.add(std::make_shared<CountedTool>("secret", secret));
  model.replies["main"] = {calls("secret"), calls("send"), Message::assistant("Done")};
  const Instruction ask = asks("main");
  test.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await AgentWorld::until(&host, id, "awaiting approval"));
  });
  EXPECT_EQ(send->runs, 0);
}

TEST(RuleBookTest, AFileThatSomebodyChangedIsRefused) {
  RuleBook book;
  StandingRule rule;
  rule.tool = "run";
  rule.arguments = R"({"argv":["make"]})";
  book.add(rule);
  std::string text = to_json(book.all());
  EXPECT_NO_THROW(RuleBook{text});
  text.replace(text.find("make"), 4, "rm");
  EXPECT_THROW(RuleBook{text}, Error);
  EXPECT_THROW(RuleBook{"[1"}, Error);
  EXPECT_EQ(rule_id("run", "", "{\"a\":1,\"a\":2}", ""), "")
      << "two programs may read it differently";
}

TEST(RuleBookTest, ABookThatCannotBeSavedIsAsBefore) {
  bool full = false;
  RuleBook book("", [&](const std::string&) {
    if (full) throw Error(Errc::bad_argument, "The disk is full.");
  });
  StandingRule rule;
  rule.tool = "run";
  rule.arguments = "{}";
  full = true;
  EXPECT_THROW(book.add(rule), Error);
  EXPECT_TRUE(book.all().empty());
  full = false;
  book.add(rule);
  full = true;
  EXPECT_THROW(book.remove(book.all()[0].id), Error);
  EXPECT_EQ(book.all().size(), 1U);
}

// ---- Meters ----

TEST_F(DelegateTest, ModelsToolsAndAnswersAreCountedOnceAndNotAgainInAReplay) {
  observe::Metrics metrics;
  observe::Tracer tracer;
  AgentMeters meters(metrics, &tracer);
  services.meters = &meters;
  model.replies["main"] = {calls("write"), Message::assistant("Done")};
  const Instruction ask = asks("main");
  Uuid id;
  test.live([&](Host& host) -> Task<void> {
    id = co_await host.start(kAgentType, ask);
    static_cast<void>(co_await AgentWorld::until(&host, id, "awaiting approval"));
  });
  std::string text;
  test.live([&](Host& host) -> Task<void> {
    static_cast<void>(co_await approved(&host, id));
    text = co_await metrics.text();
  });
  for (const char* const line :
       {"gen_ai_client_token_usage_sum{model=\"several\",token_type=\"input\"} 200\n",
        "gen_ai_client_operation_duration_seconds_count{model=\"several\",outcome=\"ok\"} 2\n",
        "tiffany_agent_tool_runs_total{tool=\"write\",outcome=\"ok\"} 1\n",
        "tiffany_agent_answers_total{verdict=\"approve\"} 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  std::vector<std::string> names;
  for (const observe::EndedSpan& each : tracer.take()) {
    EXPECT_EQ(each.id.trace, id);
    names.push_back(each.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"chat several", "execute_tool write", "chat several"}));
}

}  // namespace delegate_test
}  // namespace tiffany::agent
