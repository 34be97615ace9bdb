// What the reactor of the operating system needs of io_uring or epoll. Internal.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "io/thread_pool.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/operation.hpp"
#include "tiffany/core/reactor.hpp"

namespace tiffany::io {

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

}  // namespace tiffany::io
