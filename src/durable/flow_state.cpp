#include "durable/flow_state.hpp"

#include <algorithm>
#include <utility>

#include "tiffany/base/hash.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/core/cancel.hpp"

namespace tiffany {

using detail::Arrival;
using detail::Command;
using detail::SlotKind;
using wal::Level;
using wal::RecordType;

namespace detail {

std::string_view name_of(SlotKind kind) noexcept {
  switch (kind) {
    case SlotKind::step:
      return "step";
    case SlotKind::timer:
      return "timer";
    case SlotKind::promise:
      return "promise";
    case SlotKind::child:
      return "spawn";
    case SlotKind::checkpoint:
      return "checkpoint";
  }
  return "";
}

void Slot::synced(std::exception_ptr error) noexcept {
  error != nullptr ? flow.broken(error) : flow.record_synced();
}

void Mail::synced(std::exception_ptr failed) noexcept {
  error = std::move(failed);
  event.set();
  if (flow != nullptr) error != nullptr ? flow->broken(error) : flow->record_synced();
}

}  // namespace detail

FlowState::FlowState(HostCore& host, wal::StoredTask& log, const DurableType& type)
    : random(log.id.hash(), "durable task"),
      host_(host),
      log_(log),
      id_text_(log.id.text()),
      seed_(log.id.hash()),
      type_(type),
      payload_(host.payload_) {}

FlowState::~FlowState() {
  for (const auto& slot : slots_) {
    if (slot->armed()) host_.scheduler_->disarm(*slot);
    if (!slot->uuid.nil()) host_.promises_.erase(slot->uuid);
  }
  for (const auto& slot : retired_) {
    if (!slot->uuid.nil()) host_.promises_.erase(slot->uuid);
  }
  for (const Uuid& promise : kept_) host_.promises_.erase(promise);
  for (const Arrival& arrival : arrivals_) {
    if (arrival.mail != nullptr) arrival.mail->flow = nullptr;
  }
}

std::uint64_t FlowState::append(RecordType type, std::string_view payload,
                                const std::source_location* site, std::uint64_t cause, Level level,
                                wal::Ticket* ticket) {
  wal::Entry entry{type, id_text_, payload};
  entry.tid = task != nullptr ? task->id().value() : 0;
  entry.cause = cause;
  if (site != nullptr) {
    entry.file = site->file_name();
    entry.line = site->line();
  }
  // The beginning of a step need not be kept while it runs.
  unsynced_ = level == Level::lazy && (unsynced_ || type == RecordType::Command);
  return host_.store_->append(log_, entry, level, ticket);
}

void FlowState::require_own_code() const {
  if (host_.scheduler_->running() == task && !inline_) return;
  throw Error(Errc::durable_misuse,
              "A Flow was used outside of the code of its task, in a step perhaps. Use it in "
              "Durable coroutines only.");
}

// ---- Waiting ----

bool FlowState::begin_wait(DurableCall& call, TaskRecord& running) {
  if (task != &running) require_own_code();
  waiting_ = &call;
  try {
    held_ = call.asks() && cancel_comes_first();
    if (!cancel_is_due() && !held_) call.issue();
    if (divergence.empty() && advance()) {
      waiting_ = nullptr;
      return true;
    }
  } catch (...) {
    if (host_.store_->sealed()) {
      broken(std::current_exception());
      return false;
    }
    waiting_ = nullptr;
    throw;
  }
  // It may wait for long: what it asked for must not be forgotten meanwhile.
  if (std::exchange(unsynced_, false)) host_.store_->hurry();
  return false;
}

// A cancel that is in the log comes before everything that was, or will be, asked for after it.
bool FlowState::cancel_comes_first() noexcept {
  if (cancels_ == 0 || cancelled_ || shields > 0) return false;
  while (next_command_ < commands_.size() && commands_[next_command_].used) ++next_command_;
  if (next_command_ == commands_.size()) return true;
  for (const Arrival& arrival : arrivals_) {
    if (arrival.kind == Arrival::Kind::cancel) return arrival.seq < commands_[next_command_].seq;
  }
  return false;
}

// What has come is shown to the code one by one, in the order of the log, and only while it waits
// for something that is not there yet. So it makes no difference whether it came long ago or just
// now.
bool FlowState::advance() {
  for (;;) {
    if (unwinding_) return false;
    if (!held_ && waiting_->ready()) return true;
    if (cancel_is_due() && waiting_->cancellable()) {
      return stop_step("its task was cancelled");
    }
    if (synced_ == 0) {
      if (arrivals_.empty() && (!live_ || !commands_.empty())) caught_up();
      return false;
    }
    Arrival next = arrivals_.take();
    --synced_;
    deliver(next);
    if (!divergence.empty()) return false;
  }
}

void FlowState::deliver(Arrival& arrival) {
  now = arrival.time;
  const std::string& about = arrival.slot != nullptr ? arrival.slot->id : arrival.id;
  trace = mix(trace, hash_name(about));
  if (host_.looking()) {
    constexpr std::string_view kWhat[] = {"result of ", "signal ", "cancel: "};
    host_.happened(wal::text_of_time(now) + " " +
                   std::string(kWhat[static_cast<int>(arrival.kind)]) + about +
                   (arrival.failed ? " failed: " : " ") + arrival.value);
  }
  switch (arrival.kind) {
    case Arrival::Kind::signal:
      mailbox_.put(std::move(arrival.id), std::move(arrival.value));
      return;
    case Arrival::Kind::cancel:
      if (!cancelled_) cancelled_ = std::move(arrival.id);
      --cancels_;
      held_ = false;
      return;
    case Arrival::Kind::slot:
      break;
  }
  Slot* slot = arrival.slot;
  if (slot == nullptr) {
    const auto found = recorded_.find(arrival.id);
    if (found == recorded_.end()) {
      // Nobody waits for it any more, or newer code has not come to it yet.
      if (lenient()) early_.insert_or_assign(arrival.id, std::move(arrival));
      return;
    }
    slot = found->second;
  }
  arrive(*slot, arrival);
  if (!slot->wanted) erase(slot);
}

void FlowState::arrive(Slot& slot, Arrival& arrival) {
  if (arrival.slot == nullptr) {  // from the log
    slot.value = std::move(arrival.value);
    slot.failed = arrival.failed;
    slot.unknown = arrival.unknown;
    slot.recorded = true;
  }
  slot.arrived = true;
  if (slot.uuid.nil()) return;
  if (slot.kind == SlotKind::promise) {
    host_.promises_[slot.uuid] = nullptr;  // who keeps it once more is told that it was
    kept_.push_back(slot.uuid);
  } else {
    host_.promises_.erase(slot.uuid);
  }
}

void FlowState::go_on() noexcept {
  if (waiting_ == nullptr) return;
  try {
    if (!advance()) return;
  } catch (...) {
    broken(std::current_exception());
    return;
  }
  std::exchange(waiting_, nullptr)->wake(*host_.scheduler_, *task);
}

// Records of one task are synced in their order.
void FlowState::record_synced() noexcept {
  ++synced_;
  go_on();
}

void FlowState::broken(const std::exception_ptr& error) noexcept {
  host_.flow_broken(*this, error);
}

bool FlowState::unwind() noexcept {
  unwinding_ = true;
  return stop_step("its task is being stopped");
}

// Cancels the step that is under way. True: there is none, or not any more.
bool FlowState::stop_step(std::string_view why) noexcept {
  if (busy_ == nullptr) return true;
  busy_->runner.cancel(why);
  if (busy_->entered) return false;  // it will say when it has ended
  busy_->running = false;
  busy_ = nullptr;
  return true;
}

void FlowState::step_ended() noexcept {
  busy_ = nullptr;
  if (unwinding_ && waiting_ != nullptr) {
    std::exchange(waiting_, nullptr)->wake(*host_.scheduler_, *task);
  } else {
    go_on();
  }
}

// The code waits, and the log has no more to tell it: from here on it is no repetition.
void FlowState::caught_up() {
  if (!finish()) return;
  std::vector<Slot*> pending;
  for (const auto& slot : slots_) {
    if (!slot->recorded && !slot->live) pending.push_back(slot.get());
  }
  std::sort(pending.begin(), pending.end(),
            [](const Slot* a, const Slot* b) { return a->command < b->command; });
  for (Slot* slot : pending) go_live(*slot);
}

bool FlowState::finish() {
  if (const Command* const other = left_over()) {
    diverge("The log says " + other->kind + " \"" + other->id + "\" (record " +
            std::to_string(other->seq) + ", from " + other->place +
            "), which the code does not ask for: it " +
            (waiting_ != nullptr ? "waits for something else." : "has ended."));
    return false;
  }
  if (!checked_ && !values_decode()) return false;
  commands_.clear();
  next_command_ = 0;
  if (!live_) {
    live_ = true;
    host_.replayed(*this);
  }
  return true;
}

// ---- Signals, cancels ----

void FlowState::check_cancelled() const {
  if (unwinding_) host_.scheduler_->throw_cancelled();
  if (cancel_is_due()) {
    throw DurableCancelled(Errc::durable_cancelled,
                           "Durable task " + id_text_ + " was cancelled: " + *cancelled_);
  }
}

}  // namespace tiffany
