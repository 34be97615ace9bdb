// Text that JSON takes as it is: ASCII that can be printed, without quotes and backslashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tiffany::detail {

constexpr bool is_plain(char c) noexcept { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

// Eight at a time: no byte is below a space, above the tilde, or one of the two.
inline bool plain_word(std::uint64_t word) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x80 * kOnes;
  const auto has_zero = [](std::uint64_t w) { return (w - kOnes) & ~w; };
  const std::uint64_t below_space = (word - 0x20 * kOnes) & ~word;
  const std::uint64_t one_of_them =
      has_zero(word ^ '"' * kOnes) | has_zero(word ^ '\\' * kOnes) | has_zero(word ^ 0x7F * kOnes);
  return ((word | below_space | one_of_them) & kHigh) == 0;
}
template <class Word>
Word load_word(const char* from) noexcept {
  Word word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}
inline bool all_plain(const char* eight) noexcept {
  return plain_word(load_word<std::uint64_t>(eight));
}

// How many bytes from `at` on are.
inline std::size_t plain_bytes(std::string_view text, std::size_t at = 0) noexcept {
  std::size_t end = at;
  while (end + 8 <= text.size() && all_plain(text.data() + end)) end += 8;
  while (end < text.size() && is_plain(text[end])) ++end;
  return end - at;
}

// Copies the text, and says whether it is plain as a whole. In words, of which the last overlaps
// the one before: most texts are short, and a loop over their bytes takes longest.
inline bool copy_plain(char* to, std::string_view text) noexcept {
  const auto both_ends = [&]<class Word>(Word) {
    const auto first = load_word<Word>(text.data());
    const auto last = load_word<Word>(text.data() + text.size() - sizeof(Word));
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + text.size() - sizeof last, &last, sizeof last);
    constexpr std::uint64_t kSpaces = 0x2020202020202020;
    if constexpr (sizeof(Word) == 8) {
      return plain_word(first) && plain_word(last);
    } else if constexpr (sizeof(Word) == 4) {
      return plain_word(first | static_cast<std::uint64_t>(last) << 32);
    } else {
      return plain_word((kSpaces << 32) | first | static_cast<std::uint64_t>(last) << 16);
    }
  };
  const std::size_t size = text.size();
  if (size > 16) {
    std::memcpy(to, text.data(), size);
    std::size_t at = 0;
    while (at + 8 <= size && all_plain(text.data() + at)) at += 8;
    return at + 8 > size && all_plain(text.data() + size - 8);
  }
  if (size >= 8) return both_ends(std::uint64_t{});
  if (size >= 4) return both_ends(std::uint32_t{});
  if (size >= 2) return both_ends(std::uint16_t{});
  if (size == 0) return true;
  *to = text.front();
  return is_plain(*to);
}

}  // namespace tiffany::detail
