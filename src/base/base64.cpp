#include "tiffany/base/base64.hpp"

#include <array>
#include <cstdint>

namespace tiffany {
namespace {

constexpr std::string_view kSigns =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoSign = 255;

constexpr std::array<std::uint8_t, 256> values_of_signs() {
  std::array<std::uint8_t, 256> all{};
  all.fill(kNoSign);
  for (std::size_t i = 0; i < kSigns.size(); ++i) {
    all[static_cast<unsigned char>(kSigns[i])] = static_cast<std::uint8_t>(i);
  }
  return all;
}
constexpr std::array<std::uint8_t, 256> kValues = values_of_signs();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view part = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= part.size() ? kSigns[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(base64_bytes(text));
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t bits = 0;
    std::size_t signs = 4;
    if (at + 4 == text.size()) signs = text.substr(at).find('=');
    if (signs > 4) signs = 4;
    if (signs < 2 || (signs == 2 && text[at + 3] != '=')) return std::nullopt;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint8_t value =
          i < signs ? kValues[static_cast<unsigned char>(text[at + i])] : std::uint8_t{0};
      if (value == kNoSign) return std::nullopt;
      bits = bits << 6 | value;
    }
    // Bits that stand for nothing are zero: each text has one form.
    if ((bits & ((1U << (8 * (4 - signs))) - 1)) != 0) return std::nullopt;
    for (std::size_t i = 0; i + 1 < signs; ++i) {
      bytes += static_cast<char>(bits >> (16 - 8 * i) & 255);
    }
  }
  return bytes;
}

std::size_t base64_bytes(std::string_view text) noexcept {
  std::size_t bytes = text.size() / 4 * 3;
  for (std::size_t i = 0; i < 2 && bytes > 0 && text.ends_with('='); ++i) {
    text.remove_suffix(1);
    --bytes;
  }
  return bytes;
}

}  // namespace tiffany
