#include "tiffany/io/address.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/harness.hpp"

namespace tiffany {
namespace address_test {

TEST(Address, AnAddressIsWrittenAsItIsRead) {
  for (const char* text :
       {"127.0.0.1:80", "0.0.0.0:0", "[::1]:65535", "unix:/run/some.socket", "unix:@abstract"}) {
    EXPECT_EQ(Address::parse(text).text(), text);
  }
}

TEST(Address, WhatIsNoAddressIsAnErrorThatSaysWhy) {
  const struct {
    std::string text;
    const char* why;
  } cases[] = {{"localhost:80", "neither an IPv4 nor an IPv6 address"},
               {"127.0.0.1", "it has no port"},
               {"127.0.0.1:", "its port is not a number"},
               {"127.0.0.1:65536", "its port is not a number"},
               {"127.0.0.1:80x", "its port is not a number"},
               {"::1:80", "needs brackets"},
               {"unix:", "it has no path"},
               {"unix:" + std::string(200, 'x'), "longer than 107 bytes"}};
  for (const auto& one : cases) {
    const auto error = test::thrown_by([&] { Address::parse(one.text); });
    EXPECT_EQ(test::code_of(error), Errc::bad_address) << one.text;
    EXPECT_NE(test::what_of(error).find(one.why), std::string::npos) << test::what_of(error);
  }
}

}  // namespace address_test
}  // namespace tiffany
