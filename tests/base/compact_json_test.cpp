#include <gtest/gtest.h>

#include <string>

#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany {
namespace compact_json_test {

bool refused(const std::string& text, int deepest = JsonReader::kMaxDepth) {
  try {
    compact_json(text, deepest);
  } catch (const Error& e) {
    return e.code() == Errc::bad_json;
  }
  return false;
}

TEST(CompactJson, TakesTheWhiteSpaceOutAndLeavesTheRest) {
  EXPECT_EQ(compact_json(" \r\n\t7 \n"), "7");
  EXPECT_EQ(compact_json(" [ ] "), "[]");
  EXPECT_EQ(compact_json(" { } "), "{}");
  EXPECT_EQ(compact_json("[ 1 , [ 2 , { \"a\" : null , \"b\" : [ true , false ] } ] ]"),
            R"([1,[2,{"a":null,"b":[true,false]}]])");
  EXPECT_EQ(compact_json(R"( "a b\n\u0041" )"), R"("a b\n\u0041")");
  EXPECT_EQ(compact_json(R"({"\u0041\n":1})"), R"({"A\n":1})");
  EXPECT_EQ(compact_json("-0.50E+02"), "-0.50E+02");
  EXPECT_EQ(compact_json("123456789012345678901234567890"), "123456789012345678901234567890");
}

TEST(CompactJson, GivesNoLineBreakWhateverItIsGiven) {
  const std::string text = compact_json("{\n\"a\\nb\"\n:\r\n[\n1\n,\n\"\\r\\n\"\n]\n}\n");
  EXPECT_EQ(text.find_first_of("\r\n\t "), std::string::npos) << text;
  EXPECT_EQ(compact_json(text), text);
}

TEST(CompactJson, RefusesWhatReadersDoNotAgreeAbout) {
  EXPECT_TRUE(refused(R"({"a":1,"a":1})"));
  EXPECT_TRUE(refused(R"({"a":1,"b":2,"\u0061":1})"));
  EXPECT_TRUE(refused(R"([{"b":{"a":1,"a":2}}])"));
  EXPECT_FALSE(refused(R"([{"a":1},{"a":1}])"));
  EXPECT_FALSE(refused(R"({"a":{"a":1}})"));
  EXPECT_TRUE(refused("1e999"));
  EXPECT_TRUE(refused("[-1e999]"));
  EXPECT_TRUE(refused("1e-999"));
  EXPECT_TRUE(refused("NaN"));
  EXPECT_TRUE(refused("1 2"));
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("\"\\ud800\""));
  EXPECT_TRUE(refused("\"\xff\""));
  EXPECT_TRUE(refused(std::string("1\0", 2)));
}

TEST(CompactJson, RefusesWhatIsDeeperThanItsCallerTakes) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_FALSE(refused(nested(5), 5));
  EXPECT_TRUE(refused(nested(6), 5));
  EXPECT_FALSE(refused("1", 0));
  EXPECT_TRUE(refused("[]", 0));
  EXPECT_FALSE(refused(nested(64)));
  EXPECT_TRUE(refused(nested(65)));
  EXPECT_TRUE(refused(nested(100'000)));
  EXPECT_TRUE(refused(std::string(100'000, '[')));
}

}  // namespace compact_json_test
}  // namespace tiffany
