#include "tiffany/io/io_call.hpp"

#include <cerrno>

#include "tiffany/io/io_error.hpp"

namespace tiffany {

void IoCall::withdraw(TaskRecord& task) noexcept {
  if (state != State::idle) Scheduler::owner(task)->reactor().drop(*this);
}

bool IoCall::take_back(TaskRecord& task) noexcept {
  return Scheduler::owner(task)->reactor().take_back(*this);
}

void IoCall::on_done(Scheduler& scheduler, Operation& operation) noexcept {
  scheduler.wake(*static_cast<IoCall&>(operation).task_);
}

std::string IoCall::subject() const { return describe_descriptor(fd); }

std::string IoCall::describe() const { return std::string(verb()) + " on " + subject(); }

void IoCall::fail() const {
  Scheduler& scheduler = *Scheduler::current();
  if (result == -ECANCELED && scheduler.cancel_pending()) scheduler.throw_cancelled();
  throw IoError(-result, verb(), subject());
}

}  // namespace tiffany
