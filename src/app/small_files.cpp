#include "app/small_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany::app {
namespace {

struct Opened {
  explicit Opened(int number) noexcept : fd(number) {}
  ~Opened() {
    if (fd >= 0) World::current().files().close(fd);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  int fd;
};

int write_and_sync(const std::string& path, std::string_view content) {
  WorldFiles& files = World::current().files();
  const Opened file(
      files.open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.fd < 0) return errno;
  for (std::size_t at = 0; at < content.size();) {
    const ssize_t n = files.write_at(file.fd, content.data() + at, content.size() - at, at);
    if (n <= 0) return n == 0 ? ENOSPC : errno;
    at += static_cast<std::size_t>(n);
  }
  return files.sync(file.fd) == 0 ? 0 : errno;
}

// A name that was moved is on the disk when its directory is.
int sync_directory_of(const std::string& path) {
  WorldFiles& files = World::current().files();
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Opened opened(files.open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.fd >= 0 && files.sync(opened.fd) == 0 ? 0 : errno;
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path, std::size_t most) {
  WorldFiles& files = World::current().files();
  const Opened file(files.open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) {
    if (errno == ENOENT) return std::nullopt;
    throw IoError(errno, "open", path);
  }
  std::string text;
  std::array<char, 16384> room;
  for (;;) {
    const ssize_t n = files.read(file.fd, room.data(), room.size());
    if (n < 0) throw IoError(errno, "read", path);
    if (n == 0) return text;
    text.append(room.data(), static_cast<std::size_t>(n));
    if (text.size() > most) throw IoError(EFBIG, "read", path);
  }
}

// Crash case: the new content is in a file of its own and synced before the name is moved to it.
void write_private_file(const std::string& path, std::string_view content) {
  WorldFiles& files = World::current().files();
  const std::string draft = path + ".new";
  files.remove(draft.c_str());  // of one that was killed; its mode is not known
  int failed = write_and_sync(draft, content);
  if (failed == 0 && files.rename(draft.c_str(), path.c_str()) != 0) failed = errno;
  if (failed == 0) failed = sync_directory_of(path);
  if (failed != 0) throw IoError(failed, "write", path);
}

// What is there already is not touched: it may be somebody's, named by mistake.
void make_private_directory(const std::string& path) {
  WorldFiles& files = World::current().files();
  struct stat found{};
  if (files.status(path.c_str(), found) == 0) {
    if ((found.st_mode & (S_IRWXG | S_IRWXO)) == 0) return;
    throw Error(Errc::bad_argument,
                "Others than its owner may look into the data directory " + path +
                    ": say `chmod 700` if it is one of this program's, or name another.");
  }
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (files.make_directory(part.c_str()) != 0 && errno != EEXIST) {
      throw IoError(errno, "make the directory", part);
    }
    if (slash == std::string::npos) break;
  }
  if (files.change_mode(path.c_str(), 0700) != 0) {
    throw IoError(errno, "change the mode of", path);
  }
}

}  // namespace tiffany::app
