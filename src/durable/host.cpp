#include "durable/host_core.hpp"

#include <utility>

#include "durable/entry.hpp"
#include "durable/fields.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/engine/structured.hpp"

namespace tiffany {

using wal::Level;
using wal::RecordType;

// ---- Types ----

void Registry::add(DurableType type) {
  std::string name = type.name;
  if (!types_.emplace(name, std::move(type)).second) {
    throw Error(Errc::bad_argument, "A durable task named \"" + name + "\" is registered already.");
  }
}

const DurableType* Registry::find(std::string_view name) const noexcept {
  const auto found = types_.find(name);
  return found == types_.end() ? nullptr : &found->second;
}

std::string_view name_of(DurableStatus status) noexcept {
  switch (status) {
    case DurableStatus::running:
      return "running";
    case DurableStatus::paused:
      return "paused";
    case DurableStatus::diverged:
      return "diverged";
    case DurableStatus::quarantined:
      return "quarantined";
    case DurableStatus::completed:
      return "completed";
    case DurableStatus::failed:
      return "failed";
    case DurableStatus::cancelled:
      return "cancelled";
  }
  return "";
}

// ---- The host ----

HostCore::HostCore(const Registry& types, wal::LogOptions log, HostOptions options)
    : types_(types), log_options_(std::move(log)), options_(options) {}

HostCore::~HostCore() = default;

Uuid HostCore::new_id() noexcept { return Uuid::random(random_); }

HostCore::Entry* HostCore::find(const Uuid& id) const noexcept {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.get();
}

HostCore::Entry& HostCore::entry(const Uuid& id, std::string_view what) {
  if (log_ == nullptr) {
    throw Error(Errc::durable_misuse,
                std::string(what) + " needs an open host: co_await host.open().");
  }
  if (Entry* const found = find(id)) return *found;
  throw Error(Errc::unknown_durable,
              std::string(what) + ": no durable task has the id " + id.text() + ".");
}

HostCore::Entry& HostCore::add_entry(wal::TaskLog& log) {
  auto made = std::make_unique<Entry>(log);
  Entry& entry = *made;
  entries_.insert_or_assign(log.id, std::move(made));
  order_.push_back(&entry);
  return entry;
}

// ---- Beginning and ending ----

Task<Uuid> HostCore::start_task(std::string type, std::string arguments, Uuid id) {
  if (log_ == nullptr) {
    throw Error(Errc::durable_misuse,
                "Starting a durable task needs an open host: co_await host.open().");
  }
  const DurableType* const known = types_.find(type);
  if (known == nullptr) {
    throw Error(Errc::unknown_type, "No durable task is registered as \"" + type + "\".");
  }
  while (!log_->has_room()) co_await log_->room().wait();
  if (Entry* const before = find(id)) {  // it was started before
    co_await until_settled(before);
    if (before->broken != nullptr) std::rethrow_exception(before->broken);
    co_return id;
  }
  if (archived(id)) co_return id;
  if (log_->sealed()) std::rethrow_exception(log_->why_sealed());
  Entry& entry = add_task(*known, id, Uuid());
  co_await shield(begin_synced(&entry, std::move(arguments)));
  co_return id;
}

Task<void> HostCore::until_settled(Entry* entry) {
  while (entry->changing > 0) {
    changed_.reset();
    co_await changed_.wait();
  }
}

Task<void> HostCore::begin_synced(Entry* entry, std::string arguments) {
  const Changing changing(*entry, changed_);
  wal::Synced synced;
  const std::int64_t time = log_->wall_time();
  append_spawn(*entry, arguments, Level::sync, &synced);
  co_await synced.event.wait();
  if (synced.error != nullptr) {
    entry->broken = synced.error;
    entry->status = DurableStatus::paused;
    entry->detail = "the log failed";
    std::rethrow_exception(synced.error);
  }
  begin(*entry, std::move(arguments), time);
}

HostCore::Entry& HostCore::add_task(const DurableType& type, const Uuid& id, const Uuid& parent) {
  Entry& entry = add_entry(index_.at(id));
  entry.type = &type;
  entry.type_name = type.name;
  entry.version = type.version;
  entry.parent = parent;
  return entry;
}

void HostCore::append_spawn(Entry& entry, const std::string& arguments, Level level,
                            wal::Ticket* ticket) {
  std::string payload = "\"name\":";
  JsonWriter(payload).value(entry.type_name);
  payload +=
      ",\"version\":" + std::to_string(entry.version) + ",\"args\":" + log_->keep_aside(arguments);
  if (!entry.parent.nil()) payload += ",\"parent\":\"" + entry.parent.text() + "\"";
  const std::string id = entry.log.id.text();
  log_->append(entry.log, wal::Entry{RecordType::Spawn, id, payload}, level, ticket);
}

// A task that has no history.
void HostCore::begin(Entry& entry, std::string arguments, std::int64_t time) {
  entry.flow = std::make_unique<FlowState>(*this, entry.log, *entry.type);
  entry.flow->arguments = std::move(arguments);
  entry.flow->now = time;
  run_flow(entry);
}

void HostCore::run_flow(Entry& entry) {
  entry.status = DurableStatus::running;
  entry.detail.clear();
  ++replaying_tasks_;
  replaying_bytes_ += entry.flow->bytes;
  entry.task = scheduler_->spawn(&HostCore::run, shared_from_this(), &entry).named(entry.type_name);
}

void HostCore::replayed(FlowState& flow) noexcept {
  if (looking()) seen(flow);
  --replaying_tasks_;
  replaying_bytes_ -= flow.bytes;
  flow.bytes = 0;
  if (may_replay()) replay_room_.set();
}

Task<void> HostCore::run(Entry* entry) {
  FlowState& flow = *entry->flow;
  struct Gone {
    HostCore& host;
    Entry& entry;
    ~Gone() {
      if (entry.flow->counted()) host.replayed(*entry.flow);
      entry.flow.reset();
    }
  };
  const Gone at_the_end{*this, *entry};
  flow.task = scheduler_->running();
  std::string result;
  DurableStatus status = DurableStatus::completed;
  try {
    result = co_await detail::RunDurable(entry->type->make(flow.flow, flow.arguments));
  } catch (const DurableCancelled& e) {
    status = DurableStatus::cancelled;
    result = e.what();
  } catch (const Cancelled&) {
    throw;
  } catch (const std::exception& e) {
    status = DurableStatus::failed;
    result = e.what();
  } catch (...) {
    status = DurableStatus::failed;
    result = "something that is no std::exception was thrown";
  }
  flow.queries.clear();  // what they look at is gone
  // Code that is stopped from outside has not ended, whatever it makes of it.
  if (flow.unwinding() || entry->broken != nullptr) co_return;
  if (!flow.divergence.empty() || !flow.finish()) co_return;
  if (looking()) {
    seen_end(*entry, status, result);
    co_return;
  }
  // Children do not outlive their parent.
  for (const Uuid& child : flow.children()) co_await cancel_child(child);
  co_await shield(record_end(&flow, entry, status, std::move(result)));
}

Task<void> HostCore::record_end(FlowState* flow, Entry* entry, DurableStatus status,
                                std::string result) {
  const Changing changing(*entry, changed_);  // what comes now comes too late
  std::string payload;
  if (status == DurableStatus::completed) {
    payload = "\"result\":" + log_->keep_aside(result);
  } else {
    payload = std::string("\"reason\":\"") + std::string(name_of(status)) + "\",\"error\":";
    JsonWriter(payload).value(result);
  }
  payload += ",\"trace\":\"" + detail::hex(flow->trace) + "\"";
  wal::Synced synced;
  try {
    flow->append(status == DurableStatus::completed ? RecordType::TaskExit : RecordType::TaskAbort,
                 payload, nullptr, 0, Level::sync, &synced);
  } catch (const std::exception&) {
    synced.synced(std::current_exception());
  }
  co_await synced.event.wait();
  if (synced.error != nullptr) {
    flow_broken(*flow, synced.error);
    co_return;
  }
  ended(*entry, status, std::move(result));
}

void HostCore::ended(Entry& entry, DurableStatus status, std::string detail) {
  entry.status = status;
  entry.detail = std::move(detail);
  entry.log.ended = true;
  entry.done.set();
  if (entry.parent.nil()) return;
  const auto slot = promises_.find(entry.log.id);
  if (slot == promises_.end()) return;
  slot->second->flow.settle(*slot->second, RecordType::Resumed, entry.detail,
                            status != DurableStatus::completed);
}

void HostCore::note_divergence(FlowState& flow, const std::string& text) {
  Entry& entry = *find(flow.id());
  entry.status = DurableStatus::diverged;
  entry.detail = text;
  ++recovery_.diverged;
  recovery_.notes.push_back(text);
  if (looking()) {
    seen(flow);
  } else {
    scheduler_->log(text);
  }
  entry.done.set();
  entry.task.cancel("it diverged from its log");
}

// The log takes no more: the task stops where it is.
void HostCore::flow_broken(FlowState& flow, const std::exception_ptr& error) noexcept {
  Entry* const entry = find(flow.id());
  if (entry == nullptr || entry->broken != nullptr) return;
  entry->broken = error;
  entry->status = DurableStatus::paused;
  entry->detail = "the log failed";
  entry->done.set();
  entry->task.cancel("the log failed");
}

// A child whose parent has it in its log: it may have ended, or never have come to be.
void HostCore::adopt_child(detail::Slot& slot) {
  Entry* child = find(slot.uuid);
  if (child == nullptr) {
    const DurableType* const type = types_.find(slot.hash);
    if (type == nullptr) {
      slot.flow.settle(slot, RecordType::Resumed,
                       "No durable task is registered as \"" + slot.hash + "\".", true);
      return;
    }
    Entry& made = add_task(*type, slot.uuid, slot.flow.id());
    append_spawn(made, slot.details, Level::lazy, nullptr);
    begin(made, slot.details, log_->wall_time());
    return;
  }
  if (child->log.ended) {
    slot.flow.settle(slot, RecordType::Resumed, child->detail,
                     child->status != DurableStatus::completed);
  }
}

// ---- From outside ----

Task<std::string> HostCore::result_json(Uuid id) {
  if (find(id) == nullptr && archived(id)) {
    const std::unique_ptr<Entry> old = from_archive(id);
    if (old->status == DurableStatus::completed) co_return old->detail;
    throw Error(Errc::durable_failed, old->detail);
  }
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
  if (task.status == DurableStatus::completed) co_return task.detail;
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

// The promise of a task that does not run: its log says whether there is one. Nothing: there is none.
Task<std::optional<bool>> HostCore::complete_at_rest(Uuid promise, std::string value,
                                                     bool success) {
  co_await log_->flush();
  reader_->forget();
  const std::string asked = "\"promise\":\"" + promise.text() + "\"";
  for (Entry* entry : std::vector<Entry*>(order_)) {
    if (entry->flow != nullptr || entry->log.ended || entry->log.records.empty()) continue;
    std::string name;
    bool kept = false;
    for (const std::string& line : reader_->read_all(entry->log)) {
      wal::RecordView view;
      wal::read_line(std::string_view(line).substr(0, line.size() - 1), 0, view);
      const detail::Fields fields(view.payload);
      if (view.type == RecordType::Command && line.find(asked) != std::string::npos) {
        name = fields.text("id");
      }
      if (!name.empty() && view.type == RecordType::Approval && fields.text("of") == name)
        kept = true;
    }
    if (name.empty()) continue;
    if (kept) co_return false;
    std::string payload = "\"of\":";
    JsonWriter(payload).value(name);
    payload += success ? ",\"result\":" + log_->keep_aside(value) : ",\"error\":";
    if (!success) JsonWriter(payload).value(value);
    co_await record(*entry, RecordType::Approval, payload);
    co_return true;
  }
  co_return std::nullopt;
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
  while (!log_->has_room()) co_await log_->room().wait();
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
  std::string payload = signal ? "\"signal\":" : "\"cancel\":";
  JsonWriter(payload).value(name);
  if (signal) payload += ",\"value\":" + log_->keep_aside(std::move(value));
  co_await record(*task, RecordType::Resumed, payload);
}

Task<bool> HostCore::complete_json(Uuid promise, std::string value, bool success) {
  const auto found = promises_.find(promise);
  const bool here = found != promises_.end() &&
                    (found->second == nullptr || found->second->kind == detail::SlotKind::promise);
  if (!here) {
    const std::optional<bool> kept = co_await complete_at_rest(promise, std::move(value), success);
    if (kept) co_return *kept;
    throw Error(Errc::unknown_durable,
                "No task of this host waits for a promise with the id " + promise.text() + ".");
  }
  if (found->second == nullptr || found->second->recorded) co_return false;
  const auto mail = std::make_shared<detail::Mail>();
  detail::Slot& slot = *found->second;
  slot.flow.settle(slot, RecordType::Approval, std::move(value), !success, false, mail);
  if (log_->sealed()) std::rethrow_exception(log_->why_sealed());
  co_await mail->event.wait();
  if (mail->error != nullptr) std::rethrow_exception(mail->error);
  co_return true;
}

Task<void> HostCore::cancel_child(Uuid id) {
  const auto slot = promises_.find(id);
  if (slot != promises_.end()) promises_.erase(slot);  // nobody is told
  Entry* const child = find(id);
  if (child == nullptr || child->log.ended) co_return;
  const Held held(*child);
  co_await cancel(id, "its parent ended");
  while (!child->log.ended && child->status == DurableStatus::running) {
    child->done.reset();
    co_await child->done.wait();
  }
}

Task<void> HostCore::kill(Uuid id, std::string why) {
  Entry& task = entry(id, "Host::kill");
  const Held held(task);
  co_await until_settled(&task);
  if (!task.log.ended) co_await shield(kill_now(&task, std::move(why)));
}

Task<void> HostCore::kill_now(Entry* task, std::string why) {
  std::vector<Uuid> children;
  {
    const Changing changing(*task, changed_);
    children = children_of(*task);
    co_await stop(*task);
    if (!task->log.ended) {
      std::string payload = "\"reason\":\"killed\",\"error\":";
      JsonWriter(payload).value(why);
      co_await record(*task, RecordType::TaskAbort, payload);
      ended(*task, DurableStatus::cancelled, std::move(why));
    }
  }
  for (const Uuid& child : children) co_await cancel_child(child);
}

// Those that have not ended.
std::vector<Uuid> HostCore::children_of(const Entry& task) const {
  if (task.flow != nullptr) return task.flow->children();
  std::vector<Uuid> all;
  for (const Entry* each : order_) {
    if (each->parent == task.log.id && !each->log.ended) all.push_back(each->log.id);
  }
  return all;
}

Task<void> HostCore::pause(Uuid id) {
  Entry& task = entry(id, "Host::pause");
  const Held held(task);
  co_await until_settled(&task);
  require_alive(task, "Host::pause");
  co_await shield(pause_now(&task));
}

Task<void> HostCore::pause_now(Entry* task) {
  const Changing changing(*task, changed_);
  co_await stop(*task);
  require_alive(*task, "Host::pause");  // it may have ended meanwhile
  co_await record(*task, RecordType::Command, R"("op":"pause","by":"operator")");
  task->status = DurableStatus::paused;
  task->detail = "by an operator";
}

Task<void> HostCore::resume(Uuid id) {
  Entry& task = entry(id, "Host::resume");
  const Held held(task);
  co_await until_settled(&task);
  require_alive(task, "Host::resume");
  if (task.status == DurableStatus::running) co_return;
  if (!options_.records_only && !check_type(task)) {
    throw Error(Errc::unknown_type,
                "Task " + id.text() + " cannot be resumed: " + task.detail + ".");
  }
  co_await shield(resume_now(&task, R"("op":"resume","by":"operator")"));
}

// Nobody else appends to its log meanwhile: what was appended before this record is on the disk when it is.
Task<void> HostCore::resume_now(Entry* task, std::string payload) {
  const Changing changing(*task, changed_);
  co_await stop(*task);
  co_await record(*task, RecordType::Command, std::move(payload));
  task->log.ended = false;
  task->done.reset();
  reader_->forget();
  if (options_.records_only) {
    task->status = DurableStatus::paused;
    co_return;
  }
  begin_again(*task);
  reader_->forget();
}

Task<void> HostCore::retry(Uuid id, std::string from) {
  Entry& task = entry(id, "Host::retry");
  const Held held(task);
  co_await until_settled(&task);
  if (!task.log.ended || task.status == DurableStatus::completed) {
    throw Error(Errc::durable_misuse, "Only a task that failed can be retried; " + id.text() +
                                          " is " + std::string(name_of(task.status)) + ".");
  }
  if (!options_.records_only && !check_type(task)) {
    throw Error(Errc::unknown_type,
                "Task " + id.text() + " cannot be resumed: " + task.detail + ".");
  }
  if (!has_command(task, from)) {
    throw Error(Errc::unknown_durable,
                "Task " + id.text() + " has no step \"" + from + "\" in its log.");
  }
  std::string payload = "\"op\":\"retry\",\"from\":";
  JsonWriter(payload).value(from);
  co_await shield(resume_now(&task, std::move(payload)));
}

std::string HostCore::query(Uuid id, std::string_view name) {
  Entry& task = entry(id, "Host::query");
  if (task.flow != nullptr) {
    const auto found = task.flow->queries.find(std::string(name));
    if (found != task.flow->queries.end()) return found->second();
  }
  throw Error(Errc::unknown_durable,
              "Task " + id.text() + " answers no query \"" + std::string(name) + "\".");
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

Task<void> HostCore::stop(Entry& task) {
  if (task.flow == nullptr) co_return;
  task.task.cancel("its task is being stopped");
  co_await task.task.outcome();
  if (task.flow == nullptr) co_return;
  if (task.flow->counted()) replayed(*task.flow);  // it had not begun
  task.flow.reset();
}

void HostCore::abandon() noexcept {
  if (log_ != nullptr) log_->abandon();
  for (Entry* entry : order_) {
    if (entry->flow != nullptr) entry->task.cancel("the host is gone");
  }
}

Task<void> HostCore::close() {
  if (log_ == nullptr) co_return;
  for (Entry* entry : order_) {
    if (entry->flow != nullptr) entry->task.cancel("the host is being closed");
  }
  for (Entry* entry : order_) {
    co_await stop(*entry);
  }
  for (Entry* entry : order_) {
    if (entry->log.ended || entry->broken != nullptr) continue;
    entry->broken = std::make_exception_ptr(
        Error(Errc::durable_stopped, "The host of task " + entry->log.id.text() + " was closed."));
    entry->done.set();
  }
  co_await log_->close();
  log_.reset();
}

}  // namespace tiffany
