// Canvas: the files of a commit and what an agent has changed in them, in memory and in the objects
// of a git repository (docs/decisions/0030-agent.md).
//
//   agent::Canvas canvas = agent::Canvas::open("/srv/shop", "main");
//   canvas.edit("src/cart.cpp", "total += 1;", "total += price;");
//   agent::CanvasState now = canvas.keep(task);   // goes into the log
//   ...
//   agent::Canvas again = agent::Canvas::reopen("/srv/shop", now);   // after a crash
//
// The working tree, the index and the branches of the user are not changed, and nothing is read
// there but .gitattributes, for a diff or a merge. What is written are objects, and
// refs/tiffany/<task>/canvas, which keeps them from being collected. The configuration of git does
// not count. A commit is made by commit_on (agent/commit.hpp).
//
// Paths are relative to the root, in UTF-8, with slashes. Refused are absolute ones, ".." and
// anything that some file system takes for .git. Symbolic links are never followed, submodules
// never entered.
//
// Errors: bad_argument for what was asked wrongly (a path, a file that is not there, a size),
// canvas_conflict for a change that does not fit, canvas_failed when the repository cannot be read
// or written.
//
// Calls block, for as long as a disk takes: tasks use CanvasThread (agent/canvas_thread.hpp).
// Thread safety: none; any thread, one at a time. Other programs may use the repository meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/codec.hpp"

namespace tiffany::agent {

class CanvasLimits {
 public:
  CanvasLimits() = default;
  std::size_t file_bytes = std::size_t{4} << 20;           // that is read or written
  std::size_t files = 200'000;                             // of the tree
  std::size_t changes = 10'000;                            // taken back from a directory
  std::uint64_t directory_bytes = std::uint64_t{2} << 30;  // of a checkout
  std::size_t diff_bytes = std::size_t{256} << 10;
};

// All that a log has to keep: ids of 40 digits. `base` is empty when there was no commit yet.
struct CanvasState {
  std::string base{};
  std::string tree{};
  bool operator==(const CanvasState&) const = default;
};
TIFFANY_JSON(CanvasState, base, tree);

enum class CanvasKind : std::uint8_t { file, directory, link, submodule };

struct CanvasEntry {
  std::string path{};
  CanvasKind kind = CanvasKind::file;
  bool executable = false;
};
struct CanvasListing {
  std::vector<CanvasEntry> entries{};  // by the bytes of their paths
  bool cut = false;                    // there are more
};

struct CanvasFile {
  std::string bytes{};
  bool executable = false;
  bool binary = false;  // has a zero byte, or is not valid UTF-8
};

enum class FileChange : std::uint8_t { added, changed, removed, renamed };
std::string_view name_of(FileChange change) noexcept;

struct ChangedFile {
  std::string path{};
  std::string old_path{};  // of a renamed file; otherwise empty
  FileChange change = FileChange::changed;
  std::uint64_t added = 0;  // lines; none of a binary file
  std::uint64_t removed = 0;
  bool binary = false;
  bool mode_changed = false;
};

struct CanvasDiff {
  std::string text{};  // unified; ends with a line that says so when it is cut
  bool cut = false;
};

struct CanvasCommit {
  std::string id{};
  std::string author{};      // a name, without an address
  std::int64_t time_us = 0;  // since 1970
  std::string subject{};     // the first line of the message
};
struct CanvasLog {
  std::vector<CanvasCommit> commits{};  // the newest first
  bool cut = false;                     // there are more, or not all were looked at
};

struct MergeConflict {
  std::string path{};
  std::string text{};  // sentences: what stands where, and what is to be done
};
struct Merge {
  std::vector<MergeConflict> conflicts{};
  bool clean() const noexcept { return conflicts.empty(); }
};

// What take_back() did.
struct TakenBack {
  std::vector<std::string> written{};
  std::vector<std::string> removed{};
  std::size_t ignored = 0;  // files and directories that .gitignore names
  bool any() const noexcept { return !written.empty() || !removed.empty(); }
};

class Canvas {
 public:
  // `base`: a branch, a tag, the name of a ref, or the 40 digits of a commit; empty: HEAD, which in
  // a repository without a commit is a canvas without files.
  static Canvas open(const std::string& repository, const std::string& base,
                     CanvasLimits limits = CanvasLimits());
  static Canvas reopen(const std::string& repository, const CanvasState& kept,
                       CanvasLimits limits = CanvasLimits());
  // What keep() left in the repository; none: no such ref.
  static std::optional<CanvasState> kept(const std::string& repository, const std::string& task);
  // Removes that ref, if it is there.
  static void forget(const std::string& repository, const std::string& task);

  Canvas(Canvas&& other) noexcept;
  Canvas& operator=(Canvas&& other) noexcept;
  ~Canvas();

  // ---- Files ----

  bool has(const std::string& path) const;  // a file, a link or a submodule
  CanvasFile read(const std::string& path) const;
  // What is in a directory ("" is the root). With a pattern: all files below it whose paths from
  // there match ('*' and '?' within a name, "**" over any number of directories).
  CanvasListing list(const std::string& directory, const std::string& pattern = {},
                     std::size_t most = 10'000) const;
  // Calls `each` for files (not links, not submodules), sorted by path, until it returns false.
  void visit(const std::string& directory,
             const std::function<bool(const std::string& path)>& each) const;
  // Without `executable` a file keeps what it was; a new one is not.
  void write(const std::string& path, std::string_view text,
             std::optional<bool> executable = std::nullopt);
  // `old_text` must be there exactly once: otherwise canvas_conflict, which says how often it is.
  void edit(const std::string& path, std::string_view old_text, std::string_view new_text);
  void remove(const std::string& path);
  void rename(const std::string& from, const std::string& to);

  // ---- The patch ----

  const std::string& base() const noexcept;
  const std::string& repository() const noexcept;
  const CanvasLimits& limits() const noexcept;
  // Writes what is missing of the tree, synced to the disk, and gives its id.
  std::string tree();
  // The same, and a ref that keeps it: refs/tiffany/<task>/canvas.
  CanvasState keep(const std::string& task);
  bool changed() const;  // anything, compared with the base
  // With a path: of that file, or of all files below that directory.
  CanvasDiff diff(const std::string& path = {}) const;
  std::vector<ChangedFile> files() const;
  // The history of the base. With a path: commits that changed it, compared with each of their
  // parents; at most 10,000 commits are looked at.
  CanvasLog log(std::size_t most, const std::string& path = {}) const;
  // Merges the changes with what a branch has become (its commit), which is the new base. What was
  // approved before is not what the canvas has now.
  //
  // Conflicts stand in the files, as after a `git merge`: a text that both have changed has markers
  // ("<<<<<<< branch 0123456789ab", "||||||| base", "=======", ">>>>>>> canvas"; the digits are
  // those of `tip`). What cannot be shown so (binary, above CanvasLimits::file_bytes, removed on
  // one side, renamed on both, a link) is not there under its name, but each side of it is, with
  // "~branch.0123456789ab" and "~canvas.0123456789ab" behind the name: to be renamed or removed.
  Merge merge_onto(const std::string& tip);
  // Paths in which something of that is left: such a canvas is not to be committed.
  std::vector<std::string> unresolved() const;

  // ---- Directories ----

  // The files of the canvas in an empty directory (made if it is not there), without a .git. Links
  // that lead out of it are left out, and so are submodules. Contents are byte for byte those of
  // the tree: no filters, no line ends.
  void checkout(const std::string& directory) const;
  // Takes what programs have done in such a directory: new files, changed ones, removed ones and
  // executable bits; all or, with an error, nothing. New files that a .gitignore in the directory
  // names are left, and .git is. Refused are links that lead out of the directory, sockets, pipes,
  // devices, names that a tree cannot have. No program may work in the directory any more.
  TakenBack take_back(const std::string& directory);

  struct State;  // of the sources alone

 private:
  explicit Canvas(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace tiffany::agent
