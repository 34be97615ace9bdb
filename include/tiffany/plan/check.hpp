// Reads a plan from YAML or JSON, and says everything that is wrong with it at once.
//
//   plan::Checked checked = plan::check(text, "deploy.yaml");
//   if (!checked.plan) std::cerr << checked.text();
//
//   deploy.yaml:7:5: The step "build" has no key "need". Did you mean "needs"?
//
// Everything is bounded (plan/plan.hpp): a text of any content costs at most so much memory and
// time, anchors that multiply included.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/plan/plan.hpp"

namespace tiffany::plan {

// Lines and columns are counted from one; zero: the plan as a whole.
struct Mistake {
  int line = 0;
  int column = 0;
  std::string sentence;
};

struct Checked {
  std::optional<Plan> plan;  // none: there are mistakes
  std::vector<Mistake> mistakes;
  std::string file;
  // A line for each mistake, in the order of the file.
  std::string text() const;
};

// The texts of the files that steps name with `plan:`, by their paths as files_of() gives them.
using Files = std::map<std::string, std::string>;

// `file` is for the sentences, and what paths of sub-plans start from. A mistake of a sub-plan is
// one at the step that names it. Never throws for what is in the texts.
Checked check(std::string_view text, std::string file, const Files& files = {});
// The files that the steps of this text name with `plan:`: paths from the place where `file` is,
// without "." and "..", at most kMostFiles. What is wrong in the text is left to check().
std::vector<std::string> files_of(std::string_view text, const std::string& file);

using Values = std::map<std::string, std::string>;
// The parameters of a plan with what was given and defaults for the rest. Errc::bad_plan for a name
// that the plan does not have, one that is missing, and a value that does not fit.
Values with_defaults(const Plan& plan, const Values& given);

}  // namespace tiffany::plan
