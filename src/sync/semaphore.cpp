#include "tiffany/sync/semaphore.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany {

Semaphore::Semaphore(std::size_t permits) : all_(permits), free_(permits) {
  if (permits == 0) {
    throw Error(
        Errc::bad_argument,
        "A semaphore was made with no permits, so nobody could ever acquire one. Give it at "
        "least one; to hold tasks back until something happens use a ManualResetEvent.");
  }
}

Semaphore::~Semaphore() {
  detail::Hold<Semaphore>::empty_all(holders_);
  free_ = 0;  // nobody is let in any more
  detail::tell_all(waiters_, detail::Stage::gone);
}

void Semaphore::check(std::size_t count) const {
  if (count >= 1 && count <= all_) return;
  throw Error(Errc::bad_argument, "acquire() asked for " + std::to_string(count) +
                                      " permits of a semaphore that has " + std::to_string(all_) +
                                      ". Ask for at least one and at most as many as there are.");
}

void Semaphore::released(std::size_t count) noexcept {
  free_ += count;
  admit();
}

// From the front each time: whoever hears of its permits may leave other places in this line.
void Semaphore::admit() noexcept {
  while (Waiter* waiter = waiters_.front()) {
    Acquire& next = static_cast<Acquire&>(*waiter);
    if (next.count_ > free_) return;
    waiters_.remove(*waiter);
    give(next.hold_, next.count_, waiter->task->id(), next.site_);
    detail::arrived(next);
  }
}

Semaphore::Acquire Semaphore::acquire(std::size_t count, std::source_location site) {
  check(count);
  return Acquire(*this, count, site);
}

std::optional<Semaphore::Permit> Semaphore::try_acquire(std::size_t count,
                                                        std::source_location site) {
  check(count);
  if (!has(count)) return std::nullopt;
  detail::Hold<Semaphore> hold;
  give(hold, count, detail::running_task(), site);
  return Permit(std::move(hold));
}

Semaphore::Permit Semaphore::Acquire::finish() {
  if (!hold_) detail::throw_gone("a semaphore");
  return Permit(std::move(hold_));
}

std::string Semaphore::Acquire::describe() const {
  return std::to_string(count_) + (count_ == 1 ? " permit" : " permits") + " of a semaphore (" +
         std::to_string(semaphore_->free_) + " of " + std::to_string(semaphore_->all_) + " free)" +
         semaphore_->holders_.describe(*Scheduler::owner(*task));
}

void Semaphore::Acquire::visit_waits(WaitVisitor& visitor) const {
  semaphore_->holders_.visit(*Scheduler::owner(*task), visitor);
}

}  // namespace tiffany
