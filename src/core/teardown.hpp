// The end of a scheduler that still has tasks: first politely, then without shields, then by force.
// Internal.
#pragma once

#include <cstddef>

namespace tiffany {

class Scheduler;
class TaskRecord;

namespace detail {

class Teardown {
 public:
  explicit Teardown(Scheduler& scheduler) noexcept : scheduler_(scheduler) {}
  // No task is left afterwards.
  void run() noexcept;

 private:
  void unwind(std::size_t tasks) noexcept;
  void drop_by_force(TaskRecord& first) noexcept;
  static TaskRecord* task_in_scopes_of(const TaskRecord& task) noexcept;

  Scheduler& scheduler_;
  bool reported_ = false;
};

}  // namespace detail
}  // namespace tiffany
