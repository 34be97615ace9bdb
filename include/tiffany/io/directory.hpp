// What is in a directory, and below it.
//
//   for (const DirectoryEntry& entry : co_await list_directory("/etc")) ...
//
//   DirectoryWalk walk("/srv");
//   while (std::optional<DirectoryEntry> entry = co_await walk.next()) {
//     if (entry->name() == ".git") walk.skip();
//   }
//
// The system reads directories only by blocking, so it is done on a thread of the pool, one
// directory at a time. To hear of changes see io/file_watch.hpp.
//
// Cancel, of all calls here. Before start: nothing is read. While parked: the wait is given up as
// for offload (io/offload.hpp), and the walk stays where it was. After completion: the entries are
// given, and the next suspension throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/engine/task.hpp"

namespace tiffany {

enum class EntryKind : std::uint8_t { file, directory, link, other };

class DirectoryEntry {
 public:
  DirectoryEntry(std::string where, EntryKind what) : path(std::move(where)), kind(what) {}
  std::string path;  // that of the directory, "/", and the name
  EntryKind kind;    // of the entry itself: a link is not followed
  std::string_view name() const noexcept {
    return std::string_view(path).substr(path.rfind('/') + 1);
  }
};

// Everything in a directory but "." and "..", sorted by the bytes of the names. Throws IoError;
// EFBIG when there are more than `most`.
Task<std::vector<DirectoryEntry>> list_directory(std::string path, std::size_t most = 1'000'000);

// Everything below a directory, depth first: a directory, then what is in it; sorted within each.
// Links are given and never followed, so the walk ends. The root itself is not given.
//
// The walk holds the entries of one directory for each level that it is deep. A directory that goes
// away before its turn counts as empty. What changes during a walk may be missed or given all the
// same.
class DirectoryWalk {
 public:
  explicit DirectoryWalk(std::string root) : into_(std::move(root)) {}

  // None at the end. An IoError (a directory that may not be read, EACCES) is thrown once; the next
  // call goes on behind that directory.
  Task<std::optional<DirectoryEntry>> next();
  // Does not go into the directory that next() gave last.
  void skip() noexcept { into_.reset(); }
  // How many directories are above the entry that next() gave last, the root not counted.
  std::size_t depth() const noexcept { return levels_.empty() ? 0 : levels_.size() - 1; }

 private:
  struct Level {
    explicit Level(std::vector<DirectoryEntry> all) noexcept : entries(std::move(all)) {}
    std::vector<DirectoryEntry> entries;
    std::size_t next = 0;
  };
  std::optional<std::string> into_;  // the directory that is read next
  std::vector<Level> levels_;
};

}  // namespace tiffany
