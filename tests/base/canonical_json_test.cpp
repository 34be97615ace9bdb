#include "tiffany/base/canonical_json.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany {
namespace canonical_json_test {

bool refused(const std::string& text, int deepest = JsonReader::kMaxDepth) {
  try {
    canonical_json(text, deepest);
  } catch (const Error& e) {
    return e.code() == Errc::bad_json;
  }
  return false;
}

// RFC 8785, 3.2.2 to 3.2.4.
TEST(CanonicalJson, MakesTheExampleOfTheRfc) {
  const std::string text = R"({
     "numbers": [333333333.33333329, 1E30, 4.50,
                 2e-3, 0.000000000000000000000000001],
     "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
     "literals": [null, true, false]
   })";
  EXPECT_EQ(canonical_json(text),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
            "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

// RFC 8785, 3.2.3.
TEST(CanonicalJson, SortsByTheCodeUnitsOfUtf16) {
  const std::string text = R"({
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis"
  })";
  const std::vector<std::string> order = {"Carriage Return",
                                          "One",
                                          "Control",
                                          "Latin Small Letter O With Diaeresis",
                                          "Euro Sign",
                                          "Emoji: Grinning Face",
                                          "Hebrew Letter Dalet With Dagesh"};
  const std::string made = canonical_json(text);
  std::size_t at = 0;
  for (const std::string& each : order) {
    const std::size_t found = made.find(each);
    ASSERT_NE(found, std::string::npos);
    EXPECT_LE(at, found) << each;
    at = found;
  }
  EXPECT_EQ(canonical_json(R"({"aa":{"d":1,"c":2},"a":[],"B":0,"":9})"),
            R"({"":9,"B":0,"a":[],"aa":{"c":2,"d":1}})");
}

// RFC 8785, appendix B.
TEST(CanonicalJson, WritesNumbersAsEcmaScriptDoes) {
  const std::vector<std::pair<std::uint64_t, std::string>> samples = {
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0xffefffffffffffff, "-1.7976931348623157e+308"},
      {0x4340000000000000, "9007199254740992"},
      {0xc340000000000000, "-9007199254740992"},
      {0x4430000000000000, "295147905179352830000"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef4e, "999999999999999700000"},
      {0x444b1ae4d6e2ef4f, "999999999999999900000"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555554, "333333333.33333325"},
      {0x41b3de4355555555, "333333333.3333333"},
      {0x41b3de4355555556, "333333333.3333334"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"},
  };
  for (const auto& [bits, text] : samples) {
    char written[64];
    std::snprintf(written, sizeof written, "%.17e", std::bit_cast<double>(bits));
    EXPECT_EQ(canonical_json(written), text) << written;
    EXPECT_EQ(canonical_json(text), text);
  }
  EXPECT_EQ(canonical_json("[-0,-0.0,0e9,10,1.0,100e-2,0.1e1,12345.678e2]"),
            "[0,0,0,10,1,1,1,1234567.8]");
  EXPECT_EQ(canonical_json("1000000000000000000000"), "1e+21");
}

TEST(CanonicalJson, RefusesAnIntegerThatWouldHaveTheBytesOfAnother) {
  EXPECT_FALSE(refused("9007199254740992"));
  EXPECT_TRUE(refused("9007199254740993"));
  EXPECT_TRUE(refused(R"({"amount":-12345678901234567890})"));
  EXPECT_FALSE(refused("0.1000000000000000055511151231257827"));
}

TEST(CanonicalJson, RefusesWhatReadersDoNotAgreeAbout) {
  EXPECT_TRUE(refused(R"({"a":1,"a":1})"));
  EXPECT_TRUE(refused(R"({"a":1,"b":{"x":1,"\u0078":2}})"));
  EXPECT_TRUE(refused("1e999"));
  EXPECT_TRUE(refused("NaN"));
  EXPECT_TRUE(refused("01"));
  EXPECT_TRUE(refused("[1,]"));
  EXPECT_TRUE(refused("{} {}"));
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("\"\\ud800\""));
  EXPECT_TRUE(refused("\"\xc0\xaf\""));
  EXPECT_TRUE(refused(std::string(65, '[') + std::string(65, ']')));
  EXPECT_TRUE(refused("[[1]]", 1));
}

TEST(CanonicalJson, EscapesWhatMustBeEscapedAndNothingElse) {
  std::string all;
  for (int c = 0; c < 0x20; ++c) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04X", static_cast<unsigned>(c));
    all += escaped;
  }
  EXPECT_EQ(
      canonical_json('"' + all + "\\/\x7f\\u007f\\u2028\""),
      "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e"
      "\\u000f\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a"
      "\\u001b\\u001c\\u001d\\u001e\\u001f/\x7f\x7f\xe2\x80\xa8\"");
}

// A value, written with white space, escapes and members in an order that the seed chooses.
class Scrambled {
 public:
  Scrambled(std::uint64_t seed, std::uint64_t look) : value_(seed), look_(look) {}
  std::string any(int depth) {
    switch (value_.below(depth > 0 ? 6 : 4)) {
      case 0:
        return blank() + (value_.below(2) == 0 ? "true" : "null");
      case 1:
        return blank() + number();
      case 2:
      case 3:
        return blank() + string(value_.below(5));
      case 4:
        return array(depth);
      default:
        return object(depth);
    }
  }

 private:
  std::string blank() { return std::string(look_.below(3), " \n\t"[look_.below(3)]); }
  std::string number() {
    const auto n = static_cast<double>(static_cast<std::int64_t>(value_.next() >> 12)) /
                   std::pow(10.0, static_cast<double>(value_.below(40)));
    char text[64];
    const int digits = static_cast<int>(17 + look_.below(3));
    std::snprintf(text, sizeof text, look_.below(2) == 0 ? "%.*e" : "%.*E", digits, n);
    return text;
  }
  std::string string(std::uint64_t letters) {
    std::string out = "\"";
    for (std::uint64_t i = 0; i < letters; ++i) {
      constexpr std::pair<const char*, const char*> kLetters[] = {
          {"a", "\\u0061"},
          {"\\n", "\\u000A"},
          {"/", "\\/"},
          {"\\\"", "\\u0022"},
          {"\xe2\x82\xac", "\\u20AC"},
          {"\xf0\x9f\x98\x80", "\\uD83d\\uDE00"},
          {"\xef\xac\xb3", "\\ufb33"}};
      const auto& [plain, escaped] = kLetters[value_.below(7)];
      out += look_.below(2) == 0 ? plain : escaped;
    }
    return out + '"';
  }
  std::string array(int depth) {
    std::string out = blank() + "[";
    const std::uint64_t count = value_.below(4);
    for (std::uint64_t i = 0; i < count; ++i) out += (i > 0 ? "," : "") + any(depth - 1);
    return out + blank() + "]";
  }
  std::string object(int depth) {
    std::vector<std::string> members;
    const std::uint64_t count = value_.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string name = string(value_.below(3));
      name.insert(1, std::to_string(i));  // each once
      members.push_back(blank() + name + blank() + ":" + any(depth - 1));
    }
    for (std::size_t i = members.size(); i > 1; --i) {
      std::swap(members[i - 1], members[look_.below(i)]);
    }
    std::string out = blank() + "{";
    for (std::size_t i = 0; i < members.size(); ++i) out += (i > 0 ? "," : "") + members[i];
    return out + blank() + "}";
  }

  Random value_;
  Random look_;
};

TEST(CanonicalJson, EqualValuesHaveEqualBytesHoweverTheyAreWritten) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const std::string made = canonical_json(Scrambled(seed, 1).any(4));
    EXPECT_EQ(canonical_json(Scrambled(seed, 2).any(4)), made) << "seed " << seed;
    EXPECT_EQ(canonical_json(made), made) << "seed " << seed;
    EXPECT_EQ(compact_json(made), made) << "seed " << seed;
  }
}

}  // namespace canonical_json_test
}  // namespace tiffany
