#include "../../src/base/utf8.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tiffany::utf8_test {

using detail::utf8_prefix;

TEST(Utf8Prefix, IsTheWholeTextWhenThatIsShort) {
  EXPECT_EQ(utf8_prefix("", 0), "");
  EXPECT_EQ(utf8_prefix("abc", 3), "abc");
  EXPECT_EQ(utf8_prefix("\u4e2d", 3), "\u4e2d");
}

TEST(Utf8Prefix, EndsBetweenCharacters) {
  const std::string_view text = "a\u00e9\u4e2d\U0001f600z";  // 1 + 2 + 3 + 4 + 1 bytes
  const std::string_view whole[] = {"",
                                    "a",
                                    "a",
                                    "a\u00e9",
                                    "a\u00e9",
                                    "a\u00e9",
                                    "a\u00e9\u4e2d",
                                    "a\u00e9\u4e2d",
                                    "a\u00e9\u4e2d",
                                    "a\u00e9\u4e2d",
                                    "a\u00e9\u4e2d\U0001f600"};
  for (std::size_t longest = 0; longest < text.size(); ++longest) {
    EXPECT_EQ(utf8_prefix(text, longest), whole[longest]) << longest;
  }
}

TEST(Utf8Prefix, OfBytesThatAreNoTextIsAsLongAsItMayBe) {
  const std::string bytes(100, '\x80');
  EXPECT_EQ(utf8_prefix(bytes, 50).size(), 50U);
  EXPECT_EQ(utf8_prefix(bytes, 1).size(), 1U);
}

}  // namespace tiffany::utf8_test
