#include "durable/host_core.hpp"

#include <utility>

#include "durable/excerpt.hpp"
#include "durable/hosted_task.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany {

using wal::Level;
using wal::RecordType;

// ---- Types ----

DurableType& Registry::add(DurableType type) {
  std::string name = type.name;
  detail::require_name(name, "The name of a type of durable tasks");
  if (type.version < 1 || type.accepts < 1 || type.accepts > type.version) {
    throw Error(Errc::bad_argument, "The version of durable task \"" + name +
                                        "\" is at least 1, and goes on with logs from version 1 to "
                                        "itself; this is version " +
                                        std::to_string(type.version) + " that accepts " +
                                        std::to_string(type.accepts) + ".");
  }
  const auto [added, first] = types_.emplace(name, std::move(type));
  if (!first) {
    throw Error(Errc::bad_argument, "A durable task named \"" + name + "\" is registered already.");
  }
  return added->second;
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

HostCore::HostedTask* HostCore::find(const Uuid& id) const noexcept {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.get();
}

HostCore::HostedTask& HostCore::entry(const Uuid& id, std::string_view what) {
  if (!is_open()) {
    throw Error(Errc::durable_misuse,
                std::string(what) + " needs an open host: co_await host.open().");
  }
  if (HostedTask* const found = find(id)) return *found;
  if (archived(id)) {
    throw Error(Errc::durable_stopped, std::string(what) + ": task " + id.text() +
                                           " has ended and is in the archive, where nothing "
                                           "changes it. Host::info and Host::result know it.");
  }
  require_not_retired(id, what);
  throw Error(Errc::unknown_durable,
              std::string(what) + ": no durable task has the id " + id.text() + ".");
}

HostCore::HostedTask& HostCore::add_entry(wal::StoredTask& log) {
  auto made = std::make_unique<HostedTask>(log);
  HostedTask& entry = *made;
  entries_.insert_or_assign(log.id, std::move(made));
  order_.push_back(&entry);
  return entry;
}

// ---- Beginning and ending ----

Task<Uuid> HostCore::start_task(std::string type, std::string arguments, Uuid id, bool fresh) {
  if (!is_open()) {
    throw Error(Errc::durable_misuse,
                "Starting a durable task needs an open host: co_await host.open().");
  }
  detail::require_name(type, "The name of a type of durable tasks");
  const DurableType* const known = types_.find(type);
  if (known == nullptr) {
    throw Error(Errc::unknown_type, "No durable task is registered as \"" + type + "\".");
  }
  if (id.nil()) {
    throw Error(Errc::bad_argument,
                "The nil UUID cannot be the id of a task: records about the log itself have it.");
  }
  arguments = detail::recordable(arguments, "The list of arguments of \"" + type + "\"");
  if (!arguments.starts_with('[')) {
    throw Error(Errc::bad_json, "The arguments of \"" + type + "\" are no array.");
  }
  require_arguments(*known, arguments);
  while (!store_->has_room()) co_await store_->room().wait();
  if (HostedTask* const before = find(id)) {  // it was started before
    const Held held(*before);
    co_await until_settled(before);
    if (before->broken != nullptr) std::rethrow_exception(before->broken);
    require_same_start(*before, id, type, arguments);
    co_return id;
  }
  if (!fresh) {
    if (const auto old = from_archive(id)) {
      require_same_start(*old, id, type, arguments);
      co_return id;
    }
    require_not_retired(id, "Host::start_as");
    if (!store_->found().retired_damage.empty()) {
      throw Error(Errc::log_damaged, "Host::start_as: task " + id.text() + " cannot be started. " +
                                         store_->found().retired_damage);
    }
    // A fresh id was drawn from the random numbers of the system: no lost task can have it.
    require_never_used(id);
  }
  store_->require_open();
  HostedTask& entry = add_task(*known, id, Uuid());
  co_await shield(begin_synced(&entry, std::move(arguments)));
  co_return id;
}

// The same id is the same task: whoever means another one by it would get a result that is not of
// it.
void HostCore::require_same_start(const HostedTask& before, const Uuid& id, const std::string& type,
                                  const std::string& arguments) {
  std::string recorded_type;
  bool same = false;
  try {
    const std::string line =
        before.spawn.empty() ? store_->read_one(before.log, 0, true) : before.spawn;
    const wal::RecordView view = wal::view_of(line);
    const records::Spawn begun = records::Spawn::read(detail::Fields(view.payload));
    recorded_type = begun.name;
    const std::string& raw = begun.args;
    same = raw == arguments ||
           (wal::belongs_aside(arguments) &&
            raw == wal::value_reference(wal::value_name(arguments), arguments.size()));
    if (!same && !wal::belongs_aside(arguments)) {  // older programs wrote it as it came
      same = compact_json(store_->value_of(raw)) == arguments;
    }
  } catch (const std::exception& error) {
    throw Error(Errc::durable_stopped, "Host::start_as: there is a task " + id.text() +
                                           " whose beginning cannot be read: " + error.what());
  }
  if (same && recorded_type == type) return;
  throw Error(Errc::start_conflict, "Host::start_as: task " + id.text() +
                                        " was started before, as \"" + recorded_type + "\"" +
                                        (recorded_type == type ? " with other arguments" : "") +
                                        ". Use another id for another task.");
}

void HostCore::require_not_retired(const Uuid& id, std::string_view what) const {
  if (!store_->retired(id)) return;
  throw Error(Errc::id_retired,
              std::string(what) + ": task " + id.text() +
                  " has ended and has left the archive. Its id cannot be used again.");
}

void HostCore::require_never_used(const Uuid& id) const {
  const std::string& damage = store_->found().unresolved;
  if (damage.empty()) return;
  const std::string& directory = store_->name();
  throw Error(Errc::log_uncertain,
              "Task " + id.text() + " cannot be started: the log in " + directory +
                  " does not know it, and it may be among the records that are lost. " + damage +
                  " Repair the log (`tiffany wal repair " + directory +
                  "`, which writes down what it gives up), or accept the loss (`tiffany wal "
                  "accept-loss " +
                  directory + " WHY`).");
}

Task<void> HostCore::until_settled(HostedTask* entry) {
  const Held held(*entry);
  while (entry->changing > 0 || !store_->has_room()) {
    if (!store_->has_room()) {
      co_await store_->room().wait();
    } else {
      changed_.reset();
      co_await changed_.wait();
    }
  }
}

Task<void> HostCore::begin_synced(HostedTask* entry, std::string arguments) {
  const Changing changing(*entry, changed_);
  wal::Synced synced;
  const std::int64_t time = store_->clock().now();
  append_spawn(*entry, arguments, Level::sync, &synced);
  co_await synced.event.wait();
  if (synced.error != nullptr) {
    entry->broken = synced.error;
    entry->status = DurableStatus::paused;
    entry->detail = "the log failed";
    entry->done.set();
    std::rethrow_exception(synced.error);
  }
  begin(*entry, std::move(arguments), time);
}

HostCore::HostedTask& HostCore::add_task(const DurableType& type, const Uuid& id,
                                         const Uuid& parent) {
  HostedTask& entry = add_entry(store_->add(id));
  entry.type = &type;
  entry.type_name = type.name;
  entry.version = type.version;
  entry.parent = parent;
  return entry;
}

void HostCore::append_spawn(HostedTask& entry, const std::string& arguments, Level level,
                            wal::Ticket* ticket) {
  records::Spawn::write(payload_, *store_, entry.type_name, entry.version, kLogRules, arguments,
                        entry.parent);
  const std::string id = entry.log.id.text();
  store_->append(entry.log, wal::Entry{RecordType::Spawn, id, payload_}, level, ticket);
}

// A task that has no history.
void HostCore::begin(HostedTask& entry, std::string arguments, std::int64_t time) {
  entry.flow = std::make_unique<FlowState>(*this, entry.log, *entry.type);
  entry.flow->arguments = std::move(arguments);
  entry.flow->now = time;
  run_flow(entry);
}

void HostCore::run_flow(HostedTask& entry) {
  if (closing_) {  // the next host goes on with it
    entry.flow.reset();
    return leave(entry);
  }
  entry.status = DurableStatus::running;
  entry.detail.clear();
  entry.promises_read = false;
  ++replaying_tasks_;
  replaying_bytes_ += entry.flow->bytes;
  entry.task = scheduler_->spawn
                   .with_priority(entry.type->priority)(&HostCore::run, shared_from_this(), &entry)
                   .named(entry.type_name);
}

void HostCore::replayed(FlowState& flow) noexcept {
  if (looking()) seen(flow);
  --replaying_tasks_;
  replaying_bytes_ -= flow.bytes;
  flow.bytes = 0;
  if (may_replay()) replay_room_.set();
}

// None: its arguments are not what the code reads, and the task has been stopped.
std::optional<Durable<std::string>> HostCore::code_of(HostedTask& entry) {
  FlowState& flow = *entry.flow;
  std::string why;
  try {
    return entry.type->make(flow.flow, flow.arguments);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    why = "something that is no std::exception was thrown";
  }
  static constexpr detail::ValueType kUnknown{"what its type takes", "any", nullptr};
  flow.value_differs(entry.type->arguments != nullptr ? *entry.type->arguments : kUnknown,
                     "its arguments", flow.arguments, why);
  return std::nullopt;
}

// What a type does not read would stop each task of it before it began.
void HostCore::require_arguments(const DurableType& type, const std::string& arguments) {
  if (type.arguments == nullptr) return;
  std::string why;
  try {
    return type.arguments->check(arguments);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    why = "its codec refuses them.";
  }
  throw Error(Errc::bad_json, "The arguments " + detail::excerpt(arguments) + " are not what \"" +
                                  type.name + "\" takes, " + std::string(type.arguments->name) +
                                  ": " + why);
}

Task<void> HostCore::run(HostedTask* entry) {
  FlowState& flow = *entry->flow;
  struct Gone {
    HostCore& host;
    HostedTask& entry;
    ~Gone() {
      if (entry.flow->counted()) host.replayed(*entry.flow);
      entry.flow.reset();
      entry.task = Handle<void>();  // the entry stays, the record of the task need not
    }
  };
  const Gone at_the_end{*this, *entry};
  flow.task = scheduler_->running();
  std::string result;
  DurableStatus status = DurableStatus::completed;
  try {
    for (;;) {
      std::optional<Durable<std::string>> code = code_of(*entry);
      if (!code) co_return;
      std::optional<std::string> got = co_await detail::RunDurable(std::move(*code), flow);
      if (got) {
        result = std::move(*got);
        break;
      }
      // It has made a checkpoint, and is gone.
      if (scheduler_->cancel_pending()) scheduler_->throw_cancelled();
      flow.begin_anew();
    }
    detail::make_recordable(result, "The result of the task");
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
  flow.queries->clear();  // what they look at is gone
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

Task<void> HostCore::record_end(FlowState* flow, HostedTask* entry, DurableStatus status,
                                std::string result) {
  const Changing changing(*entry, changed_);  // what comes now comes too late
  const std::string trace = detail::hex(flow->trace);
  if (status == DurableStatus::completed) {
    records::End::exit(payload_, *store_, result, trace);
  } else {
    detail::make_recordable_sentence(result);
    records::End::abort(payload_, name_of(status), result, trace);
  }
  wal::Synced synced;
  try {
    flow->append(status == DurableStatus::completed ? RecordType::TaskExit : RecordType::TaskAbort,
                 payload_, nullptr, 0, Level::sync, &synced);
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

void HostCore::ended(HostedTask& entry, DurableStatus status, std::string detail) {
  entry.status = status;
  entry.detail = std::move(detail);
  entry.log.ended = true;
  entry.done.set();
  consider_compaction();
  if (entry.parent.nil()) return;
  const auto slot = promises_.find(entry.log.id);
  if (slot == promises_.end()) return;
  slot->second->flow.settle(*slot->second, RecordType::Resumed, entry.detail,
                            status != DurableStatus::completed);
}

void HostCore::note_divergence(FlowState& flow, const std::string& text) {
  HostedTask& entry = *find(flow.id());
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
  HostedTask* const entry = find(flow.id());
  if (entry == nullptr || entry->broken != nullptr) return;
  entry->broken = error;
  entry->status = DurableStatus::paused;
  // What was appended last may be in the log, or not: the next host reads which.
  const bool fenced = wal::append_end(error) == wal::AppendEnd::fenced;
  entry->detail = fenced ? "another process owns the log" : "the log failed";
  entry->done.set();
  entry->task.cancel("the log failed");
}

// ---- Going ----

Task<void> HostCore::stop(HostedTask& task) {
  if (task.flow == nullptr) co_return;
  task.task.cancel("its task is being stopped");
  co_await task.task.outcome();
  if (task.flow == nullptr) co_return;
  if (task.flow->counted()) replayed(*task.flow);  // it had not begun
  task.flow.reset();
}

void HostCore::abandon() noexcept {
  if (store_ != nullptr) store_->abandon();
  for (HostedTask* entry : order_) {
    if (entry->flow != nullptr) entry->task.cancel("the host is gone");
  }
}

// Who waits for its end is told that it does not come here.
void HostCore::leave(HostedTask& task) {
  if (task.log.ended || task.broken != nullptr) return;
  task.broken = std::make_exception_ptr(
      Error(Errc::durable_stopped, "The host of task " + task.log.id.text() + " was closed."));
  task.done.set();
}

Task<void> HostCore::close() {
  if (caller() != nullptr) {
    throw Error(Errc::self_join,
                "Host::close was called in a step of a task of the host: it would wait for that "
                "step, and the step for it. Call it outside of every step.");
  }
  const Mutex::Guard alone = co_await compacting_.lock();
  if (store_ == nullptr || closed_) co_return;
  closing_ = true;
  co_await shield(close_now());
}

Task<void> HostCore::close_now() {
  for (HostedTask* entry : order_) {
    if (entry->flow != nullptr) entry->task.cancel("the host is being closed");
  }
  for (std::size_t i = 0; i < order_.size(); ++i) co_await stop(*order_[i]);
  for (HostedTask* entry : order_) leave(*entry);
  co_await store_->close();  // it stays, for those who are on their way to it
  closed_ = true;
}

}  // namespace tiffany
