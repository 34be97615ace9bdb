#include "app/plan_history.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "app/cli_json.hpp"
#include "tiffany/base/calendar.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::app {
namespace {

using plan::UnitView;

constexpr std::string_view kApprove = "approve ";

// "build" of "build#2", "ask" of "approve ask#1".
std::string unit_of(std::string_view name) {
  name = name.substr(0, name.rfind('#'));
  if (name.starts_with(kApprove)) name.remove_prefix(kApprove.size());
  return std::string(name);
}

class PlanHistory {
 public:
  void take(const Json& record) {
    const std::string& type = record["type"].text();
    const std::int64_t time = parse_utc(record["ts"].text()).value_or(0);
    if (type == "StepStart" || type == "StepEnd") {
      UnitView& unit = unit_at(record["step"].text(), time);
      unit.state = "running";
      if (type == "StepStart") {
        ++unit.attempts;
      } else {
        end_step(unit, record, time);
      }
    } else if (type == "Command" && record["op"].text() == "promise") {
      UnitView& unit = unit_at(record["id"].text(), time);
      unit.state = "awaiting approval";
      unit.attempts = 1;
    } else if (type == "Approval") {
      const Json& answer = record["result"];
      UnitView& unit = unit_at(record["of"].text(), time);
      const bool approved = answer["approved"].truth();
      settle(unit, approved, approved ? "" : "rejected by " + answer["by"].text(), time);
    }
  }

  // In the order of the plan.
  std::vector<UnitView> units(const plan::Plan& plan, const std::string& why) {
    std::vector<UnitView> all;
    for (const auto& [phase, steps] :
         {std::pair("steps", &plan.steps), std::pair("on_failure", &plan.on_failure),
          std::pair("finally", &plan.finally)}) {
      for (const plan::Step& step : *steps) add(all, phase, step, why);
    }
    return all;
  }

 private:
  UnitView& unit_at(const std::string& name, std::int64_t time) {
    UnitView& unit = known_[unit_of(name)];
    if (unit.begun_us == 0) unit.begun_us = time;
    unit.ended_us = 0;
    return unit;
  }

  static void settle(UnitView& unit, bool well, std::string text, std::int64_t time) {
    unit.state = well ? "done" : "failed";
    unit.text = std::move(text);
    unit.ended_us = time;
  }

  static void end_step(UnitView& unit, const Json& record, std::int64_t time) {
    if (record.has("error")) return settle(unit, false, record["error"].text(), time);
    const Json& done = record["result"];
    const std::string& problem = done["problem"].text();
    try {
      const auto result = from_json<exec::CommandResult>(done["result"].raw());
      const bool well = result.ok() && problem.empty();
      const std::string text = result.ok() ? problem : result.text();
      settle(unit, well, text, time);
    } catch (const Error&) {
      settle(unit, true, "", time);  // a step of another kind, or a value that is kept elsewhere
    }
  }

  // In the words of a plan that runs.
  static std::string why_skipped(const std::vector<UnitView>& before, const plan::Step& step) {
    for (const std::string& need : step.needs) {
      for (const UnitView& unit : before) {
        if (unit.step != need) continue;
        if (unit.state == "failed") return "\"" + need + "\" failed.";
        if (unit.state == "skipped") return "\"" + need + "\" was skipped.";
      }
    }
    return "";
  }

  void add(std::vector<UnitView>& all, const char* phase, const plan::Step& step,
           const std::string& why) {
    const std::size_t before = all.size();
    for (const auto& [name, unit] : known_) {
      if (name != step.name && !name.starts_with(step.name + "[")) continue;
      UnitView view = unit;
      view.name = name;
      if (view.state == "running" || view.state == "awaiting approval") {
        settle(view, false, "stopped with the plan", 0);
      }
      all.push_back(std::move(view));
    }
    if (all.size() == before) {
      UnitView view;
      view.name = step.name;
      const bool failed = why.find("The step \"" + step.name) != std::string::npos;
      view.state = failed ? "failed" : step.plan.plan ? "unknown" : "skipped";
      if (view.state == "skipped") view.text = why_skipped(all, step);
      all.push_back(std::move(view));
    }
    for (std::size_t i = before; i < all.size(); ++i) {
      all[i].step = step.name;
      all[i].phase = phase;
    }
  }

  std::map<std::string, UnitView> known_;
};

}  // namespace

std::vector<UnitView> units_by_log(const Host& host, const Uuid& id, const plan::Plan& plan,
                                   const std::string& why) {
  constexpr std::size_t kAtOnce = 1000;
  PlanHistory history;
  std::uint64_t after = 0;
  for (bool more = true; more;) {
    const std::vector<std::string> lines = host.records(id, after, kAtOnce);
    for (const std::string& line : lines) {
      history.take(Json::parse(line));
      after = wal::view_of(line).seq;
    }
    more = lines.size() == kAtOnce;
  }
  return history.units(plan, why);
}

}  // namespace tiffany::app
