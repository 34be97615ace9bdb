// Hexadecimal digits, in lower case.
#pragma once

#include <cstdint>
#include <string>

namespace tiffany {

inline constexpr char kHexDigits[] = "0123456789abcdef";

// The lowest `digits` digits of a number, the most significant first.
inline void append_hex(std::string& out, std::uint64_t number, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += kHexDigits[number >> shift & 15];
  }
}

}  // namespace tiffany
