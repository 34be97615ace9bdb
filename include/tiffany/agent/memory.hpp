// The memory of agents: notes in one SQLite file, found by their words, by vectors, and by the
// edges between them. For what one task learned and another can use. Not for what a task itself
// needs to go on: that is in its log.
//
//   agent::Memory memory("state/memory.db");
//   agent::Note note;
//   note.kind = "fact";
//   note.text = "The tests need a display.";
//   note.task = id.text();
//   const std::string it = memory.remember(note);
//   agent::Query query;
//   query.text = "why do tests fail?";
//   for (const agent::Recalled& each : memory.recall(query).notes) ...
//
// The same text of the same kind is one note, whose origins grow. A note says from which step of
// which task it came; notes of the tool `remember` (agent/memory_tools.hpp) can be read from the
// log again (rebuild).
//
// All functions block, for milliseconds or as long as the disk takes: tasks call them by offload
// (io/offload.hpp). Thread safety: calls from several threads run one after the other; several
// processes may have the same file open. Errors: memory_failed when the file cannot be read or
// written, with what to do; bad_argument for what is beyond a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/codec.hpp"

namespace tiffany::agent {

class MemoryLimits {
 public:
  static constexpr std::size_t kText = std::size_t{8} << 10;  // bytes of a note
  static constexpr std::size_t kKind = 64;                    // bytes of a kind
  static constexpr std::size_t kResults = 100;                // of a recall; entries of a page
  static constexpr std::size_t kTerms = 32;         // words of a query; others do not count
  static constexpr std::size_t kKinds = 16;         // of a query
  static constexpr int kDepth = 4;                  // edges from a hit
  static constexpr std::size_t kNeighbours = 1000;  // looked at in a recall
  static constexpr std::size_t kDimension = 4096;   // of vectors
  static constexpr std::size_t kLinks = 16;         // of a note
  static constexpr std::size_t kOrigins = 8;        // shown with a note, the newest
};

class MemoryOptions {
 public:
  MemoryOptions() = default;
  std::int64_t most_bytes = std::int64_t{4} << 30;  // of the file
  int patience_ms = 5000;  // how long another process may write before a call fails
};

// A step of a task that said a text. An empty task: no log has it.
class Origin {
 public:
  Origin() = default;
  std::string task{};
  std::string step{};           // as the records of the log name it: "tool remember#1"
  std::int64_t made_us = 0;     // since 1970
  std::int64_t expires_us = 0;  // 0: never
  bool operator==(const Origin&) const = default;
};
TIFFANY_JSON(Origin, task, step, made_us, expires_us);

class Note {
 public:
  Note() = default;
  std::string kind{};
  std::string text{};  // UTF-8 without NUL
  std::string task{};
  std::string step{};
  std::int64_t made_us = 0;
  std::int64_t expires_us = 0;        // 0: never
  std::vector<std::string> see{};     // ids of other notes: edges of the kind "see"
  std::vector<std::int8_t> vector{};  // empty: none
  // What made the vector (agent/embedder.hpp). Empty: the program itself, whose vectors all have
  // one dimension.
  std::string model{};
};
TIFFANY_JSON(Note, kind, text, task, step, made_us, expires_us, see);

class Query {
 public:
  Query() = default;
  std::string text{};                 // words, not a language: no text is a mistake
  std::vector<std::int8_t> vector{};  // compared with those of the same model and dimension
  std::string model{};
  std::vector<std::string> kinds{};  // empty: all
  std::size_t most = 10;
  int depth = 0;            // notes that are so many edges away come, too, behind the hits
  std::int64_t now_us = 0;  // what has expired by then is left out
  std::string task{};       // that will not remember what it recalled; empty: not written down
};

class Recalled {
 public:
  Recalled() = default;
  std::string id{};  // made from kind and text: the same in every file
  std::string kind{};
  std::string text{};
  std::int64_t made_us = 0;     // the earliest
  std::int64_t expires_us = 0;  // the latest; 0: never
  std::vector<Origin> origins{};
  double score = 0;  // greater is better; of one recall only
  int distance = 0;  // in edges; 0: a hit
  bool operator==(const Recalled&) const = default;
};

class Recollection {
 public:
  Recollection() = default;
  std::vector<Recalled> notes{};
};

class MemoryEdge {
 public:
  MemoryEdge() = default;
  std::string from{};
  std::string to{};
  std::string kind{};
  bool operator==(const MemoryEdge&) const = default;
};

class MemoryPage {
 public:
  MemoryPage() = default;
  std::vector<Recalled> notes{};
  std::int64_t next = 0;  // what list() takes for the next page; 0: there is none
};

// Vectors that can be compared with one another.
class MemorySpace {
 public:
  MemorySpace() = default;
  std::string model{};
  std::int64_t dimension = 0;
  std::int64_t vectors = 0;
  bool operator==(const MemorySpace&) const = default;
};

class MemoryCounts {
 public:
  MemoryCounts() = default;
  std::int64_t notes = 0;
  std::int64_t origins = 0;
  std::int64_t edges = 0;
  std::int64_t vectors = 0;
  std::vector<MemorySpace> spaces{};  // by model and dimension
};

class MemoryVector {
 public:
  MemoryVector() = default;
  std::string id{};  // of a note
  std::vector<std::int8_t> vector{};
};

class Rebuilt {
 public:
  Rebuilt() = default;
  std::int64_t records = 0;     // of the tools of the memory
  std::int64_t remembered = 0;  // of these, notes that are there now
  std::int64_t unreadable = 0;  // whose values could not be read
};

class Memory {
 public:
  // Opens the file, or makes one that only its owner can read. memory_failed for a file of another
  // program, of a newer version, or that is damaged.
  explicit Memory(std::string path, MemoryOptions options = {});
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Gives the id. The same text, kind, task and step again change nothing. On the disk when it
  // returns.
  std::string remember(const Note& note);
  // Whether a task has recalled that text before: it is not a thing that the task learned. White
  // space does not count.
  bool was_recalled(std::string_view task, std::string_view text);
  // False: one of the two is not there, or the edge was there already.
  bool connect(std::string_view from, std::string_view to, std::string_view kind);
  // By words (bm25), by vector (cosine), or by both (reciprocal ranks). Neither: the newest.
  Recollection recall(const Query& query);
  // False: it is not there. A rebuild does not bring back what was said before `now_us`.
  bool forget(std::string_view id, std::int64_t now_us);
  // Removes what has expired; gives how many notes.
  std::int64_t expire(std::int64_t now_us);
  // In the order in which they came. `after`: 0, or `next` of the page before.
  MemoryPage list(std::int64_t after = 0, std::size_t most = MemoryLimits::kResults);
  std::optional<Recalled> find(std::string_view id);
  // Edges from or to these notes, at most kNeighbours.
  std::vector<MemoryEdge> edges(const std::vector<std::string>& ids);
  MemoryCounts counts();

  // As list(), of notes that have not expired and have no vector of that model and dimension.
  MemoryPage without_vector(std::string_view model, std::size_t dimension, std::int64_t now_us,
                            std::int64_t after = 0, std::size_t most = MemoryLimits::kResults);
  std::int64_t count_without_vector(std::string_view model, std::size_t dimension,
                                    std::int64_t now_us);
  // Gives notes that are there a vector; gives how many they were. On the disk when it returns.
  std::int64_t embed(std::string_view model, const std::vector<MemoryVector>& vectors);

  // Makes the notes those that the records of a log say, all or nothing, with the vectors that are
  // in them. Notes without a task, vectors and edges of notes that are still there, and what was
  // forgotten stay. `value` gives what a reference or an encoded value means; without it such
  // records are counted only.
  using ValueOf = std::function<std::string(std::string_view json)>;
  Rebuilt rebuild(std::span<const std::string> lines, const ValueOf& value = {});

  struct Parts;  // of the sources alone

 private:
  std::unique_ptr<Parts> parts_;
};

// Numbers between -127 and 127 in the same direction.
std::vector<std::int8_t> quantized(std::span<const float> vector);

}  // namespace tiffany::agent
