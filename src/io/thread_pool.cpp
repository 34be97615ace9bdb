#include "io/thread_pool.hpp"

#include <csignal>

#include <system_error>

#include "io/backend.hpp"

namespace tiffany::io {
namespace {

bool contains(const OperationQueue& queue, const Operation& op) noexcept {
  for (const Operation* each = queue.first(); each != nullptr; each = each->next) {
    if (each == &op) return true;
  }
  return false;
}

// Signals are for the threads of the program, not for these.
class SignalsHeldBack {
 public:
  SignalsHeldBack() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeldBack() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::submit(Operation& op) {
  {
    const std::lock_guard lock(mutex_);
    if (idle_ == 0 && threads_.size() < most_) {
      const SignalsHeldBack held_back;
      try {
        threads_.emplace_back([this] { serve(); });
      } catch (const std::system_error&) {
        if (threads_.empty()) throw;  // others will come to it
      }
    }
    queue_.push(op);
  }
  work_.notify_one();
}

bool ThreadPool::take_back(Operation& op) noexcept {
  const std::lock_guard lock(mutex_);
  if (!contains(queue_, op)) return false;
  queue_.remove(op);
  return true;
}

void ThreadPool::drop(Operation& op) noexcept {
  std::unique_lock lock(mutex_);
  if (contains(queue_, op)) return queue_.remove(op);
  done_.wait(lock, [&] { return contains(over_, op); });
  over_.remove(op);
}

Operation* ThreadPool::next_over() noexcept {
  if (!any_over_.load()) return nullptr;
  const std::lock_guard lock(mutex_);
  Operation* const op = over_.pop();
  if (op == nullptr) any_over_.store(false);
  return op;
}

void ThreadPool::serve() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    work_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    --idle_;
    Operation* const op = queue_.pop();
    if (op == nullptr) return;
    lock.unlock();
    const int result = perform(*op);
    lock.lock();
    op->result = result;
    over_.push(*op);
    any_over_.store(true);
    done_.notify_all();
    wakeup_->notify();
  }
}

}  // namespace tiffany::io
