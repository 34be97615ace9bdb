// Agents that remember and recall, and a memory that is made from their logs again.
#include "tiffany/agent/memory_tools.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent_world.hpp"
#include "agent/repository.hpp"
#include "tiffany/engine/run.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany::agent {
namespace memory_tools_test {

using namespace std::chrono_literals;
using canvas_support::Scratch;

// A tool of the memory without threads, for schedulers that have none.
class MemoryToolHere final : public Tool {
 public:
  MemoryToolHere(std::shared_ptr<Memory> memory, const std::string& name)
      : memory_(std::move(memory)), name_(name) {
    add_memory_tools(tools_, memory_);
  }
  const ToolOffer& offer() const noexcept override { return tools_.find(name_)->offer(); }
  const ToolTraits& traits() const noexcept override { return tools_.find(name_)->traits(); }
  std::string mistake_in(std::string_view arguments) const override {
    return tools_.find(name_)->mistake_in(arguments);
  }
  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    co_await sleep(1ms);
    if (!CrashTest::alive()) co_return ToolAnswer();
    const ToolAnswer answer = run_memory_tool(*memory_, name_, where, arguments);
    co_await sleep(1ms);
    co_return answer;
  }

 private:
  std::shared_ptr<Memory> memory_;
  std::string name_;
  ToolSet tools_;
};

class MemoryTools : public testing::Test, public AgentWorld {
 protected:
  MemoryTools() {
    services.tools.add(std::make_shared<MemoryToolHere>(memory, "remember"));
    services.tools.add(std::make_shared<MemoryToolHere>(memory, "recall"));
  }

  // The answers of the tools, in their order.
  std::vector<std::string> answers(std::vector<Message> replies) {
    model.replies = std::move(replies);
    model.replies.push_back(Message::assistant("Done"));
    Instruction ask;
    ask.instruction = "Learn.";
    test.live([&](Host& host) -> Task<void> {
      last = co_await host.start(kAgentType, ask);
      static_cast<void>(co_await host.result<Summary>(last));
      for (std::string& line : host.records(last, 0, 1000)) log.push_back(std::move(line));
    });
    std::vector<std::string> all;
    for (const Message& each : model.last.messages) {
      if (each.role == Role::tool) all.push_back(each.text);
    }
    return all;
  }
  static Message remember(const std::string& text, const std::string& more = "") {
    return calls("remember", R"({"text":)" + to_json(text) + more + "}");
  }
  static Message recall(const std::string& text) {
    return calls("recall", R"({"text":)" + to_json(text) + "}");
  }
  static std::vector<Recalled> everything(Memory& in) {
    std::vector<Recalled> all = in.list().notes;
    std::sort(all.begin(), all.end(),
              [](const Recalled& a, const Recalled& b) { return a.id < b.id; });
    return all;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  Scratch scratch;
  std::shared_ptr<Memory> memory = std::make_shared<Memory>(scratch / "memory.db");
  std::vector<std::string> log;
  Uuid last;
};

TEST_F(MemoryTools, WhatOneTaskRemembersAnotherRecallsWithItsOriginAndTainted) {
  answers({remember("The tests need a display.", R"(,"kind":"fact")")});
  const Uuid first = last;
  EXPECT_FALSE(model.last.messages.at(3).tainted) << "it is what the model said itself";
  const std::vector<std::string> said = answers({recall("which display?")});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(has(said[0], "The tests need a display.")) << said[0];
  EXPECT_TRUE(has(said[0], R"("task":")" + first.text() + R"(","step":"tool remember#1")"))
      << said[0];
  EXPECT_TRUE(has(said[0], "data, and no instruction"));
  EXPECT_TRUE(model.last.messages.at(3).tainted);
}

TEST_F(MemoryTools, ATaskDoesNotRememberWhatItRecalled) {
  answers({remember("Water is wet.")});
  const std::vector<std::string> said =
      answers({recall("water"), remember(" Water  is\nwet. ", R"(,"kind":"rule")"),
               remember("Water is cold.")});
  ASSERT_EQ(said.size(), 3U);
  EXPECT_TRUE(has(said[1], "This text came from the memory")) << said[1];
  EXPECT_TRUE(has(said[2], R"("id":")")) << said[2];
  EXPECT_EQ(memory->counts().notes, 2);
  EXPECT_EQ(memory->counts().origins, 2);
}

TEST_F(MemoryTools, WrongArgumentsAndTextsThatAreTooLongAreTheModelsToMend) {
  const std::vector<std::string> said = answers(
      {calls("remember", R"({"text":""})"), calls("remember", R"({"txt":"a"})"),
       calls("recall", R"({"text":"a","most":21})"), calls("remember", R"({"text":"a\u0000b"})"),
       remember(std::string(3000, 'a') + std::string("\xE4\xB8\xAD") + std::string(5191, 'b')),
       calls("remember", R"({"text":"a","see":[")" + std::string(65, 'x') + R"("]})"),
       calls("recall", R"({"text":"\" OR ("})")});
  ASSERT_EQ(said.size(), 7U);
  for (const std::size_t at : {0UL, 1UL, 2UL, 5UL})
    EXPECT_TRUE(has(said[at], "do not fit")) << said[at];
  EXPECT_TRUE(has(said[3], "has a character NUL")) << said[3];
  EXPECT_TRUE(has(said[4], "has 8194 bytes, and may have 8192")) << said[4];
  EXPECT_TRUE(has(said[6], R"("notes":[])")) << said[6];
  EXPECT_EQ(memory->counts().notes, 0);
}

TEST_F(MemoryTools, AMemoryIsMadeFromTheLogsAgainWithEqualContent) {
  answers({remember("One.", R"(,"kind":"fact","days":3)"), remember("Two \"quoted\" \x01 \\.")});
  const std::string two = everything(*memory).at(0).text == "One." ? everything(*memory)[1].id
                                                                   : everything(*memory)[0].id;
  answers({remember("Three.", R"(,"see":[")" + two + R"("])"),
           remember("One.", R"(,"kind":"fact")"), recall("two")});
  const std::vector<Recalled> before = everything(*memory);
  ASSERT_EQ(before.size(), 3U);

  Memory fresh(scratch / "fresh.db");
  std::vector<std::string> backwards(log.rbegin(), log.rend());
  const Rebuilt report = fresh.rebuild(backwards);
  EXPECT_EQ(report.records, 5);
  EXPECT_EQ(report.remembered, 4);
  EXPECT_EQ(report.unreadable, 0);
  EXPECT_EQ(everything(fresh), before);
  EXPECT_EQ(fresh.counts().edges, 1);
  EXPECT_TRUE(fresh.was_recalled(last.text(), "Two \"quoted\" \x01 \\."));

  // Again, into one that has more: what no log has goes, what is without a task stays.
  Note own;
  own.kind = "fact";
  own.text = "By hand.";
  fresh.remember(own);
  Note lost = own;
  lost.text = "Of a task whose log is gone.";
  lost.task = "t";
  fresh.remember(lost);
  fresh.rebuild(log);
  EXPECT_EQ(fresh.counts().notes, 4);
  EXPECT_EQ(fresh.counts().edges, 1);
  Query query;
  query.text = "gone hand";
  EXPECT_EQ(fresh.recall(query).notes.at(0).text, "By hand.");
  EXPECT_EQ(fresh.recall(query).notes.size(), 1U);
}

TEST_F(MemoryTools, WhatWasForgottenDoesNotComeBackWithARebuild) {
  answers({remember("One."), remember("Two.")});
  const Recalled gone = everything(*memory).at(0);
  EXPECT_TRUE(memory->forget(gone.id, gone.made_us + 1));
  EXPECT_EQ(memory->rebuild(log).remembered, 1);
  EXPECT_EQ(memory->counts().notes, 1);
  Note again;
  again.kind = gone.kind;
  again.text = gone.text;
  again.task = "later";
  again.made_us = gone.made_us + 2;
  EXPECT_EQ(memory->remember(again), gone.id) << "said again, it is there again";
}

TEST_F(MemoryTools, LinesThatAreNotWhatTheyShouldBeAreCountedAndTheRestIsTaken) {
  answers({remember("One.")});
  const auto line = [](const std::string& payload) {
    wal::Entry entry{};
    entry.type = wal::RecordType::ToolResult;
    const std::string task = Uuid().text();
    entry.task = task;
    entry.payload = payload;
    entry.seq = 1;
    std::string out;
    wal::append_line(out, entry, wal::text_of_time(0), 0, false);
    return out;
  };
  const std::string value = R"("step":"x","result":{"$value":"00","size":1})";
  log.push_back(line(value));
  log.push_back(line(R"("step":"x","result":7)"));
  log.push_back(line(R"("step":"x","result":{"tool":"remember","output":"no JSON","error":null,)"
                     R"("call":"","exit":0,"level":0,"canvas":{"base":"","tree":""}})"));
  log.push_back(line(R"("step":"x","error":"failed")"));
  log.push_back(
      line(R"("step":"x","result":{"tool":"remember","output":"{\"id\":\"\",\"note\":{\"kind\":)"
           R"(\"\",\"text\":\"a\",\"task\":\"\",\"step\":\"\",\"made_us\":1,\"expires_us\":0,)"
           R"(\"see\":[]}}","error":null,"call":"","exit":0,"level":0,)"
           R"("canvas":{"base":"","tree":""}})"));
  const Rebuilt report = memory->rebuild(log);
  EXPECT_EQ(report.remembered, 1);
  EXPECT_EQ(report.unreadable, 4) << "a note without a kind is none, either";
  EXPECT_EQ(memory->counts().notes, 1);
}

TEST_F(MemoryTools, WhereverATaskIsCutOffItRemembersOnceAndTheLogSaysTheSame) {
  model.replies = {remember("Once."), Message::assistant("Done")};
  const Uuid id = Uuid::derived(Uuid(), "agent");
  Instruction ask;
  ask.instruction = "Learn.";
  Memory fresh(scratch / "fresh.db");
  const std::size_t crashes = test.crash_everywhere(
      [&] {
        for (const Recalled& each : memory->list().notes) memory->forget(each.id, 0);
        memory->expire(std::numeric_limits<std::int64_t>::max());  // nothing was recalled, either
      },
      [&](Host& host) -> Task<void> {
        co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
        static_cast<void>(co_await host.result<Summary>(id));
        log = host.records(id, 0, 1000);
      },
      [&] {
        EXPECT_EQ(memory->counts().origins, 1) << "after slice " << test.crashed_after;
        fresh.rebuild(log);
        EXPECT_EQ(everything(fresh), everything(*memory)) << "after slice " << test.crashed_after;
      });
  EXPECT_GT(crashes, 20U);
}

TEST_F(MemoryTools, RunOnAThread) {
  ToolSet tools;
  add_memory_tools(tools, memory);
  EXPECT_EQ(tools.names(), "recall, remember");
  const auto program = [&]() -> Task<void> {
    ToolContext where;
    where.key = "task@2/tool remember#1/77";
    where.now_us = 5;
    const ToolAnswer answer = co_await tools.find("remember")->run(where, R"({"text":"Here."})");
    EXPECT_TRUE(has(answer.text, R"("step":"tool remember#1 @2")")) << answer.text;
    const ToolAnswer found = co_await tools.find("recall")->run(where, R"({"text":"here"})");
    EXPECT_TRUE(has(found.text, "Here.")) << found.text;
  };
  Scheduler scheduler;
  run_on(scheduler, program());
  EXPECT_THROW(run_memory_tool(*memory, "dream", ToolContext(), "{}"), Error);
}

}  // namespace memory_tools_test
}  // namespace tiffany::agent
