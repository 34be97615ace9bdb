// CRC-32C (Castagnoli), which finds torn and flipped bytes in what was stored. Not for secrets.
//
// By the instruction of the processor where it has one, else by a table: the result is the same.
#pragma once

#include <cstdint>
#include <string_view>

namespace tiffany {

// `seed` is the CRC of what came before: crc32c(b, crc32c(a)) == crc32c(a + b).
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0) noexcept;

namespace detail {

bool has_crc32c_instruction() noexcept;
std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t seed) noexcept;
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t seed) noexcept;

}  // namespace detail
}  // namespace tiffany
