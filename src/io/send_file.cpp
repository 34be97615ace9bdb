#include "tiffany/io/send_file.hpp"

#include <cerrno>
#include <memory>

#include "tiffany/core/sleep.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/wait.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany {
namespace {

// One call of sendfile: long enough that the way to a thread and back does not count, short enough
// that a cancel is not waited for for long.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

struct Ends {
  Ends(World& of, Descriptor socket, Descriptor file)
      : world(of), to(std::move(socket)), from(std::move(file)) {}
  World& world;
  Descriptor to;
  Descriptor from;
};

Descriptor duplicate(const Descriptor& of) {
  const int fd = World::current().files().duplicate(of.fd());
  if (fd < 0) throw_io_error("dup", of.fd());
  return Descriptor(fd);
}

// Until the piece has gone, the socket is full or the file ends. Gives the number of bytes, or
// -errno.
std::int64_t send_piece(const std::shared_ptr<Ends>& ends, std::uint64_t at, std::uint64_t count) {
  std::uint64_t sent = 0;
  while (sent < count) {
    const ssize_t went =
        ends->world.files().send_file(ends->to.fd(), ends->from.fd(), at + sent, count - sent);
    if (went < 0 && errno == EINTR) continue;
    if (went < 0 && sent == 0) return -errno;
    if (went <= 0) break;  // an error comes again with the next piece
    sent += static_cast<std::uint64_t>(went);
  }
  return static_cast<std::int64_t>(sent);
}

// Its count must not be lost to a cancel.
Task<std::int64_t> send_piece_on_thread(std::shared_ptr<Ends> ends, std::uint64_t at,
                                        std::uint64_t count) {
  co_return co_await offload(send_piece, std::move(ends), at, count);
}

// False when it was cancelled; the next suspension throws again.
Task<bool> wait_for_room(const Socket& to) {
  try {
    co_await writable(to.descriptor());
  } catch (const Cancelled&) {
    co_return false;
  }
  co_return true;
}

class AnySocket {
 public:
  explicit AnySocket(const Socket& socket) noexcept : socket_(&socket) {}
  Write write(Bytes bytes) const noexcept { return socket_->write(bytes); }

 private:
  const Socket* socket_;
};

}  // namespace

Task<std::uint64_t> send_file(const Socket& to, const File& from, std::uint64_t at,
                              std::uint64_t count) {
  World& world = World::current();
  // Of their own: the thread may not use numbers that somebody else closes meanwhile.
  const auto ends =
      std::make_shared<Ends>(world, duplicate(to.descriptor()), duplicate(from.descriptor()));
  if (world.files().set_blocking(ends->to.fd(), false) != 0) {
    throw_io_error("fcntl", to.descriptor().fd());
  }
  world.processes().ignore_broken_pipes();  // sendfile has no flag for it
  co_await checkpoint();
  std::uint64_t sent = 0;
  while (sent < count && !Scheduler::current()->cancel_pending()) {
    if (!to) throw IoError(ECANCELED, "sendfile", "a socket");
    const std::uint64_t piece = std::min(kPiece, count - sent);
    const std::int64_t went = co_await shield(send_piece_on_thread(ends, at + sent, piece));
    if (went == 0) break;
    if (went == -EAGAIN) {
      if (sent == 0) {
        co_await writable(to.descriptor());
      } else if (!co_await wait_for_room(to)) {
        break;
      }
    } else if (went == -EINVAL || went == -ENOSYS) {  // the kernel does not do it for this file
      AnySocket plain(to);
      co_return sent + co_await send_file(plain, from, at + sent, count - sent);
    } else if (went < 0) {
      throw IoError(static_cast<int>(-went), "sendfile", describe_descriptor(to.descriptor().fd()));
    } else {
      sent += static_cast<std::uint64_t>(went);
    }
  }
  co_return sent;
}

}  // namespace tiffany
