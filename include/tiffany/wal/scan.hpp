// Reading a log back: every line is checked, every record is found by its task, and what is wrong
// is told from what was merely not finished when the power went.
//
// Only the last batch of the last file can be unfinished: it was written and its sync had not come
// back, so nobody depends on it. It is cut off. A line that is wrong anywhere else is damage. The
// tasks that it may have belonged to are quarantined: nothing of theirs runs until somebody has
// looked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/uuid.hpp"
#include "tiffany/detail/base/uuid_table.hpp"
#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/log_options.hpp"
#include "tiffany/wal/record.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany::wal {

// Where a line is. `file` is the number of a segment; zero in the other layout.
struct Position {
  std::uint32_t file = 0;
  std::uint32_t size = 0;  // without the line break
  std::uint64_t offset = 0;
};

// What is known of one task of a log.
struct TaskLog : StoredTask {
  bool unreadable = false;  // its file is there and cannot be read; first: in the room behind bools
  std::vector<Position>
      records;               // Spawn, the last Checkpoint if there is one, and what came after it
  std::uint64_t order = 0;   // which record of the whole log was its last
  std::uint64_t size = 0;    // of its file, where it has one, with what is not written yet
  std::uint64_t proven = 0;  // so much of its file, where it has one, is known to be on the disk
};

struct Damage {
  std::string file;
  std::size_t line = 0;
  std::uint64_t offset = 0;
  std::string expected;
  std::string found;
  std::optional<Uuid> task{};  // the only one that it can have hurt; none: nobody knows which
  bool accepted = false;       // somebody has said in writing that the loss is accepted
  // As a sentence.
  std::string text() const;
};

// A line with one wrong bit, as it was before: the checksum tells which bit.
struct Mended {
  Uuid task;
  std::uint64_t seq = 0;
  std::string line;  // with its line break, as in a file of its task
};

struct Segment {
  std::uint32_t number = 0;
  std::string path;
  std::uint64_t size = 0;  // of what is valid
  std::uint64_t proven =
      0;  // so much of it is known to be on the disk; what is behind may be in a cache only
};

// Everything that a directory holds, as it was found.
class LogIndex {
 public:
  // In the order in which they came to be; the log itself is the one with the nil UUID.
  std::vector<std::unique_ptr<TaskLog>> tasks;
  std::vector<Segment> segments;
  std::vector<Damage> damage;
  std::uint64_t epoch = 0;  // of the last owner
  std::uint32_t base = 0;   // segments before this one are not needed, and not read
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;     // of all lines
  std::uint64_t cut = 0;       // bytes of an unfinished batch
  std::int64_t last_time = 0;  // of the youngest record, in microseconds since 1970
  bool shut_down = false;      // the last record says so

  std::vector<Mended> mended;
  std::vector<Uuid>
      named;  // tasks whose ids can be read in what is damaged; they may have lost records

  // Damage that may have hurt tasks which nobody can name, and that nobody has accepted: an id that
  // is not in this index may have been used. Null when there is none.
  const Damage* unresolved() const noexcept;
  TaskLog* find(const Uuid& id) const noexcept;
  TaskLog& at(const Uuid& id);
  void drop(const std::vector<Uuid>& ids);

 private:
  struct IdOf {
    const Uuid& operator()(const TaskLog& task) const noexcept { return task.id; }
  };
  tiffany::detail::UuidTable<TaskLog, IdOf> by_id_;
};

// What the checksums of a segment begin with. Another one for each segment: a line that is left
// from the last time the file was used is not taken for a record.
std::uint32_t seed_of_segment(std::uint32_t number);
std::string segment_name(std::uint32_t number);
std::uint32_t number_of_segment(std::string_view name) noexcept;  // zero when it is no name of one
// What the file `base` holds, which says where the journal begins.
std::string base_text(std::uint32_t segment);
// What the file `synced` holds: up to where everything is known to be on the disk.
std::string mark_text(std::uint32_t segment, std::uint64_t size);
inline constexpr std::uint32_t kMostSegments = 99'999'999;  // eight digits

// The layout of the log in a directory; none when the directory holds no log. Errc::log_layout when
// there are files of both layouts.
std::optional<Layout> layout_of(Disk& disk, const std::string& directory);
std::string_view name_of(Layout layout) noexcept;

// The same beside a process that writes the log and may be compacting it: what is seen half moved
// is read again. Errc::log_busy when the log does not hold still.
LogIndex scan_beside_writer(Disk& disk, const std::string& directory, Layout layout);
// Another text after each compaction of a journal: positions that were found before are not valid
// any more.
std::string compaction_mark(Disk& disk, const std::string& directory);
// In the layout with files, the file `sizes` holds a line of this length for each task: how much of
// its file is on the disk. Like `synced`, it is a hint that is written after each sync and not
// synced itself.
inline constexpr std::size_t kSizesLine = 64;
std::string sizes_line(const Uuid& task, std::uint64_t size);
// How the file `accepted` names a damage: by its place.
std::string accepted_line(const Damage& damage);

// Reads all of a log. Never changes anything, needs no lock, and throws only for what cannot be
// read. `without_base`: the file that says where a journal begins is damaged; read every segment
// that is there.
LogIndex scan(Disk& disk, const std::string& directory, Layout layout, bool without_base = false);

// Reads records where a scan has found them. Keeps the parts of segments that it has read last, up
// to 64 MiB of them.
class LineReader {
 public:
  LineReader(Disk& disk, std::string directory) : disk_(disk), directory_(std::move(directory)) {}
  // With its line break, as it would be in a file of its task. Errc::log_damaged when it is no
  // record any more.
  std::string read(const TaskLog& task, const Position& position);
  std::vector<std::string> read_all(const TaskLog& task);
  // The same as read(), of one line by itself: no file is kept.
  std::string read_alone(const TaskLog& task, const Position& position);
  // What it has read.
  void forget() noexcept;

 private:
  std::string_view look(const TaskLog& task, const Position& position, bool anew);
  std::string path(const TaskLog& task, const Position& position) const;
  Disk& disk_;
  std::string directory_;
  const std::string* block(const TaskLog& task, const Position& position, std::uint64_t number);

  static constexpr std::size_t kBlock = std::size_t{64} << 10;
  static constexpr std::size_t kMostBlocks = 1024;
  struct Block {
    std::uint64_t used = 0;  // the greatest was asked for last
    std::string bytes;
  };
  std::unordered_map<std::uint64_t, Block> blocks_;  // by segment and number in it
  std::uint64_t uses_ = 0;
  std::string one_line_;
  std::unique_ptr<DiskContent> of_task_;
  Uuid task_;
};

}  // namespace tiffany::wal
