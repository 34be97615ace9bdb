// Where a sequence of UTF-8 begins, how long it is, whether it is one; and cutting between them.
#pragma once

#include <cstddef>
#include <string_view>

namespace tiffany::detail {

constexpr unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// What a sequence that begins with this byte looks like: its length, and the range of the second
// byte, which is what rules out overlong forms, surrogates and what is beyond U+10FFFF.
struct Utf8Lead {
  std::size_t length;
  unsigned char second_low;
  unsigned char second_high;
};
constexpr Utf8Lead utf8_lead(unsigned char first) {
  if (first < 0x80) return {1, 0, 0};
  if (first >= 0xC2 && first <= 0xDF) return {2, 0x80, 0xBF};
  if (first == 0xE0) return {3, 0xA0, 0xBF};
  if (first == 0xED) return {3, 0x80, 0x9F};
  if (first >= 0xE1 && first <= 0xEF) return {3, 0x80, 0xBF};
  if (first == 0xF0) return {4, 0x90, 0xBF};
  if (first >= 0xF1 && first <= 0xF3) return {4, 0x80, 0xBF};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};  // no sequence begins so
}

struct Utf8 {
  std::size_t bytes;  // to take; of a broken one, those that could have begun a good one
  bool good;
};
constexpr Utf8 utf8_at(std::string_view text, std::size_t at) {
  const Utf8Lead lead = utf8_lead(byte_at(text, at));
  std::size_t bytes = 1;
  while (bytes < lead.length && at + bytes < text.size()) {
    const unsigned char next = byte_at(text, at + bytes);
    const unsigned char low = bytes == 1 ? lead.second_low : 0x80;
    const unsigned char high = bytes == 1 ? lead.second_high : 0xBF;
    if (next < low || next > high) break;
    ++bytes;
  }
  return {bytes, bytes == lead.length};
}

constexpr bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8 sequence = utf8_at(text, at);
    if (!sequence.good) return false;
    at += sequence.bytes;
  }
  return true;
}

// The first bytes of a text, at most so many, and not a part of a character.
constexpr std::string_view utf8_prefix(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text;
  constexpr std::size_t kLongestPart = 3;
  for (std::size_t part = 0; part <= kLongestPart && part <= longest; ++part) {
    const std::size_t end = longest - part;
    if ((byte_at(text, end) & 0xC0U) != 0x80U) return text.substr(0, end);
  }
  return text.substr(0, longest);  // no UTF-8
}

}  // namespace tiffany::detail
