// The memory of agents on real files: what is found, what is refused, and what a rebuild gives.
#include "tiffany/agent/memory.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/repository.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::agent {
namespace memory_test {

using canvas_support::read_file;
using canvas_support::Scratch;
using canvas_support::Thrown;
using canvas_support::thrown_by;
using canvas_support::write_file;

class MemoryTest : public testing::Test {
 protected:
  Note note(const std::string& text, const std::string& kind = "fact",
            const std::string& task = "t1", const std::string& step = "s1") {
    Note made;
    made.text = text;
    made.kind = kind;
    made.task = task;
    made.step = step;
    made.made_us = ++clock;
    return made;
  }
  static Query words(const std::string& text) {
    Query query;
    query.text = text;
    return query;
  }
  static std::vector<std::string> texts(const Recollection& found) {
    std::vector<std::string> all;
    for (const Recalled& each : found.notes) all.push_back(each.text);
    return all;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  std::string refused() {
    const Thrown thrown = thrown_by([&] { const Memory opened(path); });
    EXPECT_EQ(thrown.code, Errc::memory_failed) << thrown.sentence;
    return thrown.sentence;
  }
  void sql(const std::string& statement) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  using Texts = std::vector<std::string>;
  Scratch scratch;
  const std::string path = scratch / "memory.db";
  std::int64_t clock = 1000;
};

TEST_F(MemoryTest, WhatIsRememberedIsRecalledByItsWordsAndStaysInTheFile) {
  {
    Memory memory(path);
    memory.remember(note("The tests need a display."));
    memory.remember(note("Releases are made on Fridays."));
  }
  Memory memory(path);
  const Recollection found = memory.recall(words("why do the TESTS fail without a display"));
  ASSERT_GE(found.notes.size(), 1U);
  EXPECT_EQ(found.notes[0].text, "The tests need a display.");
  EXPECT_EQ(found.notes[0].kind, "fact");
  ASSERT_EQ(found.notes[0].origins.size(), 1U);
  EXPECT_EQ(found.notes[0].origins[0].task, "t1");
  EXPECT_EQ(found.notes[0].origins[0].step, "s1");
  EXPECT_EQ(texts(memory.recall(words("friday fridays"))), Texts{"Releases are made on Fridays."});
}

TEST_F(MemoryTest, TheFileIsForItsOwnerAlone) {
  Memory memory(path);
  memory.remember(note("private"));
  for (const char* beside : {"", "-wal", "-shm"}) {
    struct stat about{};
    ASSERT_EQ(stat((path + beside).c_str(), &about), 0) << beside;
    EXPECT_EQ(about.st_mode & 0777U, 0600U) << beside;
  }
}

TEST_F(MemoryTest, TheSameTextOfTheSameKindIsOneNoteWhoseOriginsGrow) {
  Memory memory(path);
  Note first = note("Same.", "fact", "t1");
  first.expires_us = 5000;
  const std::string id = memory.remember(first);
  EXPECT_EQ(memory.remember(first), id) << "again after a crash";
  EXPECT_EQ(memory.counts().origins, 1);
  Note second = note("Same.", "fact", "t2");
  second.expires_us = 9000;
  EXPECT_EQ(memory.remember(second), id);
  EXPECT_NE(memory.remember(note("Same.", "rule")), id);
  EXPECT_EQ(memory.counts().notes, 2);
  Query query = words("same");
  query.kinds = {"fact"};
  const Recollection found = memory.recall(query);
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(found.notes[0].made_us, first.made_us);
  EXPECT_EQ(found.notes[0].expires_us, 9000);
  ASSERT_EQ(found.notes[0].origins.size(), 2U);
  EXPECT_EQ(found.notes[0].origins[0].task, "t2") << "the newest first";
  Note third = note("Same.", "fact", "t3");
  memory.remember(third);
  EXPECT_EQ(memory.recall(query).notes[0].expires_us, 0) << "one of them never expires";
}

TEST_F(MemoryTest, WhatHasExpiredIsLeftOutAndThenRemoved) {
  Memory memory(path);
  Note passing = note("The server is down.");
  passing.expires_us = 5000;
  passing.vector = {1, 2, 3};
  memory.remember(passing);
  memory.remember(note("The server is old."));
  Query query = words("server");
  query.vector = {1, 2, 3};
  query.now_us = 4999;
  EXPECT_EQ(memory.recall(query).notes.size(), 2U);
  query.now_us = 5000;
  EXPECT_EQ(texts(memory.recall(query)), Texts{"The server is old."});
  EXPECT_EQ(memory.expire(4999), 0);
  EXPECT_EQ(memory.expire(5000), 1);
  EXPECT_EQ(memory.counts().notes, 1);
  EXPECT_EQ(memory.counts().origins, 1);
  EXPECT_EQ(memory.counts().vectors, 0);
  query.now_us = 0;
  EXPECT_EQ(texts(memory.recall(query)), Texts{"The server is old."});
}

TEST_F(MemoryTest, NoTextOfAQueryIsAMistakeOrALanguage) {
  Memory memory(path);
  memory.remember(note("alpha beta"));
  memory.remember(note("gamma \xF0\x9F\x98\x80 delta"));
  const std::string nul("alpha\0gamma", 11);
  for (const std::string& query : {std::string("\""),
                                   std::string("\"\"\"alpha"),
                                   std::string("alpha AND"),
                                   std::string("NEAR(alpha beta, 1)"),
                                   std::string("text:alpha"),
                                   std::string("alpha*"),
                                   std::string("^alpha"),
                                   std::string("(alpha"),
                                   std::string("-alpha"),
                                   std::string("{text}:"),
                                   std::string("alpha'; DROP TABLE nodes; --"),
                                   nul,
                                   std::string("\xF0\x9F\x98\x80"),
                                   std::string("\xFF\xC3"),
                                   std::string("\xE4\xB8\xAD\xE6\x96\x87"),
                                   std::string("   "),
                                   std::string("NOT"),
                                   std::string("OR OR OR"),
                                   std::string(100'000, 'a'),
                                   std::string(100'000, '"'),
                                   std::string(5000, '(')}) {
    EXPECT_NO_THROW(memory.recall(words(query))) << query.substr(0, 40);
  }
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "w" + std::to_string(i) + " ";
  EXPECT_NO_THROW(memory.recall(words(many)));
  EXPECT_EQ(texts(memory.recall(words("alpha NOT alpha"))), Texts{"alpha beta"});
  EXPECT_EQ(memory.recall(words(nul)).notes.size(), 2U) << "NUL is between two words";
  EXPECT_TRUE(memory.recall(words("!!!")).notes.empty());
  EXPECT_EQ(memory.recall(words("")).notes.size(), 2U) << "no words: the newest";
  EXPECT_EQ(memory.counts().notes, 2);
}

TEST_F(MemoryTest, RandomBytesAsQueryAndKindDoNoHarm) {
  Memory memory(path);
  memory.remember(note("alpha beta"));
  Random random(7);
  for (int i = 0; i < 50; ++i) {
    std::string bytes;
    const std::uint64_t size = random.below(60);
    for (std::uint64_t at = 0; at < size; ++at) bytes += static_cast<char>(random.below(256));
    Query query = words(bytes);
    query.kinds = {bytes};
    query.depth = 2;
    EXPECT_NO_THROW(memory.recall(query));
  }
}

TEST_F(MemoryTest, WhatIsBeyondALimitIsRefusedWithASentence) {
  Memory memory(path);
  const auto refusal = [&](const Note& made) {
    const Thrown thrown = thrown_by([&] { memory.remember(made); });
    EXPECT_EQ(thrown.code, Errc::bad_argument) << thrown.sentence;
    return thrown.sentence;
  };
  EXPECT_EQ(refusal(note("")), "The text of a note is empty.");
  EXPECT_EQ(refusal(note(std::string(8193, 'a'))),
            "The text of a note has 8193 bytes, and may have 8192.");
  EXPECT_EQ(refusal(note(std::string("a\0b", 3))), "The text of a note has a character NUL.");
  EXPECT_EQ(refusal(note("\xFF")), "The text of a note is not UTF-8.");
  EXPECT_EQ(refusal(note("a", "")), "The kind of a note or an edge is empty.");
  Note many = note("a");
  many.see.assign(17, "x");
  EXPECT_EQ(refusal(many), "A note names more than 16 other notes.");
  Note wide = note("a");
  wide.vector.assign(4097, 1);
  refusal(wide);
  Query query = words("a");
  query.most = 101;
  EXPECT_EQ(thrown_by([&] { memory.recall(query); }).sentence,
            "A query asks for 101 notes, and may ask for 1 to 100.");
  query.most = 1;
  query.depth = 5;
  EXPECT_EQ(thrown_by([&] { memory.recall(query); }).code, Errc::bad_argument);
  EXPECT_EQ(memory.counts().notes, 0);
}

TEST_F(MemoryTest, VectorsAreScannedExactlyAndHaveOneDimension) {
  Memory memory(path);
  Random random(3);
  std::vector<std::vector<std::int8_t>> all;
  for (int i = 0; i < 60; ++i) {
    Note made = note("n" + std::to_string(i), i % 2 == 0 ? "even" : "odd");
    for (int at = 0; at < 40; ++at) {
      made.vector.push_back(static_cast<std::int8_t>(static_cast<int>(random.below(255)) - 127));
    }
    all.push_back(made.vector);
    memory.remember(made);
  }
  Query query;
  query.vector = all[17];
  query.most = 3;
  EXPECT_EQ(memory.recall(query).notes.at(0).text, "n17");
  query.kinds = {"even"};
  const Recollection found = memory.recall(query);
  ASSERT_EQ(found.notes.size(), 3U);
  const auto cosine = [&](std::size_t of) {
    double dot = 0;
    double own = 0;
    for (std::size_t at = 0; at < 40; ++at) {
      dot += all[17][at] * all[of][at];
      own += all[of][at] * all[of][at];
    }
    return dot / std::sqrt(own);
  };
  std::size_t best = 0;
  for (std::size_t i = 0; i < 60; i += 2) best = cosine(i) > cosine(best) ? i : best;
  EXPECT_EQ(found.notes[0].text, "n" + std::to_string(best));
  Note other = note("other");
  other.vector = {1, 2};
  const Thrown thrown = thrown_by([&] { memory.remember(other); });
  EXPECT_EQ(thrown.sentence,
            "The vector of a note has 2 numbers, and those of this memory have 40.");
  EXPECT_EQ(memory.counts().notes, 60) << "nothing of it is stored";
  EXPECT_EQ(memory.counts().spaces.at(0).dimension, 40);
  query.vector = {1, 2};
  query.kinds.clear();
  EXPECT_TRUE(memory.recall(query).notes.empty());
  EXPECT_EQ(memory.recall(words("n5")).notes.size(), 1U);
}

TEST_F(MemoryTest, WordsAndVectorTogetherPreferWhatBothFind) {
  Memory memory(path);
  Note both = note("printer out of paper");
  both.vector = {10, 0};
  Note word = note("printer printer printer");
  word.vector = {0, 10};
  Note vector = note("scanner");
  vector.vector = {10, 1};
  memory.remember(vector);
  memory.remember(word);
  memory.remember(both);
  Query query = words("printer");
  query.vector = {10, 0};
  EXPECT_EQ(memory.recall(query).notes.at(0).text, "printer out of paper");
  EXPECT_EQ(quantized(std::vector<float>{0.5F, -1, 0, std::nanf("")}),
            (std::vector<std::int8_t>{64, -127, 0, 0}));
}

TEST_F(MemoryTest, NeighboursComeBehindTheHitsByTheirDistance) {
  Memory memory(path);
  const std::string a = memory.remember(note("alpha"));
  const std::string b = memory.remember(note("beta"));
  Note last = note("gamma");
  last.see = {b, "nobody"};
  const std::string c = memory.remember(last);
  EXPECT_TRUE(memory.connect(a, b, "because"));
  EXPECT_FALSE(memory.connect(a, b, "because"));
  EXPECT_FALSE(memory.connect(a, "nobody", "because"));
  EXPECT_TRUE(memory.connect(c, a, "around")) << "a circle";
  Query query = words("alpha");
  EXPECT_EQ(texts(memory.recall(query)), Texts{"alpha"});
  query.depth = 4;
  EXPECT_EQ(texts(memory.recall(query)), (Texts{"alpha", "beta", "gamma"}));
  EXPECT_EQ(memory.recall(query).notes[2].distance, 1);
  EXPECT_TRUE(memory.forget(b, 2000));
  EXPECT_EQ(memory.counts().edges, 1);
  EXPECT_FALSE(memory.forget(b, 2000));
  EXPECT_TRUE(memory.recall(words("beta")).notes.empty());
}

TEST_F(MemoryTest, AManyTimesConnectedNoteIsNoTrap) {
  Memory memory(path);
  std::vector<std::string> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(memory.remember(note("x" + std::to_string(i))));
  for (const std::string& a : ids) {
    for (const std::string& b : {ids[0], ids[1], ids[2]}) memory.connect(a, b, "all");
  }
  Query query = words("x5");
  query.depth = 4;
  query.most = 100;
  EXPECT_EQ(memory.recall(query).notes.size(), 40U);
}

TEST_F(MemoryTest, AWordThatVeryManyNotesHaveDoesNotHideOneThatFewHave) {
  Memory memory(path);
  const std::string zebra = memory.remember(note("The zebra is common here."));
  sql("INSERT INTO nodes(id, kind, text, made_us, expires_us) "
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) "
      "SELECT 'n' || i, 'fact', 'A common thing ' || i, i, 0 FROM n");
  sql("INSERT INTO texts(rowid, text) SELECT key, text FROM nodes WHERE id LIKE 'n%'");
  const Recollection both = memory.recall(words("common zebra"));
  ASSERT_EQ(both.notes.size(), 10U) << "and then those that have the other word";
  EXPECT_EQ(both.notes.front().id, zebra) << "the oldest of all";
  EXPECT_EQ(memory.recall(words("common")).notes.size(), 10U);
  EXPECT_EQ(texts(memory.recall(words("a thing 4711"))).front(), "A common thing 4711");
  Query none = words("common");
  none.kinds = {"how-to"};
  EXPECT_TRUE(memory.recall(none).notes.empty());
}

TEST_F(MemoryTest, ANoteIsFoundByItsIdWithTheEdgesFromItAndToIt) {
  Memory memory(path);
  const std::string a = memory.remember(note("first"));
  Note second = note("second");
  second.see = {a};
  const std::string b = memory.remember(second);
  const std::string c = memory.remember(note("third"));
  memory.connect(c, b, "after");
  EXPECT_EQ(memory.find(b)->text, "second");
  EXPECT_EQ(memory.find(b)->origins.front().task, "t1");
  EXPECT_FALSE(memory.find("nowhere"));
  EXPECT_FALSE(memory.find("\xff"));
  const std::vector<MemoryEdge> edges = memory.edges({b});
  ASSERT_EQ(edges.size(), 2U);
  EXPECT_EQ(edges[0].from + edges[0].to + edges[0].kind, b + a + "see");
  EXPECT_EQ(edges[1].from + edges[1].to + edges[1].kind, c + b + "after");
  EXPECT_TRUE(memory.edges({}).empty());
  memory.forget(a, 9);
  EXPECT_EQ(memory.edges({b}).size(), 1U);
}

TEST_F(MemoryTest, PagesGoThroughEverything) {
  Memory memory(path);
  for (int i = 0; i < 5; ++i) memory.remember(note("x" + std::to_string(i)));
  Texts all;
  std::int64_t after = 0;
  int pages = 0;
  do {
    const MemoryPage page = memory.list(after, 2);
    for (const Recalled& each : page.notes) all.push_back(each.text);
    after = page.next;
    ++pages;
  } while (after != 0);
  EXPECT_EQ(all, (Texts{"x0", "x1", "x2", "x3", "x4"}));
  EXPECT_EQ(pages, 3);
}

// ---- Files ----

TEST_F(MemoryTest, AFileOfAnotherProgramIsLeftAsItIs) {
  write_file(path, "This is a letter.\n" + std::string(5000, 'x'));
  const std::string before = read_file(path);
  EXPECT_TRUE(has(refused(), "is a file of another kind"));
  EXPECT_EQ(read_file(path), before);
  std::filesystem::remove(path);
  sql("CREATE TABLE songs(name)");
  EXPECT_TRUE(has(refused(), "is a database of another program"));
}

TEST_F(MemoryTest, ANewerVersionIsRefused) {
  {
    const Memory memory(path);
  }
  sql("PRAGMA user_version=3");
  EXPECT_TRUE(has(refused(), "has version 3, and this program knows 2"));
}

TEST_F(MemoryTest, ATruncatedFileIsSaidToBeDamaged) {
  {
    Memory memory(path);
    for (int i = 0; i < 60; ++i) memory.remember(note(std::string(900, 'a') + std::to_string(i)));
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2 / 4096 * 4096);
  EXPECT_TRUE(has(refused(), "is damaged")) << refused();
  EXPECT_TRUE(has(refused(), "rebuild the memory from the log"));
}

TEST_F(MemoryTest, DamageInTheMiddleIsAnErrorAndNoCrash) {
  {
    Memory memory(path);
    for (int i = 0; i < 60; ++i) memory.remember(note(std::string(900, 'a') + std::to_string(i)));
  }
  const std::string good = read_file(path);
  Random random(11);
  for (int trial = 0; trial < 8; ++trial) {
    std::string bad = good;
    const std::size_t page = 1 + random.below(bad.size() / 4096 - 1);
    for (int i = 0; i < 300; ++i) {
      bad[page * 4096 + random.below(4096)] = static_cast<char>(random.below(256));
    }
    write_file(path, bad);
    try {
      Memory memory(path);
      memory.recall(words("a"));
      memory.list();
      memory.remember(note("new"));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::memory_failed) << error.what();
    }
    std::filesystem::remove(path + "-wal");
    std::filesystem::remove(path + "-shm");
  }
}

TEST_F(MemoryTest, PlacesWhereNothingCanBeWrittenAreNamed) {
  for (const char* where : {"/proc/memory.db", "/nowhere/memory.db", "/dev/shm", "/dev/null"}) {
    const Thrown thrown = thrown_by([&] { const Memory memory(where); });
    EXPECT_EQ(thrown.code, Errc::memory_failed) << thrown.sentence;
    EXPECT_TRUE(has(thrown.sentence, where)) << thrown.sentence;
  }
  EXPECT_EQ(thrown_by([] { const Memory memory(""); }).code, Errc::bad_argument);
}

TEST_F(MemoryTest, AFullMemorySaysSoAndGoesOnWhenThereIsRoom) {
  MemoryOptions small;
  small.most_bytes = 64 * 4096;
  Memory memory(path, small);
  std::string long_text;
  for (int i = 0; i < 800; ++i) long_text += "word ";
  std::vector<std::string> ids;
  const Thrown thrown = thrown_by([&] {
    for (int i = 0; i < 1000; ++i)
      ids.push_back(memory.remember(note(long_text + std::to_string(i))));
  });
  EXPECT_EQ(thrown.code, Errc::memory_failed);
  EXPECT_TRUE(has(thrown.sentence, "has no room")) << thrown.sentence;
  EXPECT_EQ(memory.counts().notes, static_cast<std::int64_t>(ids.size()));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(memory.forget(ids.at(i), 1));
  EXPECT_NO_THROW(memory.remember(note("small")));
}

TEST_F(MemoryTest, AProcessThatEndsInTheMiddleLeavesWhatItHadRemembered) {
  const pid_t child = fork();
  if (child == 0) {
    auto* const memory = new Memory(path);  // never closed
    for (int i = 0; i < 5; ++i) memory->remember(note("x" + std::to_string(i)));
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  Memory memory(path);
  EXPECT_EQ(memory.counts().notes, 5);
  EXPECT_EQ(memory.recall(words("x3")).notes.size(), 1U);
}

TEST_F(MemoryTest, TwoConnectionsSeeWhatTheOtherDoesVectorsToo) {
  Memory one(path);
  Memory other(path);
  Note made = note("shared");
  made.vector = {1, 2, 3};
  const std::string id = one.remember(made);
  Query query;
  query.vector = {1, 2, 3};
  EXPECT_EQ(other.recall(query).notes.size(), 1U);
  EXPECT_TRUE(one.forget(id, 1));
  EXPECT_TRUE(other.recall(query).notes.empty());
}

TEST_F(MemoryTest, ThreadsAndConnectionsWriteOneAfterTheOther) {
  Memory one(path);
  Memory other(path);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&one, &other, t] {
      Memory& memory = t % 2 == 0 ? one : other;
      for (int i = 0; i < 10; ++i) {
        Note made;
        made.kind = "k";
        made.text = "n" + std::to_string(i);
        made.task = "t" + std::to_string(t);
        memory.remember(made);
        Query query;
        query.text = made.text;
        memory.recall(query);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(one.counts().notes, 10);
  EXPECT_EQ(one.counts().origins, 40);
}

TEST_F(MemoryTest, AnotherProcessThatKeepsWritingIsNamedAfterSomeTime) {
  MemoryOptions impatient;
  impatient.patience_ms = 10;
  Memory memory(path, impatient);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const Thrown thrown = thrown_by([&] { memory.remember(note("late")); });
  EXPECT_TRUE(has(thrown.sentence, "is being written by another process")) << thrown.sentence;
  EXPECT_TRUE(memory.recall(words("late")).notes.empty()) << "reading goes on";
  sqlite3_close(db);
  EXPECT_NO_THROW(memory.remember(note("late")));
}

}  // namespace memory_test
}  // namespace tiffany::agent
