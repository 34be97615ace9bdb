// Two small hashes with fixed results on every compiler: one for names, one for the trace.
#pragma once

#include <cstdint>
#include <string_view>

namespace tiffany {

// FNV-1a. Used for the names of system calls and random streams, never for hash tables that take
// input from outside.
constexpr std::uint64_t hash_name(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

// One step of the rolling trace hash, always on. Order-sensitive: a polynomial in 9, which needs one
// instruction on the chain from step to step; the spreading of the value is off that chain.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  return hash * 9 + value * 0x9e3779b97f4a7c15u;
}

}  // namespace tiffany
