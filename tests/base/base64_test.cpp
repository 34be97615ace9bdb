#include "tiffany/base/base64.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tiffany/base/random.hpp"

namespace tiffany {
namespace base64_test {

TEST(Base64, TheExamplesOfTheStandardAreWrittenAndRead) {
  const std::pair<std::string, std::string> examples[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
    EXPECT_EQ(base64_bytes(text), bytes.size());
  }
}

TEST(Base64, AllBytesOfAllLengthsComeBack) {
  Random random(7, "base64");
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(random.below(256));
    const std::string text = to_base64(bytes);
    EXPECT_EQ(from_base64(text), bytes) << size;
    EXPECT_EQ(base64_bytes(text), size);
  }
}

TEST(Base64, WhatIsNotWrittenSoIsRefused) {
  for (const char* text : {"Zg", "Zg=", "Zg===", "Z===", "====", "=", "Zh==", "Zm9=", "Zm 9",
                           "Zg=A", "Zm9v=AAA", "Zg==Zg==", "Zm9v\n", "Zm-_"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace base64_test
}  // namespace tiffany
