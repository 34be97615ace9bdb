// Promises: a durable task asks for a value, and somebody outside gives it, also while the task is
// not running.
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "durable/fields.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/durable/rejected.hpp"

namespace tiffany {

using detail::PromiseSlot;
using wal::RecordType;

detail::Slot* detail::issue_promise(FlowState& flow, const std::string& name, const ValueType& type,
                                    const std::source_location& site) {
  std::string id = flow.code.names.next(name);
  bool differs = false;
  const Command* const recorded =
      flow.comparison.match("promise", id, "", site, differs, type.shape);
  if (differs) return nullptr;
  const auto make = [&](const Uuid& uuid, std::int64_t since) {
    auto slot =
        std::make_unique<PromiseSlot>(flow, SlotKind::promise, std::move(id), site, uuid, type);
    slot->since = since;
    return slot;
  };
  if (recorded != nullptr) return &flow.hold(make(recorded->uuid, recorded->time), recorded);
  const Uuid uuid = Uuid::derived(flow.log.id, "promise " + flow.name_outside() + "/" + id);
  records::Asked::promise(flow.host.payload, id, uuid, type.shape);
  const std::uint64_t command = flow.append(RecordType::Command, flow.host.payload, &site);
  return &flow.hold_live(make(uuid, flow.host.store->clock().now()), command);
}

void PromiseTable::open(PromiseSlot& promise) {
  close(promise.uuid);
  slots_.add(promise);
}
void PromiseTable::keep(const Uuid& promise) {
  kept_.insert(promise);
  slots_.erase(promise);
}
void PromiseTable::close(const Uuid& promise) noexcept {
  slots_.erase(promise);
  kept_.erase(promise);
}
void PromiseTable::forget(const std::unordered_set<Uuid, UuidHash>& tasks) {
  std::erase_if(at_rest_, [&](const auto& each) { return tasks.contains(each.second.task); });
}

void PromiseTable::forget(const std::vector<Uuid>& promises) noexcept {
  for (const Uuid& promise : promises) at_rest_.erase(promise);
}

std::vector<Uuid> PromiseTable::rest(const FlowState& flow) {
  std::vector<Uuid> all(flow.kept_promises.begin(), flow.kept_promises.end());
  for (const Uuid& promise : all) at_rest_[promise] = {flow.log.id, std::string(), 0, true};
  for (const auto& slot : flow.slots) {
    if (slot->kind != detail::SlotKind::promise || slot->arrived) continue;
    all.push_back(slot->public_id());
    const auto& promise = static_cast<const PromiseSlot&>(*slot);
    at_rest_[all.back()] = {flow.log.id, slot->id, promise.since, false};
  }
  return all;
}

// What is asked for again after a retry has not been given then.
void PromiseTable::read(HostedTask& entry) {
  entry.promises_read = true;
  std::unordered_map<std::string, Asked*> by_name;
  try {
    for (const std::string& line : host_.store->read(entry.log)) {
      const wal::RecordView view = wal::view_of(line);
      const bool asks = view.type == RecordType::Command &&
                        view.payload.find(R"("promise":)") != std::string_view::npos;
      if (!asks && view.type != RecordType::Approval) continue;
      const detail::Fields fields(view.payload);
      if (asks) {
        const records::Asked promise = records::Asked::read(fields);
        if (promise.op != "promise") continue;
        Asked& asked = at_rest_[promise.uuid];
        asked = {entry.log.id, promise.id, wal::parse_time(view.ts).value_or(0), false};
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

// Tasks that are paused or diverged have no code here, but their promises can be kept: the record
// is read when they go on. Logs are read once each, when the first such promise is asked for.
PromiseTable::AtRest PromiseTable::find_at_rest(const Uuid& promise) {
  if (const auto known = at_rest_.find(promise); known != at_rest_.end()) {
    HostedTask* const task = host_.tasks.find(known->second.task);
    // One that is being woken has not come to the promise yet.
    const bool coming = task != nullptr && task->flow != nullptr && !task->flow->waits.live();
    if (task != nullptr && (task->asleep() || coming)) return {task, &known->second};
  }
  bool read_any = false;
  for (HostedTask* entry : host_.tasks) {
    if (entry->flow != nullptr || entry->promises_read) continue;
    read(*entry);
    read_any = true;
  }
  if (read_any) host_.store->done_reading();
  const auto found = at_rest_.find(promise);
  if (found == at_rest_.end()) return AtRest();
  HostedTask* const task = host_.tasks.find(found->second.task);
  if (task == nullptr || task->flow != nullptr) return AtRest();
  return {task, &found->second};
}

// A value that the code cannot read would stop the task for good. Of a task at rest nobody knows
// the type before its code has run.
static void require_value_of(const PromiseSlot& slot, const std::string& value) {
  try {
    slot.type.check(value);
  } catch (const Error& error) {
    throw Error(Errc::bad_argument,
                "Host::complete: the promise \"" + slot.id + "\" is for a value of the type " +
                    std::string(slot.type.name) + ", and this is none: " + error.what() +
                    " The promise is as it was.");
  }
}

// What a broken promise throws, as the log has it.
static detail::FailurePtr rejection() {
  auto failure = std::make_shared<detail::Failure>();
  failure->type = kRejectedType;
  return failure;
}

Task<bool> PromiseTable::complete(Uuid promise, std::string value, bool success, Actor actor) {
  detail::require_actor(actor);
  if (success) {
    value = detail::recordable(value, "The value of a promise");
  } else {
    detail::require_reason(value, "Why a promise is broken");
  }
  for (;;) {
    host_.require_open("Host::complete");
    if (kept_.contains(promise)) co_return false;
    if (PromiseSlot* const found = slots_.find(promise)) {
      PromiseSlot& slot = *found;
      const bool first = !slot.recorded;
      if (first && success) require_value_of(slot, value);
      if (first) {
        slot.completion = std::make_shared<detail::TaskMail>();
        slot.completion->members = records::members_of(actor);
        if (!success) slot.failure = rejection();
        slot.flow.settle(slot, RecordType::Approval, std::move(value), !success, false,
                         slot.completion);
        if (host_.store->sealed()) std::rethrow_exception(host_.store->why_sealed());
      }
      // Whoever is not the first hears so when nothing can make that untrue any more.
      const std::shared_ptr<detail::TaskMail> completion = slot.completion;
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
    if (there.task->flow != nullptr) {  // which is being replayed
      host_.changed.reset();
      co_await host_.changed.wait();
      continue;
    }
    if (there.task->changing > 0 || !host_.store->has_room()) {
      co_await host_.until_settled(there.task);  // and then see what has become of it
      continue;
    }
    if (there.promise->kept) co_return false;
    host_.require_alive(*there.task, "Host::complete");
    const Held held(*there.task);
    const Changing changing(*there.task, host_.changed);
    if (success) host_.require_codec_of(*there.task, "Host::complete");
    std::string payload;
    records::Result::write(payload, *host_.store, there.promise->name, value, !success,
                           success ? nullptr : rejection().get());
    payload += records::members_of(actor);
    // Before the suspension: two who keep it at once must not both be the first.
    there.promise->kept = true;
    HostedTask& task = *there.task;
    co_await host_.record(task, RecordType::Approval, payload);
    host_.eviction.wake_soon(task);
    co_return true;
  }
}

}  // namespace tiffany
