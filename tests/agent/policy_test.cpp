#include "tiffany/agent/policy.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tiffany/agent/budget.hpp"

namespace tiffany::agent {
namespace policy_test {

ToolTraits traits(bool reads_private, bool untrusted, bool writes_outside) {
  ToolTraits made;
  made.reads_private = reads_private;
  made.untrusted = untrusted;
  made.writes_outside = writes_outside;
  return made;
}

TEST(AgentPolicy, OfPrivateReadsForeignTextAndOutsideWritesTwoComeTogetherAndTheThirdAsks) {
  const Policy policy;
  for (int first = 0; first < 8; ++first) {
    for (int second = 0; second < 8; ++second) {
      Exposure met;
      note(met, traits((first & 1) != 0, (first & 2) != 0, (first & 4) != 0));
      const ToolTraits tool = traits((second & 1) != 0, (second & 2) != 0, (second & 4) != 0);
      const bool asks = decide(policy, "t", tool, met, true).ruling == Ruling::ask;
      const bool all = (first | second) == 7;
      EXPECT_EQ(asks, all && (first != 7 || (second & 4) != 0)) << first << " " << second;
    }
  }
}

TEST(AgentPolicy, ARuleThatAllowsDoesNotAllowTheThird) {
  Policy policy;
  policy.rules.push_back({"*", Ruling::allow});
  Exposure met;
  note(met, traits(true, true, false));
  EXPECT_EQ(decide(policy, "send", traits(false, false, true), met, true).ruling, Ruling::ask);
}

TEST(AgentPolicy, TheFirstRuleThatFitsCounts) {
  Policy policy;
  policy.rules = {{"rm", Ruling::refuse}, {"make", Ruling::allow}, {"*", Ruling::ask}};
  ToolTraits asks = traits(false, true, false);
  asks.ask = true;
  EXPECT_EQ(decide(policy, "rm", asks, {}, true).ruling, Ruling::refuse);
  EXPECT_EQ(decide(policy, "make", asks, {}, false).ruling, Ruling::allow);
  EXPECT_EQ(decide(policy, "other", asks, {}, false).ruling, Ruling::ask);
  EXPECT_EQ(decide(policy, "other", asks, {}, true).ruling, Ruling::allow)
      << "somebody approved it for the task";
}

TEST(AgentPolicy, ReadsBackAndHasAnotherDigestWhenItIsAnotherPolicy) {
  Policy policy;
  policy.rules = {{"rm", Ruling::refuse}};
  const std::string text = to_json(policy);
  EXPECT_EQ(text, R"({"rules":[{"tool":"rm","ruling":"refuse"}],"own_branch_is_free":false})");
  EXPECT_EQ(from_json<Policy>(text).digest(), policy.digest());
  EXPECT_NE(Policy().digest(), policy.digest());
}

TEST(AgentBudget, WhatIsReservedAndSettledIsWhatWasUsed) {
  Amounts spent;
  Amounts reserved;
  reserved.tokens = 1000;
  spent.add(reserved);
  Amounts used;
  used.tokens = 30;
  spent.settle(reserved, used);
  EXPECT_EQ(spent.tokens, 30);
}

TEST(AgentBudget, NumbersOfEndpointsAndPeopleDoNotOverflowOrGiveBack) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Amounts spent;
  Amounts huge;
  huge.tokens = kMost;
  spent.add(huge);
  spent.add(huge);
  EXPECT_EQ(spent.tokens, kMost);
  Amounts negative;
  negative.tokens = -5;
  Amounts fresh;
  fresh.add(negative);
  EXPECT_EQ(fresh.tokens, 0);
  BudgetLimits limits;
  limits.tokens = 10;
  limits.raise(negative);
  EXPECT_EQ(limits.tokens, 10);
  limits.raise(huge);
  EXPECT_EQ(limits.tokens, kMost);
  EXPECT_EQ(over_budget(limits, {}, huge), "");
  limits.tokens = 0;
  EXPECT_NE(over_budget(limits, {}, huge), "");
}

}  // namespace policy_test
}  // namespace tiffany::agent
