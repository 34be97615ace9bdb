// Threads for what would block: files where there is no io_uring, names of hosts, and the functions
// that users offload. Each of the three has a pool of its own, so that one cannot starve another.
// Internal.
//
// A pool starts threads while there is more to do than threads are idle, up to its bound, and ends
// them when they have been idle for a while. A cancel does not wait for a thread where it need not:
// the thread keeps what it works on alive, finishes it, and throws the result away.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "tiffany/core/operation.hpp"
#include "tiffany/core/reactor.hpp"

namespace tiffany::world {

class ThreadPool {
 public:
  explicit ThreadPool(std::size_t most);
  // Waits for idle threads to end. Nothing may be queued, and nothing may run but what was
  // abandoned: a thread that still does is left to itself and ends when that is over.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Whom to wake when something is over.
  void set_wakeup(Wakeup& wakeup) noexcept;
  // Queues it; a thread will perform() it.
  void submit(Operation& op);
  // True when it had not begun, or can be abandoned: it is gone. False: it must be waited for.
  bool take_back(Operation& op) noexcept;
  // The same, and waits for what cannot be abandoned. It is not reported.
  void drop(Operation& op) noexcept;
  // A descriptor is about to be closed. What is queued for it ends with -ECANCELED; what runs on it
  // keeps the number from being given to another file until it is over (world/held_open.hpp).
  void closing(int fd) noexcept;
  // Takes out what is over, one after the other; null when there is no more. Cheap then.
  Operation* next_over() noexcept;
  bool any_over() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  // a thread that was abandoned outlives the pool
};

}  // namespace tiffany::world
