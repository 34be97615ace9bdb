#include "tiffany/base/rare_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tiffany {
namespace rare_text_test {

static_assert(sizeof(RareText) == sizeof(void*));

TEST(RareText, IsATextThatTakesAWordWhileItIsEmpty) {
  RareText text;
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text, "");
  text = "because";
  EXPECT_FALSE(text.empty());
  EXPECT_EQ("why: " + text + "!", "why: because!");
  const RareText copy = text;
  text.shorten(2);
  EXPECT_EQ(text, "be");
  text.shorten(9);
  EXPECT_EQ(text, "be");
  text.shorten(0);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(copy, "because");
  text = copy;
  text = std::string();
  EXPECT_TRUE(text.empty());
  const std::string& nothing = text;
  EXPECT_EQ(nothing, "");
  RareText moved = RareText(std::string("x"));
  text = std::move(moved);
  EXPECT_EQ(text, "x");
}

}  // namespace rare_text_test
}  // namespace tiffany
