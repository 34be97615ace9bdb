// What can be done to the tasks of a host from outside.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "durable/hosted_task.hpp"
#include "durable/limits.hpp"

namespace tiffany {

using wal::Level;
using wal::RecordType;

Task<std::string> HostCore::result_json(Uuid id) {
  if (const auto old = find(id) == nullptr ? from_archive(id) : nullptr) co_return result_of(*old);
  HostedTask& task = entry(id, "Host::result");
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

std::string HostCore::result_of(const HostedTask& task) {
  std::string detail = task.unread ? end_of(task).detail : task.detail;
  if (task.status == DurableStatus::completed) return detail;
  throw Error(
      task.status == DurableStatus::cancelled ? Errc::durable_cancelled : Errc::durable_failed,
      detail);
}

Task<void> HostCore::cancel(Uuid id, std::string why) {
  detail::require_reason(why, "The reason for a cancel");
  if (is_open() && find(id) == nullptr && archived(id)) co_return;
  HostedTask& task = entry(id, "Host::cancel");
  const Held held(task);
  if (!task.log.ended) {
    co_await send(&task, false, std::move(why), std::string());
  }
}

std::string HostCore::query(Uuid id, std::string_view name) {
  HostedTask& task = entry(id, "Host::query");
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
DurableInfo HostCore::info_of(const HostedTask& entry, bool one_of_many) {
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
  if (const HostedTask* const found = find(task)) return info_of(*found);
  try {
    const std::unique_ptr<HostedTask> old = from_archive(task);
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
  for (const HostedTask* entry : order_) all.push_back(info_of(*entry, true));
  if (store_ != nullptr) store_->done_reading();
  return all;
}

Task<void> HostCore::record(HostedTask& task, RecordType type, std::string payload) {
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

void HostCore::require_alive(const HostedTask& task, std::string_view what) const {
  const bool stopped = task.status == DurableStatus::quarantined;
  if (!task.log.ended && !stopped) return;
  throw Error(Errc::durable_stopped, std::string(what) + ": task " + task.log.id.text() + " is " +
                                         std::string(name_of(task.status)) + ".");
}

}  // namespace tiffany
