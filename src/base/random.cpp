#include "tiffany/base/random.hpp"

#include "tiffany/base/hash.hpp"

namespace tiffany {
namespace {

std::uint64_t splitmix(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::uint64_t rotl(std::uint64_t value, int by) noexcept {
  return (value << by) | (value >> (64 - by));
}

}  // namespace

Random::Random(std::uint64_t seed, std::string_view stream) noexcept {
  std::uint64_t state = seed ^ hash_name(stream);
  for (auto& word : state_) word = splitmix(state);
}

std::uint64_t Random::next() noexcept {
  const std::uint64_t result = rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) noexcept {
  // Rejects the short first range, so that every result is equally likely.
  const std::uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t value = next();
    if (value >= threshold) return value % bound;
  }
}

}  // namespace tiffany
