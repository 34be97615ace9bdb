#include "tiffany/sync/shared_mutex.hpp"

namespace tiffany {

SharedMutex::~SharedMutex() {
  detail::Hold<SharedMutex>::empty_all(holders_);
  closing_ = true;
  detail::tell_all(waiters_, detail::Stage::gone);
}

void SharedMutex::give(detail::Hold<SharedMutex>& hold, Access access, TaskId to,
                       const std::source_location& site) noexcept {
  const bool shared = access == Access::shared;
  if (shared) {
    ++readers_;
  } else {
    written_ = true;
  }
  hold.begin(*this, to, site, shared ? 1 : 0);
}

void SharedMutex::released(std::size_t readers) noexcept {
  if (readers == 0) {
    written_ = false;
  } else {
    readers_ -= readers;
  }
  admit();
}

// From the front each time: whoever hears of its lock may leave other places in this line.
void SharedMutex::admit() noexcept {
  while (Waiter* waiter = waiters_.front()) {
    Waiting& next = static_cast<Waiting&>(*waiter);
    if (closing_ || !free_for(next.access_)) return;
    waiters_.remove(*waiter);
    give(next.hold_, next.access_, waiter->task->id(), next.site_);
    detail::arrived(next);
  }
}

// Only called when the task would have to wait: then it would wait for itself.
void SharedMutex::refuse_holder(const TaskRecord& asker, const std::source_location& site) const {
  if (const detail::HoldNode* held = holders_.find(asker.id())) {
    detail::throw_relock("a shared mutex", *held, asker, site);
  }
}

template <SharedMutex::Access kAccess>
std::optional<SharedMutex::BasicGuard<kAccess>> SharedMutex::try_now(
    const std::source_location& site) {
  if (!waiters_.empty() || !free_for(kAccess)) {
    if (detail::running_task()) refuse_holder(*Scheduler::current()->running(), site);
    return std::nullopt;
  }
  detail::Hold<SharedMutex> hold;
  give(hold, kAccess, detail::running_task(), site);
  return BasicGuard<kAccess>(std::move(hold));
}

std::optional<SharedMutex::Guard> SharedMutex::try_lock(std::source_location site) {
  return try_now<Access::exclusive>(site);
}

std::optional<SharedMutex::SharedGuard> SharedMutex::try_lock_shared(std::source_location site) {
  return try_now<Access::shared>(site);
}

bool SharedMutex::Waiting::answer(TaskRecord& asker) {
  if (!mutex_->waiters_.empty() || !mutex_->free_for(access_)) {
    mutex_->refuse_holder(asker, site_);
    return false;
  }
  mutex_->give(hold_, access_, asker.id(), site_);
  return true;
}

detail::Hold<SharedMutex> SharedMutex::Waiting::take() {
  if (!hold_) detail::throw_gone("a shared mutex");
  return std::move(hold_);
}

std::string SharedMutex::Waiting::describe() const {
  return std::string(access_ == Access::shared ? "a shared mutex, to read,"
                                               : "a shared mutex, to write,") +
         mutex_->holders_.describe(*Scheduler::owner(*task));
}

void SharedMutex::Waiting::visit_waits(WaitVisitor& visitor) const {
  mutex_->holders_.visit(*Scheduler::owner(*task), visitor);
}

}  // namespace tiffany
