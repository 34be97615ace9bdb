#include "tiffany/agent/rules.hpp"

#include <algorithm>
#include <utility>

#include "tiffany/base/canonical_json.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {

std::string rule_id(const std::string& tool, const std::string& pin, const std::string& arguments,
                    const std::string& repository) {
  constexpr std::size_t kDigits = 16;
  std::string text;
  JsonWriter out(text);
  try {
    const std::string canonical = canonical_json(arguments);
    out.begin_array();
    out.value(tool);
    out.value(pin);
    out.value(canonical);
    out.value(repository);
    out.end_array();
  } catch (const Error&) {  // what two programs may read differently is asked for each time
    return "";
  }
  return sha256_hex(text).substr(0, kDigits);
}

RuleBook::RuleBook(std::string_view text, Save save) : save_(std::move(save)) {
  if (text.empty()) return;
  rules_ = from_json<std::vector<StandingRule>>(text);
  if (rules_.size() > kMost) {
    throw Error(Errc::bad_argument, "There are " + std::to_string(rules_.size()) +
                                        " standing rules, and " + std::to_string(kMost) +
                                        " are the most.");
  }
  for (const StandingRule& each : rules_) {
    if (each.id == rule_id(each.tool, each.pin, each.arguments, each.repository)) continue;
    throw Error(Errc::bad_argument, "The standing rule \"" + each.id + "\" for the tool \"" +
                                        each.tool +
                                        "\" is not what somebody allowed: its id does "
                                        "not fit. Remove it from the file.");
  }
}

bool RuleBook::has(std::string_view id) const noexcept {
  return !id.empty() && std::any_of(rules_.begin(), rules_.end(),
                                    [&](const StandingRule& each) { return each.id == id; });
}

void RuleBook::add(StandingRule rule) {
  rule.id = rule_id(rule.tool, rule.pin, rule.arguments, rule.repository);
  if (rule.id.empty()) throw Error(Errc::bad_argument, "These arguments cannot be a rule.");
  rule.arguments = canonical_json(rule.arguments);
  if (has(rule.id)) return;
  if (rules_.size() >= kMost) {
    throw Error(Errc::bad_argument, "There are " + std::to_string(kMost) +
                                        " standing rules, which is the limit. Remove one.");
  }
  std::vector<StandingRule> more = rules_;
  more.push_back(std::move(rule));
  keep(std::move(more));
}

bool RuleBook::remove(std::string_view id) {
  if (!has(id)) return false;
  std::vector<StandingRule> fewer = rules_;
  std::erase_if(fewer, [&](const StandingRule& each) { return each.id == id; });
  keep(std::move(fewer));
  return true;
}

void RuleBook::keep(std::vector<StandingRule> rules) {
  if (save_) save_(to_json(rules));
  rules_ = std::move(rules);
}

}  // namespace tiffany::agent
