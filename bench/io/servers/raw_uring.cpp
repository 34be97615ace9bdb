// The other floor of the server rows: liburing with multishot accept, multishot receive and
// provided buffers, and nothing else.
#include <liburing.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <vector>

#include "server.hpp"

namespace {

constexpr unsigned kBuffers = 4096;
constexpr unsigned kBufferSize = 16384;
enum : std::uint64_t { kAccept = 1, kInput = 2, kReceive = 3, kSend = 4 };

std::uint64_t pack(std::uint64_t kind, int fd, unsigned buffer = 0) {
  return kind | (static_cast<std::uint64_t>(fd) << 8) | (static_cast<std::uint64_t>(buffer) << 40);
}

}  // namespace

int main(int count, char** arguments) {
  server::allow_many_files();
  const server::Mode mode = server::mode_of(count, arguments);
  const int listener = server::listen_by_hand(mode, "uring", 0);

  io_uring ring;
  io_uring_params params{};
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
  params.cq_entries = 16384;
  if (io_uring_queue_init_params(1024, &ring, &params) != 0) return 1;

  std::vector<char> memory(std::size_t{kBuffers} * kBufferSize);
  io_uring_buf_ring* buffers = nullptr;
  if (posix_memalign(reinterpret_cast<void**>(&buffers), 4096, kBuffers * sizeof(io_uring_buf)) !=
      0)
    return 1;
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uint64_t>(buffers);
  registration.ring_entries = kBuffers;
  registration.bgid = 0;
  if (io_uring_register_buf_ring(&ring, &registration, 0) != 0) return 1;
  io_uring_buf_ring_init(buffers);
  const auto at = [&](unsigned buffer) {
    return memory.data() + std::size_t{buffer} * kBufferSize;
  };
  for (unsigned i = 0; i < kBuffers; ++i) {
    io_uring_buf_ring_add(buffers, at(i), kBufferSize, static_cast<unsigned short>(i),
                          io_uring_buf_ring_mask(kBuffers), static_cast<int>(i));
  }
  io_uring_buf_ring_advance(buffers, static_cast<int>(kBuffers));

  const auto entry = [&] {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring);
    while (sqe == nullptr) {
      io_uring_submit(&ring);
      sqe = io_uring_get_sqe(&ring);
    }
    return sqe;
  };
  const auto receive = [&](int fd) {
    io_uring_sqe* sqe = entry();
    io_uring_prep_recv_multishot(sqe, fd, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = 0;
    io_uring_sqe_set_data64(sqe, pack(kReceive, fd));
  };
  io_uring_sqe* sqe = entry();
  io_uring_prep_multishot_accept(sqe, listener, nullptr, nullptr, 0);
  io_uring_sqe_set_data64(sqe, kAccept);
  sqe = entry();
  io_uring_prep_poll_add(sqe, 0, POLLIN);
  io_uring_sqe_set_data64(sqe, kInput);

  for (;;) {
    io_uring_submit_and_wait(&ring, 1);
    io_uring_cqe* cqe = nullptr;
    unsigned head = 0;
    unsigned seen = 0;
    int returned = 0;
    io_uring_for_each_cqe(&ring, head, cqe) {
      ++seen;
      const int fd = static_cast<int>((cqe->user_data >> 8) & 0xffffffff);
      switch (cqe->user_data & 0xff) {
        case kInput:
          return 0;
        case kAccept: {
          const int one = 1;
          setsockopt(cqe->res, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
          receive(cqe->res);
          break;
        }
        case kReceive:
          if (cqe->res <= 0) {
            if (cqe->res == -ENOBUFS) {
              receive(fd);
            } else {
              close(fd);
            }
          } else {
            const unsigned buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
            const std::string_view request(at(buffer), static_cast<std::size_t>(cqe->res));
            const bool http = mode == server::Mode::http;
            // The load of the http row has one request in flight on each connection.
            const char* const answer = http ? server::kHello.data() : request.data();
            const std::size_t size = !http                               ? request.size()
                                     : server::requests_in(request) == 0 ? 0
                                                                         : server::kHello.size();
            sqe = entry();
            io_uring_prep_send(sqe, fd, answer, size, MSG_NOSIGNAL | MSG_WAITALL);
            io_uring_sqe_set_data64(sqe, pack(kSend, fd, buffer));
            if ((cqe->flags & IORING_CQE_F_MORE) == 0) receive(fd);
          }
          break;
        case kSend: {
          const auto buffer = static_cast<unsigned>(cqe->user_data >> 40);
          io_uring_buf_ring_add(buffers, at(buffer), kBufferSize,
                                static_cast<unsigned short>(buffer),
                                io_uring_buf_ring_mask(kBuffers), returned++);
          break;
        }
      }
    }
    if (returned > 0) io_uring_buf_ring_advance(buffers, returned);
    io_uring_cq_advance(&ring, seen);
  }
}
