#include "tiffany/io/socket_path.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace {

// Whoever holds the lock makes a handful of system calls; so many milliseconds are plenty.
constexpr int kMostTries = 50;

// Serialises looking at a path and changing what is there. On the directory and not on a file of
// its own: nothing is left behind.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& path) noexcept {
    std::array<char, sizeof(sockaddr_un::sun_path) + 1> directory{};
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) {
      directory[0] = '.';
    } else {
      std::memcpy(directory.data(), path.data(), slash == 0 ? 1 : slash);
    }
    fd_ = files_.open(directory.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd_ >= 0 && !held_ && i < kMostTries; ++i) {
      if (i > 0) World::current().pause(std::chrono::milliseconds(1));
      held_ = files_.lock(fd_) == 0;
    }
  }
  ~DirectoryLock() {
    if (fd_ >= 0) files_.close(fd_);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  // Not when the directory may not be read, or somebody else does not let go of it.
  bool held() const noexcept { return held_; }

 private:
  WorldFiles& files_ = World::current().files();
  int fd_ = -1;
  bool held_ = false;
};

int type_of(const Descriptor& socket) noexcept {
  int type = SOCK_STREAM;
  socklen_t size = sizeof type;
  World::current().sockets().get_option(socket.fd(), SOL_SOCKET, SO_TYPE, &type, size);
  return type;
}

[[noreturn]] void refuse(const Address& address, const std::string& why) {
  throw IoError(EADDRINUSE, "bind", address.text(), why);
}

// The process that listens; 0: nobody knows.
pid_t listening_process(int connected) {
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known =
      World::current().sockets().get_option(connected, SOL_SOCKET, SO_PEERCRED, &peer, size) == 0;
  return known && peer.pid > 0 ? peer.pid : 0;
}

// The kernel may need a moment to close what a process had open that was killed, and connects us
// meanwhile (seen with io_uring).
bool has_ended(pid_t process) {
  return process > 0 && World::current().processes().kill(process, 0) != 0 && errno == ESRCH;
}

std::string who_has(pid_t process) {
  const std::string who = process > 0 ? "Process " + std::to_string(process) : "Another process";
  return who + " has this socket open. Stop that process, or choose another path.";
}

// Returns when nobody has the socket at this address open; throws otherwise.
void require_dead(const Address& address, int type) {
  const Descriptor probe = take_descriptor(
      World::current().sockets().make(AF_UNIX, type | SOCK_NONBLOCK), "socket", "a probe");
  if (World::current().sockets().connect(probe.fd(), address.data(), address.size()) == 0) {
    const pid_t process = listening_process(probe.fd());
    if (has_ended(process)) return;
    refuse(address, who_has(process));
  }
  switch (errno) {
    case ECONNREFUSED:
    case ENOENT:  // gone meanwhile
      return;
    case EACCES:
    case EPERM:
      refuse(address,
             "There is a socket that this process may not connect to, so that nothing is known of "
             "who has it. Remove the file, or choose another path.");
    default:  // EAGAIN: its backlog is full; EPROTOTYPE: a socket of another type
      refuse(address,
             "Another process has this socket open. Stop that process, or choose another path.");
  }
}

void remove_dead(const Address& address, const std::string& path, int type,
                 const DirectoryLock& lock) {
  struct stat before{};
  if (World::current().files().status_of_link(path.c_str(), before) != 0) return;  // gone meanwhile
  if (!S_ISSOCK(before.st_mode)) {
    refuse(address,
           "There is a file that is no socket, and it was left alone. Remove that file, or choose "
           "another path.");
  }
  require_dead(address, type);
  if (!lock.held()) {
    refuse(address,
           "Nobody listens there, but the directory could not be locked to take the path over. "
           "Remove the file, or choose another path.");
  }
  struct stat now{};
  if (World::current().files().status_of_link(path.c_str(), now) != 0) return;
  if (now.st_ino != before.st_ino || now.st_dev != before.st_dev) {
    refuse(address, "Another process took the path at this moment. Choose another path.");
  }
  if (World::current().files().remove(path.c_str()) != 0 && errno != ENOENT)
    throw_io_error("remove", address.text());
}

void listen_at(const Descriptor& socket, const Address& address, std::optional<int> backlog) {
  if (backlog && World::current().sockets().listen(socket.fd(), *backlog) != 0)
    throw_io_error("listen", address.text());
}

}  // namespace

SocketPath& SocketPath::operator=(SocketPath&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, std::string());
    device_ = other.device_;
    inode_ = other.inode_;
    owner_ = other.owner_;
  }
  return *this;
}

SocketPath SocketPath::bind(const Descriptor& socket, const Address& address,
                            std::optional<int> backlog) {
  const auto try_to = [&] {
    return World::current().sockets().bind(socket.fd(), address.data(), address.size()) == 0;
  };
  SocketPath made;
  const std::string path(address.path());
  if (path.empty()) {
    if (!try_to()) {
      if (errno == EADDRINUSE && address.is_unix()) {
        refuse(address,
               "Another process has this name. Stop that process, or choose another name.");
      }
      throw_io_error("bind", address.text());
    }
    listen_at(socket, address, backlog);
    return made;
  }
  // Until it listens: a socket that is bound and does not listen yet looks like a dead one.
  const DirectoryLock lock(path);
  if (!try_to()) {
    if (errno != EADDRINUSE) throw_io_error("bind", address.text());
    remove_dead(address, path, type_of(socket), lock);
    if (!try_to()) throw_io_error("bind", address.text());
  }
  struct stat file{};
  if (World::current().files().status_of_link(path.c_str(), file) == 0) {
    made.path_ = path;
    made.device_ = file.st_dev;
    made.inode_ = file.st_ino;
    made.owner_ = World::current().process_id();
  }
  listen_at(socket, address, backlog);
  return made;
}

void SocketPath::remove() noexcept {
  if (path_.empty() || owner_ != World::current().process_id()) return;
  const DirectoryLock lock(path_);  // where there is none, the inode has to do
  struct stat now{};
  if (World::current().files().status_of_link(path_.c_str(), now) == 0 && now.st_dev == device_ &&
      now.st_ino == inode_) {
    World::current().files().remove(path_.c_str());
  }
  path_.clear();
}

}  // namespace tiffany
