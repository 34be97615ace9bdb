// What can be done to the tasks of a host from outside.
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "durable/entry.hpp"
#include "durable/fields.hpp"
#include "durable/limits.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/engine/structured.hpp"

namespace tiffany {

using wal::Level;
using wal::RecordType;

Task<std::string> HostCore::result_json(Uuid id) {
  if (const auto old = find(id) == nullptr ? from_archive(id) : nullptr) co_return result_of(*old);
  Entry& task = entry(id, "Host::result");
  if (!task.log.ended && caller() == &task) {
    throw Error(Errc::self_join, "Host::result was called in a step of task " + id.text() +
                                     " for its own result, which comes when the step has ended.");
  }
  const Held held(task);
  while (!task.log.ended) {
    if (task.broken != nullptr) std::rethrow_exception(task.broken);
    if (task.status != DurableStatus::running && task.status != DurableStatus::paused) {
      throw Error(Errc::durable_stopped, "Task " + id.text() + " does not run: " + task.detail);
    }
    task.done.reset();
    co_await task.done.wait();
  }
  co_return result_of(task);
}

std::string HostCore::result_of(const Entry& task) {
  std::string detail = task.unread ? end_of(task).detail : task.detail;
  if (task.status == DurableStatus::completed) return detail;
  throw Error(
      task.status == DurableStatus::cancelled ? Errc::durable_cancelled : Errc::durable_failed,
      detail);
}

Task<void> HostCore::signal_json(Uuid id, std::string name, std::string value) {
  detail::require_name(name, "The name of a signal");
  value = detail::recordable(value, "The value of a signal");
  Entry& task = entry(id, "Host::signal");
  const Held held(task);
  require_alive(task, "Host::signal");
  co_await send(&task, true, std::move(name), std::move(value));
}

// What is asked for again after a retry has not been given then.
void HostCore::read_promises(Entry& entry) {
  entry.promises_read = true;
  std::unordered_map<std::string, Asked*> by_name;
  try {
    for (const std::string& line : store_->read(entry.log)) {
      const wal::RecordView view = wal::view_of(line);
      const bool asks = view.type == RecordType::Command &&
                        view.payload.find(R"("promise":)") != std::string_view::npos;
      if (!asks && view.type != RecordType::Approval) continue;
      const detail::Fields fields(view.payload);
      if (asks && fields.text("op") == "promise") {
        Asked& asked = at_rest_[Uuid::parse(fields.text("promise")).value_or(Uuid())];
        asked = {entry.log.id, fields.text("id"), false};
        by_name[asked.name] = &asked;
      } else if (view.type == RecordType::Approval) {
        const auto found = by_name.find(fields.text("of"));
        if (found != by_name.end()) found->second->kept = true;
      }
    }
  } catch (const Error&) {
    // It cannot be read, and so is quarantined when it is resumed: nobody can complete what it asked for.
    std::erase_if(at_rest_, [&](const auto& each) { return each.second.task == entry.log.id; });
  }
}

HostCore::AtRest HostCore::find_at_rest(const Uuid& promise) {
  for (Entry* entry : order_) {
    if (entry->flow == nullptr && !entry->promises_read) read_promises(*entry);
  }
  const auto found = at_rest_.find(promise);
  if (found == at_rest_.end()) return AtRest();
  Entry* const task = find(found->second.task);
  if (task == nullptr || task->flow != nullptr) return AtRest();
  return {task, &found->second};
}

Task<void> HostCore::cancel(Uuid id, std::string why) {
  detail::require_reason(why, "The reason for a cancel");
  if (is_open() && find(id) == nullptr && archived(id)) co_return;
  Entry& task = entry(id, "Host::cancel");
  const Held held(task);
  if (!task.log.ended) {
    co_await send(&task, false, std::move(why), std::string());
  }
}

// To the task, if its code is here; or else to its log.
Task<void> HostCore::send(Entry* task, bool signal, std::string name, std::string value) {
  co_await until_settled(task);
  if (signal) require_alive(*task, "Host::signal");
  if (task->log.ended) co_return;
  if (task->flow != nullptr) {
    using Kind = detail::Notice::Kind;
    const auto mail =
        task->flow->send(signal ? Kind::signal : Kind::cancel, std::move(name), std::move(value));
    co_await mail->event.wait();
    if (mail->error != nullptr) std::rethrow_exception(mail->error);
    co_return;
  }
  const Changing changing(*task, changed_);
  std::string payload = signal ? "\"signal\":" : "\"cancel\":";
  JsonWriter(payload).value(name);
  if (signal) {
    payload += ",\"value\":";
    store_->add_value(payload, value);
  }
  co_await record(*task, RecordType::Resumed, payload);
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
    std::string payload = "\"of\":";
    JsonWriter(payload).value(there.promise->name);
    if (success) {
      payload += ",\"result\":";
      store_->add_value(payload, value);
    } else {
      payload += ",\"error\":";
      JsonWriter(payload).value(value);
    }
    there.promise->kept = true;
    co_await record(*there.task, RecordType::Approval, payload);
    co_return true;
  }
}

std::string HostCore::query(Uuid id, std::string_view name) {
  Entry& task = entry(id, "Host::query");
  const detail::Queries* const all = task.flow != nullptr ? task.flow->queries.get() : nullptr;
  if (all != nullptr) {
    if (const auto* const answer = all->find(name)) return (*answer)();
  }
  const bool gone = all != nullptr && all->had(name);
  throw Error(Errc::unknown_durable,
              "Task " + id.text() +
                  (gone ? " does not answer the query \"" : " answers no query \"") +
                  std::string(name) +
                  (gone ? "\" any more: its code has left the scope of the guard." : "\"."));
}

// A result that cannot be read is not given for another one.
DurableInfo HostCore::info_of(const Entry& entry, bool one_of_many) {
  DurableInfo info{entry.log.id, entry.type_name, entry.version, entry.status, entry.detail};
  if (!entry.unread) return info;
  try {
    info.detail = end_of(entry, one_of_many).detail;
  } catch (const Error& error) {
    info.status = DurableStatus::quarantined;
    info.detail = error.what();
  }
  return info;
}
std::optional<DurableInfo> HostCore::info(Uuid task) {
  if (const Entry* const found = find(task)) return info_of(*found);
  try {
    const std::unique_ptr<Entry> old = from_archive(task);
    if (old == nullptr) return std::nullopt;
    DurableInfo info = info_of(*old);
    info.id = task;
    return info;
  } catch (const Error& error) {
    return DurableInfo{task, "", 0, DurableStatus::quarantined, error.what()};
  }
}
std::vector<DurableInfo> HostCore::tasks() {
  std::vector<DurableInfo> all;
  all.reserve(order_.size());
  for (const Entry* entry : order_) all.push_back(info_of(*entry, true));
  if (store_ != nullptr) store_->done_reading();
  return all;
}

Task<void> HostCore::record(Entry& task, RecordType type, std::string payload) {
  // A record behind those that may be lost would make the log look whole. Only an end is allowed.
  if (task.status == DurableStatus::quarantined && type != RecordType::TaskAbort) {
    throw Error(Errc::durable_stopped, "Task " + task.log.id.text() +
                                           " is quarantined, and nothing but `kill` can be " +
                                           "done to it: " + task.detail);
  }
  while (!store_->has_room()) co_await store_->room().wait();
  const std::string id = task.log.id.text();
  wal::Synced synced;
  store_->append(task.log, wal::Entry{type, id, payload}, Level::sync, &synced);
  co_await synced.event.wait();
  if (synced.error != nullptr) std::rethrow_exception(synced.error);
}

void HostCore::require_alive(const Entry& task, std::string_view what) const {
  const bool stopped = task.status == DurableStatus::quarantined;
  if (!task.log.ended && !stopped) return;
  throw Error(Errc::durable_stopped, std::string(what) + ": task " + task.log.id.text() + " is " +
                                         std::string(name_of(task.status)) + ".");
}

}  // namespace tiffany
