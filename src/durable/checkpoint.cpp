// Checkpoints: the state of a task takes the place of its history, and its code begins anew from
// there.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "durable/hosted_task.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany {

using detail::SlotKind;
using wal::Level;
using wal::RecordType;

FlowState::Slot* FlowState::issue_checkpoint(const std::string& given,
                                             const std::source_location& site) {
  std::string state = given;
  detail::make_recordable(state, "The state of a checkpoint");
  for (const auto& slot : slots_) {
    if (slot->arrived || (slot->recorded && !slot->wanted)) continue;
    throw Error(Errc::durable_misuse,
                "A checkpoint cannot be made while " + std::string(name_of(slot->kind)) + " \"" +
                    slot->id + "\" is under way; await it" +
                    (slot->kind == SlotKind::child ? "." : ", or drop its handle."));
  }
  if (!finish()) return nullptr;
  if (host_.looking()) {
    Slot* const never = make_slot(SlotKind::checkpoint, "checkpoint", nullptr, site);
    go_live(*never);
    return never;
  }
  const bool whole = mailbox_size() > wal::kLongestValue;
  const std::string mail = mailbox_json(whole);
  std::optional<std::string> cancelled = cancelled_;
  for (const detail::Arrival& arrival : arrivals_) {
    if (arrival.kind != detail::Arrival::Kind::cancel || cancelled) continue;
    cancelled = arrival.id;
  }
  records::Checkpoint::write(payload_, *host_.store_, state, records_waits() ? checkpoint_ + 1 : 0,
                             mail, whole, cancelled);
  // Until here nothing has changed: the append may be refused.
  auto made = std::make_unique<Slot>(*this, SlotKind::checkpoint, "checkpoint");
  Slot* const slot = made.get();
  detail::Arrival arrival;
  arrival.slot = slot;
  arrival.time = host_.store_->clock().now();
  arrival.seq = append(RecordType::Checkpoint, payload_, &site, 0, Level::sync, slot);
  for (std::unique_ptr<Slot>& each : slots_) {
    each->retired = true;
    retired_.push_back(std::move(each));
  }
  slots_.clear();
  recorded_.clear();
  early_.clear();
  slot->site = site;
  slot->value = "null";
  slot->recorded = true;
  slot->live = true;
  slot->time = arrival.time;
  slot->place = 0;
  slots_.push_back(std::move(made));
  next_state_ = state;
  begin_generation(records_waits() ? checkpoint_ + 1 : arrival.seq);
  arrivals_.push_back(std::move(arrival));
  return slot;
}

// As `load` leaves it behind a checkpoint: what came before it has been delivered, what came after
// it has not.
void FlowState::begin_anew() {
  at_checkpoint = false;
  saved = std::move(next_state_);
  uses_.clear();
  last_use_ = nullptr;
  path.clear();
  shields = 0;
  trace = 0;
  asked_anything = false;
  queries->clear();
}

// What is counted and drawn from here on is the same when the log is read from here.
// Checkpoints are counted, and not named by their records, of which there are more after a crash.
void FlowState::begin_generation(std::uint64_t checkpoint) {
  checkpoint_ = checkpoint;
  generation_ = (records_waits() ? "c" : "") + std::to_string(checkpoint);
  random = Random(seed_, "durable task after " + std::to_string(checkpoint));
}

std::string FlowState::name_outside() const {
  return checkpoint_ == 0 ? id_text_ : id_text_ + "@" + std::to_string(checkpoint_);
}

}  // namespace tiffany
