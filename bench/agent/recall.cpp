// Ten of 100,000 notes with vectors of 384 numbers, the nearest. Bar: 15 ms. There is no index:
// what a note costs, of a million of them (quick: 250,000), says what any number does. And a note
// that is written before a recall must not make it read all of them.
#include <sqlite3.h>

#include <random>

#include "agent/spawn.hpp"
#include "tiffany/agent/memory.hpp"

namespace {

using namespace agent_rows;

constexpr std::size_t kDimension = 384;

std::vector<std::int8_t> any_vector(std::mt19937& random) {
  std::vector<std::int8_t> vector(kDimension);
  for (std::int8_t& each : vector) each = static_cast<std::int8_t>(random() % 255 - 127);
  return vector;
}

// Made once, and kept for the rounds that follow. All at once, and not note by note: that takes
// minutes for a million.
std::string notes(std::size_t count) {
  const std::string kept =
      std::string(TIFFANY_AGENT_DATA) + "/notes-" + std::to_string(count) + ".db";
  if (std::filesystem::exists(kept)) return kept;
  std::filesystem::create_directories(TIFFANY_AGENT_DATA);
  std::filesystem::remove(kept + ".new");
  {
    agent::Memory memory(kept + ".new");
    agent::Note first;
    first.kind = "fact";
    first.text = "Note";
    first.vector.assign(kDimension, 1);
    memory.remember(first);
  }
  const std::string fill =
      "PRAGMA synchronous=OFF; BEGIN;"
      "WITH RECURSIVE some(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM some WHERE i < " +
      std::to_string(count) +
      ") INSERT INTO nodes SELECT i, printf('%032x', i), 'fact', 'Note ' || i, 0, 0 FROM some;"
      "INSERT INTO origins SELECT key, '', '', 0, 0 FROM nodes WHERE key > 1;"
      "INSERT INTO texts(rowid, text) SELECT key, text FROM nodes WHERE key > 1;"
      "INSERT INTO vectors SELECT key, 1, randomblob(384) FROM nodes WHERE key > 1; COMMIT;"
      "PRAGMA wal_checkpoint(TRUNCATE)";
  sqlite3* db = nullptr;
  bool done = sqlite3_open((kept + ".new").c_str(), &db) == SQLITE_OK;
  done = done && sqlite3_exec(db, fill.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  sqlite3_close(db);
  bench::check(done, "a memory is made");
  std::filesystem::rename(kept + ".new", kept);
  return kept;
}

double recall_of(std::size_t count, int rounds) {
  agent::Memory memory(notes(count));
  std::mt19937 random(8);
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    agent::Query query;
    query.vector = any_vector(random);
    const durable_rows::Stopwatch watch;
    const agent::Recollection found = memory.recall(query);
    if (i > 0) times.push_back(watch.us() / 1e3);  // the first reads all vectors
    bench::check(found.notes.size() == 10, "ten notes are found");
  }
  return median(std::move(times));
}

double recall_100k(const bench::Suite& suite) {
  return recall_of(100'000, suite.quick() ? 10 : 40);
}

double recall_each(const bench::Suite& suite) {
  const std::size_t count = suite.scale(1'000'000, 250'000);
  return recall_of(count, 10) * 1e6 / static_cast<double>(count);
}

// A note, and the recall behind it.
double recall_changed(const bench::Suite& suite) {
  agent::Memory memory(notes(250'000));
  std::mt19937 random(9);
  std::vector<double> times;
  for (int i = 0; i < (suite.quick() ? 5 : 20); ++i) {
    agent::Query query;
    query.vector = any_vector(random);
    agent::Note note;
    note.kind = "fact";
    note.text = "Another note";
    note.vector = any_vector(random);
    const std::string id = memory.remember(note);
    const durable_rows::Stopwatch watch;
    const agent::Recollection found = memory.recall(query);
    if (i > 0) times.push_back(watch.us() / 1e3);
    bench::check(found.notes.size() == 10, "ten notes are found");
    memory.forget(id, 0);
  }
  return median(std::move(times));
}

const bench::Row row("recall_100k", "ms", bench::Weight::light, recall_100k);
const bench::Row row_each("recall_each", "ns", bench::Weight::heavy, recall_each);
const bench::Row row_changed("recall_changed", "ms", bench::Weight::heavy, recall_changed);

}  // namespace
