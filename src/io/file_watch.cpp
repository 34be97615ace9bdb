#include "tiffany/io/file_watch.hpp"

#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>

#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace {

constexpr std::uint32_t kWhat = IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB |
                                IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF;

std::optional<FileChange> change_of(std::uint32_t mask) noexcept {
  if ((mask & IN_Q_OVERFLOW) != 0) return FileChange::lost;
  if ((mask & (IN_CREATE | IN_MOVED_TO)) != 0) return FileChange::created;
  if ((mask & IN_MODIFY) != 0) return FileChange::modified;
  if ((mask & IN_CLOSE_WRITE) != 0) return FileChange::written;
  if ((mask & IN_ATTRIB) != 0) return FileChange::attributes;
  if ((mask & (IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
    return FileChange::removed;
  }
  return std::nullopt;
}

}  // namespace

FileWatch::FileWatch()
    : events_(
          take_descriptor(World::current().files().make_watch(), "inotify_init", "a file watch"),
          false) {}

void FileWatch::add(const std::string& path) {
  const int number =
      World::current().files().add_watch(events_.descriptor().fd(), path.c_str(), kWhat);
  if (number < 0) {
    const int error = errno;
    throw IoError(error, "watch", path,
                  error == ENOSPC ? "This user watches as many files as it may: raise "
                                    "/proc/sys/fs/inotify/max_user_watches."
                                  : "");
  }
  paths_.insert_or_assign(number, path);
}

void FileWatch::remove(const std::string& path) noexcept {
  const auto found = std::find_if(paths_.begin(), paths_.end(),
                                  [&](const auto& entry) { return entry.second == path; });
  if (found == paths_.end()) return;
  World::current().files().remove_watch(events_.descriptor().fd(), found->first);
  paths_.erase(found);
}

// Events of a path that was removed are dropped: nobody knows their name any more.
void FileWatch::take(std::string_view bytes) {
  while (bytes.size() >= sizeof(inotify_event)) {
    inotify_event event{};
    std::memcpy(&event, bytes.data(), sizeof event);
    const char* const name = bytes.data() + sizeof event;
    const auto found = paths_.find(event.wd);
    const std::optional<FileChange> change = change_of(event.mask);
    if (change == FileChange::lost) {
      pending_.emplace_back(FileChange::lost, std::string());
    } else if (change && found != paths_.end()) {
      std::string path = found->second;
      if (event.len > 0) path += (path.ends_with('/') ? "" : "/") + std::string(name);
      pending_.emplace_back(*change, std::move(path));
    }
    if (found != paths_.end() && (event.mask & IN_MOVE_SELF) != 0) {
      World::current().files().remove_watch(events_.descriptor().fd(),
                                            event.wd);  // it would go on under a wrong name
    }
    if (found != paths_.end() && (event.mask & (IN_IGNORED | IN_MOVE_SELF)) != 0) {
      paths_.erase(found);
    }
    bytes.remove_prefix(sizeof event + event.len);
  }
}

Task<FileEvent> FileWatch::next() {
  const auto turn = co_await reading_.lock();
  // Room for a few hundred short names; the system wants room for one of the longest.
  std::array<char, 8192> room;
  static_assert(room.size() > sizeof(inotify_event) + NAME_MAX + 1);
  while (pending_.empty()) {
    const std::size_t came = co_await events_.read(room);
    take(std::string_view(room.data(), came));
  }
  FileEvent event = std::move(pending_.front());
  pending_.pop_front();
  co_return event;
}

}  // namespace tiffany
