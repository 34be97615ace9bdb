#include "plan/sub_plans.hpp"

#include <algorithm>
#include <utility>

#include "plan/document.hpp"

namespace tiffany::plan {
namespace {

constexpr std::size_t kLongestPath = 4096;

const Node& place_of(const Node& step, std::string_view key) {
  const Node* const at = Reader::member(step, key);
  return at == nullptr ? step : *at;
}

// Values without expressions are known now; the others when the step begins.
void check_with(Reader& reader, const ReadStep& each, const Plan& sub) {
  const Node& with = place_of(*each.node, "with");
  const std::string step = "The step \"" + each.step.name + "\"";
  for (const auto& [name, value] : each.step.with) {
    const auto param = std::find_if(sub.params.begin(), sub.params.end(),
                                    [&](const Param& known) { return known.name == name; });
    const Node& at = place_of(with, name);
    if (param == sub.params.end()) {
      std::vector<std::string_view> all;
      for (const Param& known : sub.params) all.push_back(known.name);
      reader.complain(at, step + " gives \"" + name + "\" to the plan \"" + sub.name +
                              "\", which has no such parameter." + did_you_mean(name, all));
    } else if (value.find("${{") == std::string::npos) {
      const std::string problem = value_problem(*param, value);
      if (!problem.empty()) reader.complain(at, problem);
    }
  }
  for (const Param& param : sub.params) {
    const bool given = std::any_of(each.step.with.begin(), each.step.with.end(),
                                   [&](const auto& one) { return one.first == param.name; });
    if (given || param.value) continue;
    reader.complain(place_of(*each.node, "plan"), step + " does not give the parameter \"" +
                                                      param.name + "\" of the plan \"" + sub.name +
                                                      "\", which has no default. Add it: with: {" +
                                                      param.name + ": ...}.");
  }
}

}  // namespace

std::string path_from(std::string_view file, std::string_view named) {
  const std::size_t slash = file.rfind('/');
  const bool absolute = named.starts_with('/');
  std::string all(absolute || slash == std::string_view::npos ? "" : file.substr(0, slash + 1));
  all += named;
  std::vector<std::string_view> parts;
  const bool from_root = all.starts_with('/');
  for (std::string_view rest = all; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (part != ".." || !from_root) {
      parts.push_back(part);
    }
  }
  std::string path = from_root ? "/" : "";
  for (const std::string_view part : parts) {
    if (!path.empty() && path.back() != '/') path += '/';
    path += part;
  }
  return path;
}

std::vector<std::string> files_of(std::string_view text, const std::string& file) {
  std::vector<Mistake> mistakes;
  std::vector<std::string> all;
  const Node root = read_document(text, mistakes);
  if (!mistakes.empty()) return all;
  for (const char* const phase : {"steps", "on_failure", "finally"}) {
    const Node* const steps = Reader::member(root, phase);
    if (steps == nullptr) continue;
    for (const Node& step : steps->items) {
      const Node* const at = Reader::member(step, "plan");
      if (at == nullptr || at->text.empty() || at->text.size() > kLongestPath) continue;
      std::string path = path_from(file, at->text);
      if (std::find(all.begin(), all.end(), path) != all.end()) continue;
      if (all.size() == kMostFiles) return all;
      all.push_back(std::move(path));
    }
  }
  return all;
}

bool has_approval(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return !step.approve.empty() || (step.plan.plan != nullptr && has_approval(*step.plan.plan));
  });
}

std::string SubPlans::way_to(const std::string& path) const {
  std::string text;
  bool inside = false;
  for (const Open& each : way_) {
    inside = inside || each.file == path;
    if (inside) text += "\"" + each.file + "\" has ";
  }
  return text + "\"" + path + "\"";
}

Checked SubPlans::check_first(std::string_view text, std::string file) {
  way_.push_back({path_from("", file)});
  return check(text, std::move(file));
}

// Each file is read once, however often it is named.
const SubPlans::Known& SubPlans::known(const std::string& path) {
  const auto before = known_.find(path);
  if (before != known_.end()) return before->second;
  Known made;
  way_.push_back({path});
  Checked checked = check(files_.at(path), path);
  const Open read = std::move(way_.back());
  way_.pop_back();
  if (checked.plan) {
    checked.plan->schedule.reset();  // of a plan that is run by itself
    made.height = read.height;
    made.steps = read.steps;
    made.bytes = to_json(*checked.plan).size();
    made.plan = std::make_shared<const Plan>(std::move(*checked.plan));
  }
  for (const Mistake& each : checked.mistakes) {
    Checked one;
    one.file = path;
    one.mistakes = {each};
    std::string line = one.text();
    line.pop_back();
    made.mistakes.push_back(std::move(line));
  }
  return known_.emplace(path, std::move(made)).first->second;
}

void SubPlans::add(Reader& reader, ReadStep& each, const Node& at) {
  const std::string step = "The step \"" + each.step.name + "\"";
  if (!at.is(Node::Kind::scalar)) return;  // the reader of the step has said so
  if (at.text.empty() || at.text.size() > kLongestPath ||
      at.text.find("${{") != std::string::npos) {
    return reader.complain(at, "\"plan\" of the step \"" + each.step.name +
                                   "\" is the path of a file, from the place of this one, without "
                                   "expressions: the file is read when the plan is.");
  }
  const std::string path = path_from(way_.back().file, at.text);
  const bool circle =
      std::any_of(way_.begin(), way_.end(), [&](const Open& open) { return open.file == path; });
  if (circle) {
    return reader.complain(at, step + " would never end: " + way_to(path) + " in it.");
  }
  const auto refuse_depth = [&] {
    reader.complain(at, step + " would have more than " + std::to_string(kDeepestPlans) +
                            " plans in one another. Make the plans flatter.");
  };
  if (way_.size() >= kDeepestPlans) return refuse_depth();
  if (known_.count(path) == 0 && known_.size() + way_.size() > kMostFiles) {
    return reader.complain(at, "The plan has more than " + std::to_string(kMostFiles) +
                                   " files in it. Make several plans of it.");
  }
  if (files_.count(path) == 0) {
    return reader.complain(at, step + " has the plan \"" + at.text + "\", and the file \"" + path +
                                   "\" is not there, or cannot be read.");
  }
  const Known& sub = known(path);
  for (const std::string& mistake : sub.mistakes) reader.complain(at, mistake);
  if (sub.plan == nullptr) return;
  Open& around = way_.back();
  if (way_.size() + sub.height > kDeepestPlans) return refuse_depth();
  around.height = std::max(around.height, 1 + sub.height);
  around.steps += sub.steps;
  around.bytes += sub.bytes;
  if (around.steps > kMostSteps || around.bytes > kMostEmbedded) {
    return reader.complain(
        at, "With the plan \"" + at.text + "\" the plan has " + std::to_string(around.steps) +
                " steps and sub-plans of " + std::to_string(around.bytes) + " bytes, and at most " +
                std::to_string(kMostSteps) + " and " + std::to_string(kMostEmbedded) +
                " are taken. Use foreach, or run some of the plans by themselves.");
  }
  each.step.plan.plan = sub.plan;
  for (const auto& [name, text] : sub.plan->outputs) each.step.outputs.push_back(name);
  check_with(reader, each, *sub.plan);
}

void SubPlans::add_to(Reader& reader, std::vector<ReadStep>& steps) {
  way_.back().steps += steps.size();
  for (ReadStep& each : steps) {
    if (reader.full()) return;
    if (const Node* const at = Reader::member(*each.node, "plan")) add(reader, each, *at);
  }
}

}  // namespace tiffany::plan
