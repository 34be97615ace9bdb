#include "durable/wait_graph.hpp"

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"

namespace tiffany {
namespace {

bool waits_itself(const TaskRecord* task) noexcept {
  return task != nullptr && !task->settled() && task->state() == TaskState::blocked;
}

const TaskRecord* record_of(const Handle<void>& handle) noexcept {
  return handle ? handle.waitable().as_task() : nullptr;
}

}  // namespace

const TaskRecord* runner_of(const HostedTask& task) noexcept {
  // Between the end of the code and that of the task only the log is waited for.
  return task.flow != nullptr && !task.log.ended ? record_of(task.task) : nullptr;
}

const TaskRecord* runner_of(const detail::Slot& slot) noexcept {
  if (slot.recorded || slot.arrived) return nullptr;
  if (slot.kind == detail::SlotKind::step) {
    const auto& step = static_cast<const detail::StepSlot&>(slot);
    return step.running ? record_of(step.runner) : nullptr;
  }
  if (slot.kind != detail::SlotKind::child) return nullptr;
  const HostedTask* const child = slot.flow.host.tasks.find(slot.public_id());
  return child != nullptr ? runner_of(*child) : nullptr;
}

// Asked when the call parks, and most parks are for a step or a child that has just begun: that one
// does not wait, and nothing is remembered.
bool DurableCall::needs_all() const noexcept {
  const std::span<detail::Slot* const> slots = needed();
  if (slots.empty() || flow_->scopes.any() || !flow_->waits.live()) return false;
  bool any = false;
  for (const detail::Slot* slot : slots) any = any || waits_itself(runner_of(*slot));
  if (!any) return false;
  const HostedTask* const task = flow_->host.tasks.find(flow_->log.id);
  return task != nullptr && (task->marks == nullptr || task->marks->until == 0);
}

void DurableCall::visit_waits(WaitVisitor& visitor) const {
  for (const detail::Slot* slot : needed()) {
    if (const TaskRecord* const runner = runner_of(*slot)) visitor.on_waitable(*runner);
  }
}

std::string ResultWait::describe() const {
  return "the result of durable task " + task_->log.id.text() + " \"" + task_->type_name() + "\"";
}

bool ResultWait::needs_all() const noexcept { return waits_itself(runner_of(*task_)); }

void ResultWait::visit_waits(WaitVisitor& visitor) const {
  if (const TaskRecord* const runner = runner_of(*task_)) visitor.on_waitable(*runner);
}

std::string UpdateWait::describe() const {
  return "the answer of durable task " + task_->log.id.text() + " \"" + task_->type_name() +
         "\" to the update \"" + update_->name + "\"";
}

const TaskRecord* UpdateWait::runner() const noexcept {
  if (update_->answered || task_->flow == nullptr) return nullptr;
  const detail::Updates* const updates = task_->flow->any_updates();
  const auto handler = updates != nullptr ? updates->handlers->find(update_->name) : nullptr;
  return handler == nullptr || handler->begin ? runner_of(*task_) : nullptr;
}

bool UpdateWait::needs_all() const noexcept { return waits_itself(runner()); }

void UpdateWait::visit_waits(WaitVisitor& visitor) const {
  if (const TaskRecord* const needed = runner()) visitor.on_waitable(*needed);
}

}  // namespace tiffany
