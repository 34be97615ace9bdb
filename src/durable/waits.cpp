#include "durable/waits.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "durable/effects.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/updates.hpp"
#include "tiffany/base/hash.hpp"

namespace tiffany {

using detail::Arrival;
using detail::Slot;

bool Waits::begin(DurableCall& call, TaskRecord& running) {
  if (flow_.task != &running) flow_.require_own_code();
  call_ = &call;
  try {
    held_ = call.asks() && cancel_comes_first();
    if (!flow_.waits_end() && !held_) call.issue();
    if (!flow_.comparison.stopped() && advance()) {
      call_ = nullptr;
      return true;
    }
  } catch (...) {
    if (flow_.host.store->sealed()) {
      flow_.broken(std::current_exception());
      return false;
    }
    call_ = nullptr;
    throw;
  }
  // It may wait for long: what it asked for must not be forgotten meanwhile.
  if (std::exchange(unsynced_, false)) flow_.host.store->hurry();
  flow_.host.eviction.waits(flow_);
  return false;
}

// The beginning of a step need not be kept while the step runs.
void Waits::appended(wal::RecordType type, wal::Level level) noexcept {
  unsynced_ = level == wal::Level::lazy && (unsynced_ || type == wal::RecordType::Command);
}

// A cancel that is in the log comes before everything that was, or will be, asked for after it.
bool Waits::cancel_comes_first() noexcept {
  if (flow_.cancel.why || flow_.cancel.shields > 0) return false;
  const Arrival* const cancel = flow_.arrivals.first_cancel();
  if (cancel == nullptr) return false;
  const detail::Command* const next = flow_.comparison.replay.next();
  return next == nullptr || cancel->seq < next->seq;
}

// One arrival at a time, and `ready` is asked in between: code that waits for the first of two
// results goes on with the first, also when both are in the log.
bool Waits::advance() {
  for (;;) {
    if (unwinding_) return false;
    if (!handle_updates()) return false;
    if (!held_ && call_->ready()) return true;
    if (flow_.waits_end() && call_->cancellable()) {
      return flow_.steps.stop(flow_.cancel.due() ? "its task was cancelled"
                                                 : "the time of its scope is over");
    }
    if (!flow_.arrivals.can_take()) {
      if (flow_.arrivals.empty() && (!live_ || !flow_.comparison.replay.empty())) caught_up();
      return false;
    }
    Arrival next = flow_.arrivals.take();
    deliver(next);
    if (flow_.comparison.stopped()) return false;
  }
}

// Code that waits for a checkpoint is about to go: the code after it handles what has come. False:
// code and log differ, and the task has been stopped.
bool Waits::handle_updates() {
  detail::Updates* const updates = flow_.any_updates();
  if (updates == nullptr || !updates->any_waiting() || !call_->cancellable()) return true;
  updates->handle_all();
  return !flow_.comparison.stopped();
}

// The time of the code is that of its last arrival. It is the same in every replay.
void Waits::deliver(Arrival& arrival) {
  flow_.code.now = arrival.time;
  const std::string& about = arrival.slot != nullptr ? arrival.slot->id : arrival.id;
  flow_.code.trace = mix(flow_.code.trace, hash_name(about));
  flow_.host.effects->delivered(flow_, arrival);
  switch (arrival.kind) {
    case Arrival::Kind::signal:
      flow_.signals.put(std::move(arrival.id), std::move(arrival.value));
      return;
    case Arrival::Kind::cancel:
      if (!flow_.cancel.why) flow_.cancel.why = std::move(arrival.id);
      held_ = false;
      return;
    case Arrival::Kind::update:
      flow_.updates().arrived(std::move(arrival.update));
      return;
    case Arrival::Kind::slot:
      break;
  }
  Slot* const slot = arrival.slot != nullptr ? arrival.slot : flow_.slots.find(arrival.id);
  if (slot == nullptr) {
    // Nobody waits for it any more, or newer code has not come to it yet.
    if (flow_.comparison.replay.lenient()) flow_.slots.keep_early(std::move(arrival));
    return;
  }
  arrive(*slot, arrival);
  if (!slot->wanted) flow_.slots.erase(*slot);
}

void Waits::arrive(Slot& slot, Arrival& arrival) {
  if (arrival.slot == nullptr) {  // from the log
    slot.value = std::move(arrival.value);
    slot.failed = arrival.failed;
    slot.failure = std::move(arrival.failure);
    slot.unknown = arrival.unknown;
    slot.recorded = true;
  }
  slot.arrived = true;
  slot.come();
}

void Waits::go_on() noexcept {
  if (call_ == nullptr) return;
  try {
    if (!advance()) {
      flow_.host.eviction.waits(flow_);
      return;
    }
  } catch (...) {
    flow_.broken(std::current_exception());
    return;
  }
  wake();
}

void Waits::wake() noexcept {
  std::exchange(call_, nullptr)->wake(*flow_.host.scheduler, *flow_.task);
}

// Crash case: nothing is shown to the code before it is on the disk. Code that had seen more than
// the log keeps could act on it, and another life of the task would not.
void Waits::record_synced(const std::exception_ptr& error) noexcept {
  if (error != nullptr) return flow_.broken(error);
  flow_.arrivals.next_is_synced();
  go_on();
}

bool Waits::unwind() noexcept {
  unwinding_ = true;
  return flow_.steps.stop("its task is being stopped");
}

// The frame that waits owns the code of the step: only now it may be unwound.
void Waits::step_ended() noexcept { unwinding_&& call_ != nullptr ? wake() : go_on(); }

bool Waits::replaying() noexcept {
  return !live_ && (flow_.comparison.replay.next() != nullptr || flow_.arrivals.can_take());
}

// Once for each slot: by the command itself, or at the end of the log.
void Waits::go_live(Slot& slot) {
  slot.live = true;
  slot.go_live(*flow_.host.effects);
}

// The code waits, and the log has no more to tell it: from here on it is no repetition.
void Waits::caught_up() {
  if (!finish()) return;
  flow_.slots.forget_names();
  std::vector<Slot*> pending;
  for (const auto& slot : flow_.slots) {
    if (!slot->recorded && !slot->live) pending.push_back(slot.get());
  }
  // In the order in which they were asked for, and not in that of the table, which erase() changes.
  std::sort(pending.begin(), pending.end(),
            [](const Slot* a, const Slot* b) { return a->command < b->command; });
  for (Slot* slot : pending) go_live(*slot);
}

// The host lets the next task replay, before this one waits for the world.
bool Waits::finish() {
  if (!flow_.comparison.complete(call_ != nullptr)) return false;
  if (live_) return true;
  live_ = true;
  flow_.host.runs.replayed(flow_);
  return true;
}

}  // namespace tiffany
