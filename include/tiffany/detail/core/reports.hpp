// The log of a scheduler, and the reports of errors that nobody else will ever hear of.
#pragma once

#include <exception>
#include <functional>
#include <string_view>
#include <utility>

#include "tiffany/core/counters.hpp"
#include "tiffany/core/options.hpp"

namespace tiffany {

class Scheduler;
class TaskRecord;

namespace detail {

class Reports {
 public:
  Reports(const Scheduler& scheduler, Counters& counters, std::function<void(const LogLine&)> sink)
      : scheduler_(scheduler), counters_(counters), sink_(std::move(sink)) {}

  // What the sink throws stays here, and is counted. False when it has thrown.
  bool write(const LogLine& line) noexcept;
  // A line of the running task, if one is running.
  void log(std::string_view message) noexcept;
  // A task that failed is forgotten, and nobody has looked at its error.
  void unseen(const TaskRecord& task) noexcept;
  // An error of the code of a task, of which nobody else will ever hear. `what`: how it came to be.
  void lost(const TaskRecord& task, std::string_view what,
            const std::exception_ptr& error) noexcept;
  // The same of an error that is not of the code of one task. `what`: a sentence without its end.
  void lost(std::string_view what, const std::exception_ptr& error) noexcept;

 private:
  LogLine line_of_running(std::string_view message, std::exception_ptr error) const;

  const Scheduler& scheduler_;
  Counters& counters_;
  std::function<void(const LogLine&)> sink_;
};

}  // namespace detail
}  // namespace tiffany
