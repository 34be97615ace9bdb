#include "tiffany/io/directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "tiffany/io/io_error.hpp"
#include "tiffany/io/offload.hpp"

namespace tiffany {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

EntryKind kind_of_mode(mode_t mode) noexcept {
  if (S_ISREG(mode)) return EntryKind::file;
  if (S_ISDIR(mode)) return EntryKind::directory;
  return S_ISLNK(mode) ? EntryKind::link : EntryKind::other;
}

EntryKind kind_of(DIR* directory, const dirent& entry) noexcept {
  if (entry.d_type != DT_UNKNOWN) {
    return kind_of_mode(static_cast<mode_t>(DTTOIF(entry.d_type)));
  }
  struct stat found{};  // a file system that does not say it beside the name
  const int fd = dirfd(directory);
  const bool known = fstatat(fd, entry.d_name, &found, AT_SYMLINK_NOFOLLOW) == 0;
  return known ? kind_of_mode(found.st_mode) : EntryKind::other;
}

// On a thread.
std::vector<DirectoryEntry> read_directory(const std::string& path, std::size_t most) {
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
  if (directory == nullptr) throw_io_error("open directory", path);
  const std::string before = path.ends_with('/') ? path : path + "/";
  std::vector<DirectoryEntry> all;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(directory.get());
    if (entry == nullptr && errno != 0) throw_io_error("read directory", path);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (all.size() == most) throw IoError(EFBIG, "list_directory", path);
    all.emplace_back(before + std::string(name), kind_of(directory.get(), *entry));
  }
  std::sort(all.begin(), all.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.path < b.path; });
  return all;
}

}  // namespace

Task<std::vector<DirectoryEntry>> list_directory(std::string path, std::size_t most) {
  co_return co_await offload(read_directory, std::move(path), most);
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
