// A step, and what all steps of a plan have to agree on.
#pragma once

#include <string>
#include <vector>

#include "plan/reader.hpp"
#include "tiffany/plan/plan.hpp"

namespace tiffany::plan {

// What a plan says for all of its steps.
struct StepDefaults {
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<exec::Secret> secrets;
  std::string directory;
  std::int64_t timeout_ms = 0;
  RetryPolicy retry;
};

// A step and the places of its keys, for what is checked later.
struct ReadStep {
  Step step;
  const Node* node = nullptr;
};

std::vector<ReadStep> read_steps(Reader& reader, const Node& node, const std::string& what,
                                 const StepDefaults& defaults);
std::vector<std::pair<std::string, std::string>> read_env(Reader& reader, const Node& node,
                                                          const std::string& what);
std::vector<exec::Secret> read_secrets(Reader& reader, const Node& node, const std::string& what);
// `step` is the one that has it, as far as it was read: its name and its directory.
exec::Sandbox read_sandbox(Reader& reader, const Node& node, const Step& step);
RetryPolicy read_retry(Reader& reader, const Node& node, const std::string& what);

// Needs that are not there, circles, and expressions that ask for what is not known.
// `earlier`: the steps of a phase before, of which everything is known.
void check_references(Reader& reader, const std::vector<ReadStep>& steps,
                      const std::vector<ReadStep>& earlier, const Plan& plan);
// Likewise of what the plan itself hands on.
void check_outputs(Reader& reader, const Node& at, const std::vector<ReadStep>& steps,
                   const Plan& plan);

}  // namespace tiffany::plan
