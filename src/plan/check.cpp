#include "tiffany/plan/check.hpp"

#include <algorithm>
#include <tuple>

#include "plan/check_step.hpp"
#include "plan/document.hpp"
#include "plan/reader.hpp"
#include "plan/sub_plans.hpp"
#include "tiffany/base/cron.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::plan {
namespace {

const std::vector<std::string_view> kTypes = {"string", "integer", "number", "boolean"};

class PlanReader {
 public:
  PlanReader(std::vector<Mistake>& mistakes, SubPlans& sub_plans)
      : in_(mistakes), sub_plans_(sub_plans) {}

  Plan read(const Node& root) {
    if (!in_.require_map(
            root, "The plan",
            {"name", "about", "params", "env", "secrets", "directory", "timeout", "retry",
             "at_once", "steps", "on_failure", "finally", "schedule", "outputs"})) {
      return plan_;
    }
    const auto on = [&](const char* key, auto f) {
      if (const Node* const at = Reader::member(root, key)) f(*at);
    };
    on("name", [&](const Node& at) { plan_.name = in_.text(at, "The name of the plan"); });
    on("about", [&](const Node& at) { plan_.about = in_.text(at, "\"about\""); });
    on("params", [&](const Node& at) { read_params(at); });
    on("at_once", [&](const Node& at) {
      plan_.at_once = static_cast<int>(in_.whole(at, "\"at_once\"", 1, 1000, kDefaultAtOnce));
    });
    on("env", [&](const Node& at) { defaults_.env = read_env(in_, at, "\"env\" of the plan"); });
    on("secrets", [&](const Node& at) {
      defaults_.secrets = read_secrets(in_, at, "\"secrets\" of the plan");
    });
    on("directory", [&](const Node& at) { defaults_.directory = in_.text(at, "\"directory\""); });
    on("timeout", [&](const Node& at) {
      defaults_.timeout_ms = in_.duration(at, "\"timeout\" of the plan", 0);
    });
    on("retry", [&](const Node& at) { defaults_.retry = read_retry(in_, at, "\"retry\""); });
    on("schedule", [&](const Node& at) { read_schedule(at); });
    const Node* const steps = Reader::member(root, "steps");
    if (steps == nullptr) {
      in_.complain(root, "The plan has no steps. Write steps: and a \"- name:\" for each.");
      return plan_;
    }
    std::vector<ReadStep> all = read_steps(in_, *steps, "\"steps\"", defaults_);
    sub_plans_.add_to(in_, all);
    if (steps->is(Node::Kind::list) && all.empty()) in_.complain(*steps, "The plan has no steps.");
    check_references(in_, all, {}, plan_);
    on("outputs", [&](const Node& at) {
      plan_.outputs = read_env(in_, at, "\"outputs\" of the plan");
      check_outputs(in_, at, all, plan_);
    });
    on("on_failure",
       [&](const Node& at) { read_phase(at, "\"on_failure\"", all, plan_.on_failure); });
    on("finally", [&](const Node& at) { read_phase(at, "\"finally\"", all, plan_.finally); });
    for (const ReadStep& each : all) plan_.steps.push_back(each.step);
    return plan_;
  }

 private:
  void read_phase(const Node& at, const std::string& what, const std::vector<ReadStep>& before,
                  std::vector<Step>& into) {
    std::vector<ReadStep> all = read_steps(in_, at, what, defaults_);
    sub_plans_.add_to(in_, all);
    check_references(in_, all, before, plan_);
    for (const ReadStep& each : all) {
      into.push_back(each.step);
      const SubPlan& sub = each.step.plan;
      if (each.step.approve.empty() && (sub.plan == nullptr || !has_approval(*sub.plan))) continue;
      in_.complain(*each.node, "An approval in " + what +
                                   " could hold up what puts things in "
                                   "order. Put it into \"steps\".");
    }
  }

  void read_params(const Node& node) {
    if (!in_.require_map(node, "\"params\"", {})) return;
    for (const auto& [key, value] : node.members) {
      Param param;
      param.name = key.text;
      const std::string of = "The parameter \"" + param.name + "\"";
      if (!in_.require_name(key, param.name, "The name of a parameter")) continue;
      if (value.is(Node::Kind::scalar)) {
        param.value = value.text;  // version: 1.2
      } else if (value.is(Node::Kind::map)) {
        read_param(value, of, param);
      } else if (!value.is(Node::Kind::null)) {
        in_.complain(value, of + " is its default, or a map: {type: integer, default: 3}.");
      }
      plan_.params.push_back(std::move(param));
    }
  }
  void read_param(const Node& node, const std::string& of, Param& param) {
    in_.require_map(node, of, {"type", "default", "choices", "about"});
    if (const Node* const at = Reader::member(node, "type")) {
      param.type = in_.text(*at, of);
      if (std::find(kTypes.begin(), kTypes.end(), param.type) == kTypes.end()) {
        in_.complain(*at, of + " has the type \"" + param.type +
                              "\". Types are string, integer, number and boolean." +
                              did_you_mean(param.type, kTypes));
      }
    }
    if (const Node* const at = Reader::member(node, "about")) param.about = in_.text(*at, of);
    if (const Node* const at = Reader::member(node, "choices")) {
      param.choices = in_.texts(*at, of, 1000);
    }
    if (const Node* const at = Reader::member(node, "default")) {
      param.value = in_.text(*at, of);
      const std::string problem = value_problem(param, *param.value);
      if (!problem.empty()) in_.complain(*at, problem);
    }
  }

  void read_schedule(const Node& node) {
    if (!in_.require_map(node, "\"schedule\"", {"cron", "zone", "overlap", "catch_up"})) return;
    ScheduleSpec spec;
    const Node* const cron = Reader::member(node, "cron");
    if (cron == nullptr) return in_.complain(node, "\"schedule\" has no cron: \"30 2 * * *\".");
    spec.cron = in_.text(*cron, "\"cron\"");
    try {
      static_cast<void>(Cron::parse(spec.cron));
    } catch (const Error& error) {
      in_.complain(*cron, error.what());
    }
    if (const Node* const at = Reader::member(node, "zone")) spec.zone = in_.text(*at, "\"zone\"");
    if (const Node* const at = Reader::member(node, "overlap")) {
      spec.overlap = in_.text(*at, "\"overlap\"");
      if (spec.overlap != "skip" && spec.overlap != "queue" && spec.overlap != "cancel") {
        in_.complain(*at,
                     "\"overlap\" is skip, queue or cancel: what happens to a run when the "
                     "one before has not ended.");
      }
    }
    if (const Node* const at = Reader::member(node, "catch_up")) {
      spec.catch_up = static_cast<std::uint32_t>(in_.whole(*at, "\"catch_up\"", 0, 1000, 1));
    }
    for (const Param& param : plan_.params) {
      if (param.value) continue;
      in_.complain(
          node, "The parameter \"" + param.name + "\" has no default, and a schedule gives none.");
    }
    plan_.schedule = spec;
  }

  Reader in_;
  SubPlans& sub_plans_;
  Plan plan_;
  StepDefaults defaults_;
};

}  // namespace

std::string Checked::text() const {
  std::string all;
  for (const Mistake& each : mistakes) {
    all += file;
    if (each.line > 0) {
      all += ":" + std::to_string(each.line) + ":" + std::to_string(each.column);
    }
    all += ": " + each.sentence + "\n";
  }
  return all;
}

Checked check(std::string_view text, std::string file, const Files& files) {
  return SubPlans(files).check_first(text, std::move(file));
}

Checked SubPlans::check(std::string_view text, std::string file) {
  Checked checked;
  checked.file = std::move(file);
  const Node root = read_document(text, checked.mistakes);
  if (checked.mistakes.empty()) {
    Plan plan = PlanReader(checked.mistakes, *this).read(root);
    if (plan.name.empty()) {
      const std::size_t slash = checked.file.rfind('/');
      plan.name = checked.file.substr(slash == std::string::npos ? 0 : slash + 1);
      plan.name = plan.name.substr(0, plan.name.rfind('.'));
    }
    if (checked.mistakes.empty()) checked.plan = std::move(plan);
  }
  std::sort(
      checked.mistakes.begin(), checked.mistakes.end(), [](const Mistake& a, const Mistake& b) {
        return std::tie(a.line, a.column, a.sentence) < std::tie(b.line, b.column, b.sentence);
      });
  if (checked.mistakes.size() >= kMostMistakes) {
    checked.mistakes.push_back({0, 0,
                                "There may be more mistakes; none was looked for after the first " +
                                    std::to_string(kMostMistakes) + ". Mend these first."});
  }
  return checked;
}

}  // namespace tiffany::plan
