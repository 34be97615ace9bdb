// What the reactor of the operating system needs of io_uring or epoll. Internal.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "tiffany/base/time.hpp"
#include "tiffany/core/operation.hpp"
#include "tiffany/core/reactor.hpp"
#include "world/thread_pool.hpp"

namespace tiffany::world {

// How often descriptors of others are looked at for having been closed, while somebody waits for
// one.
inline constexpr Duration kLookAtForeign = std::chrono::milliseconds(100);

// Which file a descriptor names, as far as the kernel tells. All descriptors of one of the kinds
// that have no file (eventfd, epoll, timerfd...) look the same.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  bool open = false;
  friend bool operator==(const Identity&, const Identity&) noexcept = default;
};
Identity identity_of(int fd) noexcept;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const noexcept = 0;

  // As in Reactor, for everything but Kind::work. What is over goes into `finished`.
  virtual bool submit(Operation& op) = 0;
  virtual bool take_back(Operation& op) noexcept = 0;
  virtual void drop(Operation& op) noexcept = 0;
  virtual void closing(int fd) noexcept = 0;
  // Finds out what is over, without waiting. `busy`: it may cost a system call.
  virtual void look(bool busy) noexcept = 0;
  // Sleeps until something is over, the wake-up is notified, or the time has come.
  virtual void wait(std::optional<Duration> limit, Wakeup& wakeup) noexcept = 0;

  // It has its result.
  void over(Operation& op) noexcept {
    op.state = Operation::State::over;
    finished.push(op);
  }
  OperationQueue finished;
};

// Without a pool, what would be given to a thread is done here and now.
std::unique_ptr<Backend> make_epoll(ThreadPool* pool);
// Null when the kernel does not allow it.
std::unique_ptr<Backend> make_uring();

// Makes the system call of an operation, here and now. Sockets are not waited for.
int perform(Operation& op) noexcept;
// The same for a descriptor that somebody else may share: a read, write or accept that does not
// wait (-EAGAIN), although the descriptor may be a blocking one. `cannot`: it turned out that the
// kernel cannot do so with this kind; kept by the caller.
int perform_on_shared(Operation& op, bool& cannot) noexcept;
// Reads or writes at an offset of a file as far as memory goes: -EAGAIN when the disk would be
// waited for, -EOPNOTSUPP when the file system cannot tell. What went before that is in
// op.progress.
int perform_from_cache(Operation& op) noexcept;

}  // namespace tiffany::world
