#include "world/ring.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace tiffany::world {
namespace {

using Kind = Operation::Kind;

constexpr unsigned kEntries = 256;
constexpr unsigned kCompletions = 4096;

}  // namespace

Ring::Ring() noexcept {
  // From the best to what every kernel with io_uring has.
  for (const unsigned flags : {unsigned{IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN},
                               unsigned{IORING_SETUP_COOP_TASKRUN}, 0U}) {
    io_uring_params params{};
    params.flags = flags | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    params.cq_entries = kCompletions;
    if (io_uring_queue_init_params(kEntries, &ring_, &params) != 0) continue;
    open_ = true;
    features_ = params.features;
    return;
  }
}

Ring::~Ring() {
  if (open_) io_uring_queue_exit(&ring_);
}

bool Ring::complete() noexcept {
  constexpr unsigned kNeeded =
      IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_FAST_POLL | IORING_FEAT_CQE_SKIP;
  if (!open_ || (features_ & kNeeded) != kNeeded) return false;
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring_);
  if (probe == nullptr) return false;
  bool all = true;
  for (const int code : {IORING_OP_POLL_ADD, IORING_OP_READ, IORING_OP_WRITE, IORING_OP_RECV,
                         IORING_OP_SEND, IORING_OP_RECVMSG, IORING_OP_SENDMSG, IORING_OP_ACCEPT,
                         IORING_OP_CONNECT, IORING_OP_FSYNC, IORING_OP_FALLOCATE, IORING_OP_OPENAT,
                         IORING_OP_RENAMEAT, IORING_OP_UNLINKAT, IORING_OP_ASYNC_CANCEL}) {
    all = all && io_uring_opcode_supported(probe, code) != 0;
  }
  io_uring_free_probe(probe);
  return all && goes_round();
}

bool Ring::goes_round() noexcept {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  io_uring_prep_nop(entry);
  io_uring_sqe_set_data64(entry, kNobody);
  int done = 0;
  do {
    done = io_uring_submit_and_wait(&ring_, 1);
  } while (done == -EINTR);
  io_uring_cqe* completion = nullptr;
  if (done < 0 || io_uring_peek_cqe(&ring_, &completion) != 0) return false;
  io_uring_cqe_seen(&ring_, completion);
  return true;
}

void prepare(io_uring_sqe& entry, Operation& op) noexcept {
  auto* const bytes = static_cast<std::byte*>(op.memory) + op.progress;
  // Longer than the kernel takes in one go: the rest follows when that is over.
  const auto size = static_cast<unsigned>(std::min<std::size_t>(op.size - op.progress, 1U << 30));
  const auto offset = static_cast<std::uint64_t>(
      op.offset < 0 ? op.offset : op.offset + static_cast<std::int64_t>(op.progress));
  switch (op.kind) {
    case Kind::poll:
      return io_uring_prep_poll_add(&entry, op.fd, static_cast<unsigned>(op.flags));
    case Kind::read:
      return io_uring_prep_read(&entry, op.fd, bytes, size, offset);
    case Kind::write:
      io_uring_prep_write(&entry, op.fd, bytes, size, offset);
      entry.rw_flags = op.flags;
      return;
    case Kind::recv:
      return io_uring_prep_recv(&entry, op.fd, bytes, size, op.flags);
    case Kind::send:
      return io_uring_prep_send(&entry, op.fd, bytes, size, op.flags | MSG_NOSIGNAL | MSG_WAITALL);
    case Kind::recv_msg:
      return io_uring_prep_recvmsg(&entry, op.fd, static_cast<msghdr*>(op.memory),
                                   static_cast<unsigned>(op.flags));
    case Kind::send_msg:
      return io_uring_prep_sendmsg(&entry, op.fd, static_cast<msghdr*>(op.memory),
                                   static_cast<unsigned>(op.flags) | MSG_NOSIGNAL);
    case Kind::accept:
      return io_uring_prep_accept(&entry, op.fd, nullptr, nullptr, SOCK_CLOEXEC);
    case Kind::connect:
      return io_uring_prep_connect(&entry, op.fd, static_cast<const sockaddr*>(op.memory),
                                   static_cast<socklen_t>(op.size));
    case Kind::sync:
      return io_uring_prep_fsync(&entry, op.fd, op.flags != 0 ? IORING_FSYNC_DATASYNC : 0);
    case Kind::allocate:
      return io_uring_prep_fallocate(&entry, op.fd, op.flags, op.offset,
                                     static_cast<off_t>(op.size));
    case Kind::open:
      return io_uring_prep_openat(&entry, AT_FDCWD, op.path(), op.flags | O_CLOEXEC,
                                  static_cast<mode_t>(op.size));
    case Kind::rename:
      return io_uring_prep_renameat(&entry, AT_FDCWD, op.path(), AT_FDCWD,
                                    static_cast<const char*>(op.other), 0);
    case Kind::unlink:
      return io_uring_prep_unlinkat(&entry, AT_FDCWD, op.path(), op.flags);
    case Kind::work:
      return io_uring_prep_nop(&entry);  // never comes here
  }
}

}  // namespace tiffany::world
