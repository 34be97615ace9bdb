#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>

#include "world/backend.hpp"

namespace tiffany::world {
namespace {

using Kind = Operation::Kind;

std::int64_t call(Operation& op) noexcept {
  auto* const bytes = static_cast<std::byte*>(op.memory) + op.progress;
  const std::size_t size = op.size - op.progress;
  switch (op.kind) {
    case Kind::poll: {
      pollfd entry{op.fd, static_cast<short>(op.flags), 0};
      const int ready = ::poll(&entry, 1, 0);
      if (ready == 0) errno = EAGAIN;
      return ready > 0 ? entry.revents : -1;
    }
    case Kind::read:
      return op.offset < 0
                 ? ::read(op.fd, bytes, size)
                 : ::pread(op.fd, bytes, size, op.offset + static_cast<off_t>(op.progress));
    case Kind::write:
      if (op.offset < 0) return ::write(op.fd, bytes, size);
      if (op.flags != 0) {
        const iovec all{bytes, size};
        return ::pwritev2(op.fd, &all, 1, op.offset + static_cast<off_t>(op.progress), op.flags);
      }
      return ::pwrite(op.fd, bytes, size, op.offset + static_cast<off_t>(op.progress));
    case Kind::recv:
      return ::recv(op.fd, bytes, size, op.flags | MSG_DONTWAIT);
    case Kind::send:
      return ::send(op.fd, bytes, size, op.flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    case Kind::recv_msg:
      return ::recvmsg(op.fd, static_cast<msghdr*>(op.memory), op.flags | MSG_DONTWAIT);
    case Kind::send_msg:
      return ::sendmsg(op.fd, static_cast<msghdr*>(op.memory),
                       op.flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    case Kind::accept:
      return ::accept4(op.fd, nullptr, nullptr, SOCK_CLOEXEC);
    case Kind::connect:
      return ::connect(op.fd, static_cast<const sockaddr*>(op.memory),
                       static_cast<socklen_t>(op.size));
    case Kind::sync:
      return op.flags != 0 ? ::fdatasync(op.fd) : ::fsync(op.fd);
    case Kind::allocate:
      return ::fallocate(op.fd, op.flags, op.offset, static_cast<off_t>(op.size));
    case Kind::open:
      return ::open(op.path(), op.flags | O_CLOEXEC, static_cast<mode_t>(op.size));
    case Kind::rename:
      return ::rename(op.path(), static_cast<const char*>(op.other));
    case Kind::unlink:
      return ::unlinkat(AT_FDCWD, op.path(), op.flags);
    case Kind::work:
      return static_cast<BlockingWork*>(op.memory)->run();
  }
  return 0;
}

// As call(), for a read or write where the descriptor is, without waiting and without making it
// non-blocking. EOPNOTSUPP: this kind of descriptor cannot do that.
ssize_t call_without_waiting(const Operation& op) noexcept {
  const iovec all{static_cast<std::byte*>(op.memory) + op.progress, op.size - op.progress};
  if (op.kind == Kind::read) return ::preadv2(op.fd, &all, 1, -1, RWF_NOWAIT);
  return ::pwritev2(op.fd, &all, 1, -1, RWF_NOWAIT);
}

// The same for those: the call is made when the descriptor is ready, and only for as much as a
// ready one takes at once (a pipe takes PIPE_BUF). It waits all the same when another process is
// quicker.
ssize_t call_when_ready(const Operation& op) noexcept {
  const bool out = op.kind == Kind::write;
  pollfd entry{op.fd, static_cast<short>(out ? POLLOUT : POLLIN), 0};
  const int ready = ::poll(&entry, 1, 0);
  if (ready == 0) errno = EAGAIN;
  if (ready <= 0) return -1;
  auto* const bytes = static_cast<std::byte*>(op.memory) + op.progress;
  const std::size_t size = op.size - op.progress;
  if (op.kind == Kind::accept) return ::accept4(op.fd, nullptr, nullptr, SOCK_CLOEXEC);
  return out ? ::write(op.fd, bytes, std::min<std::size_t>(size, PIPE_BUF))
             : ::read(op.fd, bytes, size);
}

}  // namespace

Identity identity_of(int fd) noexcept {
  struct stat about{};
  if (fstat(fd, &about) != 0) return {};
  return Identity{about.st_dev, about.st_ino, true};
}

int perform_on_shared(Operation& op, bool& cannot) noexcept {
  for (;;) {
    const bool plain = cannot || op.kind == Kind::accept;
    const ssize_t result = plain ? call_when_ready(op) : call_without_waiting(op);
    if (result < 0) {
      if (errno == EINTR) continue;
      if (errno == EOPNOTSUPP && !plain) {
        cannot = true;
        continue;
      }
      return -errno;
    }
    if (!op.writes()) return static_cast<int>(result);
    op.progress += static_cast<std::size_t>(result);
    if (op.progress == op.size || result == 0) return static_cast<int>(op.progress);
  }
}

int perform_from_cache(Operation& op) noexcept {
  for (;;) {
    const iovec all{static_cast<std::byte*>(op.memory) + op.progress, op.size - op.progress};
    const auto at = op.offset + static_cast<off_t>(op.progress);
    const ssize_t result = op.kind == Kind::read ? ::preadv2(op.fd, &all, 1, at, RWF_NOWAIT)
                                                 : ::pwritev2(op.fd, &all, 1, at, RWF_NOWAIT);
    if (result < 0) {
      if (errno == EINTR) continue;
      return -errno;
    }
    op.progress += static_cast<std::size_t>(result);
    // Less than was asked for: the end of the file, or of what is in memory. The next call says
    // which.
    if (op.progress == op.size || result == 0) return static_cast<int>(op.progress);
  }
}

int perform(Operation& op) noexcept {
  for (;;) {
    const std::int64_t result = call(op);
    if (op.kind == Operation::Kind::work) return static_cast<int>(result);
    if (result < 0) {
      if (errno == EINTR) continue;
      return -errno;
    }
    // What of a read came from memory before counts.
    if (op.kind == Kind::read) return static_cast<int>(op.progress) + static_cast<int>(result);
    if (!op.writes()) return static_cast<int>(result);
    op.progress += static_cast<std::size_t>(result);
    // Nothing of a write that is not empty: asking again would not end.
    if (op.progress == op.size || result == 0) return static_cast<int>(op.progress);
  }
}

}  // namespace tiffany::world
