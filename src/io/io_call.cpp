#include "tiffany/io/io_call.hpp"

#include <cerrno>

#include "tiffany/io/io_error.hpp"
#include "tiffany/io/pressure.hpp"

namespace tiffany {

bool IoCall::is_held() noexcept {
  held_ = pressure_->closed();
  if (held_) pressure_->hold(*this);
  return held_;
}

void IoCall::withdraw(TaskRecord& task) noexcept {
  // Held, and not yet given to the reactor.
  if (held_ && state == State::idle) return pressure_->let_go(*this);
  if (state != State::idle) Scheduler::owner(task)->reactor().drop(*this);
}

bool IoCall::take_back(TaskRecord& task) noexcept {
  if (held_ && state == State::idle) {
    pressure_->let_go(*this);
    return true;
  }
  return Scheduler::owner(task)->reactor().take_back(*this);
}

void IoCall::on_done(Scheduler& scheduler, Operation& operation) noexcept {
  auto& call = static_cast<IoCall&>(operation);
  call.wake(scheduler, *call.task_);
}

// In a world in memory another task of the same scheduler has to do what this one waits for.
bool IoCall::waits_for_outside() const noexcept {
  return task_ == nullptr || Scheduler::owner(*task_)->reactor().hears_from_outside();
}

std::string IoCall::subject() const { return describe_descriptor(fd); }

std::string IoCall::describe() const {
  const std::string what = std::string(verb()) + " on " + subject();
  return held_ && state == State::idle ? what + ", held back by pressure" : what;
}

void IoCall::fail() const {
  Scheduler& scheduler = *Scheduler::current();
  if (result == -ECANCELED && scheduler.cancel_pending()) scheduler.throw_cancelled();
  throw IoError(-result, verb(), subject());
}

}  // namespace tiffany
