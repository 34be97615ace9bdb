// For explore() inside a GoogleTest test: the command then runs that test and no other.
//
//   auto result = explore(body, Seeds(1000), for_this_test());
//   EXPECT_TRUE(result) << result.text();
//
// The one header of Tiffany that needs GoogleTest; nothing else includes it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tiffany/test/explore.hpp"

namespace tiffany::test {

inline ExploreOptions for_this_test() {
  const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string test = std::string(info->test_suite_name()) + "." + info->name();
  return ExploreOptions().name(test).argument("--gtest_filter=" + test);
}

}  // namespace tiffany::test
