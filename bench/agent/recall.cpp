// Ten of 100,000 notes with vectors of 384 numbers, the nearest. Bar: 15 ms.
#include <random>

#include "agent/spawn.hpp"
#include "tiffany/agent/memory.hpp"

namespace {

using namespace agent_rows;

constexpr std::size_t kNotes = 100'000;
constexpr std::size_t kDimension = 384;

std::vector<std::int8_t> any_vector(std::mt19937& random) {
  std::vector<std::int8_t> vector(kDimension);
  for (std::int8_t& each : vector) each = static_cast<std::int8_t>(random() % 255 - 127);
  return vector;
}

// Made once, in memory so that no note waits for a disk, and kept for the rounds that follow.
std::string notes() {
  const std::string kept = std::string(TIFFANY_AGENT_DATA) + "/notes.db";
  if (std::filesystem::exists(kept)) return kept;
  std::filesystem::create_directories(TIFFANY_AGENT_DATA);
  const std::string made = "/dev/shm/tiffany-notes-" + std::to_string(getpid());
  {
    agent::Memory memory(made);
    std::mt19937 random(7);
    for (std::size_t i = 0; i < kNotes; ++i) {
      agent::Note note;
      note.kind = "fact";
      note.text = "Note " + std::to_string(i);
      note.vector = any_vector(random);
      memory.remember(note);
    }
  }
  std::filesystem::copy_file(made, kept + ".new");
  std::filesystem::rename(kept + ".new", kept);
  for (const char* const end : {"", "-wal", "-shm"}) std::filesystem::remove(made + end);
  return kept;
}

double recall_100k(const bench::Suite& suite) {
  agent::Memory memory(notes());
  std::mt19937 random(8);
  std::vector<double> times;
  for (int i = 0; i < (suite.quick() ? 10 : 40); ++i) {
    agent::Query query;
    query.vector = any_vector(random);
    const durable_rows::Stopwatch watch;
    const agent::Recollection found = memory.recall(query);
    if (i > 0) times.push_back(watch.us() / 1e3);  // the first reads all vectors
    bench::check(found.notes.size() == 10, "ten notes are found");
  }
  return median(std::move(times));
}

const bench::Row row("recall_100k", "ms", bench::Weight::light, recall_100k);

}  // namespace
