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

// One step of the rolling trace hash: a multiply and a fold. Cheap enough to be always on
// (about one nanosecond), and order-sensitive, which is what a trace needs.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

}  // namespace tiffany
