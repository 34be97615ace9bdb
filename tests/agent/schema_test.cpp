#include "tiffany/agent/schema.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json_schema.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::agent {
namespace schema_test {

using Sentences = std::vector<std::string>;

std::string mistake(const std::string& schema) {
  try {
    Schema::read(schema);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::bad_tool);
    return error.what();
  }
  return {};
}

TEST(AgentSchema, SaysWhereAndWhatDoesNotFit) {
  const Schema schema = Schema::read(R"({"type":"object","properties":{
      "path":{"type":"string","minLength":1,"description":"a file"},
      "lines":{"type":"integer","minimum":1,"maximum":100},
      "files":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2},
      "mode":{"enum":["fast","slow",3]}},
      "required":["path"],"additionalProperties":false})");
  EXPECT_EQ(schema.check(R"({"path":"a","lines":7,"files":["b"],"mode":3.0})"), Sentences());
  EXPECT_EQ(schema.check(R"({"path":"","lines":0,"files":[],"mode":"FAST"})"),
            (Sentences{"/path: the text has 0 characters, and at least 1 are needed.",
                       "/lines: the number is too small.",
                       "/files: the array has 0 elements, and at least 1 are needed.",
                       "/mode: it is none of \"fast\", \"slow\", 3."}));
  EXPECT_EQ(
      schema.check(R"({"lines":1.5,"files":["a",2,"c"],"x/y~":null})"),
      (Sentences{"/lines: an integer is expected, and a number is there.",
                 "/files/1: a string is expected, and a number is there.",
                 "/files: the array has 3 elements, and at most 2 are allowed.",
                 "/x~1y~0: no member of that name is allowed (only files, lines, mode, path).",
                 "(the whole value): the member 'path' is missing."}));
  EXPECT_EQ(schema.check("[]"),
            Sentences{"(the whole value): an object is expected, and an array is there."});
}

TEST(AgentSchema, KnowsTheTypesOfJson) {
  const auto fits = [](const std::string& type, const std::string& value) {
    return check_against(R"({"type":)" + type + "}", value).empty();
  };
  EXPECT_TRUE(fits(R"("integer")", "1"));
  EXPECT_TRUE(fits(R"("integer")", "1.0"));
  EXPECT_TRUE(fits(R"("integer")", "1e3"));
  EXPECT_FALSE(fits(R"("integer")", "1.5"));
  EXPECT_TRUE(fits(R"("number")", "1"));
  EXPECT_FALSE(fits(R"("number")", "\"1\""));
  EXPECT_TRUE(fits(R"(["string","null"])", "null"));
  EXPECT_FALSE(fits(R"(["string","null"])", "true"));
  EXPECT_TRUE(fits(R"("boolean")", "true"));
  EXPECT_FALSE(fits(R"("object")", "[]"));
  EXPECT_TRUE(check_against("{}", "[1,{\"a\":null}]").empty());
}

TEST(AgentSchema, CountsCharactersAndNotBytes) {
  EXPECT_TRUE(check_against(R"({"maxLength":2})", "\"\u00e4\U0001F600\"").empty());
  EXPECT_FALSE(check_against(R"({"maxLength":1})", "\"ab\"").empty());
}

TEST(AgentSchema, AMemberThatIsThereTwiceDoesNotFit) {
  EXPECT_EQ(check_against("{}", R"({"a":1,"a":2})").size(), 1U);
  EXPECT_EQ(
      check_against(R"({"properties":{"a":{"type":"integer"}}})", R"({"a":1,"\u0061":"x"})").size(),
      2U);
}

TEST(AgentSchema, WhatIsNoJsonIsASentence) {
  for (const char* text : {"", "{", "{\"a\":}", "1 2", "nul", "\"\xff\""}) {
    EXPECT_EQ(check_against("{}", text).size(), 1U) << text;
  }
  EXPECT_EQ(check_against("{}", std::string(100'000, '[')).size(), 1U);
}

TEST(AgentSchema, SaysAtMostTwentyThings) {
  std::string many = "[0";
  for (int i = 0; i < 1'000; ++i) many += ",0";
  EXPECT_EQ(check_against(R"({"items":{"type":"string"}})", many + "]").size(), 20U);
}

TEST(AgentSchema, RefusesKeywordsThatItDoesNotCheck) {
  for (const char* keyword :
       {"pattern", "$ref", "oneOf", "allOf", "not", "format", "if", "exclusiveMinimum",
        "multipleOf", "patternProperties", "uniqueItems", "Type", "dependentRequired"}) {
    const std::string schema = std::string("{\"properties\":{\"a\":{\"") + keyword + "\":1}}}";
    EXPECT_NE(mistake(schema).find("/properties/a: '" + std::string(keyword)), std::string::npos)
        << mistake(schema);
  }
}

TEST(AgentSchema, RefusesSchemasWithMistakes) {
  for (const char* schema : {"",
                             "7",
                             "true",
                             "[]",
                             R"({"type":"text"})",
                             R"({"type":[]})",
                             R"({"type":7})",
                             R"({"type":"string","type":"string"})",
                             R"({"enum":[]})",
                             R"({"enum":7})",
                             R"({"minLength":-1})",
                             R"({"minLength":1.5})",
                             R"({"required":"a"})",
                             R"({"properties":{"a":{},"a":{}}})",
                             R"({"properties":{"a":7}})",
                             R"({"items":[{}]})",
                             R"({"required":["a"],"additionalProperties":false})",
                             R"({"minimum":"1"})",
                             "{} {}",
                             R"({"enum":[9007199254740993]})",
                             R"({"enum":[1],"const":1})"}) {
    EXPECT_NE(mistake(schema), "") << schema;
  }
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += R"({"items":)";
  EXPECT_NE(mistake(deep), "");
  std::string wide = R"({"properties":{"a":{})";
  for (int i = 0; i < 3'000; ++i) wide += ",\"b" + std::to_string(i) + "\":{}";
  EXPECT_NE(mistake(wide + "}}").find("more than 2000"), std::string::npos);
}

TEST(AgentSchema, OfSeveralAlternativesOneHasToFit) {
  const std::string schema =
      R"({"anyOf":[{"type":"null"},{"type":"string","maxLength":2},{"items":{"type":"null"}}]})";
  for (const char* fits : {"null", "\"ab\"", "[null]", "7", "[]"}) {
    EXPECT_EQ(check_against(schema, fits), Sentences()) << fits;
  }
  EXPECT_EQ(check_against(R"({"anyOf":[{"type":"null"},{"type":"string"}]})", "7"),
            Sentences{"(the whole value): it fits to none of the 2 alternatives of the schema."});
  EXPECT_NE(mistake(R"({"anyOf":[]})"), "");
  EXPECT_NE(mistake(R"({"anyOf":{}})"), "");
}

// Two alternatives on each of six levels, none of which fits at the bottom: 2^6 ways, one sentence.
TEST(AgentSchema, AlternativesInsideOfAlternativesAreOneSentence) {
  std::string schema = R"({"type":"string"})";
  std::string value = "7";
  for (int i = 0; i < 6; ++i) {
    schema = R"({"anyOf":[{"type":"null"},{"items":)" + schema + R"(},{"items":)" + schema + "}]}";
    value = "[" + value + "]";
  }
  EXPECT_EQ(check_against(schema, value).size(), 1U);
}

struct Order {
  std::string id{};
  std::vector<int> amounts{};
  std::optional<std::string> note{};
};
TIFFANY_JSON(Order, id, amounts, note);

TEST(AgentSchema, TheSchemaOfATypeIsRead) {
  const Schema schema = Schema::read(json_schema<Order>());
  EXPECT_EQ(schema.check(to_json(Order{"a", {1, 2}, {}})), Sentences());
  EXPECT_FALSE(schema.check(R"({"id":7,"amounts":["x"]})").empty());
}

// Any bytes: a sentence or none, and never anything else.
TEST(AgentSchema, NoTextMakesItFail) {
  const Schema schema = Schema::read(
      R"({"type":"object","properties":{"a":{"items":{"enum":[1,"b"]}}},"required":["a"]})");
  const std::string good = R"({"a":[1,"b",{"c":[null,true,1.5e3]}],"d":"\u20ac"})";
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed, "schema");
    std::string text = good;
    for (std::uint64_t i = 0; i < 1 + random.below(4); ++i) {
      text[random.below(text.size())] = "{}[]\",:\\0e.-\x01\xff"[random.below(14)];
    }
    schema.check(text);
    try {
      Schema::read(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::bad_tool);
    }
  }
}

}  // namespace schema_test
}  // namespace tiffany::agent
