#include "tiffany/base/hex.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tiffany::hex_test {

TEST(Hex, ANumberHasAsManyDigitsAsAreAskedFor) {
  std::string out = "0x";
  append_hex(out, 0xab, 2);
  EXPECT_EQ(out, "0xab");
  append_hex(out, 0xab, 4);
  EXPECT_EQ(out, "0xab00ab");
  out.clear();
  append_hex(out, 0x0123456789abcdefu, 16);
  EXPECT_EQ(out, "0123456789abcdef");
}

TEST(Hex, DigitsThatAreNotAskedForAreCutOff) {
  std::string out;
  append_hex(out, 0x12345, 3);
  EXPECT_EQ(out, "345");
  append_hex(out, 0x12345, 0);
  EXPECT_EQ(out, "345");
}

}  // namespace tiffany::hex_test
