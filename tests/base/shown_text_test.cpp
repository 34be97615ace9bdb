#include "../../src/base/shown_text.hpp"

#include <gtest/gtest.h>

namespace tiffany {
namespace shown_text_test {

TEST(ShownText, LeavesWhatCanBeReadAsItIs) {
  EXPECT_EQ(detail::shown(""), "");
  EXPECT_EQ(detail::shown("Grüße, {\"a\":\"\\n\"} \xF0\x9F\x90\x88"),
            "Grüße, {\"a\":\"\\n\"} \xF0\x9F\x90\x88");
}

TEST(ShownText, EscapesWhatMovesACursorOrTurnsTextAround) {
  EXPECT_EQ(detail::shown("\x1b[31m"), "\\u001b[31m");
  EXPECT_EQ(detail::shown("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(detail::shown(std::string_view("\0\x7f", 2)), "\\u0000\\u007f");
  EXPECT_EQ(detail::shown("\xc2\x9b"), "\\u009b");
  EXPECT_EQ(detail::shown("\xe2\x80\xae"), "\\u202e");
  EXPECT_EQ(detail::shown("\xe2\x80\xa8"), "\\u2028");
  EXPECT_EQ(detail::shown("\xff\x9b"), "\\xff\\x9b");
  EXPECT_EQ(detail::shown("\xe2\x80"), "\\xe2\\x80");
}

}  // namespace shown_text_test
}  // namespace tiffany
