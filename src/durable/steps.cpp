// What a task can ask for: how it is recorded, begun, and settled.
#include <algorithm>
#include <string>
#include <utility>

#include "durable/entry.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/engine/structured.hpp"

namespace tiffany {

using detail::Recorded;
using detail::SlotKind;
using wal::Level;
using wal::RecordType;

namespace {

std::string hash_of(std::string_view text) {
  return text.empty() ? "" : detail::hex(hash_name(text));
}

// Members of a payload, with the commas between them.
class Payload {
 public:
  explicit Payload(std::string& out) : out_(out) { out_.clear(); }
  Payload& text(std::string_view name, std::string_view value) {
    begin(name);
    JsonWriter(out_).value(value);
    return *this;
  }
  Payload& raw(std::string_view name, std::string_view json) {
    begin(name);
    out_ += json;
    return *this;
  }
  Payload& value(std::string_view name, wal::Log& log, const std::string& json) {
    begin(name);
    log.add_value(out_, json);
    return *this;
  }

 private:
  void begin(std::string_view name) {
    out_ += out_.empty() ? "\"" : ",\"";
    out_ += name;
    out_ += "\":";
  }
  std::string& out_;
};

// Never empty.
std::string sentence_of(const std::exception_ptr& error) {
  std::string sentence;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    sentence = e.what();
  } catch (...) {
    sentence = "something that is no std::exception was thrown";
  }
  return sentence.empty() ? "a failure without a sentence" : sentence;
}

}  // namespace

Duration Retry::pause_after(int attempt) const noexcept {
  double pause = static_cast<double>(first.count());
  for (int i = 1; i < attempt; ++i)
    pause = std::min(pause * factor, static_cast<double>(longest.count()));
  return Duration(
      static_cast<Duration::rep>(std::min(pause, static_cast<double>(longest.count()))));
}

std::string Attempt::key() const {
  std::string key = flow_.name_outside() + "/" + slot_.id;
  if (!slot_.hash.empty()) key += "/" + slot_.hash;
  return key;
}

int Attempt::number() const noexcept { return slot_.attempts; }
const std::string& Attempt::details() const noexcept { return slot_.details; }
void Attempt::heartbeat(std::string details) {
  slot_.details = std::move(details);
  flow_.heard_from(slot_);
  flow_.record_start(slot_, slot_.begun ? nullptr : &slot_.site, Level::sync);
}

// ---- Steps ----

FlowState::Slot* FlowState::issue_step(std::string_view name, const StepOptions& options,
                                       detail::StepCode& code, const std::source_location& site) {
  std::string id = next_id(name);
  std::string hash = hash_of(options.about);
  bool differs = false;
  const Recorded* recorded = match("step", id, hash, site, differs);
  if (differs) return nullptr;
  Slot* const slot = make_slot(SlotKind::step, std::move(id), recorded, site);
  slot->hash = std::move(hash);
  slot->code = &code;
  slot->options = &options;
  if (recorded != nullptr) {
    slot->begun = recorded->begun;
    slot->attempts = recorded->attempts;
    slot->details = recorded->details;
  } else {
    begin_step(*slot);
  }
  return slot;
}

void FlowState::begin_step(Slot& slot) {
  slot.live = true;
  slot.attempts = 1;
  slot.ask = back_;  // it may have run in the process before, and its record have been lost
  if (host_.looking()) {
    host_.would("run step " + slot.id);
  } else if (slot.options->effect == StepEffect::at_most_once) {
    begin_runner(slot);
  } else if (slot.code->suspends()) {
    record_start(slot, &slot.site, Level::lazy);
    begin_runner(slot);
  } else {
    try_inline(slot);
  }
}

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

void FlowState::record_start(Slot& slot, const std::source_location* site, Level level,
                             wal::Ticket* ticket) {
  Payload payload(payload_);
  payload.text("step", slot.id).raw("attempt", std::to_string(slot.attempts));
  if (!slot.hash.empty()) payload.text("hash", slot.hash);
  if (slot.options->effect == StepEffect::at_most_once) payload.text("effect", "at_most_once");
  if (slot.options->effect == StepEffect::transactional) payload.text("effect", "transactional");
  if (!slot.details.empty()) payload.text("details", slot.details);
  const std::uint64_t seq =
      append(RecordType::StepStart, payload_, site, slot.begun ? slot.command : 0, level, ticket);
  if (!slot.begun) slot.command = seq;
  slot.begun = true;
}

// True: the effect took place before, and this is its result.
bool FlowState::found_done(const Slot& slot, const Attempt& attempt, std::string& result) {
  const StepOptions& options = *slot.options;
  if (options.effect != StepEffect::transactional || !options.find || !slot.ask) return false;
  std::optional<std::string> found = options.find(attempt.key());
  if (!found) return false;
  result = std::move(*found);
  return true;
}

// A step that does not wait for anything runs here and now, and its result is its only record.
void FlowState::try_inline(Slot& slot) {
  Attempt attempt(*this, slot);
  std::string result;
  std::exception_ptr failed;
  inline_ = true;
  try {
    if (!found_done(slot, attempt, result)) slot.code->call(attempt, result);
  } catch (...) {
    failed = std::current_exception();
  }
  inline_ = false;
  if (host_.log_->sealed()) std::rethrow_exception(host_.log_->why_sealed());
  if (failed == nullptr) {
    settle(slot, RecordType::StepEnd, std::move(result), false);
  } else if (slot.attempts >= slot.options->policy.most) {
    settle(slot, RecordType::StepEnd, sentence_of(failed), true);
  } else {
    slot.ask = true;
    ++slot.attempts;
    record_start(slot, slot.begun ? nullptr : &slot.site, Level::sync);
    begin_runner(slot, slot.options->policy.pause_after(slot.attempts - 1));
  }
}

void FlowState::begin_runner(Slot& slot, Duration pause) {
  slot.running = true;
  slot.entered = false;
  busy_ = &slot;
  slot.runner = host_.scheduler_->spawn(&FlowState::run_step, this, &slot, pause).named(slot.id);
}

Task<void> FlowState::run_step(Slot* slot, Duration pause) {
  struct Ended {
    FlowState& flow;
    Slot& slot;
    ~Ended() {
      slot.running = false;
      flow.step_ended();
    }
  };
  const Ended at_the_end{*this, *slot};
  slot->entered = true;
  try {
    co_await make_attempts(slot, pause);
  } catch (const std::exception&) {  // of the log
    broken(std::current_exception());
  }
}

Task<void> FlowState::make_attempts(Slot* slot, Duration pause) {
  const StepOptions& options = *slot->options;
  if (options.effect == StepEffect::at_most_once) {
    // What led here, and that it begins, must be on the disk before it does.
    wal::Synced synced;
    record_start(*slot, &slot->site, Level::sync, &synced);
    co_await synced.event.wait();
    if (synced.error != nullptr) std::rethrow_exception(synced.error);
  }
  if (pause > Duration::zero()) co_await tiffany::sleep(pause);
  for (;;) {
    Attempt attempt(*this, *slot);
    std::string result;
    const std::string failed = co_await try_step(slot, &attempt, &result);
    if (failed.empty()) {
      settle(*slot, RecordType::StepEnd, std::move(result), false);
      co_return;
    }
    if (slot->attempts >= options.policy.most || options.effect == StepEffect::at_most_once) {
      settle(*slot, RecordType::StepEnd, failed, true);
      co_return;
    }
    slot->ask = true;
    ++slot->attempts;
    record_start(*slot, nullptr, Level::sync);
    co_await tiffany::sleep(options.policy.pause_after(slot->attempts - 1));
  }
}

// A sentence when it fails.
Task<std::string> FlowState::try_step(Slot* slot, Attempt* attempt, std::string* result) {
  std::exception_ptr failed;
  bool timed_out = false;
  try {
    if (found_done(*slot, *attempt, *result)) co_return "";
    heard_from(*slot);
    if (slot->options->limit) {
      const auto timed = co_await within(*slot->options->limit, run_code(slot, attempt, result));
      timed_out = timed.timed_out();
    } else {
      co_await run_code(slot, attempt, result);
    }
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    failed = std::current_exception();
  }
  if (host_.log_->sealed()) std::rethrow_exception(host_.log_->why_sealed());
  if (timed_out) co_return "Step \"" + slot->id + "\" took longer than it may.";
  co_return failed == nullptr ? "" : sentence_of(failed);
}

void FlowState::heard_from(Slot& slot) const noexcept { slot.heard = host_.scheduler_->now(); }

Task<void> FlowState::run_code(Slot* slot, Attempt* attempt, std::string* result) {
  if (!slot->options->silence) {
    co_await slot->code->run(*attempt, *result);
    co_return;
  }
  const auto first = co_await race(slot->code->run(*attempt, *result), until_silent(slot));
  if (first.index == 0) co_return;
  throw Error(Errc::step_failed, "Step \"" + slot->id + "\" gave no sign of life for too long.");
}

Task<void> FlowState::until_silent(Slot* slot) {
  for (;;) {
    const Time due = slot->heard + *slot->options->silence;
    if (host_.scheduler_->now() >= due) co_return;
    co_await sleep_until(due);
  }
}

// ---- The end of everything that is asked for ----

void FlowState::settle(Slot& slot, RecordType type, std::string value, bool failed, bool unknown,
                       const std::shared_ptr<detail::Mail>& mail) {
  if (slot.recorded) return;
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
