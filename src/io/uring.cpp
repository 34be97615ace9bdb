// io_uring. Operations are handed to the kernel in batches: one system call per turn of the scheduler
// submits all of them and fetches what is over. Everything is probed; a kernel that lacks something we
// need gets epoll instead.
#include <liburing.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "io/backend.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/io/system_reactor.hpp"

namespace tiffany::io {
namespace {

using Kind = Operation::Kind;

constexpr unsigned kEntries = 256;
constexpr unsigned kCompletions = 4096;
// Marks in the place of an operation's address.
constexpr std::uint64_t kNobody = 1;
constexpr std::uint64_t kWakeup = 2;

class Ring {
 public:
  Ring() noexcept {
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
  ~Ring() {
    if (open_) io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Everything that is used without a way around it.
  bool complete() noexcept {
    constexpr unsigned kNeeded =
        IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_FAST_POLL | IORING_FEAT_CQE_SKIP;
    if (!open_ || (features_ & kNeeded) != kNeeded) return false;
    io_uring_probe* const probe = io_uring_get_probe_ring(&ring_);
    if (probe == nullptr) return false;
    bool all = true;
    for (const int code :
         {IORING_OP_POLL_ADD, IORING_OP_READ, IORING_OP_WRITE, IORING_OP_RECV, IORING_OP_SEND,
          IORING_OP_RECVMSG, IORING_OP_SENDMSG, IORING_OP_ACCEPT, IORING_OP_CONNECT,
          IORING_OP_FSYNC, IORING_OP_FALLOCATE, IORING_OP_OPENAT, IORING_OP_RENAMEAT,
          IORING_OP_UNLINKAT, IORING_OP_ASYNC_CANCEL}) {
      all = all && io_uring_opcode_supported(probe, code) != 0;
    }
    io_uring_free_probe(probe);
    return all;
  }
  io_uring* get() noexcept { return &ring_; }

 private:
  io_uring ring_{};
  unsigned features_ = 0;
  bool open_ = false;
};

class Uring final : public Backend {
 public:
  bool complete() noexcept { return ring_.complete(); }
  const char* name() const noexcept override { return "uring"; }

  bool submit(Operation& op) override {
    if (&here_ != owner_) [[unlikely]]
      refuse_thread();
    io_uring_sqe* const entry = next_entry();
    prepare(*entry, op);
    io_uring_sqe_set_data(entry, &op);
    count(op.fd, +1);
    return false;
  }

  bool take_back(Operation& op) noexcept override {
    io_uring_sqe* const entry = next_entry();
    io_uring_prep_cancel(entry, &op, 0);
    io_uring_sqe_set_data64(entry, kNobody);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    return false;
  }

  void drop(Operation& op) noexcept override {
    if (!op.asked_for) take_back(op);
    op.asked_for = true;
    while (op.state != Operation::State::over) {
      io_uring_submit_and_wait(ring_.get(), 1);
      reap();
    }
    finished.remove(op);
  }

  void closing(int fd) noexcept override {
    if (static_cast<std::size_t>(fd) >= on_.size() || on_[static_cast<std::size_t>(fd)] == 0)
      return;
    io_uring_sqe* const entry = next_entry();
    io_uring_prep_cancel_fd(entry, fd, IORING_ASYNC_CANCEL_ALL);
    io_uring_sqe_set_data64(entry, kNobody);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_submit(ring_.get());  // while the number still names this descriptor
  }

  void look(bool busy) noexcept override {
    if (busy) io_uring_submit_and_get_events(ring_.get());
    reap();
  }

  void wait(std::optional<Duration> limit, Wakeup& wakeup) noexcept override {
    if (!watches_wakeup_) {
      io_uring_sqe* const entry = next_entry();
      io_uring_prep_poll_multishot(entry, wakeup.fd(), POLLIN);
      io_uring_sqe_set_data64(entry, kWakeup);
      watches_wakeup_ = true;
    }
    __kernel_timespec time{};
    if (limit) {
      const auto ns = std::max<Duration::rep>(0, limit->count());
      time.tv_sec = ns / 1'000'000'000;
      time.tv_nsec = ns % 1'000'000'000;
    }
    io_uring_cqe* first = nullptr;
    io_uring_submit_and_wait_timeout(ring_.get(), &first, 1, limit ? &time : nullptr, nullptr);
    reap();
  }

 private:
  io_uring_sqe* next_entry() noexcept {
    io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
    while (entry == nullptr) {  // full: the kernel takes all of it
      io_uring_submit(ring_.get());
      entry = io_uring_get_sqe(ring_.get());
    }
    return entry;
  }

  static void prepare(io_uring_sqe& entry, Operation& op) noexcept {
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
        return io_uring_prep_send(&entry, op.fd, bytes, size,
                                  op.flags | MSG_NOSIGNAL | MSG_WAITALL);
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

  void reap() noexcept {
    io_uring_cqe* completion = nullptr;
    unsigned head = 0;
    unsigned seen = 0;
    io_uring_for_each_cqe(ring_.get(), head, completion) {
      ++seen;
      const std::uint64_t data = completion->user_data;
      if (data == kWakeup && (completion->flags & IORING_CQE_F_MORE) == 0) watches_wakeup_ = false;
      if (data > kWakeup) came(*reinterpret_cast<Operation*>(data), completion->res);
    }
    io_uring_cq_advance(ring_.get(), seen);
    for (Operation* const op : again_) submit(*op);
    again_.clear();
  }

  // The kernel has let go of an operation.
  void came(Operation& op, int result) noexcept {
    count(op.fd, -1);
    if (result == -EINTR && !op.asked_for) return once_more(op);
    if (result == -EAGAIN && !op.asked_for) return when_ready(op);
    if (op.writes() && result > 0) {
      op.progress += static_cast<std::size_t>(result);
      if (op.progress < op.size && !op.asked_for) return once_more(op);
      result = static_cast<int>(op.progress);
    } else if (op.writes() && result == -ECANCELED && op.progress > 0) {
      result = static_cast<int>(op.progress);
    }
    op.result = result;
    over(op);
  }
  void once_more(Operation& op) noexcept { again_.push_back(&op); }
  // Its descriptor was made non-blocking by somebody: the kernel waits for it first, then does it.
  void when_ready(Operation& op) noexcept {
    const bool out = op.writes() || op.kind == Kind::send_msg;
    if (io_uring_sq_space_left(ring_.get()) < 2) io_uring_submit(ring_.get());
    io_uring_sqe* const poll = next_entry();
    io_uring_prep_poll_add(poll, op.fd, out ? POLLOUT : POLLIN);
    io_uring_sqe_set_data64(poll, kNobody);
    poll->flags |= IOSQE_IO_LINK;
    submit(op);
  }

  void count(int fd, int change) noexcept {
    if (fd < 0) return;
    const auto index = static_cast<std::size_t>(fd);
    if (index >= on_.size()) on_.resize(index + 1 + index / 2);
    on_[index] += change;
  }

  // The kernel would refuse everything that another thread hands over.
  [[noreturn]] static void refuse_thread() {
    throw Error(Errc::no_io,
                "A scheduler that uses io_uring was driven by one thread and then by another. Let "
                "one thread drive it, or use TIFFANY_REACTOR=epoll.");
  }
  static inline thread_local char here_ = 0;

  const char* owner_ = &here_;
  Ring ring_;
  std::vector<int> on_;  // by descriptor: how many operations are in flight
  std::vector<Operation*> again_;
  bool watches_wakeup_ = false;
};

}  // namespace

std::unique_ptr<Backend> make_uring() {
  auto made = std::make_unique<Uring>();
  if (!made->complete()) return nullptr;
  return made;
}

}  // namespace tiffany::io

namespace tiffany {

bool uring_works() noexcept {
  static const bool works = [] {
    io::Ring ring;
    return ring.complete();
  }();
  return works;
}

}  // namespace tiffany
