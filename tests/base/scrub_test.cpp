#include "tiffany/base/scrub.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tiffany/base/base64.hpp"
#include "tiffany/base/hex.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany {
namespace scrub_test {

TEST(Scrub, ASecretIsTakenOutInEachForm) {
  Scrubber secrets;
  secrets.add("pa ss\"wo/rd+");
  EXPECT_EQ(secrets.scrubbed("it is pa ss\"wo/rd+."), "it is ***.");
  EXPECT_EQ(secrets.scrubbed("{\"p\":\"pa ss\\\"wo/rd+\"}"), "{\"p\":\"***\"}");
  EXPECT_EQ(secrets.scrubbed("?p=pa%20ss%22wo%2Frd%2B&q=1"), "?p=***&q=1");
  EXPECT_EQ(secrets.scrubbed("?p=pa%20ss%22wo%2frd%2b"), "?p=***");
  EXPECT_EQ(secrets.scrubbed("?p=pa+ss%22wo%2Frd%2B"), "?p=***");
  EXPECT_EQ(secrets.scrubbed("<706120737322776f2f72642b>"), "<***>");
  EXPECT_EQ(secrets.scrubbed("<706120737322776F2F72642B>"), "<***>");
}

TEST(Scrub, Base64IsFoundWhereverTheSecretStandsInWhatWasEncoded) {
  const std::string secret = "s3cr3t~value?with>signs";
  Scrubber secrets;
  secrets.add(secret);
  for (const std::string before : {"", "u", "us", "use", "user:"}) {
    for (const std::string after : {"", "!", "!!", "!!!"}) {
      const std::string text = secrets.scrubbed(to_base64(before + secret + after));
      EXPECT_NE(text.find("***"), std::string::npos) << before << "|" << after;
      EXPECT_LT(text.size(), 22U) << text;
    }
  }
}

TEST(Scrub, ASecretIsFoundAcrossTheBordersOfPieces) {
  Scrubber secrets;
  secrets.add("abcabcabd");
  const std::string text = "xx abcabcabcabd yy abcab";
  for (std::size_t size = 1; size < text.size(); ++size) {
    Scrubber::Stream stream(secrets);
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += size) out += stream.add(text.substr(at, size));
    out += stream.finish();
    EXPECT_EQ(out, "xx abc*** yy abcab") << size;
  }
}

TEST(Scrub, WhatIsNoBeginningOfASecretIsNotHeldBack) {
  Scrubber secrets;
  secrets.add("hunter22");
  Scrubber::Stream stream(secrets);
  EXPECT_EQ(stream.add("a line\n"), "a line\n");
  EXPECT_EQ(stream.add("a hun"), "a ");
  EXPECT_EQ(stream.add("dred\n"), "hundred\n");
}

TEST(Scrub, TheLongerOfTwoSecretsIsTakenWhole) {
  Scrubber secrets;
  secrets.add("token");
  secrets.add("token-of-production");
  EXPECT_EQ(secrets.scrubbed("token-of-production token-of-test"), "*** ***-of-test");
  Scrubber::Stream stream(secrets);
  std::string out = stream.add("token");
  out += stream.add("-of-production");
  out += stream.finish();
  EXPECT_EQ(out, "***");
}

TEST(Scrub, EachLongLineOfAKeyIsASecret) {
  Scrubber secrets;
  secrets.add("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQ==\n-----END KEY-----");
  EXPECT_EQ(secrets.scrubbed("1: MIIEvQIBADANBgkqhkiG9w0B"), "1: ***");
  EXPECT_EQ(secrets.scrubbed("AQ=="), "AQ==");
}

TEST(Scrub, JsonInAsciiAloneIsAFormToo) {
  Scrubber secrets;
  secrets.add("caf\u00e9\"\U0001F511");
  EXPECT_EQ(secrets.scrubbed(R"({"k":"caf\u00e9\"\ud83d\udd11"})"), R"({"k":"***"})");
  EXPECT_EQ(secrets.scrubbed(R"({"k":"caf\u00E9\"\uD83D\uDD11"})"), R"({"k":"***"})");
}

TEST(Scrub, AShortTextIsNoSecret) {
  Scrubber secrets;
  secrets.add("");
  secrets.add("abc");
  EXPECT_TRUE(secrets.empty());
  EXPECT_EQ(secrets.scrubbed("abc"), "abc");
}

TEST(Scrub, WithoutASecretEveryByteComesOutAsItWent) {
  Scrubber secrets;
  secrets.add(std::string("\0\xff\x80zz", 5));
  Random random(7);
  std::string text;
  std::string out;
  Scrubber::Stream stream(secrets);
  for (int i = 0; i < 2000; ++i) {
    const std::string piece(1 + random.below(5), static_cast<char>(random.below(256)));
    text += piece;
    out += stream.add(piece);
  }
  out += stream.finish();
  EXPECT_EQ(out, text);
}

}  // namespace scrub_test
}  // namespace tiffany
