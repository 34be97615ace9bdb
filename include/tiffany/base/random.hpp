// The only source of randomness in Tiffany: seeded, and identical on every compiler.
//
// Standard distributions are not used anywhere because their results differ between standard
// libraries. Streams are named, so that adding a consumer does not shift the numbers of another.
#pragma once

#include <cstdint>
#include <string_view>

namespace tiffany {

// xoshiro256** with a splitmix64 seeding. Not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::string_view stream = {}) noexcept;

  std::uint64_t next() noexcept;

  // A number in [0, bound), without bias. `bound` must not be zero.
  std::uint64_t below(std::uint64_t bound) noexcept;

 private:
  std::uint64_t state_[4];
};

}  // namespace tiffany
