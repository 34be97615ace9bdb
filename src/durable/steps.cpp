// Steps: how one is asked for, begun, tried again, and ended.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "durable/excerpt.hpp"
#include "durable/hosted_task.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/structure/combine.hpp"

namespace tiffany {

using detail::Command;
using detail::hash_of;
using detail::SlotKind;
using wal::Level;
using wal::RecordType;

namespace {

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
  if (first <= Duration::zero()) return Duration::zero();
  const double pause = static_cast<double>(first.count()) * std::pow(factor, attempt - 1);
  // What is less than the longest fits into a Duration, whatever a double makes of the longest.
  return pause < static_cast<double>(longest.count()) ? Duration(static_cast<Duration::rep>(pause))
                                                      : longest;
}

StepOptions&& StepOptions::retry(Retry how) && {
  policy = how;
  check();
  return std::move(*this);
}
StepOptions&& StepOptions::timeout(Duration longest) && {
  limit = longest;
  check();
  return std::move(*this);
}
StepOptions&& StepOptions::heartbeat(Duration longest_silence) && {
  silence = longest_silence;
  check();
  return std::move(*this);
}

void StepOptions::check() const {
  const char* const wrong = policy.most < 1                     ? "is tried at least once"
                            : policy.first < Duration::zero()   ? "cannot pause for a negative time"
                            : policy.longest < Duration::zero() ? "cannot pause for a negative time"
                            : !(policy.factor >= 0 && std::isfinite(policy.factor))
                                ? "pauses longer by a factor that is a number from 0 on"
                            : limit && *limit <= Duration::zero() ? "needs some time for an attempt"
                            : silence && *silence <= Duration::zero()
                                ? "needs some time between two heartbeats"
                                : nullptr;
  if (wrong == nullptr) return;
  throw Error(Errc::bad_argument, std::string("A step ") + wrong + ".");
}

std::string Attempt::key() const {
  std::string key = flow_.name_outside() + "/" + slot_.id;
  if (!slot_.hash.empty()) key += "/" + slot_.hash;
  return key;
}

int Attempt::number() const noexcept { return slot_.attempts; }
const std::string& Attempt::details() const noexcept { return slot_.details; }
void Attempt::heartbeat(std::string details) {
  detail::require_reason(details, "What a heartbeat says");
  slot_.details = std::move(details);
  flow_.heard_from(slot_);
  flow_.record_heartbeat(slot_);
}

// At most one record of a step that is not synced: what is said meanwhile goes into the next, and
// of that the last word.
void FlowState::record_heartbeat(Slot& slot) {
  if (slot.heartbeat == nullptr) slot.heartbeat = std::make_unique<detail::Heartbeat>(slot);
  slot.heartbeat->unsaid = slot.heartbeat->under_way;
  if (slot.heartbeat->under_way) return;
  record_start(slot, slot.begun ? nullptr : &slot.site, Level::sync, slot.heartbeat.get());
  slot.heartbeat->under_way = true;
}

void detail::Heartbeat::synced(std::exception_ptr error) noexcept {
  under_way = false;
  try {
    if (error != nullptr) std::rethrow_exception(error);
    if (unsaid && slot.running && !slot.recorded) slot.flow.record_heartbeat(slot);
  } catch (...) {
    slot.flow.broken(std::current_exception());
  }
}

// ---- Steps ----

FlowState::Slot* FlowState::issue_step(std::string_view name, const StepOptions& options,
                                       detail::StepCode& code, const std::source_location& site) {
  options.check();
  std::string id = next_id(name);
  std::string hash = hash_of(options.about);
  bool differs = false;
  const Command* recorded = match("step", id, hash, site, differs);
  if (differs) return nullptr;
  Slot* const slot = make_slot(SlotKind::step, std::move(id), recorded, site);
  slot->hash = std::move(hash);
  slot->code = &code;
  slot->options = &options;
  if (recorded != nullptr) {
    slot->begun = recorded->begun;
    slot->attempts = recorded->attempts;
    slot->details = recorded->details;
    slot->due = recorded->due;
    slot->lost = recorded->lost && rules_ >= 1;
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
  } else if (slot.options->effect == StepEffect::at_most_once || back_) {
    begin_runner(slot);
  } else if (slot.code->suspends()) {
    record_start(slot, &slot.site, Level::lazy);
    begin_runner(slot);
  } else {
    try_inline(slot);
  }
}

// How often a step is begun when the process does not survive it: as often as it may be tried, but
// a process may die for reasons of its own.
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

void FlowState::record_start(Slot& slot, const std::source_location* site, Level level,
                             wal::Ticket* ticket) {
  records::StepStart::write(payload_, slot.id, slot.attempts, slot.hash, slot.options->effect,
                            slot.due, slot.details);
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
  result = detail::recordable(*found, "What was found of the effect of step \"" + slot.id + "\"");
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
  if (host_.store_->sealed()) std::rethrow_exception(host_.store_->why_sealed());
  if (failed == nullptr) {
    settle(slot, RecordType::StepEnd, std::move(result), false);
  } else if (slot.attempts >= slot.options->policy.most) {
    settle(slot, RecordType::StepEnd, sentence_of(failed), true);
  } else {
    plan_next_attempt(slot);
    begin_runner(slot);
  }
}

// When the pause before it ends is in the log: a crash does not begin it anew.
void FlowState::plan_next_attempt(Slot& slot) {
  slot.ask = true;
  const Duration pause = slot.options->policy.pause_after(slot.attempts);
  ++slot.attempts;
  slot.due = wall_after(pause);
  record_start(slot, slot.begun ? nullptr : &slot.site, Level::sync);
}

void FlowState::begin_runner(Slot& slot) {
  slot.running = true;
  slot.entered = false;
  busy_ = &slot;
  slot.runner = host_.scheduler_->spawn(&FlowState::run_step, this, &slot).named(slot.id);
}

Task<void> FlowState::run_step(Slot* slot) {
  struct Ended {
    FlowState& flow;
    Slot& slot;
    const TaskRecord* runner;
    ~Ended() {
      flow.host_.steps_.erase(runner);
      slot.running = false;
      flow.step_ended();
    }
  };
  const Ended at_the_end{*this, *slot, host_.scheduler_->running()};
  host_.steps_.emplace(at_the_end.runner, host_.find(id()));
  slot->entered = true;
  try {
    co_await make_attempts(slot);
  } catch (const std::exception&) {  // of the log
    broken(std::current_exception());
  }
}

Task<void> FlowState::make_attempts(Slot* slot) {
  const StepOptions& options = *slot->options;
  if (slot->due != 0) co_await sleep_until(host_.store_->clock().scheduler_time(slot->due));
  slot->due = 0;
  const bool once = options.effect == StepEffect::at_most_once;
  // What led here, and that it begins, must be on the disk before it does. And so it must be if the
  // process before may have died of it: the attempt counts. Of all other steps nobody waits for
  // that.
  if (once || back_) {
    wal::Synced synced;
    record_start(*slot, slot->begun ? nullptr : &slot->site, Level::sync, &synced);
    co_await synced.event.wait();
    if (synced.error != nullptr) std::rethrow_exception(synced.error);
  }
  for (;;) {
    Attempt attempt(*this, *slot);
    std::string result;
    bool late = false;
    const std::string failed = co_await try_step(slot, &attempt, &result, &late);
    if (failed.empty()) {
      settle(*slot, RecordType::StepEnd, std::move(result), false);
      co_return;
    }
    if (once && late) {
      settle(*slot, RecordType::StepEnd,
             failed +
                 " It was cancelled, and nobody knows whether it had its effect. It may "
                 "happen once at most, so it was not run again.",
             true, true);
      co_return;
    }
    if (slot->attempts >= options.policy.most || once) {
      settle(*slot, RecordType::StepEnd, failed, true);
      co_return;
    }
    plan_next_attempt(*slot);
    co_await sleep_until(host_.store_->clock().scheduler_time(slot->due));
    slot->due = 0;
  }
}

// A sentence when it fails. `late`: because it was cancelled, and not by its own word.
Task<std::string> FlowState::try_step(Slot* slot, Attempt* attempt, std::string* result,
                                      bool* late) {
  std::exception_ptr failed;
  bool timed_out = false;
  try {
    if (found_done(*slot, *attempt, *result)) co_return "";
    heard_from(*slot);
    if (slot->options->limit) {
      const auto timed =
          co_await within(*slot->options->limit, run_code(slot, attempt, result, late));
      timed_out = timed.timed_out();
    } else {
      co_await run_code(slot, attempt, result, late);
    }
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    failed = std::current_exception();
  }
  if (host_.store_->sealed()) std::rethrow_exception(host_.store_->why_sealed());
  if (timed_out) *late = true;
  if (timed_out) co_return "Step \"" + slot->id + "\" took longer than it may.";
  co_return failed == nullptr ? "" : sentence_of(failed);
}

void FlowState::heard_from(Slot& slot) const noexcept { slot.heard = host_.scheduler_->now(); }

Task<void> FlowState::run_code(Slot* slot, Attempt* attempt, std::string* result, bool* late) {
  if (!slot->options->silence) {
    co_await slot->code->run(*attempt, *result);
    co_return;
  }
  const auto first = co_await race(slot->code->run(*attempt, *result), until_silent(slot));
  if (first.index == 0) co_return;
  *late = true;
  throw Error(Errc::step_failed, "Step \"" + slot->id + "\" gave no sign of life for too long.");
}

Task<void> FlowState::until_silent(Slot* slot) {
  for (;;) {
    if (*slot->options->silence >= kEndOfTime - slot->heard) co_await sleep_until(kEndOfTime);
    const Time due = slot->heard + *slot->options->silence;
    if (host_.scheduler_->now() >= due) co_return;
    co_await sleep_until(due);
  }
}

}  // namespace tiffany
