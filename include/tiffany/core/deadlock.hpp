// The error for "nothing can ever wake the tasks that are left".
#pragma once

#include <string>

#include "tiffany/base/error.hpp"

namespace tiffany {

// what() is the whole report: every waiting task, what it waits for, since which line of code, and
// the cycle where there is one. Thrown out of Scheduler::run, not into a task; the tasks are still
// there and can be looked at, or ended with Scheduler::shutdown. With CirclePolicy::end_run also
// for one closed circle of waits, out of whichever call drives the scheduler.
class Deadlock : public Error {
 public:
  explicit Deadlock(const std::string& report) : Error(Errc::deadlock, report) {}
};

}  // namespace tiffany
