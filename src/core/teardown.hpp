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
  // A task that refers to something that is being dropped by force goes before it.
  void drop_by_force(TaskRecord& first) noexcept;

 private:
  void unwind(std::size_t tasks) noexcept;
  static TaskRecord* task_in_scopes_of(const TaskRecord& task) noexcept;

  Scheduler& scheduler_;
  bool reported_ = false;
};

}  // namespace detail
}  // namespace tiffany
