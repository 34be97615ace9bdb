// Changes of files and directories, as something to wait for (inotify).
//
//   FileWatch watch;
//   watch.add("/etc/app");
//   for (;;) {
//     const FileEvent event = co_await watch.next();
//     if (event.what == FileChange::written && event.path == "/etc/app/config") reload();
//   }
//
// A directory is watched with the files in it, but not with what is below them: add what a
// DirectoryWalk (io/directory.hpp) finds. Programs often replace a file instead of writing to it;
// watch its directory to hear of both. Network file systems report only what this machine does.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/stream.hpp"
#include "tiffany/sync/mutex.hpp"

namespace tiffany {

enum class FileChange : std::uint8_t {
  created,     // in a watched directory, or moved into it
  modified,    // its contents changed
  written,     // somebody who had it open for writing closed it
  attributes,  // its permissions, owner or times changed
  removed,     // or moved away; a watched path of its own is not watched any more
  lost,        // more happened than the system keeps: look at everything anew. The path is empty
};

struct FileEvent {
  FileEvent(FileChange change, std::string where) : what(change), path(std::move(where)) {}
  FileChange what;
  std::string path;  // of what was added, with "/" and a name where a file in a directory is meant
};

class FileWatch {
 public:
  // Throws IoError. EMFILE: this user has too many (/proc/sys/fs/inotify/max_user_instances).
  FileWatch();

  // From now on changes of `path` are reported; twice is as once. Throws IoError: ENOENT when there
  // is no such file, ENOSPC when this user watches too many. A plain call.
  void add(const std::string& path);
  // Changes that have been reported already may still come out of next().
  void remove(const std::string& path) noexcept;

  // The oldest change that was not given yet. Several tasks may wait; each change goes to one of
  // them, in the order they came. Cancel. Before start and while parked: the wait is given up, and
  // no change is lost. After completion: the change is given, and the next suspension throws.
  Task<FileEvent> next();

  void close() noexcept { events_.close(); }
  const Descriptor& descriptor() const noexcept { return events_.descriptor(); }

 private:
  void take(std::string_view bytes);

  ByteStream events_;
  Mutex reading_;
  std::map<int, std::string> paths_;
  std::deque<FileEvent> pending_;
};

}  // namespace tiffany
