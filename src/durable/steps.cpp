#include "durable/steps.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "durable/effects.hpp"
#include "durable/excerpt.hpp"
#include "durable/failure.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/interceptors.hpp"
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
using wal::Level;
using wal::RecordType;

std::string detail::StepSlot::key() const {
  std::string key = flow.name_outside() + "/" + id;
  if (!hash.empty()) key += "/" + hash;
  return key;
}

std::string Attempt::key() const { return step_.key(); }

int Attempt::number() const noexcept { return step_.attempts; }
std::uint64_t Attempt::retry() const noexcept { return step_.flow.generation.retry(); }
const std::string& Attempt::details() const noexcept { return step_.details; }
void Attempt::heartbeat(std::string details) {
  detail::require_reason(details, "What a heartbeat says");
  step_.details = std::move(details);
  step_.flow.steps.heard_from(step_);
  step_.flow.steps.record_heartbeat(step_);
}

void Steps::record_heartbeat(StepSlot& step) {
  if (step.heartbeat == nullptr) step.heartbeat = std::make_unique<detail::Heartbeat>(step);
  step.heartbeat->unsaid = step.heartbeat->under_way;
  if (step.heartbeat->under_way) return;
  record_start(step, step.begun ? nullptr : &step.site, Level::sync, step.heartbeat.get());
  step.heartbeat->under_way = true;
}

void detail::Heartbeat::synced(std::exception_ptr error) noexcept {
  under_way = false;
  try {
    if (error != nullptr) std::rethrow_exception(error);
    if (unsaid && step.running && !step.recorded) step.flow.steps.record_heartbeat(step);
  } catch (...) {
    step.flow.broken(std::current_exception());
  }
}

// ---- Steps ----

detail::Slot* Steps::issue(std::string_view name, const StepOptions& options,
                           detail::StepCode& code, const std::source_location& site) {
  return ask(name, options, code, nullptr, nullptr, site);
}

detail::Slot* Steps::ask(std::string_view name, const StepOptions& options, detail::StepCode& code,
                         std::unique_ptr<detail::KeptStep> kept, const detail::ValueType* type,
                         const std::source_location& site) {
  options.check();
  std::string id = flow_.code.names.next(name);
  std::string hash = hash_of(options.about);
  bool differs = false;
  const Command* const recorded = flow_.comparison.match("step", id, hash, site, differs);
  if (differs) return nullptr;
  StepSlot& step = flow_.hold(std::make_unique<StepSlot>(flow_, std::move(id), site), recorded);
  step.hash = std::move(hash);
  step.code = &code;
  step.options = &options;
  step.kept = std::move(kept);
  step.type = type;
  if (recorded != nullptr) {
    step.begun = recorded->begun;
    step.attempts = recorded->attempts;
    step.details = recorded->details;
    step.due = recorded->due;
    step.lost = recorded->lost && flow_.written_by.rules >= 1;
    step.first_begun = recorded->time;
  } else {
    step.live = true;
    flow_.host.effects->begin_step(step);
  }
  return &step;
}

// After a crash even a new step may be one whose only record was lost: its beginning is recorded
// first, until one step has ended.
void Steps::begin(StepSlot& step) {
  step.attempts = 1;
  step.first_begun = flow_.host.store->clock().now();
  step.ask = back_;  // it may have run in the process before, and its record have been lost
  if (step.kept != nullptr) {
    begin_behind(step);
  } else if (step.options->effect == StepEffect::at_most_once || back_) {
    begin_runner(step);
  } else if (step.code->suspends()) {
    record_start(step, &step.site, Level::lazy);
    begin_runner(step);
  } else {
    run_here(step);
  }
}

// A step is begun as often as it may be tried, but a process may die for reasons of its own.
Steps::AfterCrash Steps::after_crash(const StepSlot& step) noexcept {
  constexpr int kLeast = 10;
  const StepOptions& options = *step.options;
  if (options.effect == StepEffect::at_most_once && step.begun) return AfterCrash::unknown;
  const int most = options.most_crashes.value_or(std::max(options.policy.most, kLeast));
  return step.lost && step.attempts >= most ? AfterCrash::give_up : AfterCrash::run;
}

// Crash case: the step may have had its effect, and its StepEnd been lost with the process.
void Steps::resume(StepSlot& step) {
  switch (after_crash(step)) {
    case AfterCrash::unknown:
      flow_.settle(step, step.options->ending,
                   "Step \"" + step.id +
                       "\" had begun when the process ended, and nobody knows whether it had its "
                       "effect. It may happen once at most, so it was not run again.",
                   true, true);
      return;
    case AfterCrash::give_up:
      flow_.settle(step, step.options->ending,
                   "Step \"" + step.id + "\" was begun " + std::to_string(step.attempts) +
                       " times, and each time the process ended before the step did. It is not "
                       "begun again.",
                   true);
      return;
    case AfterCrash::run:
      break;
  }
  step.ask = true;
  step.attempts = std::max(step.attempts + (step.lost ? 1 : 0), 1);
  begin_runner(step);
}

void Steps::record_start(StepSlot& step, const std::source_location* site, Level level,
                         wal::Ticket* ticket) {
  records::StepStart::write(flow_.host.payload, *flow_.host.store, step.id, step.attempts,
                            step.hash, step.options->effect, step.due, step.details);
  const std::uint64_t seq = flow_.append(RecordType::StepStart, flow_.host.payload, site,
                                         step.begun ? step.command : 0, level, ticket);
  if (!step.begun) step.command = seq;
  step.begun = true;
}

// True: the effect took place before, and this is its result.
bool Steps::found_done(const StepSlot& step, const Attempt& attempt, std::string& result) {
  const StepOptions& options = *step.options;
  if (options.effect != StepEffect::transactional || !options.find || !step.ask) return false;
  std::optional<std::string> found = options.find(attempt.key());
  if (!found) return false;
  result = detail::recordable(*found, "What was found of the effect of step \"" + step.id + "\"");
  return true;
}

// A step that does not wait for anything runs here and now, and its result is its only record.
void Steps::run_here(StepSlot& step) {
  Attempt attempt(step);
  InterceptedAttempt intercepted(step, step.attempts);
  std::string result;
  std::exception_ptr failed;
  runs_here_ = true;
  try {
    if (!found_done(step, attempt, result)) {
      intercepted.begin();
      step.code->call(attempt, result);
    }
  } catch (...) {
    failed = std::current_exception();
  }
  intercepted.end(failed);
  runs_here_ = false;
  if (flow_.host.store->sealed()) std::rethrow_exception(flow_.host.store->why_sealed());
  if (failed == nullptr) {
    flow_.settle(step, step.options->ending, std::move(result), false);
  } else if (!try_again(step, failed_attempt_of(step, failed))) {
    return;
  } else {
    begin_runner(step);
  }
}

detail::FailedAttempt Steps::failed_attempt_of(const StepSlot& step,
                                               const std::exception_ptr& error) {
  detail::FailedAttempt failed = detail::failed_attempt(error);
  failed.final = failed.final || step.options->policy.excepts(error);
  return failed;
}

// False: the attempt was the last, and the end of the step is recorded. True: the next is planned.
bool Steps::try_again(StepSlot& step, detail::FailedAttempt failed) {
  const bool once = step.options->effect == StepEffect::at_most_once;
  if (once && failed.late) {
    flow_.settle(step, step.options->ending,
                 failed.sentence +
                     " It was cancelled, and nobody knows whether it had its effect. It may "
                     "happen once at most, so it was not run again.",
                 true, true);
    return false;
  }
  if (once && failed.unknown) {
    flow_.settle(step, step.options->ending, std::move(failed.sentence), true, true);
    return false;
  }
  const Duration pause =
      failed.after.value_or(step.options->policy.pause_after(step.attempts, key_hash(step)));
  if (once || failed.final || step.attempts >= step.options->policy.most ||
      pause >= time_left(step)) {
    step.failure = std::move(failed.failure);
    flow_.settle(step, step.options->ending, std::move(failed.sentence), true);
    return false;
  }
  plan_next_attempt(step, pause);
  return true;
}

// When the pause before it ends is in the log: a crash does not begin it anew.
void Steps::plan_next_attempt(StepSlot& step, Duration pause) {
  step.ask = true;
  ++step.attempts;
  step.due = wall_after(pause);
  record_start(step, step.begun ? nullptr : &step.site, Level::sync);
}

void Steps::begin_runner(StepSlot& step) {
  step.running = true;
  step.entered = false;
  if (step.kept != nullptr) {
    if (behind_ == nullptr) behind_ = std::make_unique<Behind>();
    behind_->steps.push_back(&step);
  } else {
    busy_ = &step;
  }
  step.runner = flow_.host.scheduler->spawn(&Steps::run, this, &step).named(step.id);
}

// The step, and the task that waits for the step, are told when the runner ends or is cancelled.
struct Steps::Ended {
  Ended(Steps& of, StepSlot& what)
      : steps(of), step(what), runner(of.flow_.host.scheduler->running()) {
    steps.flow_.host.callers.enter(runner, steps.flow_.host.tasks.find(steps.flow_.log.id));
  }
  ~Ended() {
    steps.flow_.host.callers.leave(runner);
    steps.runner_ended(step);
  }
  Ended(const Ended&) = delete;
  Ended& operator=(const Ended&) = delete;
  Steps& steps;
  StepSlot& step;
  const TaskRecord* runner;
};

Task<void> Steps::run(StepSlot* step) {
  const Ended at_the_end(*this, *step);
  step->entered = true;
  try {
    co_await make_attempts(step);
  } catch (const std::exception&) {  // of the log
    flow_.broken(std::current_exception());
  }
}

Task<void> Steps::make_attempts(StepSlot* step) {
  const StepOptions& options = *step->options;
  if (step->due != 0) co_await sleep_until(flow_.host.store->clock().scheduler_time(step->due));
  step->due = 0;
  const bool once = options.effect == StepEffect::at_most_once;
  // What led here, and that it begins, must be on the disk before it does. And so it must be if the
  // process before may have died of it: the attempt counts. Of all other steps nobody waits for
  // that.
  if (step->start != nullptr) {
    co_await step->start->event.wait();
    if (step->start->error != nullptr) std::rethrow_exception(step->start->error);
    step->start.reset();
  } else if (once || back_) {
    wal::Synced synced;
    record_start(*step, step->begun ? nullptr : &step->site, Level::sync, &synced);
    co_await synced.event.wait();
    if (synced.error != nullptr) std::rethrow_exception(synced.error);
  }
  for (;;) {
    Attempt attempt(*step);
    std::string result;
    detail::FailedAttempt failed = co_await try_once(step, &attempt, &result);
    if (failed.sentence.empty()) {
      flow_.settle(*step, options.ending, std::move(result), false);
      co_return;
    }
    if (!try_again(*step, std::move(failed))) co_return;
    co_await sleep_until(flow_.host.store->clock().scheduler_time(step->due));
    step->due = 0;
  }
}

// Without a sentence: it has not failed.
Task<detail::FailedAttempt> Steps::try_once(StepSlot* step, Attempt* attempt, std::string* result) {
  InterceptedAttempt intercepted(*step, step->attempts);
  std::exception_ptr thrown;
  bool late = false;
  bool timed_out = false;
  try {
    if (found_done(*step, *attempt, *result)) co_return detail::FailedAttempt();
    intercepted.begin();
    heard_from(*step);
    const Duration limit =
        std::min(step->options->limit.value_or(Duration::max()), time_left(*step));
    if (limit != Duration::max()) {
      const auto timed = co_await within(limit, run_code(step, attempt, result, &late));
      timed_out = timed.timed_out();
    } else {
      co_await run_code(step, attempt, result, &late);
    }
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    thrown = std::current_exception();
  }
  if (flow_.host.store->sealed()) std::rethrow_exception(flow_.host.store->why_sealed());
  detail::FailedAttempt failed;
  if (timed_out) {
    failed.sentence = "Step \"" + step->id + "\" took longer than it may.";
    intercepted.end(std::make_exception_ptr(Error(Errc::step_failed, failed.sentence)));
  } else if (thrown != nullptr) {
    failed = failed_attempt_of(*step, thrown);
    if (late) failed.failure.reset();  // our own word, and not that of the step
  }
  intercepted.end(thrown);
  failed.late = late || timed_out;
  co_return failed;
}

// A runner that has not begun yet never does; one that has runs its destructors first.
bool Steps::stop(std::string_view why) noexcept {
  if (busy_ == nullptr) return true;
  busy_->runner.cancel(why);
  if (busy_->entered) return false;  // it will say when it has ended
  busy_->running = false;
  busy_ = nullptr;
  return true;
}

// Rounded up: never too early.
std::int64_t Steps::wall_after(Duration delay) const noexcept {
  constexpr Duration kLongest = std::chrono::hours(24 * 36525);  // a hundred years
  const std::int64_t rest = flow_.host.scheduler->now().time_since_epoch().count() % 1000;
  return flow_.host.store->clock().now() + (std::min(delay, kLongest).count() + rest + 999) / 1000;
}

void Steps::heard_from(StepSlot& step) const noexcept { step.heard = flow_.host.scheduler->now(); }

Task<void> Steps::run_code(StepSlot* step, Attempt* attempt, std::string* result, bool* late) {
  if (!step->options->silence) {
    co_await step->code->run(*attempt, *result);
    co_return;
  }
  const auto first = co_await race(step->code->run(*attempt, *result), until_silent(step));
  if (first.index == 0) co_return;
  *late = true;
  throw Error(Errc::step_failed, "Step \"" + step->id + "\" gave no sign of life for too long.");
}

Task<void> Steps::until_silent(StepSlot* step) {
  for (;;) {
    if (*step->options->silence >= kEndOfTime - step->heard) co_await sleep_until(kEndOfTime);
    const Time due = step->heard + *step->options->silence;
    if (flow_.host.scheduler->now() >= due) co_return;
    co_await sleep_until(due);
  }
}

}  // namespace tiffany
