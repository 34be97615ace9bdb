// Everything that a log does to the world outside, in one place, so that tests can put another
// world under it: one that tears writes, loses what was not synced, and fails.
//
// What is awaited goes through the reactor of the scheduler and blocks nobody else, unless there is
// nobody who could be blocked; what is not is short, or is done before anything else runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/engine/task.hpp"

namespace tiffany::wal {

class DiskFile {
 public:
  virtual ~DiskFile() = default;

  // All of it, or an error.
  virtual Task<void> write(std::uint64_t at, std::string_view bytes) = 0;
  // Until everything that was written is on the disk. After an error nobody knows what is: the file
  // must not be used any more.
  virtual Task<void> sync() = 0;
  // The two in one. What was written before may be synced with it, or not.
  virtual Task<void> write_synced(std::uint64_t at, std::string_view bytes);
  // A hint that may be lost: it is neither awaited nor synced.
  virtual void note(std::uint64_t at, std::string_view bytes) noexcept = 0;
};

// A part of a file that the disk could not read.
struct Unreadable {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::string why;
};

// The bytes of a file as they were when it was opened for reading; of a disk that is in use, a
// copy.
class DiskContent {
 public:
  virtual ~DiskContent() = default;
  virtual std::string_view bytes() const noexcept = 0;
  // These bytes are zeros in bytes(). Default: none.
  virtual const std::vector<Unreadable>& unreadable() const noexcept;
};

// A file that is written as a whole.
struct WholeFile {
  std::string name;
  std::string bytes;
};

// Held as long as this process may write below a directory.
class DiskLock {
 public:
  virtual ~DiskLock() = default;
  // False when the lock file was removed or replaced, so that another process may have it. What was
  // synced before a call that gives true is seen by the next owner.
  virtual bool held() noexcept { return true; }
};

class Disk {
 public:
  virtual ~Disk() = default;

  // The names in a directory, sorted; none when it does not exist.
  virtual std::vector<std::string> list(const std::string& directory) = 0;
  // With those above it, and on the disk when it returns.
  virtual void make_directory(const std::string& path) = 0;
  virtual std::unique_ptr<DiskFile> open(const std::string& path) = 0;  // made when missing
  virtual std::unique_ptr<DiskContent> read(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;
  virtual std::uint64_t size(const std::string& path);
  // Some bytes of a file; fewer when the file ends before.
  virtual std::string read_part(const std::string& path, std::uint64_t at, std::size_t size);
  virtual Task<void> rename(std::string from, std::string to) = 0;
  // An IoError (EEXIST) when there is something of that name.
  virtual Task<void> rename_new(std::string from, std::string to);
  virtual Task<void> remove(std::string path) = 0;
  // Gives the room behind the first `size` bytes of a file back, or does nothing. After a crash the
  // file may have the old length.
  virtual Task<void> shorten(std::string path, std::uint64_t size);
  // Writes files into a directory, in place of those of the same names. When the call returns, all
  // files and their names are on the disk. A crash before that leaves any part of them. A disk that
  // can does this with one sync.
  virtual Task<void> write_files(std::string directory, std::vector<WholeFile> files);
  // Until creations, renames and removals in a directory are on the disk.
  virtual Task<void> sync_directory(std::string path) = 0;
  // Null when another process has it; `holder` is then what it wrote about itself.
  virtual std::unique_ptr<DiskLock> lock(const std::string& path, const std::string& about,
                                         std::string& holder) = 0;
};

// Writes a file in place of the one of the same name. After a crash the directory has the old file
// or the new one, whole.
Task<void> replace_file(Disk* disk, std::string directory, std::string name, std::string bytes);

// The file system of the machine.
std::unique_ptr<Disk> system_disk();

}  // namespace tiffany::wal
