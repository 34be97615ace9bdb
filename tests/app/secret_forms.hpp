// Twenty secrets, each in six forms, for tests that look for them everywhere.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/base64.hpp"

namespace tiffany::daemon_tests {

inline constexpr int kSecrets = 20;

// Letters, signs that each form writes in another way, and characters of several bytes.
inline std::string secret_of(int number) {
  static const std::vector<std::string> signs{"", " ?>", "\"\\", "%+/", "\xc3\xa9~&"};
  const std::string digits = std::to_string(number);
  return "hunter" + digits + signs[static_cast<std::size_t>(number) % signs.size()] +
         "of-the-plan" + digits;
}

inline std::string hexed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}
inline std::string percented(std::string_view text) {
  constexpr std::string_view kPlain = "-._~";
  std::string out;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    const std::string hex = hexed(std::string_view(&c, 1));
    if (plain || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      for (const char digit : hex) out += static_cast<char>(std::toupper(digit));
    }
  }
  return out;
}
inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}
inline std::string url_base64(std::string text) {
  text = to_base64(text);
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text.substr(0, text.find('='));
}
// Of base64 without its end, which depends on what follows.
inline std::vector<std::string> forms_of(const std::string& secret) {
  const std::string encoded = to_base64(secret);
  return {secret,
          encoded.substr(0, encoded.find('=')),
          url_base64(secret),
          hexed(secret),
          percented(secret),
          escaped(secret)};
}

inline std::vector<std::string> all_forms() {
  std::vector<std::string> all;
  for (int i = 0; i < kSecrets; ++i) {
    for (std::string& form : forms_of(secret_of(i))) all.push_back(std::move(form));
  }
  return all;
}

inline void expect_none(const std::string& text, const std::string& where) {
  static const std::vector<std::string> forms = all_forms();
  ASSERT_EQ(forms.size(), std::size_t{6 * kSecrets});
  for (const std::string& form : forms) {
    EXPECT_EQ(text.find(form), std::string::npos) << where << " has " << form;
  }
}

}  // namespace tiffany::daemon_tests
