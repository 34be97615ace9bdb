#include "tiffany/sync/condition.hpp"

#include <exception>

namespace tiffany {

class Condition::Park final : public detail::SyncCall {
 public:
  static constexpr CallName call_name{"wait_condition"};

  Park(Condition& condition, Mutex::Guard& guard) noexcept : condition_(condition), guard_(guard) {}
  ~Park() {
    if (!linked()) return;
    condition_.notified_.remove(*this);
    condition_.notify_one();
  }

  Answer start(Scheduler& scheduler, TaskRecord& asker) noexcept {
    // Parked with nothing registered: the scheduler throws at once when a cancel is pending.
    if (scheduler.cancel_pending()) return Answer::parked;
    condition_.waiters_.push(*this, asker);
    guard_.unlock();
    return Answer::parked;
  }
  void withdraw(TaskRecord&) noexcept override { condition_.waiters_.remove(*this); }
  void finish() {
    if (linked()) condition_.notified_.remove(*this);
    if (gone()) detail::throw_gone("a condition");
  }
  std::string describe() const override { return "a condition to be notified"; }

 private:
  Condition& condition_;
  Mutex::Guard& guard_;
};

namespace {

void report_lost(const std::exception_ptr& error) noexcept {
  Scheduler& scheduler = *Scheduler::current();
  scheduler.reports().lost(*scheduler.running(),
                           "waited for a condition, and neither that nor taking the mutex again "
                           "succeeded, so that this error cannot be thrown",
                           error);
}

}  // namespace

Task<void> Condition::wait(Mutex::Guard& guard, std::source_location site) {
  if (!guard) detail::throw_holds_nothing("A guard");
  Mutex& mutex = *guard.mutex();
  std::exception_ptr error;
  try {
    co_await Park(*this, guard);
  } catch (...) {
    error = std::current_exception();
  }
  if (!guard) {
    const CancelRegion shield(CancelRegion::Kind::shield);
    try {
      guard = co_await mutex.lock(site);
    } catch (...) {
      // The caller has to hear that there is no lock; what ended the wait is not lost, either.
      if (error != nullptr && detail::is_error(error)) report_lost(error);
      throw;
    }
  }
  if (error != nullptr) std::rethrow_exception(error);
}

Condition::~Condition() {
  while (notified_.pop() != nullptr) {
  }
  detail::tell_all(waiters_, detail::Stage::gone);
}

void Condition::notify_one() noexcept {
  if (Waiter* waiter = waiters_.pop()) {
    notified_.push(*waiter, *waiter->task);
    detail::arrived(*waiter);
  }
}

void Condition::notify_all() noexcept { detail::tell_all(waiters_); }

}  // namespace tiffany
