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

namespace detail {

Task<void> synced_record(FlowlessRecord record) {
  Synced synced;
  wal::Entry entry{record.type, record.id, record.payload};
  record.log->append(*record.task, entry, Level::sync, &synced);
  co_await synced.event.wait();
  if (synced.error != nullptr) std::rethrow_exception(synced.error);
}

}  // namespace detail

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
  if (find(id) != nullptr || archived(id)) co_return id;  // it was started before
  const DurableType* const known = types_.find(type);
  if (known == nullptr) {
    throw Error(Errc::unknown_type, "No durable task is registered as \"" + type + "\".");
  }
  while (!log_->has_room()) co_await log_->room().wait();
  Entry& entry = add_task(*known, id, Uuid());
  detail::Synced synced;
  append_spawn(entry, arguments, Level::sync, &synced);
  co_await synced.event.wait();
  if (synced.error != nullptr) std::rethrow_exception(synced.error);
  begin(entry, std::move(arguments));
  co_return id;
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
void HostCore::begin(Entry& entry, std::string arguments) {
  entry.flow = std::make_unique<FlowState>(*this, entry.log, *entry.type);
  entry.flow->arguments = std::move(arguments);
  entry.flow->now = log_->wall_time();
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
  } catch (const std::exception& e) {
    status = DurableStatus::failed;
    result = e.what();
  }
  if (!flow.divergence.empty() || !flow.finish()) co_return;
  if (looking()) {
    seen_end(*entry, status, result);
    co_return;
  }
  std::string payload;
  if (status == DurableStatus::completed) {
    payload = "\"result\":" + log_->keep_aside(result);
  } else {
    payload = std::string("\"reason\":\"") + std::string(name_of(status)) + "\",\"error\":";
    JsonWriter(payload).value(result);
  }
  payload += ",\"trace\":\"" + detail::trace_text(flow.trace) + "\"";
  // Children do not outlive their parent.
  for (const Uuid& child : flow.children()) co_await cancel_child(child);
  detail::Synced synced;
  flow.append(status == DurableStatus::completed ? RecordType::TaskExit : RecordType::TaskAbort,
              payload, nullptr, 0, Level::sync, &synced);
  co_await synced.event.wait();
  if (synced.error != nullptr) {
    flow_broken(flow, synced.error);
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
    begin(made, slot.details);
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
  require_alive(task, "Host::signal");
  std::string payload = "\"signal\":";
  JsonWriter(payload).value(name);
  payload += ",\"value\":" + log_->keep_aside(value);
  co_await record(task, RecordType::Resumed, payload);
  if (task.flow != nullptr) {
    task.flow->notice({detail::Notice::Kind::signal, nullptr, std::move(name), std::move(value),
                       false, false, log_->wall_time()});
  }
}

Task<bool> HostCore::complete_json(Uuid promise, std::string value, bool success) {
  const auto found = promises_.find(promise);
  if (found == promises_.end()) {
    if (const auto kept = co_await complete_at_rest(promise, value, success)) co_return *kept;
  }
  if (found == promises_.end() || found->second->kind != detail::SlotKind::promise) {
    throw Error(Errc::unknown_durable,
                "No task of this host waits for a promise with the id " + promise.text() + ".");
  }
  detail::Slot& slot = *found->second;
  if (slot.recorded) co_return false;
  slot.flow.settle(slot, RecordType::Approval, std::move(value), !success);
  co_await log_->flush();
  co_return true;
}

// The promise of a task that does not run: its log says whether there is one. Nothing: there is none.
Task<std::optional<bool>> HostCore::complete_at_rest(Uuid promise, std::string value,
                                                     bool success) {
  const std::string asked = "\"promise\":\"" + promise.text() + "\"";
  for (Entry* entry : std::vector<Entry*>(order_)) {
    if (entry->flow != nullptr || entry->log.ended || entry->log.records.empty()) continue;
    std::string name;
    bool kept = false;
    for (const std::string& line : lines(entry->log)) {
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
  if (task.log.ended) co_return;
  std::string payload = "\"cancel\":";
  JsonWriter(payload).value(why);
  co_await record(task, RecordType::Resumed, payload);
  if (task.flow != nullptr) {
    task.flow->notice({detail::Notice::Kind::cancel,
                       nullptr,
                       std::move(why),
                       {},
                       false,
                       false,
                       log_->wall_time()});
  }
}

Task<void> HostCore::cancel_child(Uuid id) {
  const auto slot = promises_.find(id);
  if (slot != promises_.end()) promises_.erase(slot);  // nobody is told
  Entry* const child = find(id);
  if (child == nullptr || child->log.ended) co_return;
  co_await cancel(id, "its parent ended");
  while (!child->log.ended && child->status == DurableStatus::running) {
    child->done.reset();
    co_await child->done.wait();
  }
}

Task<void> HostCore::kill(Uuid id, std::string why) {
  Entry& task = entry(id, "Host::kill");
  if (task.log.ended) co_return;
  co_await stop(task);
  std::string payload = "\"reason\":\"killed\",\"error\":";
  JsonWriter(payload).value(why);
  co_await record(task, RecordType::TaskAbort, payload);
  ended(task, DurableStatus::cancelled, std::move(why));
}

Task<void> HostCore::pause(Uuid id) {
  Entry& task = entry(id, "Host::pause");
  require_alive(task, "Host::pause");
  co_await record(task, RecordType::Command, R"("op":"pause","by":"operator")");
  co_await stop(task);
  task.status = DurableStatus::paused;
  task.detail = "by an operator";
}

Task<void> HostCore::resume(Uuid id) {
  Entry& task = entry(id, "Host::resume");
  require_alive(task, "Host::resume");
  if (task.status == DurableStatus::running) co_return;
  co_await record(task, RecordType::Command, R"("op":"resume","by":"operator")");
  go_on(task);
}

Task<void> HostCore::retry(Uuid id, std::string from) {
  Entry& task = entry(id, "Host::retry");
  if (!task.log.ended || task.status == DurableStatus::completed) {
    throw Error(Errc::durable_misuse, "Only a task that failed can be retried; " + id.text() +
                                          " is " + std::string(name_of(task.status)) + ".");
  }
  std::string payload = "\"op\":\"retry\",\"from\":";
  JsonWriter(payload).value(from);
  co_await record(task, RecordType::Command, payload);
  task.log.ended = false;
  task.done.reset();
  go_on(task);
}

// With the code that there is; without it, whoever opens the log next goes on.
void HostCore::go_on(Entry& task) {
  contents_.clear();
  if (check_type(task) && !options_.start_paused) return begin_again(task);
  task.status = DurableStatus::paused;
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
  co_await detail::synced_record({log_.get(), &task.log, type, id, payload});
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
}

void HostCore::abandon() noexcept {
  for (Entry* entry : order_) {
    if (entry->flow != nullptr) entry->task.cancel("the host is gone");
  }
}

Task<void> HostCore::close() {
  for (Entry* entry : order_) {
    if (entry->flow != nullptr) entry->task.cancel("the host is being closed");
  }
  for (Entry* entry : order_) {
    if (entry->flow != nullptr) co_await entry->task.outcome();
  }
  co_await log_->close();
  log_.reset();
}

}  // namespace tiffany
