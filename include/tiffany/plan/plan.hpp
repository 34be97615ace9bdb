// A plan: commands and approvals that depend on each other, as plan::check() reads them from a
// file. to_json(plan) is the canonical text that travels with a task, so that a file that is edited
// later changes nothing that runs. docs/21-plans.md is the page for those who write plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::plan {

inline constexpr const char* kPlanType = "tiffany.plan";  // the type of the tasks that run plans

// What a plan may have. More is refused by the checker.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostSteps = 10'000;
inline constexpr std::size_t kMostItems = 10'000;  // of one foreach
inline constexpr std::size_t kMostMistakes = 100;  // no more are looked for
inline constexpr std::size_t kLongestStepName = 64;
inline constexpr int kDefaultAtOnce = 8;
// Of sub-plans: how many plans stand in one another, how many files, and how many bytes of JSON the
// sub-plans of one plan come to. The steps of all of them together are at most kMostSteps.
inline constexpr std::size_t kDeepestPlans = 8;
inline constexpr std::size_t kMostFiles = 64;
inline constexpr std::size_t kMostEmbedded = 4 * kMostBytes;

struct Param {
  std::string name{};
  std::string type = "string";         // string, integer, number, boolean
  std::optional<std::string> value{};  // the default; none: it must be given
  std::vector<std::string> choices{};  // none: every value
  std::string about{};
};
TIFFANY_JSON(Param, name, type, value, choices, about);

struct RetryPolicy {
  int attempts = 1;
  std::int64_t pause_ms = 1'000;
  double factor = 2;
  std::int64_t longest_ms = 60'000;
  double jitter = 0;
};
TIFFANY_JSON(RetryPolicy, attempts, pause_ms, factor, longest_ms, jitter);

struct Plan;

// The plan of a step, read from its file when the plan around it was. As JSON: the plan, or null.
struct SubPlan {
  std::shared_ptr<const Plan> plan{};
};

}  // namespace tiffany::plan

template <>
struct tiffany::Codec<tiffany::plan::SubPlan> {
  static void write(JsonWriter& out, const plan::SubPlan& value);
  static plan::SubPlan read(JsonReader& in);
};

namespace tiffany::plan {

// One of `run`, `shell`, `approve` and `plan` says what the step does. Texts may have
// ${{ expressions }}.
struct Step {
  std::string name{};
  std::vector<std::string> needs{};
  std::vector<std::string> run{};    // words for a program; no shell reads them
  std::string shell{};               // a text for /bin/sh
  std::string approve{};             // a text that somebody has to approve
  std::string condition{};           // `if`: an expression; empty: always
  std::vector<std::string> items{};  // foreach
  std::string items_of{};            // or a text that has an item in each line
  bool each = false;                 // there is a foreach
  std::vector<std::pair<std::string, std::string>> env{};
  std::vector<exec::Secret> secrets{};
  std::string directory{};
  std::int64_t timeout_ms = 0;
  std::int64_t grace_ms = 5'000;
  RetryPolicy retry{};
  bool at_most_once = false;
  std::vector<std::string> locks{};
  std::vector<std::string> outputs{};
  exec::CommandLimits limits{};
  std::uint64_t output_bytes = std::uint64_t{1} << 20;
  bool allow_failure = false;
  int line = 0;
  std::vector<std::string> artifacts{};                     // files that are kept, as patterns
  SubPlan plan{};                                           // runs as a task of its own
  std::vector<std::pair<std::string, std::string>> with{};  // the parameters of that plan
  std::optional<exec::Sandbox> sandbox{};
};
TIFFANY_JSON(Step, name, needs, run, shell, approve, condition, items, items_of, each, env, secrets,
             directory, timeout_ms, grace_ms, retry, at_most_once, locks, outputs, limits,
             output_bytes, allow_failure, line, artifacts, plan, with, sandbox);
TIFFANY_JSON_ADDED(Step, artifacts, plan, with, sandbox);

struct ScheduleSpec {
  std::string cron{};
  std::string zone{};
  std::string overlap = "skip";  // skip, queue, cancel
  std::uint32_t catch_up = 1;
};
TIFFANY_JSON(ScheduleSpec, cron, zone, overlap, catch_up);

struct Plan {
  Plan() = default;
  std::string name{};
  std::string about{};
  std::vector<Param> params{};
  int at_once = kDefaultAtOnce;
  std::vector<Step> steps{};
  std::vector<Step> on_failure{};  // when a step failed, or the task was cancelled
  std::vector<Step> finally{};     // however it ended
  std::optional<ScheduleSpec> schedule{};
  // What a plan around this one gets as outputs of its step. Texts with expressions.
  std::vector<std::pair<std::string, std::string>> outputs{};
};
TIFFANY_JSON(Plan, name, about, params, at_once, steps, on_failure, finally, schedule, outputs);
TIFFANY_JSON_ADDED(Plan, outputs);

}  // namespace tiffany::plan
