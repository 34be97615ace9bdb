// What people have allowed for good: answers with AnswerScope::rule.
//
//   agent::RuleBook book(text_of_the_file, [](const std::string& text) { save(text); });
//   services.rules = &book;
//
// A rule covers one call: this tool as it is now (its pin), these arguments, in this repository. It
// counts for every task that begins a call afterwards, until somebody removes it. It is no more
// than an answer that was given before: the policy refuses what it refuses, and the third of the
// three things that do not come together (agent/policy.hpp) is asked for all the same. Patches are
// never covered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/codec.hpp"

namespace tiffany::agent {

class StandingRule {
 public:
  StandingRule() = default;
  std::string id{};  // rule_id() of what follows
  std::string tool{};
  std::string pin{};
  std::string arguments{};   // canonical JSON
  std::string repository{};  // empty: calls of agents without one
  std::string who{};
  std::string comment{};
  std::int64_t since_us = 0;  // since 1970
  bool operator==(const StandingRule&) const = default;
};
TIFFANY_JSON(StandingRule, id, tool, pin, arguments, repository, who, comment, since_us);

// 16 hexadecimal digits; empty for arguments that have no canonical form, which no rule covers.
std::string rule_id(const std::string& tool, const std::string& pin, const std::string& arguments,
                    const std::string& repository);

class RuleBook {
 public:
  static constexpr std::size_t kMost = 1000;
  // Returns when the text is on the disk, or throws. It may block: rules are made seldom.
  using Save = std::function<void(const std::string& text)>;

  // `text` is what was saved last; empty: nothing was. Error (bad_argument) when it is none.
  explicit RuleBook(std::string_view text = {}, Save save = {});

  bool has(std::string_view id) const noexcept;
  const std::vector<StandingRule>& all() const noexcept { return rules_; }
  // One that is there stays as it is. Error (bad_argument) for one more than kMost, and for
  // arguments that cannot be a rule. A book that cannot be saved is as it was before.
  void add(StandingRule rule);
  bool remove(std::string_view id);  // false: there is none

 private:
  void keep(std::vector<StandingRule> rules);
  std::vector<StandingRule> rules_;
  Save save_;
};

}  // namespace tiffany::agent
