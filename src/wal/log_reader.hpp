// Reads the files of a log once, from the first byte to the last, into an index: what is there,
// what is damaged, and which tasks the damage may have hurt. Used by scan(). Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/wal/scan.hpp"
#include "wal/side_files.hpp"

namespace tiffany::wal {

class LogReader {
 public:
  LogReader(Disk& disk, const std::string& directory, LogIndex& index)
      : disk_(disk), directory_(directory), index_(index) {}

  void read_journal(bool without_base);

  void read_files();

  // Somebody has looked at these places and said in writing that what was there may be lost.
  void read_accepted();

  void quarantine();

 private:
  struct Suspicion {
    std::optional<Uuid> task;  // none: everyone who has no later record
    std::uint64_t order = 0;
    std::string why;
  };

  // Null when there is nothing to read. A file that cannot be read is damage to its own task only.
  std::unique_ptr<DiskContent> content_of_task(const std::string& name);

  // What the first line of a segment says.
  struct Header {
    bool valid = false;
    std::uint64_t epoch = 0;
    std::optional<std::uint64_t> after;  // where the segment before it ends
  };
  Header read_header(const Segment& segment);
  static std::string_view first_line(std::string_view bytes);
  static bool names_segment(const RecordView& view, std::uint32_t number);

  // A last segment whose first line was never finished holds nothing that was acknowledged, unless
  // something in it says otherwise. There is one at most: it comes to be when all before it are
  // begun.
  void drop_unborn(std::vector<Header>& headers, const Mark& mark);

  // What an owner wrote who did not know that another had followed.
  void drop_outdated(std::vector<Header>& headers);

  // Is there a line further on that was written when everything before it had been synced?
  bool later_batch(std::string_view bytes, std::size_t from, std::uint32_t seed);
  static std::uint64_t find_last_batch(std::string_view bytes, std::size_t from,
                                       std::uint32_t seed);

  void read(const std::string& path, const DiskContent& content, std::uint32_t number,
            std::uint32_t seed);

  // In a file of one task, which only grows, a write that was not finished leaves zeros, or ends
  // with the file. Whatever else is wrong was right once. (A segment may have been used before.)
  static bool was_changed(std::string_view line, bool whole);

  void describe(const std::string& path, std::size_t line_number, std::uint64_t at,
                std::string_view line, std::uint32_t seed, LineFault fault);

  // The ids that can still be read in what is no record any more.
  void find_names(std::string_view text);

  // False when it cannot be right; `wrong_` says why.
  bool take(const RecordView& view, std::uint32_t number, std::uint64_t at);

  // `task`: the only one that it can have hurt, if that is known.
  void add_damage(const std::string& path, std::size_t line, std::uint64_t offset,
                  std::string expected, std::string found, std::string_view task);

  // Each by its own name, so that one that goes missing later is not taken for one that was missing
  // before. Segments that are not needed any more are removed from the front only, and `base` says
  // so.
  void check_gaps_between_segments();

  Disk& disk_;
  const std::string& directory_;
  LogIndex& index_;
  std::optional<std::uint64_t> limit_;  // where the file ends, when that is known from elsewhere
  std::uint64_t synced_ = 0;            // where it ends at least
  bool last_ = false;                   // only here can something be unfinished
  bool followed_ = false;               // there was one after the last, which is of no account
  std::optional<Uuid> own_;             // the task of the file
  std::uint64_t end_ = 0;
  std::uint64_t proven_ = 0;                 // where the last batch begins
  std::optional<std::uint64_t> last_batch_;  // where the last one begins; found when asked for
  std::string last_ts_;
  std::optional<std::int64_t> last_time_;
  std::string wrong_;
  std::vector<Suspicion> suspicions_;
};

}  // namespace tiffany::wal
