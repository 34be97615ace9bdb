// Finds closed circles of waits while the rest of the program goes on (Options::circles).
//
// A wait does not look for a circle that it closes, which would make every join dearer; it only
// leaves the id of its task here. The look comes when no task is ready, begins at those tasks,
// because the last wait of a circle is the one that closes it, and passes each task once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tiffany/base/time.hpp"
#include "tiffany/core/counters.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/core/options.hpp"

namespace tiffany {

class Scheduler;
class TaskRecord;

namespace detail {

class Circles {
 public:
  Circles(CirclePolicy policy, Counters& counters) noexcept
      : policy_(policy), counters_(counters) {}

  // A task parks on something that needs_all().
  void suspect(TaskId task) noexcept { suspects_[new_suspects_++ % kSuspects] = task; }
  bool has_suspects() const noexcept { return new_suspects_ != 0; }
  // A turn is over, and tasks were ready all the time. True when a look is due all the same.
  bool due_after_turn() noexcept { return new_suspects_ != 0 && ++turns_since_look_ >= kTurns; }
  // True when a task is ready that was not. `limit`: how long the scheduler would wait.
  bool look(Scheduler& scheduler, Time limit);
  // When a look at all tasks is due that was put off.
  const std::optional<Time>& full_look_by() const noexcept { return full_look_by_; }

 private:
  class Search;
  struct DropSearch {
    void operator()(Search* search) const noexcept;
  };

  bool full_look_is_due(const Scheduler& scheduler);
  bool handle(Scheduler& scheduler, const std::vector<TaskId>& circle);
  bool cancel_last_of(Scheduler& scheduler, const std::vector<TaskId>& circle,
                      const std::string& why);

  // How many turns pass between two looks while tasks are always ready.
  static constexpr std::uint32_t kTurns = 64;
  // Tasks that parked since the last look; more than there is room for: all tasks are looked at.
  static constexpr std::uint32_t kSuspects = 64;
  std::uint32_t new_suspects_ = 0;
  std::uint32_t turns_since_look_ = 0;
  TaskId suspects_[kSuspects];
  std::uint64_t next_full_look_ = 0;  // the slice
  std::optional<Time> full_look_by_;
  CirclePolicy policy_;
  Counters& counters_;
  std::unique_ptr<Search, DropSearch> search_;
};

}  // namespace detail
}  // namespace tiffany
