#include "durable/host_core.hpp"

#include <utility>

#include "durable/flow_state.hpp"
#include "durable/records.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany {

using wal::Level;
using wal::RecordType;

HostCore::HostCore(const Registry& known, wal::LogOptions log, HostOptions how)
    : types(known),
      log_options(std::move(log)),
      options(std::move(how)),
      effects(std::make_unique<LiveEffects>(*this)),
      promises(*this),
      children(*this),
      callers(*this),
      starts(*this),
      runs(*this),
      results(*this),
      messages(*this),
      interceptors(*this),
      lifecycle(*this),
      compactor(*this),
      opening(*this),
      alarms(*this),
      search(*this),
      admission(*this),
      eviction(*this) {}

HostCore::~HostCore() = default;

void HostCore::require_open(std::string_view what) const {
  if (is_open()) return;
  throw Error(Errc::durable_misuse,
              std::string(what) + " needs an open host: co_await host.open().");
}

// The sentence says where the task went: in the log, in the archive, retired, or never there.
HostedTask& HostCore::require_task(const Uuid& id, std::string_view what) {
  require_open(what);
  if (HostedTask* const found = tasks.find(id)) return *found;
  if (results.archived(id)) {
    throw Error(Errc::durable_stopped, std::string(what) + ": task " + id.text() +
                                           " has ended and is in the archive, where nothing "
                                           "changes it. Host::info and Host::result know it.");
  }
  starts.require_not_retired(id, what);
  throw Error(Errc::unknown_durable,
              std::string(what) + ": no durable task has the id " + id.text() + ".");
}

// By the first value of its log, its arguments.
void HostCore::require_codec_of(const HostedTask& task, std::string_view what) {
  const std::string line = store->read_one(task.log, 0, true);
  const wal::RecordView view = wal::view_of(line);
  try {
    records::value_in(view, *store, records::Spawn::read(detail::Fields(view.payload)).args);
  } catch (const Error& error) {
    if (error.code() != Errc::value_not_decoded) throw;
    throw Error(error.code(), std::string(what) + ": nothing was recorded. " + error.what());
  }
}

bool HostCore::check_type(HostedTask& entry) const {
  entry.type = types.find(entry.type_name());
  if (entry.type == nullptr) {
    entry.detail = "no durable task is registered as \"" + entry.type_name() + "\"";
    return false;
  }
  if (entry.version < entry.type->accepts || entry.version > entry.type->version) {
    entry.detail = "it began with version " + std::to_string(entry.version) + ", and version " +
                   std::to_string(entry.type->version) + " goes on with versions from " +
                   std::to_string(entry.type->accepts) + " on";
    return false;
  }
  return true;
}

// All are asked again after each wait: whoever was woken first may have changed the task once
// more.
Task<void> HostCore::until_settled(HostedTask* entry) {
  const Held held(*entry);
  while (entry->changing > 0 || !store->has_room() || (entry->asleep() && !closing)) {
    if (!store->has_room()) {
      co_await store->room().wait();
    } else if (entry->changing == 0) {
      co_await eviction.wake(entry);
    } else {
      changed.reset();
      co_await changed.wait();
    }
  }
}

Task<void> HostCore::record(HostedTask& task, RecordType type, std::string content) {
  // A record behind those that may be lost would make the log look whole. Only an end is allowed.
  if (task.status == DurableStatus::quarantined && type != RecordType::TaskAbort) {
    throw Error(Errc::durable_stopped, "Task " + task.log.id.text() +
                                           " is quarantined, and nothing but `kill` can be " +
                                           "done to it: " + task.detail);
  }
  while (!store->has_room()) co_await store->room().wait();
  const std::string id = task.log.id.text();
  wal::Synced synced;
  wal::Entry entry{type, id, content};
  entry.seq = store->append(task.log, entry, Level::sync, &synced);
  tell(task.log.id, entry, Level::sync);
  co_await synced.event.wait();
  if (synced.error != nullptr) std::rethrow_exception(synced.error);
}

void HostCore::require_alive(const HostedTask& task, std::string_view what) const {
  const bool stopped = task.status == DurableStatus::quarantined;
  if (!task.log.ended && !stopped) return;
  throw Error(Errc::durable_stopped, std::string(what) + ": task " + task.log.id.text() + " is " +
                                         std::string(name_of(task.status)) + ".");
}

// As in a crash, but for the code of steps, whose destructors run.
void HostCore::abandon() noexcept {
  abandoned = true;
  closed();
  if (store != nullptr) store->abandon();
  alarms.stop();
  for (HostedTask* entry : tasks) {
    if (entry->flow != nullptr && entry->task) entry->task.cancel("the host is gone");
  }
}

Task<void> HostCore::close() {
  if (callers.now() != nullptr) {
    throw Error(Errc::self_join,
                "Host::close was called in a step of a task of the host: it would wait for that "
                "step, and the step for it. Call it outside of every step.");
  }
  const Mutex::Guard alone = co_await compactor.alone.lock();
  if (store == nullptr || closed_) co_return;
  closing = true;
  co_await shield(close_now());
}

// All are cancelled first and joined afterwards, so that their steps end beside each other.
// Indices, because a task that ends may have started another.
Task<void> HostCore::close_now() {
  alarms.stop();
  for (HostedTask* entry : tasks) {
    if (entry->flow != nullptr && entry->task) entry->task.cancel("the host is being closed");
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) co_await runs.stop(tasks[i]);
  for (HostedTask* entry : tasks) runs.leave(*entry);
  co_await store->close();  // it stays, for those who are on their way to it
  closed_ = true;
  closed();
}

Handle<void> HostCore::begin_close() {
  return scheduler->spawn(&HostCore::close_kept, shared_from_this()).named("close the host");
}
Task<void> HostCore::close_kept(std::shared_ptr<HostCore> host) { co_await host->close(); }

}  // namespace tiffany
