#include "tiffany/io/directory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/offload.hpp"

namespace tiffany {
namespace {

EntryKind kind_of_mode(mode_t mode) noexcept {
  if (S_ISREG(mode)) return EntryKind::file;
  if (S_ISDIR(mode)) return EntryKind::directory;
  return S_ISLNK(mode) ? EntryKind::link : EntryKind::other;
}

class Entries final : public WorldFiles::EntryVisitor {
 public:
  Entries(const std::string& path, std::size_t most)
      : before_(path.ends_with('/') ? path : path + "/"), most_(most) {}
  bool on_entry(const char* name, mode_t type) override {
    if (all.size() == most_) return false;
    all.emplace_back(before_ + name, kind_of_mode(type));
    return true;
  }
  std::vector<DirectoryEntry> all;

 private:
  std::string before_;
  std::size_t most_;
};

// On a thread.
std::vector<DirectoryEntry> read_directory(World* world, const std::string& path,
                                           std::size_t most) {
  using Listed = WorldFiles::Listed;
  Entries entries(path, most);
  switch (world->files().list(path.c_str(), entries)) {
    case Listed::all:
      break;
    case Listed::cut_short:
      throw IoError(EFBIG, "list_directory", path);
    case Listed::cannot_open:
      throw_io_error("open directory", path);
    case Listed::cannot_read:
      throw_io_error("read directory", path);
  }
  std::sort(entries.all.begin(), entries.all.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.path < b.path; });
  return std::move(entries.all);
}

}  // namespace

Task<std::vector<DirectoryEntry>> list_directory(std::string path, std::size_t most) {
  co_return co_await offload(read_directory, &World::current(), std::move(path), most);
}

Task<std::optional<DirectoryEntry>> DirectoryWalk::next() {
  if (into_) {
    bool gone = false;
    try {
      std::vector<DirectoryEntry> entries = co_await list_directory(*into_);
      levels_.emplace_back(std::move(entries));
    } catch (const IoError& error) {
      gone = error.number() == ENOENT || error.number() == ENOTDIR;
      const bool root = levels_.empty();
      into_.reset();
      if (!gone || root) throw;
    }
    into_.reset();
  }
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.next == level.entries.size()) {
      levels_.pop_back();
      continue;
    }
    DirectoryEntry entry = std::move(level.entries[level.next++]);
    if (entry.kind == EntryKind::directory) into_ = entry.path;
    co_return entry;
  }
  co_return std::nullopt;
}

}  // namespace tiffany
