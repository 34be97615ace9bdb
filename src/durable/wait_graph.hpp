// Which task a wait of a durable task is for, so that circles of them are seen. Internal.
//
// Known are results, children, and answers to updates: only the task itself brings them about. A
// promise and a signal may come from anywhere, and a timer comes by itself: none of these is an
// edge.
#pragma once

#include <string>

#include "durable/hosted_task.hpp"
#include "durable/slot.hpp"
#include "durable/updates.hpp"
#include "tiffany/sync/parking_call.hpp"

namespace tiffany {

// The task that runs the code of a durable task; null when there is none at the moment.
const TaskRecord* runner_of(const HostedTask& task) noexcept;
// The task that works for what a slot stands for; null when that is none, or its end is known.
const TaskRecord* runner_of(const detail::Slot& slot) noexcept;

// Until the status of a task may have changed. A wait in a step can be a part of a circle: the task
// of the step waits for the step.
//
// Cancel. Before start: answered when something has changed, else Cancelled is thrown. While
// parked: the wait is withdrawn. After completion: something has changed; the next suspension
// throws.
class ResultWait final : public detail::ParkingCall<ResultWait> {
 public:
  using value_type = void;
  static constexpr CallName call_name{"durable_result"};

  explicit ResultWait(HostedTask& of) noexcept : task_(&of) {}
  ResultWait(ResultWait&&) noexcept = default;

  bool answer(TaskRecord&) const noexcept { return task_->done.is_set(); }
  void enlist(TaskRecord& asker) noexcept { task_->done.waiters().push(*this, asker); }
  void leave() noexcept { task_->done.waiters().remove(*this); }
  void finish() const {
    if (gone()) detail::throw_gone("a durable task");
  }
  std::string describe() const override;
  bool needs_all() const noexcept override;
  void visit_waits(WaitVisitor& visitor) const override;

 private:
  HostedTask* task_;
};

// Until an update is answered, or its task is gone. The answer of a handler that does not wait
// comes while the task waits for something else, and is no edge.
//
// Cancel. Before start: answered when the answer is there, else Cancelled is thrown. While parked:
// the wait is withdrawn. After completion: the answer is there; the next suspension throws.
class UpdateWait final : public detail::ParkingCall<UpdateWait> {
 public:
  using value_type = void;
  static constexpr CallName call_name{"durable_update"};

  UpdateWait(HostedTask& of, const detail::UpdatePtr& update) noexcept
      : task_(&of), update_(update) {}
  UpdateWait(UpdateWait&&) noexcept = default;

  bool answer(TaskRecord&) const noexcept { return update_->settled.is_set(); }
  void enlist(TaskRecord& asker) noexcept { update_->settled.waiters().push(*this, asker); }
  void leave() noexcept { update_->settled.waiters().remove(*this); }
  void finish() const {
    if (gone()) detail::throw_gone("an update of a durable task");
  }
  std::string describe() const override;
  bool needs_all() const noexcept override;
  void visit_waits(WaitVisitor& visitor) const override;

 private:
  // That has to go on before the update is answered; null: none.
  const TaskRecord* runner() const noexcept;

  HostedTask* task_;
  detail::UpdatePtr update_;
};

}  // namespace tiffany
