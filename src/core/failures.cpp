#include "tiffany/core/failures.hpp"

#include <utility>

namespace tiffany {
namespace {

std::string count_text(std::size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string list_text(const std::vector<TaskFailure>& failures) {
  // The rest is in failures(); a sentence with a thousand of them is of no use.
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t i = 0; i < failures.size() && i < kShown; ++i) {
    out += "\n  " + failures[i].who + ": " + error_text(failures[i].error);
  }
  if (failures.size() > kShown) {
    out += "\n  ... and " + std::to_string(failures.size() - kShown) + " more";
  }
  return out;
}

}  // namespace

TasksFailed::TasksFailed(std::vector<TaskFailure> failures)
    : Error(Errc::tasks_failed, count_text(failures.size(), "task") +
                                    " of a scope failed; failures() has the errors." +
                                    list_text(failures)),
      failures_(std::move(failures)) {}

AllFailed::AllFailed(std::vector<std::exception_ptr> errors)
    : Error(Errc::all_failed,
            "None of the " + count_text(errors.size(), "contender") +
                " succeeded; errors() holds what each of them failed with. The last one: " +
                error_text(errors.back())),
      errors_(std::move(errors)) {}

SystemTaskFailed::SystemTaskFailed(TaskFailure failure, const std::string& spawned_at)
    : Error(Errc::system_task_failed,
            "The system " + failure.who + ", spawned at " + spawned_at +
                ", failed, and with SystemFailure::end_run that ends the run; all other tasks were "
                "cancelled. It failed with: " +
                error_text(failure.error)),
      failure_(std::move(failure)) {}

}  // namespace tiffany
