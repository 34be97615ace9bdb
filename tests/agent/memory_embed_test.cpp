// Notes with vectors of an embedder: in the file, in the log, and in what agents find.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/agent_world.hpp"
#include "agent/memory_wire.hpp"
#include "agent/repository.hpp"
#include "tiffany/agent/memory_tools.hpp"
#include "tiffany/engine/run.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany::agent {
namespace memory_embed_test {

using namespace std::chrono_literals;
using canvas_support::Scratch;
using Strings = std::vector<std::string>;

// Words that mean the same have the same number.
class Synonyms final : public Embedder {
 public:
  const std::string& name() const noexcept override { return called; }
  Task<std::vector<TextVector>> embed(Strings texts) override {
    ++asked;
    co_await sleep(1ms);
    if (!failure.empty()) throw Error(Errc::model_failed, failure);
    std::vector<TextVector> vectors;
    for (const std::string& text : texts) {
      seen.push_back(text);
      TextVector vector(4, 1);
      for (const char* const word : {"display", "screen", "monitor"}) {
        if (text.find(word) != std::string::npos) vector[0] = 100;
      }
      for (const char* const word : {"wet", "water", "rain"}) {
        if (text.find(word) != std::string::npos) vector[1] = 100;
      }
      vectors.push_back(std::move(vector));
    }
    if (gives_nothing) vectors.clear();
    co_return vectors;
  }

  std::string called = "synonyms";
  std::string failure;
  bool gives_nothing = false;
  int asked = 0;
  Strings seen;
};

// The tools without threads, for schedulers that have none.
class MeaningToolHere final : public Tool {
 public:
  MeaningToolHere(std::shared_ptr<Memory> memory, std::shared_ptr<Embedder> embedder,
                  const std::string& name)
      : memory_(std::move(memory)), embedder_(std::move(embedder)), name_(name) {
    add_memory_tools(tools_, memory_, embedder_);
  }
  const ToolOffer& offer() const noexcept override { return tools_.find(name_)->offer(); }
  const ToolTraits& traits() const noexcept override { return tools_.find(name_)->traits(); }
  std::string mistake_in(std::string_view arguments) const override {
    return tools_.find(name_)->mistake_in(arguments);
  }
  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    const std::string text = text_of_memory_call(*memory_, name_, where, arguments);
    const Meaning meaning = co_await meaning_of(embedder_, text);
    if (!CrashTest::alive()) co_return ToolAnswer();
    const ToolAnswer answer = run_memory_tool(*memory_, name_, where, arguments, meaning);
    co_await sleep(1ms);
    co_return answer;
  }

 private:
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Embedder> embedder_;
  std::string name_;
  ToolSet tools_;
};

class MemoryEmbed : public testing::Test, public AgentWorld {
 protected:
  MemoryEmbed() {
    services.tools.add(std::make_shared<MeaningToolHere>(memory, embedder, "remember"));
    services.tools.add(std::make_shared<MeaningToolHere>(memory, embedder, "recall"));
  }
  Strings answers(std::vector<Message> replies) {
    model.replies = std::move(replies);
    model.replies.push_back(Message::assistant("Done"));
    Instruction ask;
    ask.instruction = "Learn.";
    test.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start(kAgentType, ask);
      static_cast<void>(co_await host.result<Summary>(id));
      for (std::string& line : host.records(id, 0, 1000)) log.push_back(std::move(line));
    });
    Strings all;
    for (const Message& each : model.last.messages) {
      if (each.role == Role::tool) all.push_back(each.text);
    }
    return all;
  }
  static Message remember(const std::string& text) {
    return calls("remember", R"({"text":)" + to_json(text) + "}");
  }
  static Message recall(const std::string& text) {
    return calls("recall", R"({"text":)" + to_json(text) + "}");
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  static Query means(TextVector vector, const std::string& model) {
    Query query;
    query.vector = std::move(vector);
    query.model = model;
    return query;
  }
  static Strings texts(const std::vector<Recalled>& notes) {
    Strings all;
    for (const Recalled& each : notes) all.push_back(each.text);
    return all;
  }
  static Note note(const std::string& text, TextVector vector = {}, const std::string& model = "") {
    Note made;
    made.kind = "fact";
    made.text = text;
    made.vector = std::move(vector);
    made.model = model;
    return made;
  }

  Scratch scratch;
  std::shared_ptr<Memory> memory = std::make_shared<Memory>(scratch / "memory.db");
  std::shared_ptr<Synonyms> embedder = std::make_shared<Synonyms>();
  Strings log;
};

TEST_F(MemoryEmbed, ANoteIsFoundByWhatItMeansAndTheModelSeesNoVector) {
  const Strings kept = answers({remember("Tests need a display."), remember("Water is wet.")});
  EXPECT_FALSE(has(kept.at(0), "vector")) << kept[0];
  const Strings said = answers({recall("which monitor")});
  const std::size_t first = said.at(0).find("Tests need a display.");
  EXPECT_LT(first, said[0].find("Water is wet.")) << said[0];
  EXPECT_FALSE(has(said[0], "vector")) << said[0];
  std::string records;
  for (const std::string& line : log) records += line;
  EXPECT_TRUE(has(records, R"(\"model\":\"synonyms\",\"vector\":\"ZAEBAQ==\")")) << records;
  EXPECT_TRUE(has(records, R"(\"model\":\"synonyms\",\"vector\":\"\",\"digest\":\")")) << records;
  std::string offers;
  for (const ToolOffer& each : model.last.tools) offers += each.about;
  EXPECT_TRUE(has(offers, "by what they mean")) << offers;
}

TEST_F(MemoryEmbed, WithoutAnAnswerOfTheEndpointANoteIsKeptAndFoundByItsWords) {
  embedder->failure = "The endpoint inner (http://10.1.1.1/v1) answered 500.";
  const Strings said = answers({remember("Tests need a display."), recall("display")});
  EXPECT_TRUE(has(said.at(0), R"("without_vector":"It is kept, and is found by its words alone.")"))
      << said[0];
  EXPECT_TRUE(has(said.at(1), "Tests need a display.")) << said[1];
  EXPECT_TRUE(has(said[1], R"("without_vector":"These were found by words alone)")) << said[1];
  EXPECT_FALSE(has(said[0] + said[1], "10.1.1.1")) << "the model needs no address";
  std::string records;
  for (const std::string& line : log) records += line;
  EXPECT_TRUE(has(records, "(http://10.1.1.1/v1) answered 500.")) << "the log says why";
  EXPECT_EQ(memory->counts().vectors, 0);
  embedder->failure.clear();
  embedder->gives_nothing = true;
  EXPECT_TRUE(has(answers({remember("Rain.")}).at(0), "without_vector"));
  // Those without a vector stand beside those with one.
  embedder->gives_nothing = false;
  const Strings later = answers({remember("A screen."), recall("a display of tests")});
  EXPECT_TRUE(has(later.at(1), "Tests need a display.") && has(later.at(1), "A screen."))
      << later[1];
  EXPECT_EQ(memory->counts().vectors, 1);
}

TEST_F(MemoryEmbed, ACallThatFailsOrHasNoWordAsksNobody) {
  answers(
      {recall("  \n"), calls("remember", R"({"text":"a\u0000b"})"),
       remember(std::string(3000, 'a') + std::string("\xE4\xB8\xAD") + std::string(5191, 'b'))});
  EXPECT_EQ(embedder->asked, 0);
  answers({remember("Once."), recall("once"), remember("Once.")});
  EXPECT_EQ(embedder->asked, 2) << "what was recalled is not remembered, and not embedded";
}

TEST_F(MemoryEmbed, TheLogAloneMakesTheNotesAndTheirVectorsAgain) {
  answers({remember("Tests need a display."), remember("Water is wet.")});
  embedder->called = "other";
  answers({remember("Water is wet."), remember("A plain note.")});
  const int asked = embedder->asked;
  Memory fresh(scratch / "fresh.db");
  const Strings backwards(log.rbegin(), log.rend());
  const Rebuilt report = fresh.rebuild(backwards);
  EXPECT_EQ(report.remembered, 4);
  EXPECT_EQ(embedder->asked, asked);
  EXPECT_EQ(fresh.counts().spaces, memory->counts().spaces);
  EXPECT_EQ(fresh.counts().vectors, 4);
  Query query = means({100, 1, 1, 1}, "synonyms");
  query.most = 1;
  EXPECT_EQ(texts(fresh.recall(query).notes), Strings{"Tests need a display."});
  // Again, where they are there: nothing changes.
  fresh.rebuild(log);
  EXPECT_EQ(fresh.counts().spaces, memory->counts().spaces);
}

TEST_F(MemoryEmbed, AVectorInTheLogThatIsNoneLeavesTheNoteWithItsWords) {
  answers({remember("Water is wet.")});
  const std::string good = R"(\"vector\":\"AWQBAQ==\")";
  std::string line;
  for (const std::string& each : log) line = has(each, good) ? each : line;
  ASSERT_FALSE(line.empty());
  for (const std::string& bad :
       {std::string(R"(\"vector\":\"????\")"), std::string(R"(\"vector\":7)"),
        R"(\"vector\":\")" + std::string(8000, 'A') + R"(\")"}) {
    const wal::RecordView view = wal::view_of(line);
    std::string payload(view.payload);
    payload.replace(payload.find(good), good.size(), bad);
    wal::Entry entry{};
    entry.type = wal::RecordType::ToolResult;
    entry.task = view.task;
    entry.payload = payload;
    entry.seq = 1;
    std::string other;
    wal::append_line(other, entry, wal::text_of_time(0), 0, false);
    Memory fresh(scratch / ("bad" + std::to_string(bad.size()) + ".db"));
    const Rebuilt report = fresh.rebuild(std::vector<std::string>{other});
    EXPECT_EQ(report.remembered, 1) << bad.substr(0, 40);
    EXPECT_EQ(fresh.counts().vectors, 0) << bad.substr(0, 40);
  }
}

TEST_F(MemoryEmbed, VectorsOfAnotherModelOrDimensionAreNotComparedAndStayWhereTheyAre) {
  memory->remember(note("a", {100, 0}, "one"));
  memory->remember(note("b", {100, 0, 0}, "one"));
  memory->remember(note("c", {100, 0}, "two"));
  memory->remember(note("d", {100, 0}));
  EXPECT_EQ(texts(memory->recall(means({1, 0}, "one")).notes), Strings{"a"});
  EXPECT_EQ(texts(memory->recall(means({1, 0, 0}, "one")).notes), Strings{"b"});
  EXPECT_EQ(texts(memory->recall(means({1, 0}, "two")).notes), Strings{"c"});
  EXPECT_EQ(texts(memory->recall(means({1, 0}, "")).notes), Strings{"d"});
  EXPECT_TRUE(memory->recall(means({1, 0}, "three")).notes.empty());
  // One that comes while another space is in memory.
  memory->remember(note("e", {100, 0}, "one"));
  memory->remember(note("f", {100, 0, 0}, "one"));
  EXPECT_EQ(texts(memory->recall(means({1, 0}, "one")).notes), (Strings{"a", "e"}));
  EXPECT_EQ(memory->counts().spaces.size(), 4u);
}

TEST_F(MemoryEmbed, NotesWithoutAVectorAreListedAndGetOne) {
  memory->remember(note("a", {100, 0}, "one"));
  const std::string b = memory->remember(note("b"));
  Note old = note("c");
  old.expires_us = 5;
  memory->remember(old);
  const std::string d = memory->remember(note("d", {9, 9}));
  EXPECT_EQ(texts(memory->without_vector("one", 2, 5).notes), (Strings{"b", "d"}));
  const MemoryPage page = memory->without_vector("one", 2, 5, 0, 1);
  EXPECT_EQ(texts(page.notes), Strings{"b"});
  EXPECT_EQ(texts(memory->without_vector("one", 2, 5, page.next, 1).notes), Strings{"d"});
  EXPECT_EQ(memory->count_without_vector("one", 3, 0), 4);
  std::vector<MemoryVector> vectors(3);
  vectors[0].id = b;
  vectors[1].id = "nobody";
  vectors[2].id = d;
  for (MemoryVector& each : vectors) each.vector = {90, 1};
  EXPECT_EQ(memory->recall(means({1, 0}, "one")).notes.size(), 1u);
  EXPECT_EQ(memory->embed("one", vectors), 2);
  EXPECT_EQ(texts(memory->recall(means({1, 0}, "one")).notes), (Strings{"a", "b", "d"}));
  EXPECT_EQ(memory->count_without_vector("one", 2, 5), 0);
  EXPECT_EQ(memory->recall(means({9, 9}, "")).notes.size(), 1u) << "its own one stays";
}

TEST_F(MemoryEmbed, AFileOfTheFirstVersionKeepsItsNotesAndVectors) {
  const std::string path = scratch / "old.db";
  {
    Memory made(path);
    made.remember(note("a", {3, 4}));
    made.remember(note("b"));
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  const char* const back =
      "CREATE TABLE before(node INTEGER PRIMARY KEY REFERENCES nodes ON DELETE CASCADE, "
      "vector BLOB NOT NULL); INSERT INTO before SELECT node, vector FROM vectors;"
      "DROP TABLE vectors; DROP TABLE spaces; ALTER TABLE before RENAME TO vectors;"
      "INSERT INTO settings VALUES('dimension', 2); PRAGMA user_version=1;";
  EXPECT_EQ(sqlite3_exec(db, back, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
  for (int i = 0; i < 2; ++i) {
    Memory memory_now(path);
    EXPECT_EQ(texts(memory_now.recall(means({3, 4}, "")).notes), Strings{"a"});
    EXPECT_EQ(memory_now.counts().notes, 2);
    ASSERT_EQ(memory_now.counts().spaces.size(), 1u);
    EXPECT_EQ(memory_now.counts().spaces[0].dimension, 2);
  }
  Memory memory_now(path);
  EXPECT_TRUE(memory_now.forget(memory_now.list().notes.at(0).id, 1));
  EXPECT_EQ(memory_now.counts().vectors, 0) << "vectors go with their notes";
}

TEST_F(MemoryEmbed, WhereverATaskIsCutOffItsNoteHasOneVectorAndTheLogTheSame) {
  model.replies = {remember("Water is wet."), recall("rain"), Message::assistant("Done")};
  const Uuid id = Uuid::derived(Uuid(), "agent");
  Instruction ask;
  ask.instruction = "Learn.";
  Memory fresh(scratch / "fresh.db");
  const std::size_t crashes = test.crash_everywhere(
      [&] {
        for (const Recalled& each : memory->list().notes) memory->forget(each.id, 0);
        memory->expire(std::numeric_limits<std::int64_t>::max());
      },
      [&](Host& host) -> Task<void> {
        co_await host.start_json(kAgentType, "[" + to_json(ask) + "]", id);
        static_cast<void>(co_await host.result<Summary>(id));
        log = host.records(id, 0, 1000);
      },
      [&] {
        EXPECT_EQ(memory->counts().vectors, 1) << "after slice " << test.crashed_after;
        fresh.rebuild(log);
        EXPECT_EQ(fresh.counts().vectors, 1) << "after slice " << test.crashed_after;
      });
  EXPECT_GT(crashes, 20U);
}

TEST_F(MemoryEmbed, RunOnAThreadWithTheEndpointOnTheLoop) {
  ToolSet tools;
  add_memory_tools(tools, memory, embedder);
  const auto program = [&]() -> Task<void> {
    ToolContext where;
    where.key = "task/tool remember#1/77";
    where.now_us = 5;
    const ToolAnswer answer =
        co_await tools.find("remember")->run(where, R"({"text":"A screen."})");
    EXPECT_TRUE(has(answer.kept, R"("vector":"ZAEBAQ==")")) << answer.kept;
    const ToolAnswer found = co_await tools.find("recall")->run(where, R"({"text":"monitor"})");
    EXPECT_TRUE(has(found.text, "A screen.")) << found.text;
    EXPECT_FALSE(has(found.kept, "ZAEBAQ")) << found.kept;
  };
  Scheduler scheduler;
  run_on(scheduler, program());
}

}  // namespace memory_embed_test
}  // namespace tiffany::agent
