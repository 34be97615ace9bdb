// How a command goes live when the log has no result of it, and how its result is recorded.
#include <memory>
#include <string>
#include <utility>

#include "durable/hosted_task.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"

namespace tiffany {

using detail::SlotKind;
using wal::Level;
using wal::RecordType;

// The log ends, and it has no result of this.
void FlowState::go_live(Slot& slot) {
  slot.live = true;
  if (host_.looking()) return would_do(slot);
  switch (slot.kind) {
    case SlotKind::timer:
      host_.scheduler_->arm(slot, host_.store_->clock().scheduler_time(slot.due));
      return;
    case SlotKind::promise:
      host_.promises_[slot.uuid] = &slot;
      return;
    case SlotKind::child:
      host_.promises_[slot.uuid] = &slot;
      host_.adopt_child(slot);
      return;
    case SlotKind::checkpoint:
      return;
    case SlotKind::step:
      break;
  }
  go_live_step(slot);
}

void FlowState::would_do(Slot& slot) {
  switch (slot.kind) {
    case SlotKind::timer:
      return host_.would("wait until " + wal::text_of_time(slot.due) + " (" + slot.id + ")");
    case SlotKind::promise:
      return host_.would("wait for promise " + slot.uuid.text() + " (" + slot.id + ")");
    case SlotKind::child:
      host_.would("wait for task " + slot.uuid.text() + " (" + slot.id + ")");
      return host_.would_take(slot);
    case SlotKind::checkpoint:
      return host_.would("make a checkpoint, and begin anew");
    case SlotKind::step:
      break;
  }
  if (slot.options->effect == StepEffect::at_most_once && slot.begun) {
    host_.would("give up step " + slot.id + ", whose effect is unknown");
  } else if (slot.lost && slot.attempts >= most_begun(slot)) {
    host_.would("give up step " + slot.id + ", which the process did not survive " +
                std::to_string(slot.attempts) + " times");
  } else {
    host_.would(slot.begun ? "run step " + slot.id + " again" : "run step " + slot.id);
  }
}

// ---- The end of everything that is asked for ----

void FlowState::settle(Slot& slot, RecordType type, std::string value, bool failed, bool unknown,
                       const std::shared_ptr<detail::Mail>& mail) {
  if (slot.recorded) return;
  if (failed) {
    detail::make_recordable_sentence(value);
  } else if (slot.kind == SlotKind::step) {  // everything else was checked when it came
    try {
      detail::make_recordable(value, "The result of step \"" + slot.id + "\"");
    } catch (const Error& error) {
      settle(slot, type, error.what(), true, false, mail);
      return;
    }
  }
  if (slot.kind == SlotKind::step) {
    records::Result::write_of_step(payload_, *host_.store_, slot.id, slot.hash, value, failed,
                                   unknown, slot.attempts);
  } else {
    records::Result::write(payload_, *host_.store_, slot.id, value, failed);
  }
  detail::Arrival arrival;
  arrival.slot = &slot;
  arrival.time = host_.store_->clock().now();
  arrival.mail = mail;
  wal::Ticket* const ticket = mail != nullptr ? static_cast<wal::Ticket*>(mail.get()) : &slot;
  const bool alone = slot.kind == SlotKind::step && !slot.begun;  // its only record
  try {
    arrival.seq =
        append(type, payload_, alone ? &slot.site : nullptr, slot.command, Level::sync, ticket);
  } catch (const Error& e) {
    if (e.code() == Errc::bad_argument && !failed) {  // the value is too long for a record
      settle(slot, type, e.what(), true, false, mail);
    } else {
      if (mail != nullptr) mail->synced(std::current_exception());
      broken(std::current_exception());
    }
    return;
  }
  slot.value = std::move(value);
  slot.failed = failed;
  slot.unknown = unknown;
  slot.recorded = true;
  slot.time = arrival.time;
  if (slot.command == 0) slot.command = arrival.seq;
  if (slot.kind == SlotKind::step) back_ = false;
  if (mail != nullptr) mail->flow = this;
  arrivals_.push_back(std::move(arrival));
}

}  // namespace tiffany
