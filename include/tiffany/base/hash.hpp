// Two small hashes with fixed results on every compiler: one for names, one for the trace.
#pragma once

#include <bit>
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

// One step of the rolling trace hash, always on. Order-sensitive, and never loses a difference by
// itself: each step maps different hashes to different hashes. The factor fits into an instruction.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  return (std::rotl(hash, 5) ^ value) * 0xffffffff9e3779b1u;
}

}  // namespace tiffany
