#include "tiffany/sync/mutex.hpp"

namespace tiffany {

Mutex::~Mutex() {
  detail::Hold<Mutex>::empty_all(holders_);
  detail::tell_all(waiters_, detail::Stage::gone);
}

void Mutex::released(std::size_t) noexcept {
  if (Waiter* waiter = waiters_.pop()) {
    Lock& next = static_cast<Lock&>(*waiter);
    next.hold_.begin(*this, waiter->task->id(), next.site_);
    detail::arrived(next);
  }
}

std::optional<Mutex::Guard> Mutex::try_lock(std::source_location site) {
  const TaskId asker = detail::running_task();
  if (locked()) {
    if (asker && owner() == asker) {
      detail::throw_relock("a mutex", *holders_.first(), *Scheduler::current()->running(), site);
    }
    return std::nullopt;
  }
  detail::Hold<Mutex> hold;
  hold.begin(*this, asker, site);
  return Guard(std::move(hold));
}

void Mutex::Lock::refuse_owner(const TaskRecord& asker) const {
  if (mutex_->owner() == asker.id()) {
    detail::throw_relock("a mutex", *mutex_->holders_.first(), asker, site_);
  }
}

Mutex::Guard Mutex::Lock::finish() {
  if (!hold_) detail::throw_gone("a mutex");
  return Guard(std::move(hold_));
}

std::string Mutex::Lock::describe() const {
  return "a mutex" + mutex_->holders_.describe(*Scheduler::owner(*task));
}

void Mutex::Lock::visit_waits(WaitVisitor& visitor) const {
  mutex_->holders_.visit(*Scheduler::owner(*task), visitor);
}

}  // namespace tiffany
