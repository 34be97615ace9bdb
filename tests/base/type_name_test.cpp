#include "tiffany/base/type_name.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiffany {
namespace type_name_test {

TEST(TypeName, IsWhatTheCompilerCallsTheType) {
  EXPECT_EQ(type_name<int>(), "int");
  EXPECT_EQ(type_name<std::vector<int>*>().substr(0, 11), "std::vector");
  EXPECT_EQ(type_name<int[3]>().back(), ']');
}

}  // namespace type_name_test
}  // namespace tiffany
