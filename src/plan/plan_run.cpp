#include "plan/plan_run.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::plan {
namespace {

constexpr int kMostUnknown = 100;  // attempts that nobody knows the end of, until the step fails

}  // namespace

const char* name_of(UnitState state) noexcept {
  constexpr const char* kNames[] = {"waiting", "running", "pausing", "awaiting approval",
                                    "done",    "failed",  "skipped"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string digest_of(const std::string& approved_text) { return sha256_hex(approved_text); }

Uuid command_id(const Uuid& task, const std::string& unit, int attempt) {
  return Uuid::derived(task, "command " + unit + " " + std::to_string(attempt));
}

PlanRun::PlanRun(PlanServices& services, Flow& flow, const Plan& plan, Values values)
    : services_(services), flow_(flow), plan_(plan), values_(std::move(values)) {}

Durable<PlanEnd> PlanRun::run() {
  std::exception_ptr cancelled;
  try {
    co_await run_phase(plan_.steps, "steps");
  } catch (const DurableCancelled&) {
    cancelled = std::current_exception();
  }
  // What puts things in order is not cancelled a second time.
  const auto shield = flow_.shield();
  if (cancelled != nullptr) co_await stop_all();
  const std::string failed = failures();
  if (cancelled != nullptr || !failed.empty()) {
    co_await run_phase(plan_.on_failure, "on_failure");
  }
  co_await run_phase(plan_.finally, "finally");
  if (cancelled != nullptr) std::rethrow_exception(cancelled);
  const std::string all = failures();
  if (!all.empty()) throw_failures(all);
  PlanEnd end;
  end.outputs = outputs_;
  end.units = view().units;
  // Where this process keeps its files is nothing that a plan has led to: the same log elsewhere,
  // restored from a backup or replayed, gives the same end.
  for (UnitView& each : end.units) each.output.clear();
  for (const auto& [name, text] : plan_.outputs) {
    end.values[name] = plan::expand(text, lookup(nullptr));
  }
  co_return end;
}

Durable<void> PlanRun::run_phase(const std::vector<Step>& steps, const char* name) {
  phase_ = name;
  begin_phase(steps);
  for (;;) {
    co_await begin_what_can();
    if (active_.empty()) co_return;
    co_await flow_.wait_until([&] { return arrived(); });
    co_await take_what_came(true);
  }
}

Durable<void> PlanRun::stop_all() {
  std::vector<Unit*> running;
  std::vector<Unit*> plans;
  for (const auto& unit : units_) {
    if (unit->state == UnitState::running) {
      (unit->is_plan() ? plans : running).push_back(unit.get());
    }
    if (unit->state == UnitState::waiting) {
      end(*unit, UnitState::skipped, "The task was cancelled.");
    } else if (unit->active() && unit->state != UnitState::running) {
      end(*unit, UnitState::failed, "The task was cancelled.");
      unit->timer = {};
      unit->approval = {};
    }
  }
  if (!plans.empty()) {
    co_await stop_plans(std::move(plans), "the plan that it is a step of was cancelled");
  }
  std::string problem;
  if (!running.empty()) {
    std::vector<Uuid> ids;
    for (const Unit* const unit : running) ids.push_back(unit->command);
    try {
      co_await flow_.step("stop", [&] { return stop_commands(&services_.commands, ids); });
    } catch (const Error& error) {  // then the commands end by themselves, and are waited for
      problem = error.what();
    }
    for (Unit* const unit : running) unit->text = problem;
  }
  // Not in the step: who waits again after a crash is told again. One that could not be stopped
  // would begin without its locks.
  for (const Unit* const unit : running) {
    if (!problem.empty() || unit->step->locks.empty() || unit->arrived()) continue;
    services_.locks.withdraw(unit->command);
  }
  while (!active_.empty()) {
    co_await flow_.wait_until([&] { return arrived(); });
    co_await take_what_came(false);
  }
}

Durable<void> PlanRun::begin_what_can() {
  admit();
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (running_ >= plan_.at_once && questions_ == 0) co_return;
    Unit& unit = *units_[*at++];  // which leaves waiting_ when it begins
    if (!may_begin(unit)) continue;
    if (unit.asks()) {
      co_await begin_approval(unit);
    } else if (unit.is_plan()) {
      co_await begin_plan(unit);
    } else {
      co_await begin(unit);
    }
  }
}

Durable<void> PlanRun::begin(Unit& unit) {
  if (unit.attempts == 0) unit.begun_us = now();
  CommandOrder order;
  try {
    order.spec = spec_of(unit);
  } catch (const Error& error) {  // a value that nobody could foresee, as of a foreach
    end(unit, UnitState::failed, error.what());
    co_return;
  }
  order.unit = unit.name;
  order.attempt = unit.attempts + 1;
  order.id = command_id(flow_.id(), unit.name, order.attempt);
  order.outputs = unit.step->outputs;
  order.locks = unit.step->locks;
  const Uuid id = order.id;
  unit.running = co_await begin_command(flow_, services_, std::move(order));
  // Only now: a cancel that comes first throws there, and has begun nothing.
  ++unit.attempts;
  unit.command = id;
  set_state(unit, UnitState::running);
  ++running_;
  held_.insert(unit.step->locks.begin(), unit.step->locks.end());
}

Durable<void> PlanRun::begin_approval(Unit& unit) {
  if (unit.attempts == 0) {
    unit.begun_us = now();
    unit.text = plan::expand(unit.step->approve, lookup(&unit));
    unit.digest = digest_of(unit.text);
    if (unit.step->timeout_ms > 0) {
      unit.timer = co_await flow_.timer(std::chrono::milliseconds(unit.step->timeout_ms));
    }
  }
  unit.approval = co_await flow_.promise<Approval>("approve " + unit.name);
  ++unit.attempts;
  set_state(unit, UnitState::approval);
}

Durable<void> PlanRun::take_what_came(bool may_go_on) {
  for (auto at = active_.begin(); at != active_.end();) {
    Unit& unit = *units_[*at++];  // which may leave active_
    if (!unit.arrived()) continue;
    if (unit.state == UnitState::running && unit.is_plan()) {
      co_await take_plan(unit, may_go_on);
    } else if (unit.state == UnitState::running) {
      co_await take_command(unit, may_go_on);
    } else if (unit.state == UnitState::approval) {
      co_await take_approval(unit);
    } else {
      unit.timer = {};
      set_state(unit, UnitState::waiting);
    }
  }
}

Durable<void> PlanRun::take_command(Unit& unit, bool may_go_on) {
  CommandDone done;
  bool good = false;
  std::string problem;
  try {
    done = co_await unit.running;
    good = done.result.ok() && done.problem.empty();
    problem = done.result.ok() ? done.problem : done.result.text();
  } catch (const DurableCancelled&) {
    throw;
  } catch (const RecordedFailure& failure) {
    problem = failure.what();
    const std::optional<Errc> cause = failure.cause();
    done.result.end =
        cause && has_not_begun(*cause) ? exec::CommandEnd::not_started : exec::CommandEnd::unknown;
  } catch (const Error& error) {
    problem = error.what();
    done.result.end = exec::CommandEnd::unknown;
  }
  unit.running = {};
  --running_;
  for (const std::string& lock : unit.step->locks) held_.erase(lock);
  if (good) {
    outputs_[unit.step->name] = std::move(done.outputs);
    end(unit, UnitState::done, "");
    co_return;
  }
  const bool unknown = done.result.end == exec::CommandEnd::unknown;
  if (unknown && unit.step->at_most_once) {
    end(unit, UnitState::failed,
        problem + " The step is of the class at_most_once, and is not run again.");
  } else if (unknown && may_go_on && ++unit.unknown <= kMostUnknown) {
    unit.text = problem;
    set_state(unit, UnitState::waiting);
  } else if (may_go_on && done.result.end != exec::CommandEnd::stopped &&
             unit.attempts - unit.unknown < unit.step->retry.attempts) {
    unit.text = problem;
    co_await pause(unit, unit.command.hash());
  } else {
    end(unit, UnitState::failed, problem);
  }
}

Durable<void> PlanRun::pause(Unit& unit, std::uint64_t seed) {
  const RetryPolicy& how = unit.step->retry;
  const Retry retry(how.attempts, std::chrono::milliseconds(how.pause_ms), how.factor,
                    std::chrono::milliseconds(how.longest_ms));
  const Duration length = retry.jitter(how.jitter).pause_after(unit.attempts - unit.unknown, seed);
  // Before the timer: no command runs, also when a cancel comes there.
  set_state(unit, UnitState::pausing);
  unit.timer = co_await flow_.timer(length);
}

Durable<void> PlanRun::take_approval(Unit& unit) {
  if (!unit.approval.arrived()) {
    unit.approval = {};
    unit.timer = {};
    end(unit, UnitState::failed, "Nobody approved it in time.");
    co_return;
  }
  Approval said;
  std::string problem;
  try {
    said = co_await unit.approval;
  } catch (const DurableCancelled&) {
    throw;
  } catch (const Error& error) {
    problem = error.what();  // the promise was broken
  }
  unit.approval = {};
  if (problem.empty() && said.approved && said.digest != unit.digest) {
    set_state(unit, UnitState::waiting);  // that was for another text: it is asked again
    co_return;
  }
  unit.timer = {};
  if (problem.empty() && said.approved) {
    end(unit, UnitState::done, "");
  } else {
    unit.rejected = true;
    const std::string by = said.by.empty() ? "" : " by " + said.by;
    end(unit, UnitState::failed,
        "It was not approved" + by + ". " + (problem.empty() ? said.note : problem));
  }
}

}  // namespace tiffany::plan
