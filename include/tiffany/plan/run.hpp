// Plans as durable tasks, of the type "tiffany.plan": each command is a step that is attached to
// again after a crash, each approval a promise.
//
//   exec::Commands commands("state/commands", "tiffany-run");
//   plan::PlanServices services(commands);
//   plan::add_plans(types, services);
//   Host host(types, wal::LogOptions("state/wal"));
//   const Uuid id = co_await host.start(plan::kPlanType, plan, values);   // with_defaults(...)
//   const plan::PlanEnd end = co_await host.result<plan::PlanEnd>(id);    // or what failed
//   const plan::PlanView view = co_await host.ask(id, plan::kPlanView);   // while it runs
//
// The plan itself is the argument of the task, so a file that is edited changes nothing that runs.
//
// A command has the id command_id(task, unit, attempt). Crash: the command goes on or has ended,
// and its end is taken once. An end that nobody knows (exec::CommandEnd::unknown) is one more
// attempt, or for a step of the class at_most_once a failure.
//
// A step with a plan is a child task of the same type, awaited as a command is.
//
// Cancel of the task: commands are stopped with everything that they started, sub-plans are
// cancelled, and both are awaited; then on_failure and finally run, and the task ends as cancelled.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/durable/names.hpp"
#include "tiffany/durable/registry.hpp"
#include "tiffany/durable/schedule.hpp"
#include "tiffany/exec/commands.hpp"
#include "tiffany/plan/check.hpp"
#include "tiffany/plan/locks.hpp"
#include "tiffany/plan/plan.hpp"

namespace tiffany::plan {

// What plans use of the process. Outlives the host.
class PlanServices {
 public:
  // `lock_directory`: where locks are written down (plan/locks.hpp).
  explicit PlanServices(exec::CommandRunner& all_commands, std::string lock_directory = {})
      : commands(all_commands), locks(std::move(lock_directory)) {}
  exec::CommandRunner& commands;
  Locks locks;
};
void add_plans(Registry& types, PlanServices& services);

// What starts the plan as often as its `schedule` says, with these values. Errc::bad_plan when it
// has none.
Schedule schedule_of(const Plan& plan, const Values& values);

// A step, or one item of a foreach, as it is now.
struct UnitView {
  std::string name{};  // "build", "test[2]"
  std::string step{};
  std::string phase{};  // steps, on_failure, finally
  // waiting, waiting for a lock, running, pausing, awaiting approval, done, failed, skipped
  std::string state{};
  int attempts = 0;
  std::string text{};  // how the last attempt ended, what is approved, or who has the lock
  std::int64_t begun_us = 0;
  std::int64_t ended_us = 0;
  std::string output{};   // a path, of a plan that runs
  std::string promise{};  // of an approval: what Host::complete takes
  std::string digest{};   // and what the answer must name
  std::string task{};     // of a sub-plan: the id of its task
};
TIFFANY_JSON(UnitView, name, step, phase, state, attempts, text, begun_us, ended_us, output,
             promise, digest, task);
TIFFANY_JSON_ADDED(UnitView, task);
struct PlanView {
  std::string plan{};
  std::string phase{};
  std::vector<UnitView> units{};
};
TIFFANY_JSON(PlanView, plan, phase, units);
inline constexpr QueryName<PlanView> kPlanView{"plan"};

// The answer to an approval. It counts only for the text with that digest: another digest is no
// answer, and the question is asked again under another promise.
struct Approval {
  Approval() = default;
  bool approved = false;
  std::string digest{};
  std::string by{};
  std::string note{};
};
TIFFANY_JSON(Approval, approved, digest, by, note);
// 64 hexadecimal digits.
std::string digest_of(const std::string& approved_text);

struct PlanEnd {
  std::map<std::string, std::map<std::string, std::string>> outputs{};  // by step
  std::vector<UnitView> units{};
  std::map<std::string, std::string> values{};  // what `outputs` of the plan itself names
};
TIFFANY_JSON(PlanEnd, outputs, units, values);
TIFFANY_JSON_ADDED(PlanEnd, values);

Uuid command_id(const Uuid& task, const std::string& unit, int attempt);

}  // namespace tiffany::plan
