#include "tiffany/plan/graph.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/json.hpp"

namespace tiffany::plan {
namespace {

using Levels = std::map<std::string, std::size_t>;

// How many steps come before each at least, one after the other. Each step is taken when all that
// it needs are.
Levels levels_of(const std::vector<Step>& steps) {
  std::map<std::string, std::vector<const Step*>> needed_by;
  std::map<const Step*, std::size_t> open;
  std::vector<const Step*> free;
  Levels levels;
  for (const Step& step : steps) {
    levels[step.name] = 0;
    for (const std::string& need : step.needs) needed_by[need].push_back(&step);
    open[&step] = step.needs.size();
    if (step.needs.empty()) free.push_back(&step);
  }
  while (!free.empty()) {
    const Step* const step = free.back();
    free.pop_back();
    for (const Step* const next : needed_by[step->name]) {
      levels[next->name] = std::max(levels[next->name], levels[step->name] + 1);
      if (--open[next] == 0) free.push_back(next);
    }
  }
  return levels;
}

std::string kind_of(const Step& step) {
  if (!step.approve.empty()) return "approval";
  if (step.plan.plan != nullptr) return "plan";
  return step.shell.empty() ? "command" : "shell";
}

std::string marks_of(const Step& step) {
  std::string marks;
  const auto add = [&](const std::string& mark) { marks += (marks.empty() ? "" : ", ") + mark; };
  if (!step.approve.empty()) add("approval");
  if (step.plan.plan != nullptr) add("plan " + step.plan.plan->name);
  if (step.each) {
    add(step.items_of.empty() ? "for each of " + std::to_string(step.items.size())
                              : std::string("for each line"));
  }
  if (!step.condition.empty()) add("if " + step.condition);
  if (step.retry.attempts > 1) add(std::to_string(step.retry.attempts) + " attempts");
  if (step.at_most_once) add("at most once");
  return marks.empty() ? "" : "  (" + marks + ")";
}

template <class F>
void for_each_phase(const Plan& plan, F f) {
  f("steps", plan.steps);
  f("on_failure", plan.on_failure);
  f("finally", plan.finally);
}

void draw_plan(std::string& out, const Plan& plan, const std::string& indent);

void draw(std::string& out, const std::vector<Step>& steps, const std::string& indent) {
  const Levels levels = levels_of(steps);
  std::size_t deepest = 0;
  for (const auto& [name, level] : levels) deepest = std::max(deepest, level);
  for (std::size_t level = 0; level <= deepest; ++level) {
    for (const Step& step : steps) {
      if (levels.at(step.name) != level) continue;
      std::string needs;
      for (const std::string& need : step.needs) needs += (needs.empty() ? "" : ", ") + need;
      const std::string before = indent + std::string(2 * level, ' ');
      out += before + "[" + step.name + "]";
      if (!needs.empty()) out += " <- " + needs;
      out += marks_of(step) + "\n";
      if (step.plan.plan != nullptr) draw_plan(out, *step.plan.plan, before + "  | ");
    }
  }
}

void draw_plan(std::string& out, const Plan& plan, const std::string& indent) {
  for_each_phase(plan, [&](const char* phase, const std::vector<Step>& steps) {
    if (steps.empty()) return;
    if (std::string_view(phase) != "steps") out += indent + phase + ":\n";
    draw(out, steps, indent);
  });
}

std::string dot_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

// Names of the steps of a sub-plan begin with that of its step.
void add_dot(std::string& out, const Plan& plan, const std::string& path, int& cluster) {
  for_each_phase(plan, [&](const char* phase, const std::vector<Step>& steps) {
    if (steps.empty()) return;
    const std::string label = path.empty() ? phase : path + phase;
    out += "  subgraph cluster_" + std::to_string(cluster++) + " {\n    label=" + dot_text(label) +
           ";\n";
    for (const Step& step : steps) {
      const std::string name = path + step.name;
      out += "    " + dot_text(name);
      if (!path.empty()) out += " [label=" + dot_text(step.name) + "]";
      if (!step.approve.empty()) out += " [shape=diamond]";
      if (step.plan.plan != nullptr) out += " [peripheries=2]";
      out += ";\n";
      for (const std::string& need : step.needs) {
        out += "    " + dot_text(path + need) + " -> " + dot_text(name) + ";\n";
      }
    }
    out += "  }\n";
    for (const Step& step : steps) {
      if (step.plan.plan == nullptr) continue;
      const std::string below = path + step.name + "/";
      add_dot(out, *step.plan.plan, below, cluster);
      for (const Step& first : step.plan.plan->steps) {
        if (!first.needs.empty()) continue;
        out += "  " + dot_text(path + step.name) + " -> " + dot_text(below + first.name) +
               " [style=dashed];\n";
      }
    }
  });
}

void add_json(JsonWriter& json, const Plan& plan) {
  json.begin_object();
  json.member("plan", plan.name);
  json.key("nodes");
  json.begin_array();
  for_each_phase(plan, [&](const char* phase, const std::vector<Step>& steps) {
    const Levels levels = levels_of(steps);
    for (const Step& step : steps) {
      json.begin_object();
      json.member("name", step.name);
      json.member("kind", kind_of(step));
      json.member("phase", phase);
      json.member("level", levels.at(step.name));
      if (step.plan.plan != nullptr) {
        json.key("graph");
        add_json(json, *step.plan.plan);
      }
      json.end_object();
    }
  });
  json.end_array();
  json.key("edges");
  json.begin_array();
  for_each_phase(plan, [&](const char*, const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      for (const std::string& need : step.needs) {
        json.begin_array();
        json.value(need);
        json.value(step.name);
        json.end_array();
      }
    }
  });
  json.end_array();
  json.end_object();
}

}  // namespace

std::string graph_text(const Plan& plan) {
  std::string out = plan.name + "\n";
  draw_plan(out, plan, "");
  return out;
}

std::string graph_dot(const Plan& plan) {
  std::string out = "digraph " + dot_text(plan.name) + " {\n  rankdir=LR;\n  node [shape=box];\n";
  int cluster = 0;
  add_dot(out, plan, "", cluster);
  return out + "}\n";
}

std::string graph_json(const Plan& plan) {
  std::string out;
  JsonWriter json(out);
  add_json(json, plan);
  return out;
}

}  // namespace tiffany::plan
