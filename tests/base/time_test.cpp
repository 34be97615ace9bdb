#include "tiffany/base/time.hpp"

#include <gtest/gtest.h>

namespace tiffany {
namespace time_test {

using namespace std::chrono_literals;

TEST(Time, T7_AddingSaturatesAtTheEndOfTimeInsteadOfOverflowing) {
  EXPECT_EQ(detail::saturating_add(Time(5ms), 10ms), Time(15ms));
  EXPECT_EQ(detail::saturating_add(Time(5ms), Duration::max()), kEndOfTime);
  EXPECT_EQ(detail::saturating_add(kEndOfTime, 1ns), kEndOfTime);
  EXPECT_EQ(detail::saturating_add(kEndOfTime - 1ns, 1ns), kEndOfTime);
  EXPECT_EQ(detail::saturating_add(kEndOfTime - 2ns, 1ns), kEndOfTime - 1ns);
  EXPECT_EQ(detail::saturating_add(Time(5ms), 0ns), Time(5ms));
}

}  // namespace time_test
}  // namespace tiffany
