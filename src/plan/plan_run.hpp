// One run of a plan: the state of its steps, and what comes next.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/command_step.hpp"
#include "plan/expression.hpp"
#include "tiffany/durable/flow.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::plan {

enum class UnitState : std::uint8_t {
  waiting,
  running,
  pausing,   // before another attempt
  approval,  // somebody has to say
  done,
  failed,
  skipped,
};
const char* name_of(UnitState state) noexcept;

// A step, or one item of its foreach.
struct Unit {
  const Step* step = nullptr;
  std::size_t number = 0;  // in the order in which units came to be
  std::string name;
  std::optional<std::string> item;
  const char* phase = "steps";
  UnitState state = UnitState::waiting;
  int attempts = 0;
  int unknown = 0;  // attempts of which nobody knows how they ended
  std::string text;
  std::string digest;
  std::int64_t begun_us = 0;
  std::int64_t ended_us = 0;
  Uuid command;
  Uuid task;              // of a sub-plan
  bool rejected = false;  // somebody did not approve
  bool late = false;      // the sub-plan was cancelled because its time was over
  DurableHandle<CommandDone> running;
  DurableHandle<PlanEnd> child;
  DurableHandle<void> timer;  // of a pause, or the time for an approval or a sub-plan
  DurableHandle<Approval> approval;

  bool active() const noexcept {
    return state == UnitState::running || state == UnitState::pausing ||
           state == UnitState::approval;
  }
  bool asks() const noexcept { return !step->approve.empty(); }
  bool is_plan() const noexcept { return step->plan.plan != nullptr; }
  bool over() const noexcept { return state >= UnitState::done; }
  bool arrived() const noexcept {
    return running.arrived() || child.arrived() || timer.arrived() || approval.arrived();
  }
};

// What is known of a step whose units have not all ended.
struct Progress {
  std::size_t needs = 0;  // steps that have not ended yet
  std::size_t units = 0;  // of this one that have not ended; only when it is decided
  bool decided = false;
  std::vector<std::size_t> next;  // steps of the phase that need this one, by their numbers
};

class PlanRun {
 public:
  PlanRun(PlanServices& services, Flow& flow, const Plan& plan, Values values);

  // The steps, then on_failure, then finally. Throws Errc::plan_failed, or DurableCancelled.
  Durable<PlanEnd> run();
  PlanView view() const;

 private:
  // All steps of a phase until none can go on.
  Durable<void> run_phase(const std::vector<Step>& steps, const char* name);
  // After a cancel: ends what runs, and begins nothing more.
  Durable<void> stop_all();
  Durable<void> begin_what_can();
  Durable<void> begin(Unit& unit);
  Durable<void> begin_plan(Unit& unit);
  Durable<void> begin_approval(Unit& unit);
  Durable<void> take_what_came(bool may_go_on);
  Durable<void> take_command(Unit& unit, bool may_go_on);
  Durable<void> take_plan(Unit& unit, bool may_go_on);
  Durable<void> take_approval(Unit& unit);
  // A pause before the next attempt. `seed` is for its jitter.
  Durable<void> pause(Unit& unit, std::uint64_t seed);
  // Cancels the tasks of sub-plans; what could not be cancelled is waited for.
  Durable<void> stop_plans(std::vector<Unit*> units, std::string why);

  void begin_phase(const std::vector<Step>& steps);
  void admit();
  void decide(const Step& step);
  void expand(const Step& step);
  Unit& add_unit(const Step& step, std::string name);
  void set_state(Unit& unit, UnitState state);
  void step_ended(const Step& step);
  bool arrived() const;
  bool may_begin(const Unit& unit) const;
  void end(Unit& unit, UnitState state, std::string text);
  std::optional<UnitState> state_of(const std::string& step) const;
  Lookup lookup(const Unit* unit) const;
  exec::CommandSpec spec_of(const Unit& unit) const;
  std::string failures() const;
  [[noreturn]] void throw_failures(const std::string& all) const;
  std::int64_t now() const;

  PlanServices& services_;
  Flow& flow_;
  const Plan& plan_;
  Values values_;
  const char* phase_ = "steps";
  const std::vector<Step>* steps_ = nullptr;  // of the phase
  std::vector<std::unique_ptr<Unit>> units_;  // in the order in which they came to be
  std::map<std::string, std::vector<Unit*>> by_step_;
  // So that what comes costs as much as follows from it, and not as much as the plan has steps. By
  // numbers, because everything happens in the order of the file.
  std::vector<Progress> progress_;              // of the steps of the phase
  std::map<std::string, std::size_t> numbers_;  // of these, by name
  std::set<std::size_t> ready_;                 // steps of which all needs have ended
  std::set<std::size_t> waiting_;               // units
  std::set<std::size_t> active_;                // units
  std::size_t questions_ = 0;                   // approvals among those that wait
  int running_ = 0;                             // commands and sub-plans
  std::set<std::string> held_;                  // locks of these
  std::map<std::string, std::map<std::string, std::string>> outputs_;
};

}  // namespace tiffany::plan
