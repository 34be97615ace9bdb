// Texts as they are shown in sentences and compared with the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.hpp"
#include "tiffany/base/hash.hpp"

namespace tiffany::detail {

// A little of a text that may be long, for sentences.
inline std::string excerpt(std::string_view text) {
  constexpr std::size_t kShown = 120;
  if (text.size() <= kShown) return std::string(text);
  return std::string(utf8_prefix(text, kShown)) + "... (" + std::to_string(text.size()) + " bytes)";
}

// Sixteen digits.
inline std::string hex(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

inline std::string hash_of(std::string_view text) {
  return text.empty() ? "" : detail::hex(hash_name(text));
}

}  // namespace tiffany::detail
