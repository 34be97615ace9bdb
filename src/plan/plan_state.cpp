// What a run of a plan knows of its steps, and what follows from that without asking anybody.
#include <algorithm>
#include <utility>

#include "plan/plan_run.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/durable/rejected.hpp"

namespace tiffany::plan {
namespace {

constexpr std::size_t kMostUnits = 100'000;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

}  // namespace

std::int64_t PlanRun::now() const { return flow_.now().time_since_epoch().count(); }

bool PlanRun::arrived() const {
  return std::any_of(active_.begin(), active_.end(),
                     [&](std::size_t number) { return units_[number]->arrived(); });
}

// None: it has not ended.
std::optional<UnitState> PlanRun::state_of(const std::string& step) const {
  const auto found = by_step_.find(step);
  if (found == by_step_.end()) return std::nullopt;
  bool failed = false;
  bool skipped = false;
  for (const Unit* const unit : found->second) {
    if (!unit->over()) return std::nullopt;
    failed |= unit->state == UnitState::failed && !unit->step->allow_failure;
    skipped |= unit->state == UnitState::skipped;
  }
  if (failed) return UnitState::failed;
  return skipped ? UnitState::skipped : UnitState::done;
}

void PlanRun::begin_phase(const std::vector<Step>& steps) {
  steps_ = &steps;
  progress_.assign(steps.size(), Progress());
  numbers_.clear();
  ready_.clear();
  for (std::size_t i = 0; i < steps.size(); ++i) numbers_[steps[i].name] = i;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::string& need : steps[i].needs) {
      if (state_of(need)) continue;  // of a phase before
      ++progress_[i].needs;
      const auto found = numbers_.find(need);
      if (found != numbers_.end()) progress_[found->second].next.push_back(i);
    }
    if (progress_[i].needs == 0) ready_.insert(i);
  }
}

// In the order of the file, again and again until nothing is left: a step that is skipped may
// decide one that stands before it. Logs depend on the order.
void PlanRun::admit() {
  std::size_t from = 0;
  while (!ready_.empty()) {
    auto next = ready_.lower_bound(from);
    if (next == ready_.end()) next = ready_.begin();
    const std::size_t number = *next;
    ready_.erase(next);
    from = number + 1;
    const Step& step = (*steps_)[number];
    decide(step);
    progress_[number].decided = true;
    for (const Unit* const unit : by_step_[step.name]) {
      if (!unit->over()) ++progress_[number].units;
    }
    if (progress_[number].units == 0) step_ended(step);
  }
}

void PlanRun::step_ended(const Step& step) {
  for (const std::size_t next : progress_[numbers_[step.name]].next) {
    if (--progress_[next].needs == 0) ready_.insert(next);
  }
}

Unit& PlanRun::add_unit(const Step& step, std::string name) {
  auto made = std::make_unique<Unit>();
  Unit& unit = *made;
  unit.step = &step;
  unit.number = units_.size();
  unit.name = std::move(name);
  unit.phase = phase_;
  by_step_[step.name].push_back(&unit);
  units_.push_back(std::move(made));
  waiting_.insert(unit.number);
  if (unit.asks()) ++questions_;
  return unit;
}

void PlanRun::set_state(Unit& unit, UnitState state) {
  if (unit.state == UnitState::waiting && unit.asks()) --questions_;
  waiting_.erase(unit.number);
  active_.erase(unit.number);
  unit.state = state;
  if (state == UnitState::waiting) {
    waiting_.insert(unit.number);
    if (unit.asks()) ++questions_;
  }
  if (unit.active()) active_.insert(unit.number);
  if (!unit.over()) return;
  const auto found = numbers_.find(unit.step->name);
  if (found == numbers_.end() || &(*steps_)[found->second] != unit.step) return;
  Progress& progress = progress_[found->second];
  if (progress.decided && --progress.units == 0) step_ended(*unit.step);
}

void PlanRun::decide(const Step& step) {
  const auto single = [&](UnitState state, std::string text) {
    Unit& unit = add_unit(step, step.name);
    if (state != UnitState::waiting) end(unit, state, std::move(text));
  };
  for (const std::string& need : step.needs) {
    const std::optional<UnitState> state = state_of(need);
    if (state == UnitState::done) continue;
    return single(UnitState::skipped,
                  "\"" + need + "\" " + (state == UnitState::failed ? "failed." : "was skipped."));
  }
  try {
    if (!step.condition.empty() && !holds(step.condition, lookup(nullptr))) {
      return single(UnitState::skipped, "if " + step.condition + " does not hold.");
    }
    if (!step.each) return single(UnitState::waiting, "");
    expand(step);
  } catch (const Error& error) {
    single(UnitState::failed, error.what());
  }
}

void PlanRun::expand(const Step& step) {
  std::vector<std::string> items;
  if (step.items_of.empty()) {
    for (const std::string& item : step.items) items.push_back(plan::expand(item, lookup(nullptr)));
  } else {
    items = lines_of(plan::expand(step.items_of, lookup(nullptr)));
  }
  if (items.size() > kMostItems || units_.size() + items.size() > kMostUnits) {
    throw Error(Errc::bad_plan, "The foreach of the step \"" + step.name + "\" has " +
                                    std::to_string(items.size()) + " items, which is too many.");
  }
  by_step_[step.name];  // without any item it is done
  for (std::size_t i = 0; i < items.size(); ++i) {
    add_unit(step, step.name + "[" + std::to_string(i) + "]").item = items[i];
  }
}

bool PlanRun::may_begin(const Unit& unit) const {
  if (unit.asks()) return true;
  if (running_ >= plan_.at_once) return false;
  return std::none_of(unit.step->locks.begin(), unit.step->locks.end(),
                      [&](const std::string& lock) { return held_.count(lock) != 0; });
}

void PlanRun::end(Unit& unit, UnitState state, std::string text) {
  set_state(unit, state);
  unit.text = std::move(text);
  unit.ended_us = now();
}

Lookup PlanRun::lookup(const Unit* unit) const {
  return [this, unit](std::string_view path) -> std::optional<std::string> {
    if (path == "item" && unit != nullptr && unit->item) return *unit->item;
    if (path == "task.id") return flow_.id().text();
    if (path == "plan.name") return plan_.name;
    if (path.starts_with("params.")) {
      const auto found = values_.find(std::string(path.substr(7)));
      if (found == values_.end()) return std::nullopt;
      return found->second;
    }
    if (!path.starts_with("steps.")) return std::nullopt;
    const std::size_t dot = path.find('.', 6);
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string step(path.substr(6, dot - 6));
    const std::string_view rest = path.substr(dot + 1);
    if (rest == "status") {
      const std::optional<UnitState> state = state_of(step);
      return std::string(state ? name_of(*state) : "waiting");
    }
    if (!rest.starts_with("outputs.")) return std::nullopt;
    // What a step that failed or was skipped would have given is empty.
    const auto all = outputs_.find(step);
    if (all == outputs_.end()) return std::string();
    const auto found = all->second.find(std::string(rest.substr(8)));
    return found == all->second.end() ? std::string() : found->second;
  };
}

exec::CommandSpec PlanRun::spec_of(const Unit& unit) const {
  const Step& step = *unit.step;
  const Lookup known = lookup(&unit);
  exec::CommandSpec spec;
  if (step.shell.empty()) {
    for (const std::string& word : step.run) spec.argv.push_back(plan::expand(word, known));
  } else {
    spec.argv = {"/bin/sh", "-c", step.shell};
  }
  spec.directory = plan::expand(step.directory, known);
  for (const auto& [name, value] : step.env) {
    spec.environment.emplace_back(name, plan::expand(value, known));
  }
  for (const std::string& pattern : step.artifacts) {
    spec.artifacts.push_back(plan::expand(pattern, known));
  }
  spec.secrets = step.secrets;
  spec.limits = step.limits;
  spec.sandbox = step.sandbox;
  if (spec.sandbox) {
    for (std::vector<std::string>* const paths : {&spec.sandbox->read, &spec.sandbox->write}) {
      for (std::string& path : *paths) path = plan::expand(path, known);
    }
  }
  spec.output_bytes = step.output_bytes;
  spec.timeout_ms = step.timeout_ms;
  spec.grace_ms = step.grace_ms;
  spec.synced = step.at_most_once;
  spec.owner = flow_.id().text();
  return spec;
}

std::string PlanRun::failures() const {
  std::string all;
  int count = 0;
  for (const auto& unit : units_) {
    if (unit->state != UnitState::failed || unit->step->allow_failure) continue;
    if (++count > 3) continue;
    all += (all.empty() ? "" : " ") + ("The step \"" + unit->name + "\": " + unit->text);
    if (!all.ends_with('.')) all += '.';
  }
  if (count > 3) all += " And " + std::to_string(count - 3) + " more.";
  return all;
}

void PlanRun::throw_failures(const std::string& all) const {
  const std::string sentence = "The plan \"" + plan_.name + "\" failed. " + all;
  for (const auto& unit : units_) {
    const bool counts = unit->state == UnitState::failed && !unit->step->allow_failure;
    if (counts && unit->rejected) throw Rejected(sentence, Errc::plan_failed);
  }
  throw Error(Errc::plan_failed, sentence);
}

PlanView PlanRun::view() const {
  PlanView view;
  view.plan = plan_.name;
  view.phase = phase_;
  for (const auto& unit : units_) {
    UnitView each;
    each.name = unit->name;
    each.step = unit->step->name;
    each.phase = unit->phase;
    each.state = name_of(unit->state);
    each.attempts = unit->attempts;
    each.text = unit->text;
    each.begun_us = unit->begun_us;
    each.ended_us = unit->ended_us;
    if (!unit->command.nil()) {
      each.output = services_.commands.path(unit->command, exec::CommandFile::out);
    }
    if (!unit->task.nil()) each.task = unit->task.text();
    if (unit->state == UnitState::running && !unit->step->locks.empty()) {
      const std::string wait = services_.locks.wait_of(unit->command);
      if (!wait.empty()) {
        each.state = "waiting for a lock";
        each.text = wait;
      }
    }
    if (unit->state == UnitState::approval) {
      each.promise = unit->approval.id().text();
      each.digest = unit->digest;
    }
    view.units.push_back(std::move(each));
  }
  if (steps_ == nullptr) return view;
  for (const Step& step : *steps_) {
    if (by_step_.count(step.name) != 0) continue;
    UnitView each;
    each.name = each.step = step.name;
    each.phase = phase_;
    each.state = "waiting";
    view.units.push_back(std::move(each));
  }
  return view;
}

}  // namespace tiffany::plan
