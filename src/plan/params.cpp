// The parameters of plans: their types, defaults and choices.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "plan/sub_plans.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany {

void Codec<plan::SubPlan>::write(JsonWriter& out, const plan::SubPlan& value) {
  if (value.plan == nullptr) return out.null();
  write_json(out, *value.plan);
}
plan::SubPlan Codec<plan::SubPlan>::read(JsonReader& in) {
  plan::SubPlan sub;
  if (in.kind() == JsonKind::null) {
    in.null();
  } else {
    sub.plan = std::make_shared<const plan::Plan>(read_json<plan::Plan>(in));
  }
  return sub;
}

}  // namespace tiffany

namespace tiffany::plan {

std::string value_problem(const Param& param, const std::string& value) {
  bool fits = true;
  if (param.type == "integer") {
    std::int64_t number = 0;
    const char* const last = value.data() + value.size();
    const auto [end, error] = std::from_chars(value.data(), last, number);
    fits = error == std::errc() && end == last;
  } else if (param.type == "number") {
    char* end = nullptr;
    std::strtod(value.c_str(), &end);
    fits = !value.empty() && *end == '\0';
  } else if (param.type == "boolean") {
    fits = value == "true" || value == "false";
  }
  const std::string of = "The parameter \"" + param.name + "\" ";
  if (!fits) return of + "is of the type " + param.type + ", and \"" + value + "\" is not.";
  if (value.find('\0') != std::string::npos) return of + "has a zero byte.";
  const std::vector<std::string>& choices = param.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) {
    return "";
  }
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : ", ") + choice;
  return of + "is one of " + all + ", and not \"" + value + "\".";
}

Values with_defaults(const Plan& plan, const Values& given) {
  const auto refuse = [](const std::string& why) { throw Error(Errc::bad_plan, why); };
  Values all;
  for (const Param& param : plan.params) {
    const auto found = given.find(param.name);
    if (found == given.end() && !param.value) {
      refuse("The parameter \"" + param.name + "\" of the plan \"" + plan.name +
             "\" has no default, and was not given.");
    }
    const std::string value = found == given.end() ? *param.value : found->second;
    const std::string problem = value_problem(param, value);
    if (!problem.empty()) refuse(problem);
    all[param.name] = value;
  }
  for (const auto& [name, value] : given) {
    if (all.count(name) != 0) continue;
    std::vector<std::string_view> known;
    for (const Param& param : plan.params) known.push_back(param.name);
    refuse("The plan \"" + plan.name + "\" has no parameter \"" + name + "\"." +
           did_you_mean(name, known));
  }
  return all;
}

}  // namespace tiffany::plan
