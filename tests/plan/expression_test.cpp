#include "../../src/plan/expression.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tiffany {
namespace plan_expression_test {

std::optional<std::string> value_of(std::string_view path) {
  static const std::map<std::string, std::string, std::less<>> kValues = {
      {"params.n", "10"},
      {"params.word", "a b; $(rm)"},
      {"params.tricky", "${{ params.n }}"},
      {"params.empty", ""}};
  const auto found = kValues.find(path);
  if (found == kValues.end()) return std::nullopt;
  return found->second;
}

TEST(PlanExpression, ValuesGoIntoTextsAndAreNotReadAgain) {
  EXPECT_EQ(plan::expand("<${{ params.word }}|${{params.n}}>", value_of), "<a b; $(rm)|10>");
  EXPECT_EQ(plan::expand("${{ params.tricky }}", value_of), "${{ params.n }}");
  EXPECT_EQ(plan::expand("no $HOME {{ x }} ${x}", value_of), "no $HOME {{ x }} ${x}");
}

TEST(PlanExpression, ConditionsHoldOrDoNot) {
  for (const char* const yes :
       {"true", "params.n == 10", "params.n == '10.0'", "params.n > 9", "params.n <= 10 && 1 < 2",
        "!params.empty", "!!params.n", "(false || params.n) && !(1 == 2)", "'b' > \"a\"",
        "params.empty == ''", "false || true && true"}) {
    EXPECT_TRUE(plan::holds(yes, value_of)) << yes;
  }
  for (const char* const no : {"false", "params.empty", "params.n < 9", "params.word == 'x'",
                               "!true", "true && false", "params.n != 10"}) {
    EXPECT_FALSE(plan::holds(no, value_of)) << no;
  }
}

TEST(PlanExpression, WhatCannotBeReadIsAProblemAndNoCrash) {
  const std::string deep(5000, '(');
  const std::string long_bang(100'000, '!');
  for (const std::string& bad : {std::string(), std::string("1 =="), std::string("(1"),
                                 std::string("'x"), std::string("1 2"), std::string("a b"),
                                 std::string("== 1"), std::string("&&"), deep, long_bang}) {
    EXPECT_THROW(plan::paths_in(bad), plan::ExpressionProblem) << bad.substr(0, 20);
  }
  EXPECT_EQ(plan::paths_in("a.b == c && (d || !e)"),
            (std::vector<std::string>{"a.b", "c", "d", "e"}));
}

}  // namespace plan_expression_test
}  // namespace tiffany
