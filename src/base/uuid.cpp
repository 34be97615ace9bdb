#include "tiffany/base/uuid.hpp"

#include <array>
#include <cstring>

#include "tiffany/base/hex.hpp"

namespace tiffany {
namespace {

bool dash_before(std::size_t byte) noexcept {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

// By character; 16 for those that are no digits.
constexpr std::array<std::uint8_t, 256> digit_table() {
  std::array<std::uint8_t, 256> table{};
  table.fill(16);
  for (std::uint8_t i = 0; i < 16; ++i) {
    table[static_cast<unsigned char>(kHexDigits[i])] = i;
    if (i >= 10) table[static_cast<unsigned char>('A' + i - 10)] = i;
  }
  return table;
}
constexpr std::array<std::uint8_t, 256> kDigitOf = digit_table();

// The two digits of every byte.
constexpr std::array<char, 512> pair_table() {
  std::array<char, 512> table{};
  for (std::size_t i = 0; i < 256; ++i) {
    table[2 * i] = kHexDigits[i >> 4];
    table[2 * i + 1] = kHexDigits[i & 15];
  }
  return table;
}
constexpr std::array<char, 512> kPairs = pair_table();

}  // namespace

Uuid Uuid::random(Random& source) noexcept {
  Uuid uuid;
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t bits = source.next();
    for (std::size_t i = 0; i < 8; ++i, bits >>= 8) {
      uuid.bytes_[half * 8 + i] = static_cast<std::uint8_t>(bits);
    }
  }
  uuid.bytes_[6] = static_cast<std::uint8_t>((uuid.bytes_[6] & 0x0f) | 0x40);  // version 4
  uuid.bytes_[8] = static_cast<std::uint8_t>((uuid.bytes_[8] & 0x3f) | 0x80);  // RFC 4122 variant
  return uuid;
}

std::uint64_t Uuid::hash() const noexcept {
  std::uint64_t half[2];
  std::memcpy(half, bytes_.data(), sizeof half);
  return half[0] ^ (half[1] * 0x9e3779b97f4a7c15u);
}

Uuid Uuid::derived(const Uuid& from, std::string_view name) noexcept {
  Uuid uuid;
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t bits = 0xcbf29ce484222325u + half;
    const auto take = [&bits](std::uint8_t byte) { bits = (bits ^ byte) * 0x100000001b3u; };
    for (const std::uint8_t byte : from.bytes_) take(byte);
    for (const char c : name) take(static_cast<std::uint8_t>(c));
    bits ^= bits >> 30;
    bits *= 0xbf58476d1ce4e5b9u;
    bits ^= bits >> 27;
    bits *= 0x94d049bb133111ebu;
    bits ^= bits >> 31;
    for (std::size_t i = 0; i < 8; ++i, bits >>= 8) {
      uuid.bytes_[half * 8 + i] = static_cast<std::uint8_t>(bits);
    }
  }
  uuid.bytes_[6] = static_cast<std::uint8_t>((uuid.bytes_[6] & 0x0f) | 0x80);  // version 8
  uuid.bytes_[8] = static_cast<std::uint8_t>((uuid.bytes_[8] & 0x3f) | 0x80);  // RFC 4122 variant
  return uuid;
}

std::optional<Uuid> Uuid::parse(std::string_view text) noexcept {
  if (text.size() != 36) return std::nullopt;
  Uuid uuid;
  std::size_t at = 0;
  unsigned seen = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    if (dash_before(i) && text[at++] != '-') return std::nullopt;
    const unsigned high = kDigitOf[static_cast<unsigned char>(text[at])];
    const unsigned low = kDigitOf[static_cast<unsigned char>(text[at + 1])];
    seen |= high | low;
    uuid.bytes_[i] = static_cast<std::uint8_t>(high << 4 | low);
    at += 2;
  }
  if (seen >= 16) return std::nullopt;
  return uuid;
}

std::string Uuid::text() const {
  std::string out(36, '-');
  char* to = out.data();
  for (std::size_t i = 0; i < 16; ++i) {
    if (dash_before(i)) ++to;
    std::memcpy(to, &kPairs[2 * std::size_t{bytes_[i]}], 2);
    to += 2;
  }
  return out;
}

}  // namespace tiffany
