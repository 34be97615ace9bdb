// P5: JSON that every reader accepts, whatever goes in.
#include "tiffany/base/json.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "tiffany/base/error.hpp"

namespace tiffany {
namespace json_test {

std::string quoted(std::string_view text) {
  std::string out;
  JsonWriter(out).value(text);
  return out;
}

TEST(Json, P5_CommasComeWhereTheyBelong) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("id", 7);
  json.key("empty");
  json.begin_array();
  json.end_array();
  json.key("list");
  json.begin_array();
  json.value("a");
  json.begin_object();
  json.end_object();
  json.begin_object();
  json.member("x", true);
  json.member("y", false);
  json.end_object();
  json.null();
  json.end_array();
  json.member("last", std::string("z"));
  json.end_object();
  EXPECT_EQ(out, R"({"id":7,"empty":[],"list":["a",{},{"x":true,"y":false},null],"last":"z"})");
}

TEST(Json, P5_LineBreaksComeAfterTheComma) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  json.line_break();
  json.value(1);
  json.line_break();
  json.value(2);
  json.line_break();
  json.end_array();
  EXPECT_EQ(out, "[\n1,\n2\n]");
}

TEST(Json, P5_IntegersAreExactToTheLastBit) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  json.value(std::numeric_limits<std::int64_t>::min());
  json.value(std::numeric_limits<std::int64_t>::max());
  json.value(std::numeric_limits<std::uint64_t>::max());
  json.value(std::uint8_t{200});
  json.value(std::int8_t{-7});
  json.end_array();
  EXPECT_EQ(out, "[-9223372036854775808,9223372036854775807,18446744073709551615,200,-7]");
}

TEST(Json, NumbersHaveTheFewestDigitsThatGiveThemBack) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  for (const double number : {0.0, -0.0, 1.0, 0.1, -2.5, 1e300, 5e-324, 1.7976931348623157e308}) {
    json.value(number);
  }
  json.value(0.1f);
  json.member("key", 1.5);
  json.end_array();
  EXPECT_EQ(out, R"([0,-0,1,0.1,-2.5,1e+300,5e-324,1.7976931348623157e+308,0.1,"key":1.5])");
}

TEST(Json, WhatIsNotFiniteIsRefusedAndNothingIsWritten) {
  std::string out;
  JsonWriter json(out);
  for (const double number :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    try {
      json.value(number);
      ADD_FAILURE() << number;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::bad_argument);
    }
    EXPECT_THROW(json.value(static_cast<float>(number)), Error);
  }
  EXPECT_EQ(out, "");
}

TEST(Json, WhatIsJsonAlreadyIsPutInAsItIs) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  json.raw_value(R"({"a": 1})");
  json.raw_value("2");
  json.key("k");
  json.raw_value("[]");
  json.value(3);
  json.end_array();
  EXPECT_EQ(out, R"([{"a": 1},2,"k":[],3])");
}

TEST(Json, P5_ControlCharactersAreEscaped) {
  EXPECT_EQ(quoted("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(quoted("\n\r\t"), R"("\n\r\t")");
  EXPECT_EQ(quoted(std::string_view("\0\x01\x1f\x7f", 4)), R"("\u0000\u0001\u001f\u007f")");
}

TEST(Json, P5_KeysAreQuotedLikeValues) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("a\"\xff", 1);
  json.end_object();
  EXPECT_EQ(out, "{\"a\\\"\xEF\xBF\xBD\":1}");
}

TEST(Json, P5_ValidUtf8PassesAsItIs) {
  for (const std::string_view text :
       {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80", "\xF3\xBF\xBF\xBF", "\xF4\x8F\xBF\xBF", "gr\xC3\xBC\xC3\x9F"}) {
    EXPECT_EQ(quoted(text), "\"" + std::string(text) + "\"");
  }
}

TEST(Json, P5_EachBrokenSequenceBecomesOneReplacementCharacter) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(quoted("\xFF"), "\"" + bad + "\"");
  EXPECT_EQ(quoted("\x80x"), "\"" + bad + "x\"");
  EXPECT_EQ(quoted("\xC3"), "\"" + bad + "\"") << "cut off at the end";
  EXPECT_EQ(quoted("\xE2\x82x"), "\"" + bad + "x\"") << "cut off in the middle";
  EXPECT_EQ(quoted("\xF0\x9F\x98"), "\"" + bad + "\"");
  EXPECT_EQ(quoted("\xC0\xAF"), "\"" + bad + bad + "\"") << "overlong";
  EXPECT_EQ(quoted("\xE0\x80\xAF"), "\"" + bad + bad + bad + "\"") << "overlong";
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"" + bad + bad + bad + "\"") << "a surrogate";
  EXPECT_EQ(quoted("\xF4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"") << "above U+10FFFF";
  EXPECT_EQ(quoted("\xC3\xC3\xBC"), "\"" + bad + "\xC3\xBC\"") << "the good one after it stays";
}

}  // namespace json_test
}  // namespace tiffany
