// What else a task can ask for than steps, how everything that was asked for goes live after a replay, and how it is
// settled.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "durable/entry.hpp"
#include "durable/limits.hpp"
#include "durable/payload.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/wal/values.hpp"

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

// How often a step is begun when the process does not survive it: as often as it may be tried, but a process may die for
// reasons of its own.
int FlowState::most_begun(const Slot& slot) noexcept {
  constexpr int kLeast = 10;
  return slot.options->most_crashes.value_or(std::max(slot.options->policy.most, kLeast));
}

void FlowState::go_live_step(Slot& slot) {
  if (slot.options->effect == StepEffect::at_most_once && slot.begun) {
    settle(slot, RecordType::StepEnd,
           "Step \"" + slot.id +
               "\" had begun when the process ended, and nobody knows whether it had its "
               "effect. It may happen once at most, so it was not run again.",
           true, true);
    return;
  }
  if (slot.lost) {
    if (slot.attempts >= most_begun(slot)) {
      settle(slot, RecordType::StepEnd,
             "Step \"" + slot.id + "\" was begun " + std::to_string(slot.attempts) +
                 " times, and each time the process ended before the step did. It is not begun "
                 "again.",
             true);
      return;
    }
    ++slot.attempts;
  }
  slot.ask = true;
  slot.attempts = std::max(slot.attempts, 1);
  begin_runner(slot);
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
  Payload payload(payload_);
  payload.text(slot.kind == SlotKind::step ? "step" : "of", slot.id);
  if (slot.kind == SlotKind::step && !slot.hash.empty()) payload.text("hash", slot.hash);
  if (failed) {
    payload.text("error", value);
  } else {
    payload.value("result", *host_.store_, value);
  }
  if (unknown) payload.raw("unknown", "true");
  if (slot.attempts > 1) payload.raw("attempts", std::to_string(slot.attempts));
  detail::Notice notice;
  notice.slot = &slot;
  notice.time = host_.store_->clock().now();
  notice.mail = mail;
  wal::Ticket* const ticket = mail != nullptr ? static_cast<wal::Ticket*>(mail.get()) : &slot;
  const bool alone = slot.kind == SlotKind::step && !slot.begun;  // its only record
  try {
    notice.seq =
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
  slot.time = notice.time;
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
  if (recorded != nullptr) {
    Slot* const slot = make_slot(SlotKind::timer, std::move(id), recorded, site);
    slot->due = recorded->due;
    return slot;
  }
  // Rounded up: never too early.
  const std::int64_t due =
      host_.store_->clock().now() + delay.count() / 1000 + (delay.count() % 1000 != 0 ? 1 : 0);
  Payload(payload_)
      .text("op", "timer")
      .text("id", id)
      .text("until", wal::text_of_time(due))
      .text("hash", hash);
  const std::uint64_t command = append(RecordType::Command, payload_, &site);
  Slot* const slot = make_slot(SlotKind::timer, std::move(id), nullptr, site);
  slot->due = due;
  slot->command = command;
  go_live(*slot);
  return slot;
}

FlowState::Slot* FlowState::issue_promise(const std::string& name, const detail::ValueType& type,
                                          const std::source_location& site) {
  std::string id = next_id(name);
  bool differs = false;
  const Recorded* recorded = match("promise", id, "", site, differs, type.shape);
  if (differs) return nullptr;
  Uuid uuid = recorded != nullptr ? recorded->uuid : Uuid();
  std::uint64_t command = 0;
  if (recorded == nullptr) {
    uuid = Uuid::derived(log_.id, "promise " + name_outside() + "/" + id);
    Payload(payload_)
        .text("op", "promise")
        .text("id", id)
        .text("promise", uuid.text())
        .text("type", type.shape);
    command = append(RecordType::Command, payload_, &site);
  }
  Slot* const slot = make_slot(SlotKind::promise, std::move(id), recorded, site);
  slot->uuid = uuid;
  slot->type = &type;
  if (recorded != nullptr) return slot;
  slot->command = command;
  go_live(*slot);
  return slot;
}

FlowState::Slot* FlowState::issue_child(const std::string& type, const std::string& given,
                                        const detail::ValueType& result,
                                        const std::source_location& site) {
  std::string child_arguments = given;
  detail::make_recordable(child_arguments, "The list of arguments of child \"" + type + "\"");
  std::string id = next_id(type);
  const std::string hash = hash_of(child_arguments);
  bool differs = false;
  const Recorded* recorded = match("spawn", id, hash, site, differs, result.shape);
  if (differs) return nullptr;
  Uuid uuid = recorded != nullptr ? recorded->uuid : Uuid();
  std::uint64_t command = 0;
  if (recorded == nullptr) {
    // After a checkpoint or a retry, the names of children come again.
    uuid = Uuid::derived(log_.id, "child " + id + " " + generation_);
    Payload(payload_)
        .text("op", "spawn")
        .text("id", id)
        .text("child", uuid.text())
        .text("hash", hash)
        .text("type", result.shape);
    command = append(RecordType::Command, payload_, &site);
  }
  Slot* const slot = make_slot(SlotKind::child, std::move(id), recorded, site);
  slot->details = child_arguments;
  slot->hash = type;
  slot->uuid = uuid;
  slot->type = &result;
  if (recorded != nullptr) return slot;
  slot->command = command;
  slot->asked_now = true;
  go_live(*slot);
  return slot;
}

// Not synced for its own sake: it goes with whatever is synced next, or when the task waits.
void FlowState::issue_signal(const std::string& name, const detail::ValueType& type, bool timed,
                             const std::source_location& site) {
  if (!records_waits()) return;
  const std::string id = next_id(name, "signal ");
  const std::string hash = timed ? "within" : "";
  bool differs = false;
  if (match("signal", id, hash, site, differs, type.shape) != nullptr || differs) return;
  Payload payload(payload_);
  payload.text("op", "signal").text("id", id).text("type", type.shape);
  if (timed) payload.text("hash", hash);
  append(RecordType::Command, payload_, &site);
}

// Everything that waits, as pairs of a name and a value. `whole`: all of it in one text.
std::string FlowState::mailbox_json(bool whole) const {
  std::string mail;
  JsonWriter out(mail);
  out.begin_array();
  const auto write = [&](const std::string& name, const std::string& value) {
    out.begin_array();
    out.value(name);
    std::string json;
    if (whole) {
      json = value;
    } else {
      host_.store_->add_value(json, value);
    }
    out.raw_value(json);
    out.end_array();
  };
  for (const auto& [name, value] : mailbox_) write(name, value);
  for (const detail::Notice& notice : notices_) {
    if (notice.kind == detail::Notice::Kind::signal) write(notice.id, notice.value);
  }
  out.end_array();
  return mail;
}

// So much of it would be in the record.
std::size_t FlowState::mailbox_size() const noexcept {
  std::size_t size = 0;
  const auto count = [&size](const std::string& name, const std::string& value) {
    constexpr std::size_t kReference = 120;
    size += name.size() + (wal::belongs_aside(value) ? kReference : value.size()) + 6;
  };
  for (const auto& [name, value] : mailbox_) count(name, value);
  for (const detail::Notice& notice : notices_) {
    if (notice.kind == detail::Notice::Kind::signal) count(notice.id, notice.value);
  }
  return size;
}

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
  Payload payload(payload_);
  payload.value("state", *host_.store_, state);
  if (records_waits()) payload.raw("number", std::to_string(checkpoint_ + 1));
  whole ? payload.value("mailbox", *host_.store_, mail) : payload.raw("mailbox", mail);
  if (cancelled_) payload.text("cancelled", *cancelled_);
  for (const detail::Notice& notice : notices_) {
    if (notice.kind != detail::Notice::Kind::cancel || cancelled_) continue;
    payload.text("cancelled", notice.id);
    break;
  }
  // Until here nothing has changed: the append may be refused.
  auto made = std::make_unique<Slot>(*this, SlotKind::checkpoint, "checkpoint");
  Slot* const slot = made.get();
  detail::Notice notice;
  notice.slot = slot;
  notice.time = host_.store_->clock().now();
  notice.seq = append(RecordType::Checkpoint, payload_, &site, 0, Level::sync, slot);
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
  slot->time = notice.time;
  slot->place = 0;
  slots_.push_back(std::move(made));
  next_state_ = state;
  begin_generation(records_waits() ? checkpoint_ + 1 : notice.seq);
  notices_.push_back(std::move(notice));
  return slot;
}

// As `load` leaves it behind a checkpoint: what came before it has been delivered, what came after it has not.
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

int FlowState::version(std::string_view change, int oldest, int newest,
                       const std::source_location& site) {
  const std::string id = next_id(change);
  bool differs = false;
  const Recorded* recorded = match("version", id, "", site, differs);
  if (recorded != nullptr) return recorded->value;
  if (differs) leave_code();
  if (left_over() != nullptr) return oldest;
  Payload(payload_).text("op", "version").text("id", id).raw("value", std::to_string(newest));
  append(RecordType::Command, payload_, &site);
  return newest;
}

}  // namespace tiffany
