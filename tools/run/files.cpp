#include "files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

namespace tiffany::supervisor {
namespace {

constexpr std::size_t kMostOfAFile = std::size_t{4} << 20;
constexpr off_t kReserved = 16 * 1024;  // more than an exit.json can have

constexpr std::size_t kLongestSpec = std::size_t{2} << 20;

// By one call, where realpath() makes one for each part of the path.
std::string path_of(int directory, const std::string& path) {
  std::array<char, PATH_MAX> room{};
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  const ssize_t size = readlink(link.c_str(), room.data(), room.size());
  if (size > 0) return {room.data(), static_cast<std::size_t>(size)};
  if (realpath(path.c_str(), room.data()) == nullptr) refuse("find", path);
  return room.data();
}

}  // namespace

void refuse(const std::string& what, const std::string& on) {
  throw Refusal("tiffany-run cannot " + what + " " + on + ": " + std::strerror(errno) + ".");
}

void make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return;
  const std::size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) refuse("make", path);
  make_directory(path.substr(0, slash));
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) refuse("make", path);
}

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 16 * 1024> room;
  for (;;) {
    const ssize_t n = read(fd, room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse("read", "the text of a command");
    if (n == 0) return text;
    text.append(room.data(), static_cast<std::size_t>(n));
    if (text.size() > kLongestSpec) {
      throw Refusal("tiffany-run takes commands of at most 2 MiB. Put what is long into a file.");
    }
  }
}

Fd::Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
void Fd::close() noexcept {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

bool write_all(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::optional<std::string> read_all(int directory, const char* name, std::size_t most) {
  // A command may have put anything into its directory: neither is a fifo waited for, nor a link
  // followed there. Elsewhere a link is as good as a file, as for a secret.
  const int links = directory == AT_FDCWD ? 0 : O_NOFOLLOW;
  const Fd file(openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | links));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    refuse("open", name);
  }
  struct stat about{};
  if (fstat(file.get(), &about) != 0) refuse("look at", name);
  if (!S_ISREG(about.st_mode)) {
    throw Refusal(std::string("tiffany-run does not read ") + name + ", which is no file.");
  }
  std::string text;
  std::array<char, 4096> room{};
  for (;;) {
    const ssize_t n = read(file.get(), room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse("read", name);
    if (n == 0) return text;
    text.append(room.data(), static_cast<std::size_t>(n));
    if (text.size() > most) {
      throw Refusal(std::string("tiffany-run does not read ") + name + ": the file has more than " +
                    std::to_string(most) + " bytes.");
    }
  }
}

CommandDirectory::CommandDirectory(const std::string& path) {
  make_directory(path);
  directory_ = Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory_.get() < 0) refuse("open", path);
  path_ = path_of(directory_.get(), path);
}

std::string CommandDirectory::id() const { return path_.substr(path_.rfind('/') + 1); }

bool CommandDirectory::lock() {
  lock_ = Fd(openat(fd(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock_.get() < 0) refuse("open", path_ + "/lock");
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  refuse("lock", path_ + "/lock");
}

void CommandDirectory::wait_for_lock() {
  while (flock(lock_.get(), LOCK_EX) != 0) {
    if (errno != EINTR) refuse("lock", path_ + "/lock");
  }
}

bool CommandDirectory::wait_for_lock(unsigned seconds) {
  struct sigaction interrupt{};
  interrupt.sa_handler = [](int) {};  // and no SA_RESTART: flock ends with EINTR
  sigaction(SIGALRM, &interrupt, nullptr);
  alarm(seconds);
  const bool locked = flock(lock_.get(), LOCK_EX) == 0;
  alarm(0);
  if (!locked && errno != EINTR) refuse("lock", path_ + "/lock");
  return locked;
}

bool CommandDirectory::has(const char* name) const { return faccessat(fd(), name, F_OK, 0) == 0; }

std::optional<std::string> CommandDirectory::read(const char* name) const {
  return read_all(fd(), name, kMostOfAFile);
}

void CommandDirectory::replace(const char* name, std::string_view bytes, bool synced) const {
  const std::string next = std::string(name) + ".new";
  const Fd file(openat(fd(), next.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) refuse("open", path_ + "/" + next);
  if (!write_all(file.get(), bytes)) refuse("write", path_ + "/" + next);
  if (ftruncate(file.get(), static_cast<off_t>(bytes.size())) != 0) refuse("shorten", next);
  if (synced && fsync(file.get()) != 0) refuse("sync", path_ + "/" + next);
  if (renameat(fd(), next.c_str(), fd(), name) != 0) refuse("rename", path_ + "/" + next);
  if (synced) sync();
}

void CommandDirectory::reserve(const char* name) const {
  const std::string next = std::string(name) + ".new";
  const Fd file(openat(fd(), next.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) refuse("open", path_ + "/" + next);
  const int error = posix_fallocate(file.get(), 0, kReserved);
  if (error != 0 && error != EOPNOTSUPP && error != EINVAL) {
    errno = error;
    refuse("reserve room for", path_ + "/" + name);
  }
}

void CommandDirectory::make(const char* name, bool synced) const {
  const Fd file(openat(fd(), name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) refuse("make", path_ + "/" + name);
  if (synced) sync();
}

void CommandDirectory::clear_way(const char* name) const noexcept {
  for (const std::string& each : {std::string(name), std::string(name) + ".new"}) {
    struct stat about{};
    if (fstatat(fd(), each.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(about.st_mode)) continue;
    renameat(fd(), each.c_str(), fd(), (each + ".aside").c_str());
  }
}

bool CommandDirectory::gone() const noexcept {
  struct stat about{};
  return fstat(fd(), &about) == 0 && about.st_nlink == 0;
}

void CommandDirectory::sync() const {
  if (fsync(fd()) != 0) refuse("sync", path_);
}

const std::string& boot_id() {
  static const std::string known = [] {
    std::string id = read_all(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 4096).value_or("");
    while (!id.empty() && id.back() == '\n') id.pop_back();
    return id;
  }();
  return known;
}

std::int64_t wall_us() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace tiffany::supervisor
