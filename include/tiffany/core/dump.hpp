// What a scheduler knows of its tasks, at this moment: `dump_text()` for readers, `dump_json()` for
// programs, and `dump(visitor)` for anything else.
//
// A dump is made of what was recorded anyway: it runs no task's code, asks no clock, and changes
// nothing. It takes time linear in the number of tasks; what could be long for one task (nested
// calls, who spawned whom) is cut short. Tasks come in the order of their slots, so equal runs give
// equal dumps, on every compiler; no addresses are shown. It may be made from a task, from a log
// sink, or from outside while nobody drives the scheduler; like everything of a scheduler, on its
// thread.
//
// The task that runs while the dump is made is shown without its await stack: where it is suspended
// is written down when it suspends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/time.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/core/spawn_chain.hpp"
#include "tiffany/core/state.hpp"

namespace tiffany {

// Scopes have no ids of their own. One is named by the task that opened it and how many scopes that
// task had open already: `#3/1` is the outermost scope that task #3 has open, `#3/2` one inside it.
struct ScopeName {
  TaskId owner;  // no task: the root scope
  std::size_t depth = 0;

  std::string text() const;
};

struct SchedulerView {
  Time now;
  std::array<std::size_t, 9>
      tasks{};  // how many are in each TaskState; those that have ended are not
  std::vector<std::pair<std::string_view, std::size_t>> blocked;  // by call, in the order of names
  std::size_t timers = 0;
  std::size_t externals = 0;
  std::uint64_t slices = 0;
  std::uint64_t spawned = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t trace_hash = 0;

  std::size_t in(TaskState state) const noexcept { return tasks[static_cast<std::size_t>(state)]; }
  std::size_t live() const noexcept;
  // Those that wait for their turn.
  std::size_t ready() const noexcept;
  std::string trace_text() const;
};

struct ScopeView {
  ScopeName name;
  ScopeName parent;  // meaningless for the root scope
  std::size_t tasks = 0;
  std::optional<Time> deadline;
  CancelReasonPtr cancel;
};

struct TaskView {
  const TaskRecord& task;  // id, name, state, priority, steps
  std::string_view call;   // what it is blocked in; empty when it is not blocked
  std::string waits_for;   // in words
  std::optional<Time> since;
  const AwaitStack& stack;
  const SpawnChain& spawned;
  ScopeName scope;
  CancelReasonPtr cancel;
  bool shielded = false;  // it was cancelled, and a shield holds that back
};

// Called once for the scheduler, then for every scope, then for every task. What a view refers to
// is gone when the call returns.
class DumpVisitor {
 public:
  virtual void on_scheduler(const SchedulerView& scheduler) = 0;
  virtual void on_scope(const ScopeView& scope) = 0;
  virtual void on_task(const TaskView& task) = 0;

 protected:
  ~DumpVisitor() = default;
};

}  // namespace tiffany
