// Names of the commands of a durable task.
#include <gtest/gtest.h>

#include <string>

#include "../../src/durable/code_state.hpp"

namespace tiffany::detail {
namespace command_names_test {

TEST(CommandNames, TheSameNameAgainHasTheNextNumber) {
  CommandNames names;
  EXPECT_EQ(names.next("charge"), "charge#1");
  EXPECT_EQ(names.next("charge"), "charge#2");
  EXPECT_EQ(names.next("ship"), "ship#1");
  EXPECT_EQ(names.next("charge"), "charge#3");
  names.enter("pay");
  EXPECT_EQ(names.next("charge"), "pay/charge#1");
  EXPECT_EQ(names.next("go", "signal "), "pay/signal go#1");
  names.enter("card");
  EXPECT_EQ(names.next("charge"), "pay/card/charge#1");
  names.leave_to(4);
  EXPECT_EQ(names.next("charge"), "pay/charge#2");
  names.leave_to(0);
  EXPECT_EQ(names.next("charge"), "charge#4");
}

TEST(CommandNames, OneThatBeginsLikeAnotherIsAnotherOne) {
  CommandNames names;
  const std::string longest(200, 'x');
  EXPECT_EQ(names.next("a"), "a#1");
  EXPECT_EQ(names.next("ab"), "ab#1");
  EXPECT_EQ(names.next(longest), longest + "#1");
  EXPECT_EQ(names.next(longest.substr(1)), longest.substr(1) + "#1") << "beyond the small block";
  EXPECT_EQ(names.next("a"), "a#2");
  EXPECT_EQ(names.next("ab"), "ab#2");
  EXPECT_EQ(names.next(longest), longest + "#2");
}

TEST(CommandNames, NumbersGoOnHoweverManyNamesThereAre) {
  CommandNames names;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 100; ++i) {
      const std::string name = "step " + std::to_string(i);
      EXPECT_EQ(names.next(name), name + "#" + std::to_string(round));
    }
  }
}

TEST(CommandNames, TheyBeginAnewAfterACheckpoint) {
  CommandNames names;
  for (int i = 0; i < 20; ++i) names.next(std::to_string(i));
  names.enter("pay");
  names.clear();
  EXPECT_EQ(names.next("3"), "3#1");
}

}  // namespace command_names_test
}  // namespace tiffany::detail
