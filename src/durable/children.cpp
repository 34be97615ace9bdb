#include "durable/children.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "durable/excerpt.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"

namespace tiffany {

using wal::Level;
using wal::RecordType;

namespace detail {
namespace {

template <ParentEnd kAtEnd>
Slot* issue_child_with(FlowState& flow, const std::string& type, const std::string& arguments,
                       const ValueType& result, const std::source_location& site) {
  return issue_child(flow, kAtEnd, type, arguments, result, site);
}

}  // namespace

HandleCall<void>::Issue issue_child_for(ParentEnd at_end) noexcept {
  switch (at_end) {
    case ParentEnd::request_cancel:
      return &issue_child_with<ParentEnd::request_cancel>;
    case ParentEnd::abandon:
      return &issue_child_with<ParentEnd::abandon>;
    case ParentEnd::cancel:
      break;
  }
  return &issue_child_with<ParentEnd::cancel>;
}

}  // namespace detail

detail::Slot* detail::issue_child(FlowState& flow, ParentEnd at_end, const std::string& type,
                                  const std::string& given, const ValueType& result,
                                  const std::source_location& site) {
  std::string arguments = given;
  make_recordable(arguments, "The list of arguments of child \"" + type + "\"");
  std::string id = flow.code.names.next(type);
  const std::string hash = hash_of(arguments);
  bool differs = false;
  const Command* const recorded =
      flow.comparison.match("spawn", id, hash, site, differs, result.shape);
  if (differs) return nullptr;
  const auto make = [&](const Uuid& uuid) {
    auto slot =
        std::make_unique<ChildSlot>(flow, SlotKind::child, std::move(id), site, uuid, result);
    slot->type_name = type;
    slot->arguments = std::move(arguments);
    slot->at_end = at_end;
    slot->asked_now = recorded == nullptr;
    return slot;
  };
  if (recorded != nullptr) return &flow.hold(make(recorded->uuid), recorded);
  // After a checkpoint or a retry, the names of children come again.
  const Uuid uuid = Uuid::derived(flow.log.id, "child " + id + " " + flow.generation.text());
  records::Asked::child(flow.host.payload, id, uuid, hash, result.shape);
  const std::uint64_t command = flow.append(wal::RecordType::Command, flow.host.payload, &site);
  return &flow.hold_live(make(uuid), command);
}

std::vector<ChildAtEnd> detail::children_of(const FlowState& flow) {
  std::vector<ChildAtEnd> all;
  for (const auto& slot : flow.slots) {
    if (slot->kind != SlotKind::child || slot->arrived) continue;
    all.push_back({slot->public_id(), static_cast<const ChildSlot&>(*slot).at_end});
  }
  std::sort(all.begin(), all.end(),
            [](const ChildAtEnd& a, const ChildAtEnd& b) { return a.id < b.id; });
  return all;
}

void Children::expect(detail::ChildSlot& child) { expected_[child.uuid] = &child; }
void Children::forget(const Uuid& child) noexcept { expected_.erase(child); }

// Crash case: the parent has recorded the command, and the process died before, while or after the
// child was started. The id is derived from the command, so it is the same child each time.
void Children::adopt(detail::ChildSlot& slot) {
  HostedTask* child = host_.tasks.find(slot.uuid);
  const std::unique_ptr<HostedTask> old =
      child == nullptr ? host_.results.from_archive(slot.uuid) : nullptr;
  if (old != nullptr) child = old.get();
  if (child == nullptr) return start(slot);
  // Of one that a repair has quarantined nothing may be left but its id.
  if (child->parent.nil()) child->parent = slot.flow.log.id;
  if (child != old.get() && !child->log.ended) return;
  DurableInfo end;
  try {
    end = host_.results.info_of(*child);
  } catch (const Error& error) {
    return slot.flow.comparison.stop("The result of " + detail::what_is(&slot) + " is not known. " +
                                     error.what());
  }
  if (end.status == DurableStatus::failed) {
    slot.failure = std::make_shared<detail::Failure>(host_.results.failure_of(*child));
  }
  slot.flow.settle(slot, RecordType::Resumed, end.detail, end.status != DurableStatus::completed);
}

// Nothing of the child is in the log or in the archive.
void Children::start(detail::ChildSlot& slot) {
  const auto refuse = [&slot](std::string why) {
    slot.flow.settle(slot, RecordType::Resumed, std::move(why), true);
  };
  if (host_.store->retired(slot.uuid)) {
    return refuse("Task " + slot.uuid.text() +
                  ", which is to be awaited, has ended and has left the archive.");
  }
  const DurableType* const type = host_.types.find(slot.type_name);
  if (type == nullptr) {
    return refuse("No durable task is registered as \"" + slot.type_name + "\".");
  }
  Starts::Recorded arguments;
  records::Spawn begun;
  try {
    Starts::require_arguments(*type, slot.arguments);
    if (host_.interceptors.any()) {
      StartCall call{slot.uuid, slot.flow.log.id, slot.type_name, {}, slot.arguments, {}};
      begun.marks.attributes = Search::json(host_.starts.intercepted(call));
    }
    arguments = host_.starts.recorded(slot.arguments);
  } catch (const Error& error) {
    return refuse(error.what());
  }
  HostedTask& made = host_.starts.add(*type, slot.uuid, slot.flow.log.id);
  made.at_end = slot.at_end;
  // A child that the parent's log names may have run, though its own records are lost. A child
  // that the log does not name is new: the records of its parent have no gap.
  const std::string& damage = host_.store->found().unresolved;
  if (!slot.asked_now && !damage.empty()) {
    return host_.opening.quarantine(
        made, "its parent has asked for it, nothing of it is in the log, and the log is damaged. " +
                  damage);
  }
  host_.starts.mark(made, begun);
  host_.starts.append_spawn(made, arguments, Level::lazy, nullptr);
  host_.admission.begin(made, slot.arguments, host_.store->clock().now());
}

void Children::ended(const HostedTask& child) {
  const auto found = expected_.find(child.log.id);
  if (found == expected_.end()) {
    HostedTask* const parent = host_.tasks.find(child.parent);
    if (parent != nullptr) host_.eviction.wake_soon(*parent);
    return;
  }
  found->second->failure = child.failure;
  found->second->flow.settle(*found->second, RecordType::Resumed, child.detail,
                             child.status != DurableStatus::completed);
}

// Crash case: code that comes back and does not wait any more has made no child live.
void Children::start_abandoned(FlowState& parent) {
  std::vector<detail::ChildSlot*> lost;
  for (const auto& slot : parent.slots) {
    if (slot->kind != detail::SlotKind::child || slot->live || slot->arrived) continue;
    auto& child = static_cast<detail::ChildSlot&>(*slot);
    if (child.at_end != ParentEnd::abandon || host_.tasks.find(child.uuid) != nullptr) continue;
    lost.push_back(&child);
  }
  std::sort(lost.begin(), lost.end(),
            [](const auto* a, const auto* b) { return a->command < b->command; });
  for (detail::ChildSlot* child : lost) parent.waits.go_live(*child);
}

// A crash in here leaves a parent that has not ended, which does the same to the same children.
Task<void> Children::end(ChildAtEnd which) {
  expected_.erase(which.id);  // nobody is told
  HostedTask* const child = host_.tasks.find(which.id);
  if (child == nullptr || child->log.ended) co_return;
  if (child->status == DurableStatus::quarantined) co_return;  // nothing is appended to its log
  const Held held(*child);
  if (which.what == ParentEnd::abandon) {
    // Crash case: the next process starts a child that a log names only for a parent that has not
    // ended.
    co_await host_.store->flush();
    co_return;
  }
  co_await host_.messages.send(child, false, "its parent ended", std::string());
  if (which.what == ParentEnd::request_cancel) co_return;
  while (!child->log.ended && child->status <= DurableStatus::queued && child->broken == nullptr) {
    child->done.reset();
    co_await child->done.wait();
  }
}

std::vector<ChildAtEnd> Children::of(const HostedTask& parent) const {
  if (parent.flow != nullptr) return detail::children_of(*parent.flow);
  std::vector<ChildAtEnd> all;
  for (const HostedTask* each : host_.tasks) {
    if (each->parent != parent.log.id || each->log.ended) continue;
    all.push_back({each->log.id, each->at_end});
  }
  return all;
}

}  // namespace tiffany
