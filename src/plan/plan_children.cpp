// Steps that are plans: each attempt is a child task.
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "durable/flow_state.hpp"
#include "plan/plan_run.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/durable/durable_ref.hpp"
#include "tiffany/durable/failures.hpp"
#include "tiffany/durable/rejected.hpp"

namespace tiffany::plan {
namespace {

// Crash case: the tasks of a parent that comes back are known to the host when the parent waits,
// which it does for this step.
Task<void> cancel_plans(std::weak_ptr<HostCore> host, std::vector<Uuid> ids, std::string why) {
  co_await yield();
  std::exception_ptr failed;
  for (const Uuid& id : ids) {
    try {
      co_await AnyDurableRef(host, id).cancel(why);
    } catch (const Error& error) {
      if (error.code() != Errc::unknown_durable) failed = std::current_exception();
    }
  }
  if (failed != nullptr) std::rethrow_exception(failed);
}

}  // namespace

Durable<void> PlanRun::begin_plan(Unit& unit) {
  if (unit.attempts == 0) unit.begun_us = now();
  const Plan& sub = *unit.step->plan.plan;
  Values values;
  try {
    const Lookup known = lookup(&unit);
    Values given;
    for (const auto& [name, text] : unit.step->with) given[name] = plan::expand(text, known);
    values = with_defaults(sub, given);
  } catch (const Error& error) {  // a value that nobody could foresee
    end(unit, UnitState::failed, error.what());
    co_return;
  }
  unit.child = co_await flow_.spawn<PlanEnd>(kPlanType, sub, values);
  ++unit.attempts;
  unit.task = unit.child.id();
  unit.late = false;
  set_state(unit, UnitState::running);
  ++running_;
  if (unit.step->timeout_ms > 0) {
    unit.timer = co_await flow_.timer(std::chrono::milliseconds(unit.step->timeout_ms));
  }
}

Durable<void> PlanRun::take_plan(Unit& unit, bool may_go_on) {
  if (!unit.child.arrived()) {
    unit.timer = {};
    if (!may_go_on) co_return;  // the sub-plan was cancelled already, and is waited for
    unit.late = true;
    std::vector<Unit*> which(1, &unit);
    co_await stop_plans(std::move(which), "the time of its step is over");
    co_return;
  }
  PlanEnd done;
  std::string problem;
  bool cancelled = false;
  try {
    done = co_await unit.child;
  } catch (const DurableCancelled&) {
    throw;
  } catch (const RecordedFailure& failure) {
    problem = failure.what();
    cancelled = !failure.cause();
    unit.rejected = failure.type() == kRejectedType;
  } catch (const Error& error) {
    problem = error.what();
  }
  unit.child = {};
  unit.timer = {};
  --running_;
  if (problem.empty()) {
    outputs_[unit.step->name] = std::move(done.values);
    end(unit, UnitState::done, "");
    co_return;
  }
  if (unit.late) {
    problem = "The plan \"" + unit.step->plan.plan->name + "\" did not end within " +
              std::to_string(unit.step->timeout_ms) + " ms, and was cancelled.";
  }
  // Whoever cancelled, killed or did not approve the sub-plan does not want it again.
  const bool again = unit.late || (!cancelled && !unit.rejected);
  if (may_go_on && again && unit.attempts < unit.step->retry.attempts) {
    unit.text = problem;
    co_await pause(unit, unit.task.hash());
  } else {
    end(unit, UnitState::failed, problem);
  }
}

Durable<void> PlanRun::stop_plans(std::vector<Unit*> units, std::string why) {
  std::vector<Uuid> ids;
  for (const Unit* const unit : units) ids.push_back(unit->task);
  const std::weak_ptr<HostCore> host = detail::host_of(detail::FlowAccess::of(flow_));
  std::string problem;
  try {
    co_await flow_.step("stop plans", [&] { return cancel_plans(host, ids, why); });
  } catch (const DurableCancelled&) {
    throw;
  } catch (const Error& error) {  // then the sub-plans end by themselves, and are waited for
    problem = error.what();
  }
  for (Unit* const unit : units) unit->text = problem;
}

}  // namespace tiffany::plan
