// Promises: a durable task asks for a value, and somebody outside gives it, also while the task is
// not running.
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "durable/fields.hpp"
#include "durable/hosted_task.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"

namespace tiffany {

using detail::Command;
using detail::SlotKind;
using wal::RecordType;

FlowState::Slot* FlowState::issue_promise(const std::string& name, const detail::ValueType& type,
                                          const std::source_location& site) {
  std::string id = next_id(name);
  bool differs = false;
  const Command* recorded = match("promise", id, "", site, differs, type.shape);
  if (differs) return nullptr;
  Uuid uuid = recorded != nullptr ? recorded->uuid : Uuid();
  std::uint64_t command = 0;
  if (recorded == nullptr) {
    uuid = Uuid::derived(log_.id, "promise " + name_outside() + "/" + id);
    records::Asked::promise(payload_, id, uuid, type.shape);
    command = append(RecordType::Command, payload_, &site);
  }
  Slot* const slot = make_slot(SlotKind::promise, std::move(id), recorded, site);
  slot->uuid = uuid;
  slot->type = &type;
  if (recorded != nullptr) return slot;
  slot->command = command;
  go_live(*slot);
  return slot;
}

// What is asked for again after a retry has not been given then.
void HostCore::read_promises(HostedTask& entry) {
  entry.promises_read = true;
  std::unordered_map<std::string, Asked*> by_name;
  try {
    for (const std::string& line : store_->read(entry.log)) {
      const wal::RecordView view = wal::view_of(line);
      const bool asks = view.type == RecordType::Command &&
                        view.payload.find(R"("promise":)") != std::string_view::npos;
      if (!asks && view.type != RecordType::Approval) continue;
      const detail::Fields fields(view.payload);
      if (asks) {
        const records::Asked promise = records::Asked::read(fields);
        if (promise.op != "promise") continue;
        Asked& asked = at_rest_[promise.uuid];
        asked = {entry.log.id, promise.id, false};
        by_name[asked.name] = &asked;
      } else {
        const auto found = by_name.find(records::Result::read(fields).of);
        if (found != by_name.end()) found->second->kept = true;
      }
    }
  } catch (const Error&) {
    // It cannot be read, and so is quarantined when it is resumed: nobody can complete what it
    // asked for.
    std::erase_if(at_rest_, [&](const auto& each) { return each.second.task == entry.log.id; });
  }
}

HostCore::AtRest HostCore::find_at_rest(const Uuid& promise) {
  for (HostedTask* entry : order_) {
    if (entry->flow == nullptr && !entry->promises_read) read_promises(*entry);
  }
  const auto found = at_rest_.find(promise);
  if (found == at_rest_.end()) return AtRest();
  HostedTask* const task = find(found->second.task);
  if (task == nullptr || task->flow != nullptr) return AtRest();
  return {task, &found->second};
}

Task<bool> HostCore::complete_json(Uuid promise, std::string value, bool success) {
  if (success) {
    value = detail::recordable(value, "The value of a promise");
  } else {
    detail::require_reason(value, "Why a promise is broken");
  }
  for (;;) {
    if (!is_open()) {
      throw Error(Errc::durable_misuse, "Host::complete needs an open host: co_await host.open().");
    }
    const auto found = promises_.find(promise);
    if (found != promises_.end() && found->second == nullptr) co_return false;
    if (found != promises_.end() && found->second->kind == detail::SlotKind::promise) {
      detail::Slot& slot = *found->second;
      const bool first = !slot.recorded;
      if (first) {
        slot.completion = std::make_shared<detail::Mail>();
        slot.flow.settle(slot, RecordType::Approval, std::move(value), !success, false,
                         slot.completion);
        if (store_->sealed()) std::rethrow_exception(store_->why_sealed());
      }
      // Whoever is not the first hears so when nothing can make that untrue any more.
      const std::shared_ptr<detail::Mail> completion = slot.completion;
      if (completion != nullptr) {
        co_await completion->event.wait();
        if (completion->error != nullptr) std::rethrow_exception(completion->error);
      }
      co_return first;
    }
    const AtRest there = find_at_rest(promise);
    if (there.task == nullptr) {
      throw Error(
          Errc::unknown_durable,
          "Host::complete: no task in the log of this host has asked for a promise with the "
          "id " +
              promise.text() +
              " since its last checkpoint. Those of the archive are not looked through.");
    }
    if (there.task->changing > 0 || !store_->has_room()) {
      co_await until_settled(there.task);  // and then see what has become of it
      continue;
    }
    if (there.promise->kept) co_return false;
    require_alive(*there.task, "Host::complete");
    const Held held(*there.task);
    const Changing changing(*there.task, changed_);
    std::string payload;
    records::Result::write(payload, *store_, there.promise->name, value, !success);
    there.promise->kept = true;
    co_await record(*there.task, RecordType::Approval, payload);
    co_return true;
  }
}

}  // namespace tiffany
