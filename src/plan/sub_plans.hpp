// The plans of steps: files that are read with the plan that names them, and become a part of it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plan/check_step.hpp"
#include "plan/reader.hpp"
#include "tiffany/plan/check.hpp"

namespace tiffany::plan {

// "jobs/test.yaml" of "../test.yaml" in "jobs/nightly/all.yaml".
std::string path_from(std::string_view file, std::string_view named);

// One check: what was read so far, and the way from the first plan to where it is now.
class SubPlans {
 public:
  explicit SubPlans(const Files& files) : files_(files) {}

  // The plan that is asked for, with those that its steps name.
  Checked check_first(std::string_view text, std::string file);
  // Reads the plans that these steps name, and checks what the steps give to them.
  void add_to(Reader& reader, std::vector<ReadStep>& steps);

 private:
  struct Known {
    std::shared_ptr<const Plan> plan;  // none: it has mistakes
    std::vector<std::string> mistakes;
    std::size_t height = 1;  // plans in one another, this one included
    std::size_t steps = 0;   // of all of them
    std::size_t bytes = 0;   // as JSON
  };
  // Of one plan that is being read.
  struct Open {
    std::string file;
    std::size_t height = 1;
    std::size_t steps = 0;
    std::size_t bytes = 0;
  };
  // The plan in which the way ends now.
  Checked check(std::string_view text, std::string file);
  std::string way_to(const std::string& path) const;
  const Known& known(const std::string& path);
  void add(Reader& reader, ReadStep& each, const Node& at);

  const Files& files_;
  std::map<std::string, Known> known_;
  std::vector<Open> way_;
};

// Somebody has to approve something in the plan, or in a plan of its steps.
bool has_approval(const Plan& plan);

// Why a text is no value of the parameter; empty: it is one.
std::string value_problem(const Param& param, const std::string& value);

}  // namespace tiffany::plan
