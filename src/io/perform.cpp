#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "io/backend.hpp"

namespace tiffany::io {
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
      return op.offset < 0 ? ::read(op.fd, bytes, size) : ::pread(op.fd, bytes, size, op.offset);
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

}  // namespace

int perform(Operation& op) noexcept {
  for (;;) {
    const std::int64_t result = call(op);
    if (op.kind == Operation::Kind::work) return static_cast<int>(result);
    if (result < 0) {
      if (errno == EINTR) continue;
      return -errno;
    }
    if (!op.writes()) return static_cast<int>(result);
    op.progress += static_cast<std::size_t>(result);
    // Nothing of a write that is not empty: asking again would not end.
    if (op.progress == op.size || result == 0) return static_cast<int>(op.progress);
  }
}

}  // namespace tiffany::io
