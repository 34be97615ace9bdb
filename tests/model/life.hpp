// The reference model, third part: how tasks begin and end.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "model/machine.hpp"

namespace model::reference {

inline Task& Machine::add_task(const NewTask& spec, Scope& scope, std::unique_ptr<Frame> code) {
  Task& task = *tasks.emplace_back(std::make_unique<Task>());
  task.as_task = &task;
  task.index = spec.index;
  task.priority = spec.priority;
  task.scope = &scope;
  task.parent = running;
  if (running != nullptr) task.heritage = running->heritage;
  for (const auto& [key, value] : spec.context) task.heritage.context[key] = value;
  task.inherited = task.heritage.log.size();
  task.if_failed = spec.if_failed;
  task.cost = spec.cost;
  task.when_code_goes = spec.when_code_goes;
  task.stack.push_back(std::move(code));
  scope.live.push_back(&task);
  ++live_tasks;
  wait_before_it_begins(task, spec.after);
  if (scope.reason) cancel(task, *scope.reason);
  return task;
}

// ---- Before it begins ----

inline void Machine::wait_before_it_begins(Task& task, const std::vector<Waitable*>& targets) {
  task.wait.kind = WaitKind::targets;
  task.wait.targets = targets;
  task.wait.decide = task.if_failed == IfFailed::run ? Decide::all : Decide::first_failure;
  look_at_targets(task.wait);
  if (task.wait.decided || all_settled(task.wait)) return make_ready(task);
  task.life = Life::unready;
  register_with_targets(task);
  lengthen_chains_above(task);
}

// It may begin; or it cannot, and hears of that when its turn comes.
inline void Machine::make_ready(Task& task) {
  task.life = Life::fresh;
  if (task.wait.decided) {
    Waitable& failed = *task.wait.targets[*task.wait.decided];
    task.never_begins = true;
    if (task.if_failed == IfFailed::fail) {
      failed.observed = true;
      task.error = "DependencyFailed(" + failed.error + ")";
    } else {
      task.reason = make_reason("dependency");
    }
  }
  ready_.push(task);
}

inline void Machine::end_without_beginning(Task& task) {
  task.stack.clear();
  finish(task, task.if_failed == IfFailed::fail ? End::failed : End::cancelled);
}

// ---- The end ----

inline void Machine::finish(Task& task, End end) {
  if (task.when_code_goes) task.when_code_goes();
  const Lines& log = task.heritage.log;
  if (end == End::cancelled) {
    task.error = "TaskCancelled(" + task_name(task.index) + " " + task.reason->text + ")";
  } else {
    task.told.assign(log.begin() + static_cast<std::ptrdiff_t>(task.inherited), log.end());
  }
  task.life = Life::ended;
  --live_tasks;
  settle(task, end);
  Scope& scope = *task.scope;
  std::erase(scope.live, &task);
  judge(scope, task);
  if (scope.live.empty() && scope.joiner != nullptr) {
    scope.joined = true;
    wake(*std::exchange(scope.joiner, nullptr));
  }
}

// What the policy of its scope makes of the end of a task.
inline void Machine::judge(Scope& scope, Task& task) {
  const bool failed = task.end == End::failed;
  switch (scope.policy) {
    case Policy::fail_fast:
      if (!failed) return;
      task.must_report = scope.error.has_value();
      if (scope.error) return;
      scope.error = task.error;
      task.observed = true;
      return cancel_all(scope, make_reason("sibling failed"));
    case Policy::collect_all:
      if (failed) scope.kept.push_back(&task);
      return;
    case Policy::first_success:
      // Only those that the block started compete; what they spawn in turn helps them.
      if (task.parent != scope.owner) {
        task.must_report = failed;
      } else if (scope.winner != nullptr) {
        task.must_report = failed;
      } else if (task.end == End::completed) {
        scope.winner = &task;
        cancel_all(scope, make_reason("race decided"));
      } else {
        scope.kept.push_back(&task);
      }
      return;
    case Policy::isolate:
      task.must_report = failed;
      return;
    case Policy::root:
      task.must_report = failed;
      if (!failed || task.priority != 0 || !setup_.system_failure_ends_run) return;
      if (failed_system_task != nullptr) return;
      failed_system_task = &task;
      task.observed = true;
      return cancel_all(root, make_reason("shutdown"));
  }
}

}  // namespace model::reference
