// What can be done to the tasks of a host from outside.
#include <string>
#include <utility>
#include <vector>

#include "durable/entry.hpp"
#include "durable/fields.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/engine/structured.hpp"

namespace tiffany {

using wal::Level;
using wal::RecordType;

Task<std::string> HostCore::result_json(Uuid id) {
  if (const auto old = find(id) == nullptr ? from_archive(id) : nullptr) co_return result_of(*old);
  Entry& task = entry(id, "Host::result");
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
  if (task.status == DurableStatus::completed) return task.detail;
  throw Error(
      task.status == DurableStatus::cancelled ? Errc::durable_cancelled : Errc::durable_failed,
      task.detail);
}

Task<void> HostCore::signal_json(Uuid id, std::string name, std::string value) {
  Entry& task = entry(id, "Host::signal");
  const Held held(task);
  require_alive(task, "Host::signal");
  co_await send(&task, true, std::move(name), std::move(value));
}

HostCore::AtRest HostCore::find_at_rest(const Uuid& promise) {
  const std::string asked = "\"promise\":\"" + promise.text() + "\"";
  for (Entry* entry : order_) {
    if (entry->flow != nullptr || entry->log.ended || entry->log.records.empty()) continue;
    AtRest found;
    for (const std::string& line : log_->lines(entry->log)) {
      const wal::RecordView view = wal::view_of(line);
      const detail::Fields fields(view.payload);
      if (view.type == RecordType::Command && line.find(asked) != std::string::npos) {
        found.task = entry;
        found.name = fields.text("id");
      }
      if (found.task != nullptr && view.type == RecordType::Approval &&
          fields.text("of") == found.name) {
        found.kept = true;
      }
    }
    if (found.task != nullptr) return found;
  }
  return AtRest();
}

Task<void> HostCore::cancel(Uuid id, std::string why) {
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
    log_->add_value(payload, value);
  }
  co_await record(*task, RecordType::Resumed, payload);
}

Task<bool> HostCore::complete_json(Uuid promise, std::string value, bool success) {
  for (;;) {
    const auto found = promises_.find(promise);
    if (found != promises_.end() && found->second == nullptr) co_return false;
    if (found != promises_.end() && found->second->kind == detail::SlotKind::promise) {
      if (found->second->recorded) co_return false;
      const auto mail = std::make_shared<detail::Mail>();
      detail::Slot& slot = *found->second;
      slot.flow.settle(slot, RecordType::Approval, std::move(value), !success, false, mail);
      if (log_->sealed()) std::rethrow_exception(log_->why_sealed());
      co_await mail->event.wait();
      if (mail->error != nullptr) std::rethrow_exception(mail->error);
      co_return true;
    }
    const AtRest there = find_at_rest(promise);
    if (there.task == nullptr) {
      throw Error(Errc::unknown_durable,
                  "No task of this host waits for a promise with the id " + promise.text() + ".");
    }
    if (there.kept) co_return false;
    if (there.task->changing > 0 || !log_->has_room()) {
      co_await until_settled(there.task);  // and then see what has become of it
      continue;
    }
    const Changing changing(*there.task, changed_);
    std::string payload = "\"of\":";
    JsonWriter(payload).value(there.name);
    if (success) {
      payload += ",\"result\":";
      log_->add_value(payload, value);
    } else {
      payload += ",\"error\":";
      JsonWriter(payload).value(value);
    }
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

DurableInfo HostCore::info_of(const Entry& entry) const {
  return {entry.log.id, entry.type_name, entry.version, entry.status, entry.detail};
}
std::optional<DurableInfo> HostCore::info(Uuid task) const {
  const Entry* const found = find(task);
  if (found == nullptr) return std::nullopt;
  return info_of(*found);
}
std::vector<DurableInfo> HostCore::tasks() const {
  std::vector<DurableInfo> all;
  for (const Entry* entry : order_) all.push_back(info_of(*entry));
  return all;
}

Task<void> HostCore::record(Entry& task, RecordType type, std::string payload) {
  while (!log_->has_room()) co_await log_->room().wait();
  const std::string id = task.log.id.text();
  wal::Synced synced;
  log_->append(task.log, wal::Entry{type, id, payload}, Level::sync, &synced);
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
