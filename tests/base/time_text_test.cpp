#include "tiffany/base/time_text.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace tiffany {
namespace time_text_test {

using namespace std::chrono_literals;

TEST(TimeText, P6_DurationsReadWellAndLoseNothing) {
  EXPECT_EQ(duration_text(0ns), "0 ns");
  EXPECT_EQ(duration_text(999ns), "999 ns");
  EXPECT_EQ(duration_text(1us), "1 us");
  EXPECT_EQ(duration_text(1500ns), "1.5 us");
  EXPECT_EQ(duration_text(5ms), "5 ms");
  EXPECT_EQ(duration_text(5ms + 1ns), "5.000001 ms");
  EXPECT_EQ(duration_text(90s), "90 s");
  EXPECT_EQ(duration_text(1s + 20ns), "1.00000002 s");
  EXPECT_EQ(duration_text(-250ms), "-250 ms");
  EXPECT_EQ(duration_text(Duration::max()), "9223372036.854775807 s");
  EXPECT_EQ(duration_text(Duration::min()), "-9223372036.854775808 s");
  EXPECT_EQ(time_text(Time(5ms)), "5 ms");
}

}  // namespace time_text_test
}  // namespace tiffany
