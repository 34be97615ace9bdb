#include "tiffany/base/assert.hpp"

#include <gtest/gtest.h>

namespace tiffany::assert_test {

TEST(Assert, AConditionThatIsTrueGoesOn) {
  const int two = 2;
  TIFFANY_ASSERT(two == 2, "two is two");
}

#ifdef NDEBUG

TEST(Assert, AReleaseBuildDoesNotEvaluateTheCondition) {
  int asked = 0;
  TIFFANY_ASSERT(++asked == 0, "never evaluated");
  EXPECT_EQ(asked, 0);
}

#else

TEST(AssertDeathTest, AConditionThatIsFalseEndsTheProcessWithASentence) {
  const int two = 2;
  EXPECT_DEATH(TIFFANY_ASSERT(two == 3, "two is no longer two"),
               "two is no longer two \\(two == 3 is false at .*assert_test.cpp:[0-9]+\\)");
}

#endif

}  // namespace tiffany::assert_test
