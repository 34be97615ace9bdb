#include "agent/pattern.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <regex>
#include <string>

#include "tiffany/base/error.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::agent {
namespace pattern_test {

bool found(const std::string& pattern, const std::string& line, bool ignore_case = false) {
  return Pattern(pattern, ignore_case).found_in(line);
}

TEST(AgentPattern, FindsWhatRegularExpressionsFind) {
  EXPECT_TRUE(found("a.c", "xabcx"));
  EXPECT_FALSE(found("a\\.c", "abc"));
  EXPECT_TRUE(found("^fn +\\w+\\(", "fn  main()"));
  EXPECT_FALSE(found("^fn", " fn"));
  EXPECT_TRUE(found("end$", "the end"));
  EXPECT_FALSE(found("end$", "the end."));
  EXPECT_TRUE(found("^$", ""));
  EXPECT_FALSE(found("^$", "x"));
  EXPECT_TRUE(found("[a-c]{2,3}x", "zzabcx"));
  EXPECT_FALSE(found("^[a-c]{2,3}x", "aabcx"));
  EXPECT_TRUE(found("(foo|ba[rz])+!", "foobaz!"));
  EXPECT_TRUE(found("colou?r", "color"));
  EXPECT_TRUE(found("[^0-9]", "12a"));
  EXPECT_FALSE(found("[^0-9]", "123"));
  EXPECT_TRUE(found("[]x-]", "]"));
  EXPECT_TRUE(found("[\\d_]+", "7"));
  EXPECT_TRUE(found("\\bcat\\b", "a cat."));
  EXPECT_FALSE(found("\\bcat\\b", "concat"));
  EXPECT_TRUE(found("a+?b", "aab"));
  EXPECT_TRUE(found("x|", "nothing"));
  EXPECT_TRUE(found("HeLLo", "hello", true));
  EXPECT_TRUE(found("[A-C]", "b", true));
  EXPECT_FALSE(found("HeLLo", "hello"));
  EXPECT_TRUE(found("\u00e4+", "\u00e4"));
  EXPECT_TRUE(found("(a{0,2}){3}b", "aaaaab"));
  EXPECT_TRUE(Pattern::literal("a.(", false).found_in("xa.("));
  EXPECT_FALSE(Pattern::literal("a.(", false).found_in("xab("));
}

TEST(AgentPattern, TakesNoLongerThanPatternTimesLine) {
  const std::string line(5'000, 'a');
  EXPECT_FALSE(found("(a*)*b", line));
  EXPECT_FALSE(found("(a|aa)+$x", line));
  EXPECT_FALSE(found("(a?){50}a{50}b", line.substr(0, 200)));
  EXPECT_FALSE(found("(.*)(.*)(.*)(.*)(.*)[^a]", line));
}

TEST(AgentPattern, RefusesWhatItDoesNotUnderstand) {
  for (const char* text :
       {"(",      ")",      "a)",      "[",      "[a",          "[]",  "[z-a]",
        "*",      "+a",     "?",       "a**",    "a{2}{3}",     "a{",  "a{x}",
        "a{2",    "a{3,2}", "a{0}",    "a{101}", "{",           "\\",  "\\1",
        "\\p{L}", "(?=a)",  "(?<n>a)", "\\n",    "[[:alpha:]]", "\\z", "((a{100}){100}){100}"}) {
    try {
      Pattern(text, false);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::bad_tool);
      EXPECT_NE(std::string(error.what()).find("The pattern '"), std::string::npos);
    }
  }
  EXPECT_THROW(Pattern(std::string(1'001, 'a'), false), Error);
  EXPECT_THROW(Pattern(std::string(60, '(') + std::string(60, ')'), false), Error);
}

TEST(AgentPattern, AgreesWithTheStandardLibrary) {
  const std::string pieces[] = {"a",       "b", ".", "[ab]", "[^a]", "(a|b)",  "(ab)", "a*", "b+",
                                "(a|bb)*", "^", "$", "a?",   "(b|)", "a{1,2}", "\\b",  "\\w"};
  int hits = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed, "pattern");
    std::string pattern;
    for (std::uint64_t i = 0; i <= random.below(4); ++i) pattern += pieces[random.below(17)];
    if (random.below(3) == 0) pattern += "|" + pieces[random.below(17)];
    std::string line;
    for (std::uint64_t i = random.below(7); i > 0; --i) line += "ab "[random.below(3)];
    const bool expected = std::regex_search(line, std::regex(pattern));
    EXPECT_EQ(found(pattern, line), expected) << pattern << " in '" << line << "', seed " << seed;
    hits += expected ? 1 : 0;
  }
  EXPECT_GT(hits, 100);
  EXPECT_LT(hits, 470);
}

}  // namespace pattern_test
}  // namespace tiffany::agent
