// The way of an exception through the frames of tasks, for the trace that its catcher can ask for
// (core/async_trace.hpp).
#pragma once

#include <exception>
#include <utility>

#include "tiffany/core/async_trace.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/id.hpp"

namespace tiffany {

class Scheduler;
class TaskRecord;

namespace detail {

class ExceptionFlight {
 public:
  // An exception leaves a frame of this task. Where to note the places of its frames, innermost
  // first; null when they were noted, because it has left a deeper frame before.
  AwaitStack* leaves(const std::exception_ptr& error, TaskId task) noexcept;
  // An exception is about to be thrown into the running task that has a trace from elsewhere.
  void comes(const std::exception_ptr& error, AsyncTracePtr origin) noexcept {
    error_ = error;
    origin_ = std::move(origin);
    task_ = TaskId();
  }
  // The turn is over.
  void forget() noexcept {
    if (error_ != nullptr) comes(nullptr, nullptr);
  }
  // A task has failed. Gives the trace of its error; whoever gets the error gets it from this task.
  AsyncTracePtr lands(const Scheduler& scheduler, const TaskRecord& task) noexcept;
  // Null when it is another exception, or there is no memory.
  AsyncTracePtr trace_of(const Scheduler& scheduler,
                         const std::exception_ptr& error) const noexcept;

 private:
  // The exception that was thrown last, until the turn is over. It is held for so long because a
  // later one may be made at the same address, and would be taken for it.
  std::exception_ptr error_;
  AsyncTracePtr origin_;  // the trace it had when it came into the task
  TaskId task_;           // whose frames it has left; none yet when it has just come
  AwaitStack frames_;
};

}  // namespace detail
}  // namespace tiffany
