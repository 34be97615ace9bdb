#include "durable/starts.hpp"

#include <utility>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany {

using wal::Level;
using wal::RecordType;

namespace {

// "at_end" of the first record of a child.
constexpr const char* kAbandoned = "abandon";
constexpr const char* kAskedToCancel = "request_cancel";

}  // namespace

Task<Uuid> Starts::start(std::string type, std::string arguments, Uuid id, StartOptions options) {
  host_.require_open("Starting a durable task");
  detail::require_name(type, "The name of a type of durable tasks");
  const DurableType* const known = host_.types.find(type);
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
  const StartOptions::Data& said = options.data();
  if (said.key) detail::require_name(*said.key, "The key of a durable task");
  if (said.timeout && *said.timeout <= Duration::zero()) {
    throw Error(Errc::bad_argument, "The time that a durable task may take is more than zero.");
  }
  Search::require(said.attributes);
  detail::require_actor(said.actor);
  while (!host_.store->has_room()) co_await host_.store->room().wait();
  // The order matters: the table, the archive, the ids that have left it, and what damage may hide.
  if (HostedTask* const before = host_.tasks.find(id)) {  // it was started before
    const Held held(*before);
    co_await host_.until_settled(before);
    if (before->broken != nullptr) std::rethrow_exception(before->broken);
    require_same_start(*before, id, type, arguments);
    co_return id;
  }
  if (said.id) {
    if (is_in_archive(id, type, arguments)) co_return id;
    require_not_retired(id, "Host::start_as");
    if (!host_.store->found().retired_damage.empty()) {
      throw Error(Errc::log_damaged, "Host::start_as: task " + id.text() + " cannot be started. " +
                                         host_.store->found().retired_damage);
    }
    // A fresh id was drawn from the random numbers of the system: no lost task can have it.
    require_never_used(id);
  }
  host_.store->require_open();
  Recorded in_log = recorded(arguments);
  HostedTask& entry = enter(*known, id, arguments, said, in_log);
  co_await shield(begin_synced(&entry, std::move(arguments), std::move(in_log)));
  co_return id;
}

// Not in the coroutine, whose frame would have room for all of this, a hundred thousand times when
// as many tasks are started at once.
HostedTask& Starts::enter(const DurableType& type, const Uuid& id, const std::string& arguments,
                          const StartOptions::Data& said, Recorded& in_log) {
  Attributes attributes = said.attributes;
  if (host_.interceptors.any()) {
    StartCall call{id, Uuid(), type.name, {}, arguments, std::move(attributes)};
    if (said.key) call.key = *said.key;
    attributes = intercepted(call);
  }
  in_log.actor = records::members_of(said.actor);
  HostedTask& entry = add(type, id, Uuid());
  records::Spawn begun;
  begun.marks.key = said.key.value_or(std::string());
  begun.marks.priority = said.priority;
  begun.marks.attributes = Search::json(attributes);
  if (said.timeout) begun.marks.until = end_of(*said.timeout);
  mark(entry, begun);
  return entry;
}

bool Starts::is_in_archive(const Uuid& id, const std::string& type, const std::string& arguments) {
  const auto old = host_.results.from_archive(id);
  if (!old) return false;
  require_same_start(*old, id, type, arguments);
  return true;
}

// The same id is the same task: whoever means another one by it would get a result that is not of
// it.
void Starts::require_same_start(const HostedTask& before, const Uuid& id, const std::string& type,
                                const std::string& arguments) {
  std::string recorded_type;
  bool same = false;
  try {
    const std::string line = before.archived == nullptr ? host_.store->read_one(before.log, 0, true)
                                                        : before.archived->spawn;
    const wal::RecordView view = wal::view_of(line);
    const records::Spawn begun = records::Spawn::read(detail::Fields(view.payload));
    recorded_type = begun.name;
    const std::string& raw = begun.args;
    // By the name of a long value, if that says so: the value need not be read then.
    same = !host_.store->encodes() &&
           (raw == arguments ||
            (wal::belongs_aside(arguments) &&
             raw == wal::value_reference(wal::value_name(arguments), arguments.size())));
    // Older programs wrote arguments as they came.
    if (!same) same = compact_json(records::value_in(view, *host_.store, raw)) == arguments;
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

void Starts::require_not_retired(const Uuid& id, std::string_view what) const {
  if (!host_.store->retired(id)) return;
  throw Error(Errc::id_retired,
              std::string(what) + ": task " + id.text() +
                  " has ended and has left the archive. Its id cannot be used again.");
}

void Starts::require_never_used(const Uuid& id) const {
  const std::string& damage = host_.store->found().unresolved;
  if (damage.empty()) return;
  const std::string& directory = host_.store->name();
  throw Error(Errc::log_uncertain,
              "Task " + id.text() + " cannot be started: the log in " + directory +
                  " does not know it, and it may be among the records that are lost. " + damage +
                  " Repair the log (`tiffany wal repair " + directory +
                  "`, which writes down what it gives up), or accept the loss (`tiffany wal "
                  "accept-loss " +
                  directory + " WHY`).");
}

Task<void> Starts::begin_synced(HostedTask* entry, std::string arguments, Recorded recorded) {
  // Crash case: the id is given to the caller when the Spawn is on the disk, and the code begins
  // only then. A start that is not answered may or may not have happened; start_as with the same id
  // asks.
  const Changing changing(*entry, host_.changed);
  wal::Synced synced;
  const std::int64_t time = host_.store->clock().now();
  append_spawn(*entry, recorded, Level::sync, &synced);
  co_await synced.event.wait();
  if (synced.error != nullptr) {
    entry->broken = synced.error;
    entry->status = DurableStatus::paused;
    entry->detail = "the log failed";
    entry->done.set();
    std::rethrow_exception(synced.error);
  }
  host_.admission.begin(*entry, std::move(arguments), time);
}

HostedTask& Starts::add(const DurableType& type, const Uuid& id, const Uuid& parent) {
  HostedTask& entry = host_.tasks.add(host_.store->add(id));
  entry.type = &type;
  entry.named = host_.tasks.name_of_type(type.name);
  entry.version = type.version;
  entry.parent = parent;
  entry.began = host_.store->clock().now();
  return entry;
}

Attributes Starts::intercepted(StartCall& call) const {
  host_.interceptors.start(call);
  Search::require(call.attributes);
  return std::move(call.attributes);
}

// In microseconds, rounded up.
std::int64_t Starts::end_of(Duration timeout) const noexcept {
  const std::int64_t now = host_.store->clock().now();
  const std::int64_t micros = timeout.count() / 1000 + (timeout.count() % 1000 != 0 ? 1 : 0);
  return now + micros;
}

// A fork is another task, which was not started with that timeout.
void Starts::mark(HostedTask& entry, const records::Spawn& begun) {
  entry.priority = begun.marks.priority;
  entry.at_end = begun.marks.at_end == kAbandoned       ? ParentEnd::abandon
                 : begun.marks.at_end == kAskedToCancel ? ParentEnd::request_cancel
                                                        : ParentEnd::cancel;
  const std::int64_t until = begun.fork_of.empty() ? begun.marks.until : 0;
  if (begun.marks.key.empty() && until == 0 && begun.marks.attributes.empty()) return;
  entry.marks = std::make_unique<HostedTask::Marks>();
  entry.marks->key = begun.marks.key;
  entry.marks->until = until;
  host_.search.set(entry, Search::read(begun.marks.attributes));
}

records::Spawn::Marks Starts::marks_of(const HostedTask& entry) {
  records::Spawn::Marks marks;
  marks.priority = entry.priority;
  if (entry.at_end == ParentEnd::abandon) marks.at_end = kAbandoned;
  if (entry.at_end == ParentEnd::request_cancel) marks.at_end = kAskedToCancel;
  if (entry.marks == nullptr) return marks;
  marks.key = entry.marks->key;
  marks.until = entry.marks->until;
  marks.attributes = Search::json(entry.marks->attributes);
  return marks;
}

Starts::Recorded Starts::recorded(const std::string& arguments) const {
  Recorded recorded;
  host_.store->add_value(recorded.text, arguments);
  return recorded;
}

// Not through FlowState::append: the task has no code yet.
void Starts::append_spawn(HostedTask& entry, const Recorded& arguments, Level level,
                          wal::Ticket* ticket) {
  records::Spawn::write(host_.payload, entry.type_name(), entry.version, kLogRules, arguments.text,
                        entry.parent, marks_of(entry));
  host_.payload += arguments.actor;
  const std::string id = entry.log.id.text();
  wal::Entry record{RecordType::Spawn, id, host_.payload};
  record.seq = host_.store->append(entry.log, record, level, ticket);
  host_.tell(entry.log.id, record, level);
}

// What a type does not read would stop each task of it before it began.
void Starts::require_arguments(const DurableType& type, const std::string& arguments) {
  if (type.arguments == nullptr) return;
  detail::require_readable(*type.arguments, arguments, "The arguments",
                           "are not what \"" + type.name + "\" takes");
}

}  // namespace tiffany
