#include "tiffany/base/crc32c.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace tiffany {
namespace {

constexpr std::array<std::uint32_t, 256> crc32c_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kCrc32cTable = crc32c_table();

}  // namespace

namespace detail {

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t seed) noexcept {
  std::uint32_t crc = ~seed;
  for (const char c : bytes) {
    crc = crc >> 8 ^ kCrc32cTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  }
  return ~crc;
}

#if defined(__x86_64__)

bool has_crc32c_instruction() noexcept { return __builtin_cpu_supports("sse4.2"); }

__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::string_view bytes,
                                                                      std::uint32_t seed) noexcept {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t crc = ~seed;
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t eight;
    std::memcpy(&eight, at, 8);
    crc = _mm_crc32_u64(crc, eight);
  }
  auto short_crc = static_cast<std::uint32_t>(crc);
  for (; left > 0; ++at, --left) {
    short_crc = _mm_crc32_u8(short_crc, static_cast<unsigned char>(*at));
  }
  return ~short_crc;
}

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)

bool has_crc32c_instruction() noexcept { return true; }  // the compiler was told so

std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t seed) noexcept {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint32_t crc = ~seed;
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t eight;
    std::memcpy(&eight, at, 8);
    crc = __crc32cd(crc, eight);
  }
  for (; left > 0; ++at, --left) crc = __crc32cb(crc, static_cast<unsigned char>(*at));
  return ~crc;
}

#else

bool has_crc32c_instruction() noexcept { return false; }

std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t seed) noexcept {
  return crc32c_by_table(bytes, seed);
}

#endif

}  // namespace detail

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) noexcept {
  static const bool by_instruction = detail::has_crc32c_instruction();
  return by_instruction ? detail::crc32c_by_instruction(bytes, seed)
                        : detail::crc32c_by_table(bytes, seed);
}

}  // namespace tiffany
