// What else a task can ask for than steps, how everything that was asked for goes live after a replay, and how it is
// settled.
#include <string>
#include <utility>

#include "durable/entry.hpp"
#include "durable/payload.hpp"
#include "tiffany/base/hash.hpp"

namespace tiffany {

using detail::hash_of;
using detail::Payload;
using detail::Recorded;
using detail::SlotKind;
using wal::Level;
using wal::RecordType;

// The log ends, and it has no result of this.
void FlowState::go_live(Slot& slot) {
  slot.live = true;
  if (host_.looking()) return would_do(slot);
  switch (slot.kind) {
    case SlotKind::timer:
      host_.scheduler_->arm(slot, host_.log_->scheduler_time(slot.due));
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
  const StepOptions& options = *slot.options;
  if (options.effect == StepEffect::at_most_once && slot.begun) {
    settle(slot, RecordType::StepEnd,
           "Step \"" + slot.id +
               "\" had begun when the process ended, and nobody knows whether it had its "
               "effect. It may happen once at most, so it was not run again.",
           true, true);
    return;
  }
  slot.ask = true;
  slot.attempts = std::max(slot.attempts, 1);
  if (slot.code->suspends() || options.effect == StepEffect::at_most_once) {
    begin_runner(slot);
  } else {
    try_inline(slot);
  }
}

void FlowState::would_do(const Slot& slot) {
  switch (slot.kind) {
    case SlotKind::timer:
      return host_.would("wait until " + wal::text_of_time(slot.due) + " (" + slot.id + ")");
    case SlotKind::promise:
      return host_.would("wait for promise " + slot.uuid.text() + " (" + slot.id + ")");
    case SlotKind::child:
      return host_.would("wait for task " + slot.uuid.text() + " (" + slot.id + ")");
    case SlotKind::checkpoint:
      return host_.would("wait for its checkpoint");
    case SlotKind::step:
      break;
  }
  const bool once = slot.options->effect == StepEffect::at_most_once && slot.begun;
  host_.would(once ? "give up step " + slot.id + ", whose effect is unknown"
                   : (slot.begun ? "run step " + slot.id + " again" : "run step " + slot.id));
}

// ---- The end of everything that is asked for ----

void FlowState::settle(Slot& slot, RecordType type, std::string value, bool failed, bool unknown,
                       const std::shared_ptr<detail::Mail>& mail) {
  if (slot.recorded) return;
  if (failed) detail::shorten(value);
  Payload payload(payload_);
  payload.text(slot.kind == SlotKind::step ? "step" : "of", slot.id);
  if (slot.kind == SlotKind::step && !slot.hash.empty()) payload.text("hash", slot.hash);
  if (failed) {
    payload.text("error", value);
  } else {
    payload.value("result", *host_.log_, value);
  }
  if (unknown) payload.raw("unknown", "true");
  if (slot.attempts > 1) payload.raw("attempts", std::to_string(slot.attempts));
  slot.value = std::move(value);
  slot.failed = failed;
  slot.unknown = unknown;
  slot.recorded = true;
  slot.time = host_.log_->wall_time();
  detail::Notice notice;
  notice.slot = &slot;
  notice.time = slot.time;
  notice.mail = mail;
  wal::Ticket* const ticket = mail != nullptr ? static_cast<wal::Ticket*>(mail.get()) : &slot;
  const bool alone = slot.kind == SlotKind::step && !slot.begun;  // its only record
  try {
    notice.seq =
        append(type, payload_, alone ? &slot.site : nullptr, slot.command, Level::sync, ticket);
  } catch (const Error& e) {
    if (e.code() == Errc::bad_argument && !slot.failed) {  // the value is too long for a record
      slot.recorded = false;
      settle(slot, type, e.what(), true, false, mail);
    } else {
      if (mail != nullptr) mail->synced(std::current_exception());
      broken(std::current_exception());
    }
    return;
  }
  if (slot.command == 0) slot.command = notice.seq;
  if (slot.kind == SlotKind::step) back_ = false;
  if (mail != nullptr) mail->flow = this;
  notices_.push_back(std::move(notice));
}

FlowState::Slot* FlowState::issue_timer(Duration delay, const std::source_location& site) {
  if (delay < Duration::zero()) {
    throw Error(Errc::bad_argument, "A durable task cannot wait for a negative time.");
  }
  std::string id = next_id("timer");
  const std::string hash = std::to_string(delay.count());
  bool differs = false;
  const Recorded* recorded = match("timer", id, hash, site, differs);
  if (differs) return nullptr;
  Slot* const slot = make_slot(SlotKind::timer, std::move(id), recorded, site);
  if (recorded != nullptr) {
    slot->due = recorded->due;
    return slot;
  }
  // Rounded up: never too early.
  slot->due = host_.log_->wall_time() + (delay.count() + 999) / 1000;
  Payload(payload_)
      .text("op", "timer")
      .text("id", slot->id)
      .text("until", wal::text_of_time(slot->due))
      .text("hash", hash);
  slot->command = append(RecordType::Command, payload_, &site);
  go_live(*slot);
  return slot;
}

FlowState::Slot* FlowState::issue_promise(const std::string& name,
                                          const std::source_location& site) {
  std::string id = next_id(name);
  bool differs = false;
  const Recorded* recorded = match("promise", id, "", site, differs);
  if (differs) return nullptr;
  Slot* const slot = make_slot(SlotKind::promise, std::move(id), recorded, site);
  if (recorded != nullptr) {
    slot->uuid = recorded->uuid;
    return slot;
  }
  slot->uuid = Uuid::derived(log_.id, "promise " + name_outside() + "/" + slot->id);
  Payload(payload_).text("op", "promise").text("id", slot->id).text("promise", slot->uuid.text());
  slot->command = append(RecordType::Command, payload_, &site);
  go_live(*slot);
  return slot;
}

FlowState::Slot* FlowState::issue_child(const std::string& type, const std::string& child_arguments,
                                        const std::source_location& site) {
  std::string id = next_id(type);
  const std::string hash = hash_of(child_arguments);
  bool differs = false;
  const Recorded* recorded = match("spawn", id, hash, site, differs);
  if (differs) return nullptr;
  Slot* const slot = make_slot(SlotKind::child, std::move(id), recorded, site);
  slot->details = child_arguments;
  slot->hash = type;
  if (recorded != nullptr) {
    slot->uuid = recorded->uuid;
    return slot;
  }
  // After a checkpoint or a retry, the names of children come again.
  slot->uuid = Uuid::derived(log_.id, "child " + slot->id + " " + std::to_string(generation_));
  Payload(payload_)
      .text("op", "spawn")
      .text("id", slot->id)
      .text("child", slot->uuid.text())
      .text("hash", hash);
  slot->command = append(RecordType::Command, payload_, &site);
  go_live(*slot);
  return slot;
}

FlowState::Slot* FlowState::issue_checkpoint(const std::string& state,
                                             const std::source_location& site) {
  for (const auto& slot : slots_) {
    if (slot->arrived || (slot->recorded && !slot->wanted)) continue;
    throw Error(Errc::durable_misuse,
                "A checkpoint cannot be made while " + std::string(name_of(slot->kind)) + " \"" +
                    slot->id + "\" is under way; await it" +
                    (slot->kind == SlotKind::child ? "." : ", or drop its handle."));
  }
  if (!finish()) return nullptr;
  Payload payload(payload_);
  payload.value("state", *host_.log_, state);
  std::string mail;
  JsonWriter out(mail);
  out.begin_array();
  const auto write = [&](const std::string& name, const std::string& value) {
    out.begin_array();
    out.value(name);
    std::string json;
    host_.log_->add_value(json, value);
    out.raw_value(json);
    out.end_array();
  };
  for (const auto& [name, value] : mailbox_) write(name, value);
  for (const detail::Notice& notice : notices_) {
    if (notice.kind == detail::Notice::Kind::signal) write(notice.id, notice.value);
  }
  out.end_array();
  payload.raw("mailbox", mail);
  if (cancelled_) payload.text("cancelled", *cancelled_);
  for (const detail::Notice& notice : notices_) {
    if (notice.kind != detail::Notice::Kind::cancel || cancelled_) continue;
    payload.text("cancelled", notice.id);
    break;
  }
  for (std::unique_ptr<Slot>& each : slots_) {
    each->retired = true;
    retired_.push_back(std::move(each));
  }
  slots_.clear();
  recorded_.clear();
  early_.clear();
  Slot* const slot = make_slot(SlotKind::checkpoint, "checkpoint", nullptr, site);
  slot->value = "null";
  slot->recorded = true;
  slot->live = true;
  slot->time = host_.log_->wall_time();
  uses_.clear();
  last_use_ = nullptr;
  detail::Notice notice;
  notice.slot = slot;
  notice.time = slot->time;
  notice.seq = append(RecordType::Checkpoint, payload_, &site, 0, Level::sync, slot);
  begin_generation(notice.seq);
  notices_.push_back(std::move(notice));
  if (log_.records.size() > 2) log_.records.erase(log_.records.begin() + 1, log_.records.end() - 1);
  return slot;
}

// What is counted and drawn from here on is the same when the log is read from here.
void FlowState::begin_generation(std::uint64_t seq) {
  checkpoint_ = generation_ = seq;
  random = Random(seed_, "durable task after " + std::to_string(seq));
}

std::string FlowState::name_outside() const {
  return checkpoint_ == 0 ? id_text_ : id_text_ + "@" + std::to_string(checkpoint_);
}

int FlowState::version(std::string_view change, int oldest, int newest,
                       const std::source_location& site) {
  const std::string id = next_id(change);
  bool differs = false;
  const Recorded* recorded = match("version", id, "", site, differs);
  if (recorded != nullptr) return recorded->value;
  if (differs || next_command_ < commands_.size()) return oldest;
  Payload(payload_).text("op", "version").text("id", id).raw("value", std::to_string(newest));
  append(RecordType::Command, payload_, &site);
  return newest;
}

}  // namespace tiffany
