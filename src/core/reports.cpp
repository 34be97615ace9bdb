#include "tiffany/detail/core/reports.hpp"

#include <cstdio>
#include <new>
#include <string>

#include "tiffany/base/error.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany::detail {

bool Reports::write(const LogLine& line) noexcept {
  try {
    sink_(line);
    return true;
  } catch (const std::exception& error) {
    if (counters_.lost_log_lines++ == 0) {
      std::fprintf(stderr,
                   "The log of a scheduler cannot be written: %s. Lines are lost; "
                   "Counters::lost_log_lines counts them.\n",
                   error.what());
    }
  } catch (...) {
    ++counters_.lost_log_lines;
  }
  return false;
}

LogLine Reports::line_of_running(std::string_view message, std::exception_ptr error) const {
  const TaskRecord* const running = scheduler_.running();
  const bool in_task = running != nullptr;
  return LogLine{scheduler_.now(), in_task ? running->id() : TaskId(),
                 in_task ? running->name() : std::string_view(), message, std::move(error)};
}

void Reports::log(std::string_view message) noexcept { write(line_of_running(message, nullptr)); }

void Reports::unseen(const TaskRecord& task) noexcept {
  ++counters_.unseen_failures;
  try {
    const AsyncTracePtr trace = task.trace();
    const std::string message =
        task.describe() + ", spawned at " + site_text(task.spawn_site()) +
        ", failed and nobody looked at the error: " + error_text(task.error()) +
        (trace != nullptr ? "\n  " + trace->text() : "");
    if (write(LogLine{scheduler_.now(), task.id(), task.name(), message, task.error()})) return;
  } catch (const std::bad_alloc&) {
    // Said without memory, below.
  }
  task.report_failure_briefly();
}

void Reports::lost(const TaskRecord& task, std::string_view what,
                   const std::exception_ptr& error) noexcept {
  ++counters_.unseen_failures;
  try {
    const std::string message = task.describe() + ", spawned at " + site_text(task.spawn_site()) +
                                ", " + std::string(what) + ": " + error_text(error);
    if (write(LogLine{scheduler_.now(), task.id(), task.name(), message, error})) return;
  } catch (const std::bad_alloc&) {
    // Said without memory, below.
  }
  task.report_failure_briefly();
}

void Reports::lost(std::string_view what, const std::exception_ptr& error) noexcept {
  ++counters_.unseen_failures;
  try {
    const std::string message = std::string(what) + ": " + error_text(error);
    if (write(line_of_running(message, error))) return;
  } catch (const std::bad_alloc&) {
    // Said without memory, below.
  }
  std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
}

}  // namespace tiffany::detail
