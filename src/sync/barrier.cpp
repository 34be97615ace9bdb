#include "tiffany/sync/barrier.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany {

Barrier::Barrier(std::size_t parties) : parties_(parties) {
  if (parties == 0) {
    throw Error(Errc::bad_argument,
                "A barrier was made for no tasks at all. Make it for as many as will wait for each "
                "other.");
  }
}

void Barrier::open() noexcept {
  ++rounds_;
  while (Waiter* waiter = waiters_.pop()) {
    --waiting_;
    detail::arrived(*waiter);
  }
}

void Barrier::drop() {
  if (parties_ == 0) {
    throw Error(
        Errc::bad_argument,
        "drop() was called on a barrier that has nobody left to drop. Call it once for each "
        "task that stays away, and no more.");
  }
  --parties_;
  if (waiting_ > 0 && waiting_ >= parties_) open();
}

void Barrier::Arrive::leave() noexcept {
  if (!linked()) return;
  barrier_->waiters_.remove(*this);
  --barrier_->waiting_;
}

std::string Barrier::Arrive::describe() const {
  return "a barrier (" + std::to_string(barrier_->waiting_) + " of " +
         std::to_string(barrier_->parties_) + " have come)";
}

}  // namespace tiffany
