// What the steps of a plan say about each other: needs, circles, and the paths of expressions.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/check_step.hpp"
#include "plan/expression.hpp"

namespace tiffany::plan {
namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Steps by their numbers, in a bit each: unions of these are made for each pair of steps.
class StepSet {
 public:
  explicit StepSet(std::size_t steps) : words_((steps + 63) / 64) {}
  void add(std::size_t number) { words_[number / 64] |= std::uint64_t{1} << (number % 64); }
  void add_all(const StepSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  bool has(std::size_t number) const { return (words_[number / 64] >> (number % 64) & 1) != 0; }

 private:
  std::vector<std::uint64_t> words_;
};

class References {
 public:
  References(Reader& reader, const std::vector<ReadStep>& steps,
             const std::vector<ReadStep>& earlier, const Plan& plan)
      : in_(reader), steps_(steps) {
    for (const ReadStep& each : earlier) earlier_.emplace(each.step.name, &each.step);
    for (const Param& each : plan.params) params_.insert(each.name);
    for (const ReadStep& each : steps) {
      const auto [before, first] = by_name_.emplace(each.step.name, &each);
      if (!first && !each.step.name.empty()) {
        in_.complain(*each.node, "There are two steps \"" + each.step.name +
                                     "\"; the first is in line " +
                                     std::to_string(before->second->step.line) + ". Rename one.");
      } else if (earlier_.count(each.step.name) != 0) {
        in_.complain(*each.node, "The name \"" + each.step.name +
                                     "\" is that of a step of the plan already. Rename it.");
      }
    }
  }

  // What the plan itself hands on, when all of these steps are earlier ones.
  void check_outputs(const Node& at, const Plan& plan) {
    for (const auto& [name, text] : plan.outputs) {
      if (in_.full()) return;
      Step step;
      step.name = name;
      const Node* const value = Reader::member(at, name);
      try {
        for (const std::string& path : paths_in_text(text)) {
          const std::string asks = "The output \"" + name + "\" of the plan asks for \"" + path;
          const std::string problem = problem_of(asks + "\", ", step, path, false);
          if (!problem.empty()) in_.complain(value == nullptr ? at : *value, problem);
        }
      } catch (const ExpressionProblem& problem) {
        in_.complain(value == nullptr ? at : *value, problem.sentence);
      }
    }
  }

  void check() {
    for (const ReadStep& each : steps_) check_needs(each);
    if (in_.full() || find_circle()) return;  // what is before what is not defined then
    for (const ReadStep& each : steps_) {
      if (in_.full()) return;
      check_expressions(each);
    }
  }

 private:
  const Node& place(const ReadStep& step, std::string_view key) const {
    const Node* const at = Reader::member(*step.node, key);
    return at == nullptr ? *step.node : *at;
  }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> all;
    for (const auto& [name, step] : by_name_) all.push_back(name);
    return all;
  }

  void check_needs(const ReadStep& each) {
    for (const std::string& need : each.step.needs) {
      if (in_.full()) return;
      if (need == each.step.name) {
        in_.complain(place(each, "needs"), "The step \"" + need + "\" needs itself.");
      } else if (by_name_.count(need) == 0) {
        in_.complain(place(each, "needs"), "The step \"" + each.step.name + "\" needs \"" + need +
                                               "\", and there is no step of that name here." +
                                               did_you_mean(need, names()));
      }
    }
  }

  // Takes steps away that need nothing that is left; what cannot be taken away goes in a circle.
  bool find_circle() {
    std::map<std::string, std::set<std::string>> open;
    std::map<std::string, std::vector<std::string>> needed_by;
    std::vector<std::string> free;
    for (const auto& [name, each] : by_name_) {
      numbers_.emplace(name, numbers_.size());
      std::set<std::string>& left = open[name];
      for (const std::string& need : each->step.needs) {
        if (need == name || by_name_.count(need) == 0) continue;
        if (left.insert(need).second) needed_by[need].push_back(name);
      }
      if (left.empty()) free.push_back(name);
    }
    while (!free.empty()) {
      const std::string name = free.back();
      free.pop_back();
      StepSet mine(by_name_.size());
      for (const std::string& need : by_name_.at(name)->step.needs) {
        if (need == name || by_name_.count(need) == 0) continue;
        mine.add(numbers_.at(need));
        mine.add_all(before_.at(need));
      }
      before_.emplace(name, std::move(mine));
      open.erase(name);
      for (const std::string& next : needed_by[name]) {
        const auto found = open.find(next);
        if (found == open.end()) continue;
        found->second.erase(name);
        if (found->second.empty()) free.push_back(next);
      }
    }
    if (open.empty()) return false;
    tell_circle(open);
    return true;
  }
  void tell_circle(const std::map<std::string, std::set<std::string>>& open) {
    std::vector<std::string> way{open.begin()->first};
    for (;;) {  // every one that is left needs another one that is left
      const std::string& next = *open.at(way.back()).begin();
      const auto seen = std::find(way.begin(), way.end(), next);
      if (seen == way.end()) {
        way.push_back(next);
        continue;
      }
      std::string text;
      for (auto each = seen; each != way.end(); ++each) text += "\"" + *each + "\" needs ";
      const ReadStep& first = *by_name_.at(*seen);
      in_.complain(place(first, "needs"),
                   text + "\"" + *seen + "\": none of them can begin. Take one of these away.");
      return;
    }
  }

  void check_expressions(const ReadStep& each) {
    const Step& step = each.step;
    const auto texts = [&](const char* key, const std::string& text, bool item) {
      check_paths(each, key, item, [&] { return paths_in_text(text); });
    };
    for (const std::string& word : step.run) texts("run", word, true);
    for (const std::string& pattern : step.artifacts) texts("artifacts", pattern, true);
    if (step.sandbox) {
      for (const std::string& path : step.sandbox->read) texts("sandbox", path, true);
      for (const std::string& path : step.sandbox->write) texts("sandbox", path, true);
    }
    texts("approve", step.approve, false);
    texts("directory", step.directory, true);
    for (const auto& [name, value] : step.env) texts("env", value, true);
    for (const auto& [name, value] : step.with) texts("with", value, true);
    for (const std::string& item : step.items) texts("foreach", item, false);
    texts("foreach", step.items_of, false);
    if (!step.condition.empty()) {
      check_paths(each, "if", false, [&] { return paths_in(step.condition); });
    }
    if (step.shell.find("${{") != std::string::npos) {
      in_.complain(place(each, "run"),
                   "The step \"" + step.name +
                       "\" puts a value into a text that a shell reads, and the shell would run "
                       "what is in the value. Hand it over as a variable: env: {VALUE: \"${{ ... "
                       "}}\"}, and write \"$VALUE\" in the text.");
    }
  }

  template <class F>
  void check_paths(const ReadStep& each, const char* key, bool item, F paths) {
    if (in_.full()) return;
    try {
      for (const std::string& path : paths()) {
        if (in_.full()) return;
        const std::string asks = "The step \"" + each.step.name + "\" asks for \"" + path + "\", ";
        const std::string problem = problem_of(asks, each.step, path, item);
        if (!problem.empty()) in_.complain(place(each, key), problem);
      }
    } catch (const ExpressionProblem& problem) {
      in_.complain(place(each, key), problem.sentence);
    }
  }

  std::string problem_of(const std::string& asks, const Step& step, const std::string& path,
                         bool item) const {
    const std::vector<std::string> parts = parts_of(path);
    if (path == "task.id" || path == "plan.name") return "";
    if (path == "item") {
      if (step.each && item) return "";
      return asks + "and has no foreach that gives an item here.";
    }
    if (parts[0] == "params" && parts.size() == 2) return param_problem(asks, parts[1]);
    const bool status = parts[0] == "steps" && parts.size() == 3 && parts[2] == "status";
    const bool output = parts[0] == "steps" && parts.size() == 4 && parts[2] == "outputs";
    if (status || output) {
      return step_problem(asks, step, parts[1], output ? parts[3] : std::string());
    }
    return asks +
           "and there is nothing of that name. There are params.NAME, steps.NAME.outputs.NAME, "
           "steps.NAME.status, item, task.id and plan.name." +
           did_you_mean(parts[0], {"params", "steps", "item", "task", "plan"});
  }
  std::string param_problem(const std::string& asks, const std::string& name) const {
    if (params_.count(name) != 0) return "";
    const std::vector<std::string_view> known(params_.begin(), params_.end());
    return asks + "and the plan has no such parameter." + did_you_mean(name, known);
  }
  std::string step_problem(const std::string& asks, const Step& step, const std::string& name,
                           const std::string& output) const {
    const Step* of = nullptr;
    if (const auto found = earlier_.find(name); found != earlier_.end()) {
      of = found->second;
    } else if (const auto here = by_name_.find(name); here != by_name_.end()) {
      of = &here->second->step;
      const auto before = before_.find(step.name);
      if (before == before_.end() || !before->second.has(numbers_.at(name))) {
        return asks + "and does not come after \"" + name + "\". Add it: needs: [" + name + "].";
      }
    } else {
      return asks + "and there is no step \"" + name + "\"." + did_you_mean(name, names());
    }
    if (output.empty()) return "";
    if (of->each) {
      return asks + "and \"" + name +
             "\" has a foreach: it runs several times, and has no output "
             "of its own.";
    }
    if (std::find(of->outputs.begin(), of->outputs.end(), output) != of->outputs.end()) return "";
    if (of->plan.plan != nullptr) {
      return asks + "and the plan \"" + of->plan.plan->name +
             "\" does not say that it gives this. Add it there: outputs: {" + output + ": ...}.";
    }
    return asks + "and \"" + name + "\" does not say that it gives this. Add it there: outputs: [" +
           output + "].";
  }

  Reader& in_;
  const std::vector<ReadStep>& steps_;
  std::map<std::string, const Step*> earlier_;
  std::map<std::string, const ReadStep*, std::less<>> by_name_;
  std::map<std::string, std::size_t> numbers_;  // of the steps, in a StepSet
  std::map<std::string, StepSet> before_;
  std::set<std::string, std::less<>> params_;
};

}  // namespace

void check_references(Reader& reader, const std::vector<ReadStep>& steps,
                      const std::vector<ReadStep>& earlier, const Plan& plan) {
  References(reader, steps, earlier, plan).check();
}

void check_outputs(Reader& reader, const Node& at, const std::vector<ReadStep>& steps,
                   const Plan& plan) {
  const std::vector<ReadStep> none;
  References(reader, none, steps, plan).check_outputs(at, plan);
}

}  // namespace tiffany::plan
