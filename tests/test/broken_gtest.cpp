// The broken programs as GoogleTest tests. They fail, so this program is not among the tests.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "tiffany/test/gtest.hpp"

namespace {

using namespace tiffany::test;

TEST(Broken, LostUpdate) {
  const auto result = explore(broken::lost_update, Seeds(1000), for_this_test());
  EXPECT_TRUE(result) << result.text();
}

TEST(Broken, OrderViolation) {
  const auto result = explore(broken::order_violation, Seeds(1000), for_this_test());
  EXPECT_TRUE(result) << result.text();
}

TEST(Broken, DeadlockOfThree) {
  const auto result = explore(broken::deadlock_of_three, Seeds(1000), for_this_test());
  EXPECT_TRUE(result) << result.text();
}

}  // namespace
