#include "durable/flow_state.hpp"

#include <utility>

#include "durable/excerpt.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "durable/updates.hpp"
#include "tiffany/core/cancel.hpp"

namespace tiffany {

using detail::Slot;
using wal::Level;
using wal::RecordType;

FlowState::FlowState(HostCore& of, wal::StoredTask& records, const DurableType& code_type)
    : host(of),
      log(records),
      type(code_type),
      id_text(records.id),
      code(*this),
      comparison(*this),
      steps(*this),
      signals(*this),
      waits(*this),
      generation(records.id.hash()) {}

FlowState::~FlowState() {
  // No result may come to a slot that is gone: timers are disarmed, promises and children
  // forgotten. Tickets leave the log by themselves.
  slots.leave_all();
  for (const Uuid& promise : kept_promises) host.promises.close(promise);
  for (const detail::Arrival& arrival : arrivals) {
    // The sender still waits for the disk, and is told when the record is there.
    if (arrival.mail != nullptr) arrival.mail->flow = nullptr;
  }
}

// Idempotency keys and ids of promises begin with this, so it must never change for a log.
std::string FlowState::name_outside() const {
  const std::uint64_t checkpoint = generation.checkpoint();
  std::string name(id_text);
  if (checkpoint != 0) name += "@" + std::to_string(checkpoint);
  return name;
}

std::uint64_t FlowState::append(RecordType record, std::string_view payload,
                                const std::source_location* site, std::uint64_t cause, Level level,
                                wal::Ticket* ticket) {
  wal::Entry entry{record, id_text, payload};
  entry.tid = task != nullptr ? task->id().value() : 0;
  entry.cause = cause;
  if (site != nullptr) {
    entry.file = site->file_name();
    entry.line = site->line();
  }
  waits.appended(record, level);
  entry.seq = host.store->append(log, entry, level, ticket);
  host.tell(log.id, entry, level);
  return entry.seq;
}

// A result that newer code asks for later than older code did has been delivered already.
void FlowState::take(std::unique_ptr<Slot> slot, const detail::Command* recorded) {
  if (recorded != nullptr) {
    slot->command = recorded->seq;
    if (std::optional<detail::Arrival> early = slots.take_early(slot->id)) {
      waits.arrive(*slot, *early);
    }
  }
  slots.add(std::move(slot), recorded != nullptr);
}

// Crash case: what is recorded is read again after a crash, whether the handle was dropped or not.
// If it were not delivered here, live code and replayed code would see another order.
void FlowState::drop(Slot* slot) noexcept {
  slot->wanted = false;
  detail::StepSlot* const step = slot->as_step();
  if (step != nullptr && step->running && step->kept == nullptr) steps.drop_by_force(*step);
  if (!slot->arrived && slot->outlives_handle()) return;
  slot->leave();
  slots.erase(*slot);
}

void FlowState::settle(Slot& slot, RecordType record, std::string value, bool failed, bool unknown,
                       const std::shared_ptr<detail::TaskMail>& mail) {
  if (slot.recorded) return;
  const detail::StepSlot* const step = slot.as_step();
  if (step != nullptr && comparison.stopped()) return;  // nothing more is appended
  if (failed) {
    detail::make_recordable_sentence(value);
  } else if (step != nullptr) {  // everything else was checked when it came
    try {
      detail::make_recordable(value, "The result of step \"" + slot.id + "\"");
    } catch (const Error& error) {
      settle(slot, record, error.what(), true, false, mail);
      return;
    }
  }
  detail::Arrival arrival;
  arrival.slot = &slot;
  arrival.time = host.store->clock().now();
  arrival.mail = mail;
  wal::Ticket* const ticket = mail != nullptr ? static_cast<wal::Ticket*>(mail.get()) : &slot;
  const bool alone = step != nullptr && !step->begun;  // its only record
  try {
    // From here to the append nothing may suspend: a long value belongs to the next record.
    slot.write_result(host.payload, value, failed, unknown);
    if (mail != nullptr) host.payload += mail->members;
    arrival.seq = append(record, host.payload, alone ? &slot.site : nullptr, slot.command,
                         Level::sync, ticket);
  } catch (const Error& e) {
    const bool refused = e.code() == Errc::value_not_encoded;
    if (refused && mail != nullptr) throw;  // to the one who keeps a promise: it may be kept later
    if (refused || (e.code() == Errc::bad_argument && !failed)) {  // too long for a record
      settle(slot, record, e.what(), true, false, mail);
    } else {
      if (mail != nullptr) mail->synced(std::current_exception());
      broken(std::current_exception());
    }
    return;
  }
  // The record was appended. Only now anything changes, so that a refused append leaves no trace.
  slot.value = std::move(value);
  slot.failed = failed;
  slot.unknown = unknown;
  slot.recorded = true;
  if (slot.command == 0) slot.command = arrival.seq;
  if (step != nullptr) steps.recorded_end();
  if (mail != nullptr) mail->flow = this;
  arrivals.push(std::move(arrival));
}

void FlowState::broken(const std::exception_ptr& error) noexcept { host.runs.broken(*this, error); }

void FlowState::require_own_code() const {
  if (host.scheduler->running() == task && !steps.runs_here()) return;
  if (updates_ != nullptr && updates_->handling()) return;
  throw Error(Errc::durable_misuse,
              "A Flow was used outside of the code of its task, in a step perhaps. Use it in "
              "Durable coroutines only.");
}

void FlowState::check_cancelled() const {
  if (waits.unwinding()) host.scheduler->throw_cancelled();
  if (cancel.due()) {
    throw DurableCancelled(Errc::durable_cancelled,
                           "Durable task " + id_text + " was cancelled: " + *cancel.why);
  }
  if (const Slot* const timer = scopes.due(cancel.shields)) {
    throw ScopeTimedOut(Errc::scope_timed_out, "The time of the scope with " +
                                                   detail::what_is(timer) + " of durable task " +
                                                   id_text + " is over.");
  }
}

void FlowState::begin_anew() {
  if (host.scheduler->cancel_pending()) host.scheduler->throw_cancelled();
  code.begin_anew();
  cancel.shields = 0;
}

void FlowState::leave_code() {
  if (updates_ != nullptr && updates_->handling()) throw detail::HandlerLeft();
  waits.leave_code();
  host.scheduler->throw_cancelled();
}

std::string FlowState::attributes() const {
  const HostedTask* const entry = host.tasks.find(log.id);
  if (entry == nullptr || entry->marks == nullptr) return {};
  return Search::json(entry->marks->attributes);
}

void detail::set_attribute(FlowState& flow, const std::string& name, const Attribute& value,
                           const std::source_location& site) {
  flow.require_own_code();
  if (flow.comparison.stopped()) flow.leave_code();
  HostedTask& entry = *flow.host.tasks.find(flow.log.id);
  Attributes all = entry.marks != nullptr ? entry.marks->attributes : Attributes();
  all.insert_or_assign(name, value);
  Search::require(all);
  const std::string id = flow.code.names.next(name, "attribute ");
  const std::string json = value.json();
  const std::string hash = hash_of(json);
  bool differs = false;
  const Command* const recorded = flow.comparison.match("attribute", id, hash, site, differs);
  if (differs) flow.leave_code();
  if (recorded == nullptr) {
    records::Asked::attribute(flow.host.payload, id, name, json, hash);
    flow.append(RecordType::Command, flow.host.payload, &site);
  }
  flow.host.search.set(entry, name, value);
}

// A log from before the change goes on as it began; one that is at its end takes the newest.
int detail::issue_version(FlowState& flow, std::string_view change, int oldest, int newest,
                          const std::source_location& site) {
  const std::string id = flow.code.names.next(change);
  bool differs = false;
  const Command* const recorded = flow.comparison.match("version", id, "", site, differs);
  if (recorded != nullptr) return recorded->value;
  if (differs) flow.leave_code();
  if (flow.comparison.replay.left_over() != nullptr) return oldest;
  records::Asked::version(flow.host.payload, id, newest);
  flow.append(RecordType::Command, flow.host.payload, &site);
  return newest;
}

}  // namespace tiffany
