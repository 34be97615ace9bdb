#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>

#include "world/held_open.hpp"
#include "world/os_world.hpp"

namespace tiffany::world {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

mode_t type_of(DIR* directory, const dirent& entry) noexcept {
  if (entry.d_type != DT_UNKNOWN) return static_cast<mode_t>(DTTOIF(entry.d_type));
  struct stat found{};  // a file system that does not say it beside the name
  const int fd = dirfd(directory);
  const bool known = fstatat(fd, entry.d_name, &found, AT_SYMLINK_NOFOLLOW) == 0;
  return known ? found.st_mode : 0;
}

// Since Linux 5.8 syncfs() says when a write to the disk has failed; before that each file has to
// be asked.
bool syncfs_reports() {
  struct utsname system{};
  if (::uname(&system) != 0) return false;
  int major = 0;
  int minor = 0;
  const std::string_view release = system.release;
  const auto dot = std::from_chars(release.data(), release.data() + release.size(), major);
  if (dot.ec != std::errc() || dot.ptr == release.data() + release.size()) return false;
  std::from_chars(dot.ptr + 1, release.data() + release.size(), minor);
  return major > 5 || (major == 5 && minor >= 8);
}

class OsFiles final : public WorldFiles {
 public:
  void close(int fd) noexcept override {
    if (!close_later(fd)) ::close(fd);
  }
  int duplicate(int fd) noexcept override { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }
  int set_blocking(int fd, bool on) noexcept override {
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0) return -1;
    return fcntl(fd, F_SETFL, on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
  }
  ssize_t read(int fd, void* to, std::size_t size) noexcept override {
    return ::read(fd, to, size);
  }
  int pipe(int (&ends)[2]) noexcept override { return pipe2(ends, O_CLOEXEC); }
  std::size_t pipe_capacity(int fd) noexcept override {
    const int size = fcntl(fd, F_GETPIPE_SZ);
    return size > 0 ? static_cast<std::size_t>(size) : 0;
  }
  int status(int fd, struct stat& found) noexcept override { return fstat(fd, &found); }
  int truncate(int fd, std::uint64_t size) noexcept override {
    return ftruncate(fd, static_cast<off_t>(size));
  }
  int lock(int fd) noexcept override { return flock(fd, LOCK_EX | LOCK_NB); }
  ssize_t send_file(int to, int from, std::uint64_t at, std::size_t count) noexcept override {
    auto offset = static_cast<off_t>(at);
    return sendfile(to, from, &offset, count);
  }
  ssize_t read_at(int fd, void* to, std::size_t size, std::uint64_t at) noexcept override {
    return pread(fd, to, size, static_cast<off_t>(at));
  }
  ssize_t write_at(int fd, const void* from, std::size_t size, std::uint64_t at) noexcept override {
    return pwrite(fd, from, size, static_cast<off_t>(at));
  }
  ssize_t write_synced_at(int fd, const void* from, std::size_t size,
                          std::uint64_t at) noexcept override {
    const iovec all{const_cast<void*>(from), size};  // only read from
    return pwritev2(fd, &all, 1, static_cast<off_t>(at), RWF_DSYNC);
  }
  int sync(int fd) noexcept override { return fsync(fd); }
  int sync_data(int fd) noexcept override { return fdatasync(fd); }
  int sync_file_system(int fd) noexcept override { return syncfs(fd); }
  bool syncs_report() noexcept override {
    static const bool since_linux_5_8 = syncfs_reports();
    return since_linux_5_8;
  }
  std::string path_of(int fd) override {
    std::array<char, 256> name{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t length = readlink(link.c_str(), name.data(), name.size());
    return std::string(name.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  }

  int open(const char* path, int flags, mode_t mode) noexcept override {
    return ::open(path, flags, mode);
  }
  int status(const char* path, struct stat& found) noexcept override { return stat(path, &found); }
  int status_of_link(const char* path, struct stat& found) noexcept override {
    return lstat(path, &found);
  }
  int access(const char* path, int how) noexcept override { return ::access(path, how); }
  int remove(const char* path) noexcept override { return unlink(path); }
  int rename(const char* from, const char* to) noexcept override { return ::rename(from, to); }
  int rename_new(const char* from, const char* to) noexcept override {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    // A file system that cannot: two names for a moment.
    if (link(from, to) != 0) return -1;
    return unlink(from);
  }
  int truncate(const char* path, std::uint64_t size) noexcept override {
    return ::truncate(path, static_cast<off_t>(size));
  }
  int make_directory(const char* path) noexcept override { return mkdir(path, 0777); }
  int change_mode(const char* path, mode_t mode) noexcept override { return chmod(path, mode); }

  Listed list(const char* path, EntryVisitor& visitor) override {
    std::unique_ptr<DIR, CloseDirectory> directory(opendir(path));
    if (directory == nullptr) return Listed::cannot_open;
    for (;;) {
      errno = 0;
      const dirent* const entry = readdir(directory.get());
      if (entry == nullptr) {
        const int error = errno;
        directory.reset();
        errno = error;
        return error != 0 ? Listed::cannot_read : Listed::all;
      }
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (!visitor.on_entry(entry->d_name, type_of(directory.get(), *entry))) {
        return Listed::cut_short;
      }
    }
  }

  int make_watch() noexcept override { return inotify_init1(IN_CLOEXEC); }
  int add_watch(int fd, const char* path, std::uint32_t events) noexcept override {
    return inotify_add_watch(fd, path, events);
  }
  void remove_watch(int fd, int number) noexcept override { inotify_rm_watch(fd, number); }

  int make_terminal(std::string& other) override {
    const int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return -1;
    std::array<char, 128> name{};
    int error = 0;
    if (grantpt(fd) != 0 || unlockpt(fd) != 0) error = errno;
    if (error == 0) error = ptsname_r(fd, name.data(), name.size());
    if (error != 0) {
      ::close(fd);
      errno = error;
      return -1;
    }
    other = name.data();
    return fd;
  }
  int resize_terminal(int fd, std::uint16_t columns, std::uint16_t rows) noexcept override {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    return ioctl(fd, TIOCSWINSZ, &size);
  }
};

}  // namespace

WorldFiles& os_files() noexcept {
  static auto* const files = new OsFiles;
  return *files;
}

}  // namespace tiffany::world
