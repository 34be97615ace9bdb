// Which task's step makes a call. A call that waits for the end of the step it is made in would
// wait for itself, and is refused.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "durable/hosted_task.hpp"

namespace tiffany {

class StepCallers {
 public:
  explicit StepCallers(const HostCore& host) noexcept : host_(host) {}
  // `runner` runs a step of that task.
  void enter(const TaskRecord* runner, const HostedTask* task) { steps_.emplace(runner, task); }
  void leave(const TaskRecord* runner) noexcept { steps_.erase(runner); }
  // The task in whose step the running code runs, or a task of a scope that the step has opened.
  // Null: outside of all steps.
  const HostedTask* now() const noexcept;
  // Throws Errc::self_join when to stop the task would wait for the caller. `with_children`: they
  // are stopped as well.
  void require_other(const HostedTask& task, bool with_children, std::string_view what) const;

  // While a call from the step of one task waits for the steps of another to end.
  class Waiting {
   public:
    Waiting(StepCallers& all, const HostedTask& of, bool with_children);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    StepCallers& all_;
    const HostedTask& of_;
    const HostedTask* by_;  // null: the call is made outside of all steps
  };

 private:
  struct Stopping {
    const HostedTask* by;
    const HostedTask* of;
    bool with_children;
  };
  bool covers(const HostedTask& of, bool with_children, const HostedTask& task) const noexcept;
  bool waits_for(const HostedTask& of, bool with_children, const HostedTask& task) const noexcept;

  const HostCore& host_;
  std::unordered_map<const TaskRecord*, const HostedTask*> steps_;
  std::vector<Stopping> stopping_;
};

}  // namespace tiffany
