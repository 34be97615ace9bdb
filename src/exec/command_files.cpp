#include "exec/command_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany::exec {

std::optional<Descriptor> open_plain(const std::string& path) {
  WorldFiles& files = World::current().files();
  Descriptor file(files.open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ESRCH) return std::nullopt;
    throw_io_error("open", path);
  }
  struct stat about{};
  if (files.status(file.fd(), about) != 0) throw_io_error("look at", path);
  if (!S_ISREG(about.st_mode)) {
    throw Error(Errc::command_damaged, path + " is no file, and is not read.");
  }
  return file;
}

constexpr std::size_t kMostOfAFile = std::size_t{4} << 20;

// These files are small and were written a moment ago, or are in /proc: reading them here is
// shorter than handing it over.
std::optional<std::string> small_file(const std::string& path) {
  const std::optional<Descriptor> file = open_plain(path);
  if (!file) return std::nullopt;
  std::string text;
  std::string room(std::size_t{64} * 1024, '\0');
  while (text.size() < kMostOfAFile) {
    const ssize_t n = World::current().files().read(
        file->fd(), room.data(), std::min(room.size(), kMostOfAFile - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ESRCH) return std::nullopt;  // a process that has ended, in /proc
    if (n < 0) throw_io_error("read", path);
    if (n == 0) break;
    text.append(room, 0, static_cast<std::size_t>(n));
  }
  return text;
}

bool exists(const std::string& path) {
  return World::current().files().access(path.c_str(), F_OK) == 0 ||
         (errno != ENOENT && errno != ENOTDIR);
}
bool has_begun(const std::string& at) { return exists(at + "/supervisor"); }

}  // namespace tiffany::exec
