// What the one who waits for a cancelled task gets. It is an error like any other, and not the
// `Cancelled` that unwinds the cancelled task itself: the waiter was not cancelled.
#pragma once

#include <string>

#include "tiffany/base/error.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/id.hpp"

namespace tiffany {

class TaskCancelled : public Error {
 public:
  TaskCancelled(TaskId task, const std::string& description, CancelReasonPtr reason)
      : Error(Errc::task_cancelled,
              "The awaited " + description + " was " +
                  (reason != nullptr ? reason->text() : std::string("cancelled")) + "."),
        task_(task),
        reason_(std::move(reason)) {}

  TaskId task() const noexcept { return task_; }
  // Null when the task was dropped together with its scheduler.
  const CancelReasonPtr& reason() const noexcept { return reason_; }

 private:
  TaskId task_;
  CancelReasonPtr reason_;
};

}  // namespace tiffany
