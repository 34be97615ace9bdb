// epoll. A descriptor that we own is registered once, edge-triggered, when an operation on it would
// block for the first time; from then on what we know of it is kept here, and an operation is tried
// only when it may succeed. A descriptor of somebody else is registered for each wait anew, because
// it may have become another one in between.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

#include "world/backend.hpp"

namespace tiffany::world {
namespace {

using Kind = Operation::Kind;

enum Direction : unsigned char { kIn = 1, kOut = 2 };

Direction direction_of(const Operation& op) noexcept {
  if (op.kind == Kind::poll) return (op.flags & POLLIN) != 0 ? kIn : kOut;
  const bool out = op.writes() || op.kind == Kind::send_msg || op.kind == Kind::connect;
  return out ? kOut : kIn;
}

bool for_a_thread(Kind kind) noexcept {
  return kind == Kind::sync || kind == Kind::allocate || kind == Kind::open ||
         kind == Kind::rename || kind == Kind::unlink;
}

class Epoll final : public Backend {
 public:
  explicit Epoll(ThreadPool* pool) : pool_(pool), fd_(epoll_create1(EPOLL_CLOEXEC)) {
    if (fd_ < 0) {
      throw std::system_error(errno, std::generic_category(),
                              "The system refused an epoll descriptor; is the limit on open files "
                              "reached?");
    }
  }
  ~Epoll() override { ::close(fd_); }

  const char* name() const noexcept override { return "epoll"; }

  bool submit(Operation& op) override {
    if (for_a_thread(op.kind)) return give_to_thread(op);
    if (op.kind == Kind::poll) return submit_poll(op);
    if (op.offset >= 0 && (op.kind == Kind::read || op.kind == Kind::write)) {
      return submit_at_offset(op);
    }
    Source& source = source_of(op);
    const Direction direction = direction_of(op);
    if (op.kind == Kind::connect || op.kind == Kind::accept || op.kind == Kind::read ||
        op.kind == Kind::write) {
      // The others say with every call that they do not wait.
      if (!source.known) get_to_know(source, op);
      if (source.file) return give_to_thread(op);
    }
    if ((source.ready & direction) != 0 && source.queue(direction).empty() && attempt(source, op)) {
      return true;
    }
    if (!source.registered && !add(source, op)) return true;
    source.queue(direction).push(op);
    return false;
  }

  bool take_back(Operation& op) noexcept override {
    if (op.pooled) return pool_->take_back(op);
    leave_queue(op);
    // What has gone is a result.
    if (op.writes() && op.progress > 0) {
      finish(op, static_cast<int>(op.progress));
      return false;
    }
    return true;
  }

  void drop(Operation& op) noexcept override { op.pooled ? pool_->drop(op) : leave_queue(op); }

  void closing(int fd) noexcept override {
    if (pool_ != nullptr) pool_->closing(fd);
    if (static_cast<std::size_t>(fd) >= sources_.size()) return;
    Source& source = sources_[static_cast<std::size_t>(fd)];
    for (OperationQueue* queue : {&source.in, &source.out}) {
      while (Operation* op = queue->pop()) {
        if (op->incarnation == 0) --foreign_;
        finish(*op, -ECANCELED);
      }
    }
    if (source.registered) epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr);
    source = Source();
    source.generation = ++generations_;
  }

  void look(bool busy) noexcept override {
    if (busy) fetch(0);
  }

  void wait(std::optional<Duration> limit, Wakeup& wakeup) noexcept override {
    if (!watches_wakeup_) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = kWakeup;
      watches_wakeup_ = epoll_ctl(fd_, EPOLL_CTL_ADD, wakeup.fd(), &event) == 0;
    }
    if (foreign_ > 0) {
      end_waits_for_closed();
      if (!finished.empty()) return;
      if (!limit || *limit > kLookAtForeign) limit = kLookAtForeign;
    }
    fetch(limit ? std::max<Duration::rep>(0, limit->count()) : -1);
  }

 private:
  static constexpr std::uint64_t kWakeup = ~std::uint64_t{0};

  struct Source {
    OperationQueue in;
    OperationQueue out;
    std::uint32_t incarnation = 0;
    std::uint32_t generation = 0;
    unsigned char ready = kIn | kOut;  // what may be tried
    bool registered = false;
    bool known = false;      // the next three say what it is
    bool file = false;       // epoll does not take it: it is always ready, and reads of it block
    bool shared = false;     // somebody else may use what it names, so that it is left as it is
    bool no_nowait = false;  // of a shared one: see perform_on_shared
    bool ending = false;     // the other side has closed, so that a short read says nothing
    Identity identity;       // of one that is not ours, while somebody waits for it

    OperationQueue& queue(Direction direction) noexcept { return direction == kIn ? in : out; }
  };

  Source& source_at(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= sources_.size()) sources_.resize(index + 1 + index / 2);
    return sources_[index];
  }
  Source& source_of(const Operation& op) {
    Source& source = source_at(op.fd);
    if (source.incarnation != op.incarnation) {  // the number has been given to another one
      source = Source();
      source.incarnation = op.incarnation;
      source.generation = ++generations_;
    }
    return source;
  }

  bool give_to_thread(Operation& op) {
    if (pool_ == nullptr) {
      op.result = perform(op);
      return true;
    }
    op.pooled = true;
    pool_->submit(op);
    return false;
  }

  // From memory when it is there, which is as quick as a system call can be; else by a thread.
  bool submit_at_offset(Operation& op) {
    if (op.flags == 0) {
      const int result = perform_from_cache(op);
      if (result != -EAGAIN && result != -EOPNOTSUPP) {
        op.result = result;
        return true;
      }
    }
    return give_to_thread(op);
  }

  static void get_to_know(Source& source, const Operation& op) noexcept {
    source.known = true;
    struct stat about{};
    source.file = fstat(op.fd, &about) == 0 &&
                  (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) || S_ISBLK(about.st_mode));
    if (source.file) return;
    // The mark would be seen by every process that has the same open file, as with standard input.
    source.shared = !op.made_here;
    if (source.shared) return;
    const int flags = fcntl(op.fd, F_GETFL);
    if (flags >= 0 && (flags & O_NONBLOCK) == 0) fcntl(op.fd, F_SETFL, flags | O_NONBLOCK);
  }

  // True when it is over.
  bool attempt(Source& source, Operation& op) noexcept {
    if (op.kind == Kind::connect && op.progress > 0) return finish_connect(op);
    const bool with_care = source.shared && (op.kind == Kind::read || op.kind == Kind::write ||
                                             op.kind == Kind::accept);
    const int result = with_care ? perform_on_shared(op, source.no_nowait) : perform(op);
    const Direction direction = direction_of(op);
    if (result == -EAGAIN || result == -EWOULDBLOCK || result == -EINPROGRESS) {
      if (op.kind == Kind::connect) op.progress = 1;
      source.ready = static_cast<unsigned char>(source.ready & ~direction);
      return false;
    }
    if (op.stream && direction == kIn && result > 0 && static_cast<std::size_t>(result) < op.size &&
        !source.ending) {
      source.ready = static_cast<unsigned char>(source.ready & ~direction);
    }
    op.result = result;
    return true;
  }
  static bool finish_connect(Operation& op) noexcept {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(op.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    op.result = -error;
    return true;
  }

  // False when that failed and the operation is over.
  bool add(Source& source, Operation& op) noexcept {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = key(op.fd, source);
    int done = epoll_ctl(fd_, EPOLL_CTL_ADD, op.fd, &event);
    if (done != 0 && errno == EEXIST) done = epoll_ctl(fd_, EPOLL_CTL_MOD, op.fd, &event);
    if (done != 0 && errno == EPERM) {
      source.file = true;
      op.result = perform(op);
      return false;
    }
    if (done != 0) {
      op.result = -errno;
      return false;
    }
    source.registered = true;
    return true;
  }
  static std::uint64_t key(int fd, const Source& source) noexcept {
    return (std::uint64_t{source.generation} << 32) | static_cast<std::uint32_t>(fd);
  }

  // ---- Readiness alone ----

  bool submit_poll(Operation& op) {
    op.result = perform(op);
    if (op.result != -EAGAIN) {
      if (op.result >= 0 && (op.result & POLLNVAL) != 0) op.result = -EBADF;
      return true;
    }
    Source& source = op.incarnation != 0 ? source_of(op) : source_at(op.fd);
    OperationQueue& queue = source.queue(direction_of(op));
    if (op.incarnation == 0) {
      const Identity now = identity_of(op.fd);
      // Those who wait already wait for what had this number before.
      if (source.incarnation == 0 && source.identity != now) end_foreign(source);
      source.identity = now;
    }
    queue.push(op);
    if (op.incarnation != 0) {
      if (source.registered || add(source, op)) return false;
    } else {
      if (source.incarnation != 0) {  // one of ours had this number
        source.incarnation = 0;
        source.registered = false;
        source.generation = ++generations_;
      }
      if (rearm(op.fd, source)) {
        ++foreign_;
        return false;
      }
      op.result = errno == EPERM ? op.flags : -errno;
    }
    queue.remove(op);
    return true;
  }
  bool rearm(int fd, Source& source) noexcept {
    epoll_event event{};
    event.events = EPOLLONESHOT;
    for (OperationQueue* queue : {&source.in, &source.out}) {
      for (Operation* op = queue->first(); op != nullptr; op = op->next) {
        event.events |= static_cast<std::uint32_t>(op->flags);  // EPOLLIN is POLLIN, and so on
      }
    }
    event.data.u64 = key(fd, source);
    if (epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &event) == 0) return true;
    return errno == ENOENT && epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) == 0;
  }
  // The kernel forgets a closed descriptor without a word.
  void end_waits_for_closed() noexcept {
    for (std::size_t fd = 0; fd < sources_.size(); ++fd) {
      Source& source = sources_[fd];
      if (source.incarnation != 0 || (source.in.empty() && source.out.empty())) continue;
      if (source.identity != identity_of(static_cast<int>(fd))) end_foreign(source);
    }
  }
  void end_foreign(Source& source) noexcept {
    for (OperationQueue* queue : {&source.in, &source.out}) {
      while (Operation* op = queue->pop()) {
        --foreign_;
        finish(*op, -EBADF);
      }
    }
  }

  // ---- Events ----

  void fetch(std::int64_t nanoseconds) noexcept {
    timespec time{};
    time.tv_sec = nanoseconds / 1'000'000'000;
    time.tv_nsec = nanoseconds % 1'000'000'000;
    // An interrupted wait ends early, which the loop above it can bear.
    const int count = epoll_pwait2(fd_, events_.data(), static_cast<int>(events_.size()),
                                   nanoseconds < 0 ? nullptr : &time, nullptr);
    // At once: an edge comes once, also when no operation waits for it.
    for (int i = 0; i < count; ++i) handle(events_[static_cast<std::size_t>(i)]);
  }
  void handle(const epoll_event& event) noexcept {
    if (event.data.u64 == kWakeup) return;
    const auto fd = static_cast<std::uint32_t>(event.data.u64);
    Source& source = sources_[fd];
    if (source.generation != event.data.u64 >> 32) return;  // it is another one by now
    const bool broken = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    if (source.incarnation == 0) return handle_foreign(static_cast<int>(fd), source, event.events);
    if (broken || (event.events & EPOLLRDHUP) != 0) source.ending = true;
    if (broken || (event.events & (EPOLLIN | EPOLLRDHUP)) != 0) go_on(source, kIn, event.events);
    if (broken || (event.events & EPOLLOUT) != 0) go_on(source, kOut, event.events);
  }
  void go_on(Source& source, Direction direction, std::uint32_t events) noexcept {
    source.ready = static_cast<unsigned char>(source.ready | direction);
    OperationQueue& queue = source.queue(direction);
    while (Operation* op = queue.first()) {
      if (op->kind == Kind::poll) {
        const int got = static_cast<int>(events) & (op->flags | POLLERR | POLLHUP);
        op->result = got != 0 ? got : op->flags;
      } else if ((source.ready & direction) == 0 || !attempt(source, *op)) {
        return;
      }
      queue.remove(*op);
      over(*op);
    }
  }
  void handle_foreign(int fd, Source& source, std::uint32_t events) noexcept {
    for (OperationQueue* queue : {&source.in, &source.out}) {
      for (Operation* op = queue->first(); op != nullptr;) {
        Operation* const next = op->next;
        const int got = static_cast<int>(events) & (op->flags | POLLERR | POLLHUP);
        if (got != 0) {
          queue->remove(*op);
          --foreign_;
          finish(*op, got);
        }
        op = next;
      }
    }
    if (!source.in.empty() || !source.out.empty()) rearm(fd, source);
  }

  void finish(Operation& op, int result) noexcept {
    op.result = result;
    over(op);
  }
  void leave_queue(Operation& op) noexcept {
    sources_[static_cast<std::size_t>(op.fd)].queue(direction_of(op)).remove(op);
    if (op.incarnation == 0) --foreign_;
  }

  ThreadPool* pool_;
  int fd_;
  std::vector<Source> sources_;  // by descriptor
  std::uint32_t generations_ = 0;
  std::size_t foreign_ = 0;  // waits for descriptors that are not ours
  bool watches_wakeup_ = false;
  std::array<epoll_event, 256> events_;
};

}  // namespace

std::unique_ptr<Backend> make_epoll(ThreadPool* pool) { return std::make_unique<Epoll>(pool); }

}  // namespace tiffany::world
