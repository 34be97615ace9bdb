// Watches slices: how long each took (Options::watch), and how many calls a task has made since it
// last waited (Options::watch_steps). It is measured beside the loop and decides nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tiffany/base/time.hpp"
#include "tiffany/core/counters.hpp"
#include "tiffany/core/id.hpp"

namespace tiffany {

class Options;
class TaskRecord;

namespace detail {

class Reports;

class Watch {
 public:
  Watch(Options& options, Counters& counters, Reports& reports);

  bool on() const noexcept { return on_; }
  // By the options, and not only for an Observer.
  bool asked_for() const noexcept { return asked_for_; }
  // Slices are to be told apart for an Observer.
  void set_observed(bool observed) noexcept { on_ = asked_for_ || observed; }
  void slice_begins(const TaskRecord& task);
  // The steps of the task are recorded when this is called.
  void slice_ended(const TaskRecord& task, Time now);

  // A wait in the middle of a slice (Options::wait_inline).
  class Wait {
   public:
    Wait(Watch& watch, const TaskRecord& task);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Watch& watch_;
    const TaskRecord& task_;
    Duration begun_{};
  };

 private:
  // What a task has done since it last waited, or began.
  struct Stretch {
    TaskId task;
    std::uint64_t from = 0;  // of its steps
    bool reported = false;
  };
  // That of the task; null when there is no memory for it.
  Stretch* stretch_of(const TaskRecord& task) noexcept;
  void look_at_stretch(const TaskRecord& task, Time now);
  void report(const TaskRecord& task, Time now, const std::string& what);

  Counters& counters_;
  Reports& reports_;
  bool asked_for_ = false;
  bool on_ = false;
  Duration limit_{};
  std::function<Duration()> clock_;  // none: time is not watched
  std::optional<std::uint64_t> most_steps_;
  std::vector<Stretch> stretches_;  // by the slots of the tasks
  Duration begun_{};                // when the slice began, later by what its task waited inline
  std::uint64_t steps_ = 0;         // of the task, then
};

}  // namespace detail
}  // namespace tiffany
