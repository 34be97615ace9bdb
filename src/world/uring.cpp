// io_uring. Operations are handed to the kernel in batches: one system call per turn of the
// scheduler submits all of them and fetches what is over. Everything is probed; a kernel that lacks
// something we need gets epoll instead.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/world/system_reactor.hpp"
#include "world/backend.hpp"
#include "world/ring.hpp"

namespace tiffany::world {
namespace {

using Kind = Operation::Kind;

// Marks in the place of an operation's address, besides kNobody.
constexpr std::uint64_t kWakeup = 2;
// In the address of an operation that waits until its descriptor is ready.
constexpr std::uint64_t kReadyMark = 4;
static_assert(alignof(Operation) >= 8);

// Descriptors of others are polled anew this often while the loop is busy and does not sleep.
constexpr unsigned kLooksBetween = 1024;

class Uring final : public Backend {
 public:
  bool complete() noexcept { return ring_.complete(); }
  const char* name() const noexcept override { return "uring"; }

  // Those who wait for one descriptor are served in the order they came. The kernel wakes them in
  // another one, so that it gets one at a time: of those that read, of those that write, and of
  // those that only wait for the same readiness.
  bool submit(Operation& op) override {
    if (&here_ != owner_) [[unlikely]]
      refuse_thread();
    op.queued = false;
    op.awaits_ready = false;
    if (op.fd >= 0) make_room_for(op.fd);
    if (is_foreign(op)) add_foreign(op);
    if (!in_turn(op)) {
      if (is_foreign(op)) loose_.push(op);
      hand_over(op);
      return false;
    }
    Lane& lane = lane_of(op);
    if (lane.first == nullptr) {
      lane.first = &op;
      hand_over(op);
    } else {
      op.queued = true;
      lane.behind.push(op);
    }
    return false;
  }

  bool take_back(Operation& op) noexcept override {
    if (op.queued) {
      leave_queue(op);
      return true;
    }
    ask_back(op);
    return false;
  }

  void drop(Operation& op) noexcept override {
    if (!op.asked_for && take_back(op)) return;
    op.asked_for = true;
    while (op.state != Operation::State::over) {
      io_uring_submit_and_wait(ring_.get(), 1);
      reap();
    }
    finished.remove(op);
  }

  void closing(int fd) noexcept override {
    if (static_cast<std::size_t>(fd) >= on_.size()) return;
    OnDescriptor& on = on_[static_cast<std::size_t>(fd)];
    if (on.in_flight == 0) return;
    end_queued(on, -ECANCELED);
    io_uring_sqe* const entry = next_entry();
    io_uring_prep_cancel_fd(entry, fd, IORING_ASYNC_CANCEL_ALL);
    io_uring_sqe_set_data64(entry, kNobody);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_submit(ring_.get());  // while the number still names this descriptor
  }

  void look(bool busy) noexcept override {
    if (busy) {
      if (!foreign_.empty() && ++looks_ % kLooksBetween == 0) end_waits_for_closed();
      io_uring_submit_and_get_events(ring_.get());
    }
    reap();
  }

  void wait(std::optional<Duration> limit, Wakeup& wakeup) noexcept override {
    if (!watches_wakeup_) {
      io_uring_sqe* const entry = next_entry();
      io_uring_prep_poll_multishot(entry, wakeup.fd(), POLLIN);
      io_uring_sqe_set_data64(entry, kWakeup);
      watches_wakeup_ = true;
    }
    if (!foreign_.empty()) {
      end_waits_for_closed();
      if (!finished.empty()) return;
      if (!limit || *limit > kLookAtForeign) limit = kLookAtForeign;
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
  // Operations of one kind on one descriptor: one is with the kernel, the others wait for it.
  struct Lane {
    Operation* first = nullptr;
    OperationQueue behind;
  };
  struct OnDescriptor {
    int in_flight = 0;
    Lane in;
    Lane out;
    Lane polls_in;
    Lane polls_out;
  };
  // A descriptor of somebody else that is waited for.
  struct Foreign {
    int fd;
    int waiting;
    Identity identity;
  };

  static bool is_foreign(const Operation& op) noexcept {
    return op.kind == Kind::poll && op.incarnation == 0;
  }
  // What has no offset takes from a stream, adds to one, or waits for it.
  static bool in_turn(const Operation& op) noexcept {
    switch (op.kind) {
      case Kind::poll:
        return op.flags == POLLIN || op.flags == POLLOUT;
      case Kind::read:
      case Kind::write:
        return op.offset < 0;
      case Kind::recv:
      case Kind::send:
      case Kind::recv_msg:
      case Kind::send_msg:
      case Kind::accept:
        return true;
      default:
        return false;
    }
  }
  Lane& lane_of(const Operation& op) noexcept {
    OnDescriptor& on = on_[static_cast<std::size_t>(op.fd)];
    if (op.kind == Kind::poll) return op.flags == POLLIN ? on.polls_in : on.polls_out;
    return op.writes() || op.kind == Kind::send_msg ? on.out : on.in;
  }
  // The address of an operation, marked while it waits for its descriptor to become ready.
  static std::uint64_t data_of(Operation& op) noexcept {
    return reinterpret_cast<std::uint64_t>(&op) | (op.awaits_ready ? kReadyMark : 0);
  }

  void hand_over(Operation& op) noexcept {
    io_uring_sqe* const entry = next_entry();
    prepare(*entry, op);
    io_uring_sqe_set_data64(entry, data_of(op));
    count(op.fd, +1);
  }
  void leave_queue(Operation& op) noexcept {
    lane_of(op).behind.remove(op);
    op.queued = false;
    if (is_foreign(op)) remove_foreign(op.fd);
  }
  void end_queued(OnDescriptor& on, int result) noexcept {
    for (Lane* lane : {&on.in, &on.out, &on.polls_in, &on.polls_out}) {
      while (Operation* op = lane->behind.first()) {
        leave_queue(*op);
        op->result = result;
        over(*op);
      }
    }
  }
  // The one that the kernel had is over: the next comes, or several when all that they wait for is
  // what has happened.
  void next_in_turn(Operation& op, int result) noexcept {
    Lane& lane = lane_of(op);
    if (lane.first != &op) return;
    lane.first = nullptr;
    if (op.kind == Kind::poll && result > 0) {
      while (Operation* other = lane.behind.first()) {
        leave_queue(*other);
        other->result = result;
        over(*other);
      }
      return;
    }
    Operation* const next = lane.behind.pop();
    if (next == nullptr) return;
    next->queued = false;
    lane.first = next;
    again_.push_back(next);
  }

  // ---- Descriptors of others ----

  void add_foreign(const Operation& op) {
    const Identity now = identity_of(op.fd);
    for (Foreign& each : foreign_) {
      if (each.fd != op.fd) continue;
      if (each.identity != now) {  // those who wait already wait for what had this number before
        end_foreign(each.fd);
        each.identity = now;
      }
      ++each.waiting;
      return;
    }
    foreign_.push_back(Foreign{op.fd, 1, now});
  }
  void remove_foreign(int fd) noexcept {
    for (std::size_t i = 0; i < foreign_.size(); ++i) {
      if (foreign_[i].fd != fd) continue;
      if (--foreign_[i].waiting == 0) {
        foreign_[i] = foreign_.back();
        foreign_.pop_back();
      }
      return;
    }
  }
  // The kernel keeps a closed descriptor open for as long as it waits for it, and says nothing.
  void end_waits_for_closed() noexcept {
    for (std::size_t i = foreign_.size(); i-- > 0;) {
      const Foreign each = foreign_[i];
      if (each.identity != identity_of(each.fd)) end_foreign(each.fd);
    }
  }
  void end_foreign(int fd) noexcept {
    OnDescriptor& on = on_[static_cast<std::size_t>(fd)];
    for (Lane* lane : {&on.polls_in, &on.polls_out}) {
      for (Operation* op = lane->behind.first(); op != nullptr;) {
        Operation* const next = op->next;
        if (is_foreign(*op)) {
          leave_queue(*op);
          op->result = -EBADF;
          over(*op);
        }
        op = next;
      }
      if (lane->first != nullptr && is_foreign(*lane->first)) ask_back(*lane->first);
    }
    for (Operation* op = loose_.first(); op != nullptr; op = op->next) {
      if (op->fd == fd) ask_back(*op);
    }
  }
  void ask_back(Operation& op) noexcept {
    io_uring_sqe* const entry = next_entry();
    io_uring_prep_cancel64(entry, data_of(op), 0);
    io_uring_sqe_set_data64(entry, kNobody);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
  }

  io_uring_sqe* next_entry() noexcept {
    io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
    while (entry == nullptr) {  // full: the kernel takes all of it
      io_uring_submit(ring_.get());
      entry = io_uring_get_sqe(ring_.get());
    }
    return entry;
  }

  void reap() noexcept {
    io_uring_cqe* completion = nullptr;
    unsigned head = 0;
    unsigned seen = 0;
    io_uring_for_each_cqe(ring_.get(), head, completion) {
      ++seen;
      const std::uint64_t data = completion->user_data;
      if (data == kWakeup && (completion->flags & IORING_CQE_F_MORE) == 0) watches_wakeup_ = false;
      if (data <= kWakeup) continue;
      auto& op = *reinterpret_cast<Operation*>(data & ~kReadyMark);
      if ((data & kReadyMark) != 0) {
        is_ready(op, completion->res);
      } else {
        came(op, completion->res);
      }
    }
    io_uring_cq_advance(ring_.get(), seen);
    for (Operation* const op : again_) hand_over(*op);
    again_.clear();
  }

  // The kernel has let go of an operation.
  void came(Operation& op, int result) noexcept {
    count(op.fd, -1);
    if (result == -EINTR && !op.asked_for) return once_more(op);
    if (result == -EAGAIN && !op.asked_for) return when_ready(op);
    if (result == -EINTR || result == -EAGAIN) result = -ECANCELED;
    if (op.writes() && result > 0) {
      op.progress += static_cast<std::size_t>(result);
      if (op.progress < op.size && !op.asked_for) return once_more(op);
      result = static_cast<int>(op.progress);
    } else if (op.writes() && result == -ECANCELED && op.progress > 0) {
      result = static_cast<int>(op.progress);
    }
    if (is_foreign(op)) {
      remove_foreign(op.fd);
      if (!in_turn(op)) loose_.remove(op);
      // Nobody asked for it back: its descriptor was found closed.
      if (result == -ECANCELED && !op.asked_for) result = -EBADF;
    }
    op.result = result;
    over(op);
    if (in_turn(op)) next_in_turn(op, result);
  }
  void once_more(Operation& op) noexcept { again_.push_back(&op); }
  // Its descriptor was made non-blocking by somebody: the kernel waits for it first, then does it.
  void when_ready(Operation& op) noexcept {
    const bool out = op.writes() || op.kind == Kind::send_msg;
    op.awaits_ready = true;
    io_uring_sqe* const poll = next_entry();
    io_uring_prep_poll_add(poll, op.fd, out ? POLLOUT : POLLIN);
    io_uring_sqe_set_data64(poll, data_of(op));
    count(op.fd, +1);
  }
  void is_ready(Operation& op, int result) noexcept {
    op.awaits_ready = false;
    if (result < 0 || op.asked_for) return came(op, result < 0 ? result : -ECANCELED);
    count(op.fd, -1);
    once_more(op);
  }

  void count(int fd, int change) noexcept {
    if (fd >= 0) on_[static_cast<std::size_t>(fd)].in_flight += change;
  }
  void make_room_for(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= on_.size()) on_.resize(index + 1 + index / 2);
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
  std::vector<OnDescriptor> on_;  // by descriptor
  std::vector<Foreign> foreign_;
  OperationQueue loose_;  // waits for descriptors of others that are in no lane
  std::vector<Operation*> again_;
  unsigned looks_ = 0;
  bool watches_wakeup_ = false;
};

}  // namespace

std::unique_ptr<Backend> make_uring() {
  auto made = std::make_unique<Uring>();
  if (!made->complete()) return nullptr;
  return made;
}

}  // namespace tiffany::world

namespace tiffany {

bool uring_works() noexcept {
  static const bool works = [] {
    world::Ring ring;
    return ring.complete();
  }();
  return works;
}

}  // namespace tiffany
