// A few threads for what would block: files where there is no io_uring, names of hosts, and the
// functions that users offload. Internal.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "tiffany/core/operation.hpp"
#include "tiffany/core/reactor.hpp"

namespace tiffany::io {

class ThreadPool {
 public:
  explicit ThreadPool(std::size_t most) noexcept : most_(most) {}
  // Waits for what is running. Nothing may be queued any more.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Whom to wake when something is over.
  void set_wakeup(Wakeup& wakeup) noexcept { wakeup_ = &wakeup; }
  // Queues it; a thread will perform() it. Starts one more thread while fewer than allowed are there
  // and none is idle.
  void submit(Operation& op);
  // True when it had not begun, and is gone.
  bool take_back(Operation& op) noexcept;
  // Waits until it is over, and does not report it.
  void drop(Operation& op) noexcept;
  // Takes out what is over, one after the other; null when there is no more. Cheap then.
  Operation* next_over() noexcept;
  bool any_over() const noexcept { return any_over_.load(); }

 private:
  void serve() noexcept;

  std::mutex mutex_;
  std::condition_variable work_;  // something was queued, or the end has come
  std::condition_variable done_;  // something is over
  OperationQueue queue_;
  OperationQueue over_;
  std::atomic<bool> any_over_{false};
  std::vector<std::thread> threads_;
  std::size_t most_;
  std::size_t idle_ = 0;
  bool ending_ = false;
  Wakeup* wakeup_ = nullptr;
};

}  // namespace tiffany::io
