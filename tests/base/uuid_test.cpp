#include "tiffany/base/uuid.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tiffany {
namespace uuid_test {

TEST(Uuid, W1_TextAndParseAreInverse) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const Uuid uuid = Uuid::random(random);
    const std::string text = uuid.text();
    ASSERT_EQ(text.size(), 36u);
    const auto parsed = Uuid::parse(text);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(*parsed, uuid);
  }
}

TEST(Uuid, ARandomOneSaysThatItIsVersionFour) {
  Random random(2);
  for (int i = 0; i < 50; ++i) {
    const std::string text = Uuid::random(random).text();
    EXPECT_EQ(text[14], '4') << text;
    EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos) << text;
  }
}

TEST(Uuid, TheSameSourceGivesTheSameNamesAndNeverTheSameTwice) {
  Random a(3);
  Random b(3);
  std::set<Uuid> seen;
  for (int i = 0; i < 1000; ++i) {
    const Uuid uuid = Uuid::random(a);
    EXPECT_EQ(uuid, Uuid::random(b));
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

TEST(Uuid, EitherCaseIsRead) {
  const auto lower = Uuid::parse("01234567-89ab-4cde-8f01-23456789abcd");
  const auto upper = Uuid::parse("01234567-89AB-4CDE-8F01-23456789ABCD");
  ASSERT_TRUE(lower.has_value());
  ASSERT_TRUE(upper.has_value());
  EXPECT_EQ(*lower, *upper);
  EXPECT_EQ(upper->text(), "01234567-89ab-4cde-8f01-23456789abcd");
}

TEST(Uuid, WhatIsNotAUuidGivesNoValue) {
  EXPECT_FALSE(Uuid::parse(""));
  EXPECT_FALSE(Uuid::parse("01234567-89ab-4cde-8f01-23456789abc"));    // too short
  EXPECT_FALSE(Uuid::parse("01234567-89ab-4cde-8f01-23456789abcde"));  // too long
  EXPECT_FALSE(Uuid::parse("01234567+89ab-4cde-8f01-23456789abcd"));   // no dash
  EXPECT_FALSE(Uuid::parse("0123456789ab-4cde-8f01-23456789abcd--"));  // dashes elsewhere
  EXPECT_FALSE(Uuid::parse("g1234567-89ab-4cde-8f01-23456789abcd"));   // no digit
  EXPECT_FALSE(Uuid::parse("01234567-89ab-4cde-8f01-23456789abc "));
}

TEST(Uuid, ADefaultOneIsAllZerosAndTheyAreOrdered) {
  EXPECT_EQ(Uuid().text(), "00000000-0000-0000-0000-000000000000");
  EXPECT_LT(Uuid(), *Uuid::parse("00000000-0000-0000-0000-000000000001"));
}

}  // namespace uuid_test
}  // namespace tiffany
