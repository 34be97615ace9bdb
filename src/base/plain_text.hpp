// Text that JSON takes as it is: ASCII that can be printed, without quotes and backslashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tiffany::detail {

constexpr bool is_plain(char c) noexcept { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

// Eight at a time: no byte is below a space, above the tilde, or one of the two.
inline bool all_plain(const char* eight) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x80 * kOnes;
  std::uint64_t word = 0;
  std::memcpy(&word, eight, sizeof word);
  const auto has_zero = [](std::uint64_t w) { return (w - kOnes) & ~w; };
  const std::uint64_t below_space = (word - 0x20 * kOnes) & ~word;
  const std::uint64_t one_of_them =
      has_zero(word ^ '"' * kOnes) | has_zero(word ^ '\\' * kOnes) | has_zero(word ^ 0x7F * kOnes);
  return ((word | below_space | one_of_them) & kHigh) == 0;
}

// How many bytes from `at` on are.
inline std::size_t plain_bytes(std::string_view text, std::size_t at = 0) noexcept {
  std::size_t end = at;
  while (end + 8 <= text.size() && all_plain(text.data() + end)) end += 8;
  while (end < text.size() && is_plain(text[end])) ++end;
  return end - at;
}

}  // namespace tiffany::detail
