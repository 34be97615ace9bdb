// What lies beside the records of a log: where the journal begins, how far everything is known to
// be synced, and which layout the files have. Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tiffany/wal/scan.hpp"

namespace tiffany::wal {

// The number of the first segment that counts; zero: all of them do. Throws when the file that says
// so is damaged.
std::uint32_t read_base(Disk& disk, const std::string& directory);

// How far the last owner knew everything to be synced; a hint, and perhaps an old one.
struct Mark {
  std::uint32_t segment = 0;
  std::uint64_t size = 0;
};
Mark read_mark(Disk& disk, const std::string& directory);

// What each file of the layout with files had on the disk at least; hints as well. See
// sizes_line().
std::unordered_map<Uuid, std::uint64_t, UuidHash> read_sizes(Disk& disk,
                                                             const std::string& directory);

// A number that is a member of the payload; nothing when it has no such member.
std::optional<std::uint64_t> number_in(std::string_view payload, std::string_view member);

// Throws when the files are of another layout: in that one the log would look empty, and everything
// in it would be started again.
void require_layout(Disk& disk, const std::string& directory, Layout layout);

}  // namespace tiffany::wal
