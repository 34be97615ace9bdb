// What is JSON is read, and what is not is refused with a sentence: nothing else happens.
#include "tiffany/base/json_reader.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany {
namespace json_reader_test {

// Calls `read` with a reader of a copy of the text that has nothing behind it, which is what makes
// AddressSanitizer see a read beyond its end. The sentence of the error, or "" without one.
template <class Read>
std::string refusal(std::string_view text, Read read) {
  const std::unique_ptr<char[]> copy(new char[text.size()]);
  if (!text.empty()) std::memcpy(copy.get(), text.data(), text.size());
  JsonReader in(std::string_view(copy.get(), text.size()));
  try {
    read(in);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::bad_json) << error.what();
    return error.what();
  }
  return "";
}

std::string refusal(std::string_view text) {
  return refusal(text, [](JsonReader& in) {
    in.raw();
    in.end();
  });
}

bool is_json(std::string_view text) { return refusal(text).empty(); }

std::string string_of(std::string_view text) {
  JsonReader in(text);
  std::string value = in.string();
  in.end();
  return value;
}

TEST(JsonReader, ReadsADocumentPieceByPiece) {
  JsonReader in(R"( {"id" : 7, "sites":["a.cpp:3","b"],"none":[], "deep":{"x":{}} ,"ok":true,)"
                R"("not":false,"nil":null,"pi":-3.5e-1,"big":18446744073709551615} )");
  std::string name;
  in.begin_object();
  ASSERT_TRUE(in.next_member(name));
  EXPECT_EQ(name, "id");
  EXPECT_EQ(in.integer(), 7);
  ASSERT_TRUE(in.next_member(name));
  EXPECT_EQ(name, "sites");
  std::vector<std::string> sites;
  in.begin_array();
  while (in.next_element()) sites.push_back(in.string());
  EXPECT_EQ(sites, (std::vector<std::string>{"a.cpp:3", "b"}));
  ASSERT_TRUE(in.next_member(name));
  in.begin_array();
  EXPECT_FALSE(in.next_element());
  ASSERT_TRUE(in.next_member(name));
  EXPECT_EQ(name, "deep");
  in.begin_object();
  ASSERT_TRUE(in.next_member(name));
  in.begin_object();
  EXPECT_FALSE(in.next_member(name));
  EXPECT_FALSE(in.next_member(name));
  ASSERT_TRUE(in.next_member(name));
  EXPECT_TRUE(in.boolean());
  ASSERT_TRUE(in.next_member(name));
  EXPECT_FALSE(in.boolean());
  ASSERT_TRUE(in.next_member(name));
  in.null();
  ASSERT_TRUE(in.next_member(name));
  EXPECT_EQ(in.number(), -0.35);
  ASSERT_TRUE(in.next_member(name));
  EXPECT_EQ(name, "big");
  EXPECT_EQ(in.unsigned_integer(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(in.next_member(name));
  in.end();
}

TEST(JsonReader, KindSaysWhatComesNextAndLeavesItUnread) {
  JsonReader in(R"([null, true,false ,0,-1,"",[],{}])");
  EXPECT_EQ(in.kind(), JsonKind::array);
  EXPECT_EQ(in.kind(), JsonKind::array);
  in.begin_array();
  std::vector<JsonKind> kinds;
  while (in.next_element()) {
    kinds.push_back(in.kind());
    in.raw();
  }
  EXPECT_EQ(kinds, (std::vector<JsonKind>{JsonKind::null, JsonKind::boolean, JsonKind::boolean,
                                          JsonKind::number, JsonKind::number, JsonKind::string,
                                          JsonKind::array, JsonKind::object}));
}

TEST(JsonReader, RawGivesTheExactTextOfAValue) {
  JsonReader in(R"(  [ {"a" : [1 , 2]} ,"x\n", -1.50e+3 ] )");
  in.begin_array();
  ASSERT_TRUE(in.next_element());
  EXPECT_EQ(in.raw(), R"({"a" : [1 , 2]})");
  ASSERT_TRUE(in.next_element());
  EXPECT_EQ(in.raw(), R"("x\n")");
  ASSERT_TRUE(in.next_element());
  EXPECT_EQ(in.raw(), "-1.50e+3");
  EXPECT_FALSE(in.next_element());
  in.end();
}

TEST(JsonReader, OffsetCountsTheBytesThatAreRead) {
  JsonReader in(" [12, 3]");
  EXPECT_EQ(in.offset(), 0u);
  in.kind();
  EXPECT_EQ(in.offset(), 1u);
  in.begin_array();
  in.next_element();
  in.integer();
  EXPECT_EQ(in.offset(), 4u);
}

TEST(JsonReader, ACopyLooksAhead) {
  JsonReader in("[1,2]");
  in.begin_array();
  in.next_element();
  JsonReader ahead = in;
  EXPECT_EQ(ahead.integer(), 1);
  ASSERT_TRUE(ahead.next_element());
  EXPECT_EQ(ahead.integer(), 2);
  EXPECT_EQ(in.integer(), 1);
}

TEST(JsonReader, EscapesBecomeWhatTheyStandFor) {
  EXPECT_EQ(string_of(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(string_of(R"("a\u0041\u00e9\u20AC\ud83d\ude00z")"),
            "aA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
  EXPECT_EQ(string_of(R"("\u007f\u0080\u07ff\u0800\uffff")"),
            "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF");
  EXPECT_EQ(string_of(R"("\u0000")"), std::string(1, '\0'));
  EXPECT_EQ(string_of(R"("\uD800\uDC00\uDBFF\uDFFF")"), "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
  EXPECT_EQ(string_of("\"\x7F\xC3\xBC\""), "\x7F\xC3\xBC");
}

TEST(JsonReader, NamesOfMembersHaveEscapesToo) {
  JsonReader in(R"({"a\n\u00fc":1})");
  std::string name = "something longer that was there before";
  in.begin_object();
  ASSERT_TRUE(in.next_member(name));
  EXPECT_EQ(name, "a\n\xC3\xBC");
}

TEST(JsonReader, WhatTheWriterWritesIsReadBack) {
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(12); i > 0; --i) {
      constexpr const char* kPieces[] = {"a",    "\"",          "\\",       "\n",
                                         "\x01", "\x7F",        "\xC3\xBC", "\xF0\x9F\x98\x80",
                                         "/",    "\xE2\x82\xAC"};
      text += kPieces[random.below(10)];
    }
    const auto number = static_cast<std::int64_t>(random.next());
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    json.member(text, text);
    json.member("n", number);
    json.end_object();
    JsonReader in(out);
    std::string name;
    in.begin_object();
    ASSERT_TRUE(in.next_member(name));
    ASSERT_EQ(name, text);
    ASSERT_EQ(in.string(), text);
    ASSERT_TRUE(in.next_member(name));
    ASSERT_EQ(in.integer(), number);
    ASSERT_FALSE(in.next_member(name));
    in.end();
  }
}

TEST(JsonReader, AcceptsWhatTheRfcAccepts) {
  for (const std::string_view text :
       {"0", "-0", "12", "-12.50", "1e5", "1E+5", "0.1e-7", "\"\"", "[]", "{}", " \t\r\n[ ] ",
        "[[[]]]", "{\"\":0}", "{\"a\":1,\"a\":2}", "null", "true", "false"}) {
    EXPECT_TRUE(is_json(text)) << text << ": " << refusal(text);
  }
}

TEST(JsonReader, RefusesWhatTheRfcDoesNotAccept) {
  for (const std::string_view text : {"",
                                      " ",
                                      "01",
                                      "-",
                                      "+1",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "-a",
                                      "0x1",
                                      "NaN",
                                      "Infinity",
                                      "tru",
                                      "True",
                                      "nul",
                                      "nulll",
                                      "fals",
                                      "[",
                                      "]",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "[1}",
                                      "{",
                                      "}",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "{\"a\":1,",
                                      "{\"a\":1,}",
                                      "{,}",
                                      "{\"a\" 1}",
                                      "{a:1}",
                                      "{1:1}",
                                      "{\"a\":1]",
                                      "1 2",
                                      "\"",
                                      "\"a",
                                      "\"\\",
                                      "\"\\\"",
                                      "'a'",
                                      "\"\n\"",
                                      "\"\x1F\"",
                                      "\"\\x\"",
                                      "\"\\u\"",
                                      "\"\\u12\"",
                                      "\"\\u12G4\"",
                                      "\"\\u123",
                                      "// a\n1",
                                      "\xEF\xBB\xBF"
                                      "1",
                                      "\v1",
                                      "[1]x",
                                      "\xC2\xA0"
                                      "1"}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
  EXPECT_FALSE(is_json(std::string_view("\"\0\"", 3)));
  EXPECT_FALSE(is_json(std::string_view("1\0", 2)));
}

TEST(JsonReader, RefusesLoneSurrogates) {
  for (const std::string_view text :
       {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\n")", R"("\ud800\u0041")",
        R"("\ud800\ud800")", R"("\udc00\ud800")", R"("\ud83d\ude0")", R"("\ud83d\)"}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(JsonReader, RefusesWhatIsNotUtf8) {
  for (const std::string body :
       {"\xFF", "\x80", "\xC3", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xE2\x82", "\xF0\x9F\x98", "\xF5\x80\x80\x80"}) {
    EXPECT_FALSE(is_json("\"" + body + "\""));
    EXPECT_FALSE(is_json("{\"" + body + "\":1}"));
    EXPECT_FALSE(is_json("\"" + body)) << "cut off";
  }
}

TEST(JsonReader, SixtyFourBracketsAreDeepEnough) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(refusal(nested(64)), "");
  EXPECT_EQ(
      refusal(nested(65)),
      "The JSON text has []]]]]]]]]]]]]]]]]]]]]]]... at byte 64, where something less than 64 "
      "brackets deep was expected.");
  EXPECT_FALSE(is_json(std::string(1'000'000, '[')));
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += "{\"a\":";
  EXPECT_NE(refusal(objects).find("64 brackets deep"), std::string::npos);
  // What is closed does not count.
  std::string wide = "[";
  for (int i = 0; i < 1000; ++i) wide += "[{}],";
  EXPECT_TRUE(is_json(wide + "0]"));
}

TEST(JsonReader, IntegersAreExactAndInRange) {
  EXPECT_EQ(JsonReader("-9223372036854775808").integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(JsonReader("9223372036854775807").integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(JsonReader("-0").integer(), 0);
  const auto integer = [](JsonReader& in) { in.integer(); };
  const auto positive = [](JsonReader& in) { in.unsigned_integer(); };
  for (const std::string_view text : {"9223372036854775808", "-9223372036854775809", "1.0", "1e3",
                                      "\"1\"", "", "true", "99999999999999999999999999999999"}) {
    EXPECT_NE(refusal(text, integer), "") << text;
  }
  for (const std::string_view text : {"18446744073709551616", "-1", "0.5", "null"}) {
    EXPECT_NE(refusal(text, positive), "") << text;
  }
}

TEST(JsonReader, NumbersAreTheNearestDouble) {
  EXPECT_EQ(JsonReader("0.1").number(), 0.1);
  EXPECT_EQ(JsonReader("1e308").number(), 1e308);
  EXPECT_EQ(JsonReader("5e-324").number(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(JsonReader("0e-999").number(), 0);
  EXPECT_EQ(JsonReader("0.1").single(), 0.1f);
  const auto number = [](JsonReader& in) { in.number(); };
  const auto single = [](JsonReader& in) { in.single(); };
  for (const std::string_view text : {"1e309", "-1e309", "1e999999999999", "1e-400", "\"1\"", ""}) {
    EXPECT_NE(refusal(text, number), "") << text;
  }
  for (const std::string_view text : {"1e39", "1e-60"})
    EXPECT_NE(refusal(text, single), "") << text;
}

TEST(JsonReader, TheSentenceSaysWhatWasExpectedWhatIsThereAndWhere) {
  EXPECT_EQ(refusal("[1,2", [](JsonReader& in) { in.raw(); }),
            "The JSON text ends at byte 4, where a comma or the end of the array was expected.");
  EXPECT_EQ(refusal(" 12]", [](JsonReader& in) { in.string(); }),
            "The JSON text has 12] at byte 1, where a string was expected.");
  EXPECT_EQ(refusal("[12 34]"),
            "The JSON text has 34] at byte 4, where a comma or the end of the array was expected.");
  EXPECT_EQ(refusal("12 34", [](JsonReader& in) { in.string(); }),
            "The JSON text has 12 at byte 0, where a string was expected.");
  EXPECT_EQ(refusal("\"a\nb\""),
            "The JSON text has 0x0a at byte 2, where a character of a string was expected.");
  EXPECT_EQ(refusal("{\"a\"=1}"), "The JSON text has =1} at byte 4, where a colon was expected.");
  EXPECT_EQ(refusal("\"\xFF\""),
            "The JSON text has 0xff at byte 1, where valid UTF-8 was expected.");
  EXPECT_EQ(refusal("abcdefghijklmnopqrstuvwxyz"),
            "The JSON text has abcdefghijklmnopqrstuvwx... at byte 0, where a value was expected.");
  EXPECT_EQ(refusal("300", [](JsonReader& in) { in.fail("a colour", 0); }),
            "The JSON text has 300 at byte 0, where a colour was expected.");
}

TEST(JsonReader, ACommaPromisesAnElement) {
  EXPECT_EQ(refusal("[1,]",
                    [](JsonReader& in) {
                      in.begin_array();
                      in.next_element();
                      in.integer();
                      in.next_element();
                    }),
            "The JSON text has ] at byte 3, where a value was expected.");
}

TEST(JsonReader, CallsThatDoNotFitTheTextAreRefused) {
  EXPECT_NE(refusal("]", [](JsonReader& in) { in.next_element(); }), "");
  EXPECT_NE(refusal("}",
                    [](JsonReader& in) {
                      std::string name;
                      in.next_member(name);
                    }),
            "");
  EXPECT_NE(refusal("{}", [](JsonReader& in) { in.begin_array(); }), "");
  EXPECT_NE(refusal("[]", [](JsonReader& in) { in.begin_object(); }), "");
  EXPECT_NE(refusal("nul", [](JsonReader& in) { in.null(); }), "");
  EXPECT_NE(refusal("1", [](JsonReader& in) { in.boolean(); }), "");
}

constexpr std::string_view kSample =
    R"({"a":[1,-2.5e+3,true,false,null],"\u00fc\ud83d\ude00":"x\ny)"
    "\xC3\xBC\xE2\x82\xAC"
    R"(","o":{"":[[],{}]}})";

// Every call a reader has, so that each sees each text.
void read_in_every_way(std::string_view text) {
  refusal(text);
  refusal(text, [](JsonReader& in) { in.string(); });
  refusal(text, [](JsonReader& in) { in.integer(); });
  refusal(text, [](JsonReader& in) { in.unsigned_integer(); });
  refusal(text, [](JsonReader& in) { in.number(); });
  refusal(text, [](JsonReader& in) { in.boolean(); });
  refusal(text, [](JsonReader& in) { in.null(); });
  refusal(text, [](JsonReader& in) {
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      switch (in.kind()) {
        case JsonKind::array:
          in.begin_array();
          while (in.next_element()) in.raw();
          break;
        case JsonKind::string:
          in.string();
          break;
        default:
          in.raw();
      }
    }
    in.end();
  });
}

TEST(JsonReader, EveryTruncationOfADocumentIsRefused) {
  ASSERT_TRUE(is_json(kSample)) << refusal(kSample);
  for (std::size_t size = 0; size < kSample.size(); ++size) {
    EXPECT_FALSE(is_json(kSample.substr(0, size))) << size;
    read_in_every_way(kSample.substr(0, size));
    read_in_every_way(kSample.substr(size));
  }
}

TEST(JsonReader, EveryChangedByteOfADocumentGivesAValueOrBadJson) {
  std::string text(kSample);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char good = text[at];
    for (int byte = 0; byte < 256; ++byte) {
      text[at] = static_cast<char>(byte);
      read_in_every_way(text);
    }
    text[at] = good;
  }
}

TEST(JsonReader, NoiseGivesAValueOrBadJson) {
  constexpr std::string_view kLetters = "{}[]\",:\\u0d8c19-+.eEtrufalsn \n\x01\xC3\xBC\xFF";
  Random random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(20); i > 0; --i)
      text += kLetters[random.below(kLetters.size())];
    read_in_every_way(text);
  }
}

}  // namespace json_reader_test
}  // namespace tiffany
