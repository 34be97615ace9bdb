// One record of the write-ahead log: a JSON object on a line of its own. docs/17-wal.md is the
// format.
//
//   {"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"StepEnd","task_id":"6f1c...",
//    "step":"charge#1","result":7,"seq":4,"tid":12,"vt":1200345,"loc":"order.cpp:31",
//    "cause":3,"crc":"e3069283"}
//
// The members before and after the payload always come in this order, so that a scan finds what it
// needs without parsing: the type and the task at the front, the number of the record and the
// checksum at the end. The checksum is the CRC-32C of everything before `,"crc"`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tiffany/base/uuid.hpp"

namespace tiffany::wal {

// The version of the format, and the longest line that is written or read.
inline constexpr int kVersion = 1;
inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;

// name, and what it says.
#define TIFFANY_RECORDS(X)                                                                         \
  X(StepStart, "a step is about to have an effect")                                                \
  X(ShutdownMarker, "the log was closed in good order")                                            \
  X(Spawn, "a task came to be, with its name, version and arguments")                              \
  X(TaskYielded, "a task gave way")                                                                \
  X(TaskWaitIO, "a task waits for something")                                                      \
  X(Resumed, "something came to a task from outside: a time, a value, a signal, an end, a cancel") \
  X(StepEnd, "the result of a step, or its failure")                                               \
  X(Approval, "a promise was kept by somebody outside")                                            \
  X(Command, "a task, or an operator, asked for something")                                        \
  X(TaskExit, "a task ended with its result")                                                      \
  X(TaskAbort, "a task ended without one")                                                         \
  X(Owner, "a process opened the log for writing")                                                 \
  X(Checkpoint, "the state of a task; what came before it is not needed any more")                 \
  X(InstructionStart, "the end of a step that took what an agent is to do")                        \
  X(LLMPlan, "the end of a step that asked a model")                                               \
  X(ToolResult, "the end of a step that ran a tool")                                               \
  X(PatchPreview, "the end of a step that made a patch to be approved")                            \
  X(Commit, "the end of a step that committed a patch")                                            \
  X(TaskComplete, "the end of the last step of an agent")

enum class RecordType : std::uint8_t {
#define X(name, meaning) name,
  TIFFANY_RECORDS(X)
#undef X
      unknown,  // of another module or a later version; kept, and never acted upon
};

std::string_view name_of(RecordType type) noexcept;
// StepEnd, and those that say the same under another name (StepOptions::recorded_as).
constexpr bool ends_step(RecordType type) noexcept {
  return type == RecordType::StepEnd ||
         (type >= RecordType::InstructionStart && type <= RecordType::TaskComplete);
}
RecordType record_type(std::string_view name) noexcept;

// When a record must be on the disk.
enum class Level : std::uint8_t {
  sync,  // before anybody sees what depends on it: its writer is told when it is
  lazy,  // with the next one that is
};

// What a record says besides its payload. `payload` is the members of a JSON object, without
// braces.
struct Entry {
  RecordType type;
  std::string_view task;  // its UUID, as text
  std::string_view payload;
  std::uint64_t seq = 0;    // counted by task, from one
  std::uint64_t tid = 0;    // of the task in its scheduler
  std::int64_t vt = 0;      // nanoseconds on the clock of the scheduler
  std::string_view file{};  // where in the program, if that is known
  std::uint32_t line = 0;
  std::uint64_t cause = 0;  // the record of the same task that this one answers; zero for none
};

// Appends a line with its line break. `ts` has the form of text_of(). `first_of_batch`: everything
// before it in its file had been synced when it was written; such a line begins with a space.
// `seed` is what the checksum begins with.
void append_line(std::string& out, const Entry& entry, std::string_view ts, std::uint32_t seed,
                 bool first_of_batch);

// Microseconds since 1970, as in "2026-11-16T07:48:00.123456Z"; always 27 characters until the year
// 10000.
std::string text_of_time(std::int64_t microseconds);
std::optional<std::int64_t> parse_time(std::string_view text) noexcept;

// What a scan knows of a line: the envelope, and where the payload is. Views into the line.
struct RecordView {
  RecordType type = RecordType::unknown;
  std::string_view type_name;
  std::string_view ts;
  std::string_view task;
  std::string_view payload;  // members, without braces; may be empty
  std::uint64_t seq = 0;
  bool first_of_batch = false;
  std::string_view line;  // all of it, without the line break
};

enum class LineFault : std::uint8_t {
  none,
  not_a_record,  // it does not have the form of one
  checksum,      // it has, and the checksum says that it was changed
  version,       // it is right, and of a version that this program does not know
};

// Reads the envelope of one line (without its line break).
LineFault read_line(std::string_view line, std::uint32_t seed, RecordView& view) noexcept;
// A line with its line break that has been checked before, taken apart; `line` must stay.
RecordView view_of(const std::string& line) noexcept;
// The two checksums of a line with LineFault::checksum, for the report.
struct Checksums {
  std::string found;
  std::string expected;
};
Checksums checksums_of(std::string_view line, std::uint32_t seed);
// The line as it was, when the checksum says that one bit of it is wrong, and which.
std::optional<std::string> mended(std::string_view line, std::uint32_t seed);
// The same record for another file, which has another seed.
std::string reseeded(std::string_view line, std::uint32_t seed, bool first_of_batch = false);

}  // namespace tiffany::wal
