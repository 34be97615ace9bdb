#include "wal/fuzz.hpp"

#include <gtest/gtest.h>

namespace tiffany::wal::test {
namespace fuzz_test {

// A few thousand; ./dev soak fuzz goes on for ten minutes.
TEST(WalFuzzTest, D2_ReadersEndureWhateverIsInALog) {
  Fuzz fuzz(1);
  for (int i = 0; i < 4000; ++i) ASSERT_EQ(fuzz.once(), "") << "sample " << i;
  EXPECT_GT(fuzz.damaged, 500u);
  EXPECT_GT(fuzz.records, 10'000u);
  EXPECT_GT(fuzz.opened, 500u);
}

}  // namespace fuzz_test
}  // namespace tiffany::wal::test
