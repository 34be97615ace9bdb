// Errors that carry the errors of several tasks, and errors as text.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/core/id.hpp"

namespace tiffany {

// A task that failed, and with what.
struct TaskFailure {
  TaskFailure(TaskId which, std::string description, std::exception_ptr what)
      : task(which), who(std::move(description)), error(std::move(what)) {}

  TaskId task;
  std::string who;  // `task #3 "fetch"`
  std::exception_ptr error;
};

// What a collect_all scope throws: the failures that nobody looked at, in the order they happened.
class TasksFailed : public Error {
 public:
  explicit TasksFailed(std::vector<TaskFailure> failures);
  const std::vector<TaskFailure>& failures() const noexcept { return failures_; }

 private:
  std::vector<TaskFailure> failures_;
};

// What any() and a first_success scope throw when no contender succeeded: every error, for any() in
// the order of its arguments, for a scope in the order in which its tasks ended.
class AllFailed : public Error {
 public:
  explicit AllFailed(std::vector<std::exception_ptr> errors);
  const std::vector<std::exception_ptr>& errors() const noexcept { return errors_; }

 private:
  std::vector<std::exception_ptr> errors_;
};

// What run() throws after a system task has failed, where Options::system_failure says so. The
// other tasks have been cancelled and have ended.
class SystemTaskFailed : public Error {
 public:
  SystemTaskFailed(TaskFailure failure, const std::string& spawned_at);
  const TaskFailure& failure() const noexcept { return failure_; }

 private:
  TaskFailure failure_;
};

}  // namespace tiffany
