#include "tiffany/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace {

int flags_of(FileMode mode) noexcept {
  switch (mode) {
    case FileMode::read:
      return O_RDONLY;
    case FileMode::write:
      return O_RDWR | O_CREAT;
    case FileMode::truncate:
      return O_RDWR | O_CREAT | O_TRUNC;
    case FileMode::create:
      return O_RDWR | O_CREAT | O_EXCL;
    case FileMode::append:
      return O_RDWR | O_CREAT | O_APPEND;
  }
  return O_RDONLY;
}

}  // namespace

OpenFile::OpenFile(std::string path, FileMode mode)
    : IoCall(Kind::open, -1), path_(std::move(path)) {
  size = 0666;
  flags = flags_of(mode);
}

Answer OpenFile::start(Scheduler& scheduler, TaskRecord& task) {
  memory = path_.data();
  return IoCall::start(scheduler, task);
}

FileCall::FileCall(Kind what, std::string path, std::string to, const char* name)
    : IoCall(what, -1), verb_(name), path_(std::move(path)), to_(std::move(to)) {}

Answer FileCall::start(Scheduler& scheduler, TaskRecord& task) {
  memory = path_.data();
  other = to_.c_str();
  return IoCall::start(scheduler, task);
}

std::string FileCall::subject() const {
  if (path_.empty()) return describe_descriptor(fd);
  return to_.empty() ? path_ : path_ + " to " + to_;
}

WriteAt File::write_synced(std::uint64_t at, Bytes bytes) const noexcept {
  return WriteAt(descriptor_, static_cast<std::int64_t>(at), bytes, RWF_DSYNC);
}

FileCall File::sync() const noexcept { return {Operation::Kind::sync, descriptor_, "fsync"}; }

FileCall File::sync_data() const noexcept {
  return {Operation::Kind::sync, descriptor_, "fdatasync", 1, 0, 0};
}

FileCall File::allocate(std::uint64_t at, std::uint64_t size) const noexcept {
  return {Operation::Kind::allocate, descriptor_, "fallocate", 0, at, size};
}

std::uint64_t File::size() const {
  struct stat found{};
  if (World::current().files().status(descriptor_.fd(), found) != 0) {
    throw_io_error("fstat", descriptor_.fd());
  }
  return static_cast<std::uint64_t>(found.st_size);
}

void File::truncate(std::uint64_t size) const {
  if (World::current().files().truncate(descriptor_.fd(), size) != 0) {
    throw_io_error("ftruncate", descriptor_.fd());
  }
}

FileCall rename_file(std::string from, std::string to) {
  return {Operation::Kind::rename, std::move(from), std::move(to), "rename"};
}

FileCall remove_file(std::string path) {
  return {Operation::Kind::unlink, std::move(path), std::string(), "remove"};
}

Task<void> sync_directory(std::string path) {
  const File directory = co_await open_file(path);
  co_await directory.sync();
}

Task<std::string> read_file(std::string path, std::size_t most) {
  const File file = co_await open_file(path);
  // The size may change while we read, and /proc says 0; so it is only a guess.
  std::string all;
  std::size_t room = file.size() + 1;
  for (;;) {
    const std::size_t before = all.size();
    all.resize(std::min(before + room, most + 1));
    const std::size_t got =
        co_await file.read_at(before, Room(all.data() + before, all.size() - before));
    all.resize(before + got);
    if (got == 0) co_return all;
    if (all.size() > most) throw IoError(EFBIG, "read_file", path);
    room = 65536;
  }
}

}  // namespace tiffany
