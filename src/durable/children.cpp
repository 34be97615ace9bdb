// Children: durable tasks that another one started and awaits, and that do not outlive it.
#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "durable/excerpt.hpp"
#include "durable/hosted_task.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"

namespace tiffany {

using detail::Command;
using detail::hash_of;
using detail::SlotKind;
using wal::Level;
using wal::RecordType;

FlowState::Slot* FlowState::issue_child(const std::string& type, const std::string& given,
                                        const detail::ValueType& result,
                                        const std::source_location& site) {
  std::string child_arguments = given;
  detail::make_recordable(child_arguments, "The list of arguments of child \"" + type + "\"");
  std::string id = next_id(type);
  const std::string hash = hash_of(child_arguments);
  bool differs = false;
  const Command* recorded = match("spawn", id, hash, site, differs, result.shape);
  if (differs) return nullptr;
  Uuid uuid = recorded != nullptr ? recorded->uuid : Uuid();
  std::uint64_t command = 0;
  if (recorded == nullptr) {
    // After a checkpoint or a retry, the names of children come again.
    uuid = Uuid::derived(log_.id, "child " + id + " " + generation_);
    records::Asked::child(payload_, id, uuid, hash, result.shape);
    command = append(RecordType::Command, payload_, &site);
  }
  Slot* const slot = make_slot(SlotKind::child, std::move(id), recorded, site);
  slot->details = child_arguments;
  slot->hash = type;
  slot->uuid = uuid;
  slot->type = &result;
  if (recorded != nullptr) return slot;
  slot->command = command;
  slot->asked_now = true;
  go_live(*slot);
  return slot;
}

std::vector<Uuid> FlowState::children() const {
  std::vector<Uuid> all;
  for (const auto& slot : slots_) {
    if (slot->kind == SlotKind::child && !slot->arrived) all.push_back(slot->uuid);
  }
  std::sort(all.begin(), all.end());
  return all;
}

// A child whose parent has it in its log: it may have ended, or never have come to be.
void HostCore::adopt_child(detail::Slot& slot) {
  HostedTask* child = find(slot.uuid);
  const std::unique_ptr<HostedTask> old = child == nullptr ? from_archive(slot.uuid) : nullptr;
  if (old != nullptr) child = old.get();
  // Of one that a repair has quarantined nothing may be left but its id.
  if (child != nullptr && child->parent.nil()) child->parent = slot.flow.id();
  if (child == nullptr) {
    if (store_->retired(slot.uuid)) {
      slot.flow.settle(slot, RecordType::Resumed,
                       "Task " + slot.uuid.text() +
                           ", which is to be awaited, has ended and has left the archive.",
                       true);
      return;
    }
    const DurableType* const type = types_.find(slot.hash);
    if (type == nullptr) {
      slot.flow.settle(slot, RecordType::Resumed,
                       "No durable task is registered as \"" + slot.hash + "\".", true);
      return;
    }
    try {
      require_arguments(*type, slot.details);
    } catch (const Error& error) {
      slot.flow.settle(slot, RecordType::Resumed, error.what(), true);
      return;
    }
    HostedTask& made = add_task(*type, slot.uuid, slot.flow.id());
    // A child that the parent's log names may have run, though its own records are lost. A child
    // that the log does not name is new: the records of its parent have no gap.
    if (!slot.asked_now && !store_->found().unresolved.empty()) {
      made.status = DurableStatus::quarantined;
      made.detail =
          "its parent has asked for it, nothing of it is in the log, and the log is damaged. " +
          store_->found().unresolved;
      ++recovery_.quarantined;
      recovery_.notes.push_back("Task " + slot.uuid.text() + " (" + made.type_name +
                                ") is quarantined: " + made.detail);
      return;
    }
    append_spawn(made, slot.details, Level::lazy, nullptr);
    begin(made, slot.details, store_->clock().now());
    return;
  }
  if (child != old.get() && !child->log.ended) return;
  const DurableInfo end = info_of(*child);
  slot.flow.settle(slot, RecordType::Resumed, end.detail, end.status != DurableStatus::completed);
}

Task<void> HostCore::cancel_child(Uuid id) {
  const auto slot = promises_.find(id);
  if (slot != promises_.end()) promises_.erase(slot);  // nobody is told
  HostedTask* const child = find(id);
  if (child == nullptr || child->log.ended) co_return;
  if (child->status == DurableStatus::quarantined) co_return;  // nothing is appended to its log
  const Held held(*child);
  co_await send(child, false, "its parent ended", std::string());
  while (!child->log.ended && child->status == DurableStatus::running && child->broken == nullptr) {
    child->done.reset();
    co_await child->done.wait();
  }
}

// Those that have not ended.
std::vector<Uuid> HostCore::children_of(const HostedTask& task) const {
  if (task.flow != nullptr) return task.flow->children();
  std::vector<Uuid> all;
  for (const HostedTask* each : order_) {
    if (each->parent == task.log.id && !each->log.ended) all.push_back(each->log.id);
  }
  return all;
}

}  // namespace tiffany
