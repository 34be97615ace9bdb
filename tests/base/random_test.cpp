#include "tiffany/base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "tiffany/base/hash.hpp"

namespace tiffany {
namespace random_test {

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  Random a(42, "x");
  Random b(42, "x");
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(a.next(), b.next());
}

TEST(Random, OtherSeedsAndOtherStreamsGiveOtherNumbers) {
  Random a(42, "x");
  Random other_seed(43, "x");
  Random other_stream(42, "y");
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = a.next();
    equal += value == other_seed.next();
    equal += value == other_stream.next();
  }
  EXPECT_EQ(equal, 0);
}

// Fixed for ever: recordings and seeds of earlier versions must stay valid, on every compiler. The
// expected numbers come from a separate implementation of splitmix64 and xoshiro256**.
TEST(Random, I9_TheNumbersOfASeedNeverChange) {
  const auto splitmix = [](std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  std::uint64_t seed = 7 ^ hash_name("ready order");
  std::array<std::uint64_t, 4> s{};
  for (auto& word : s) word = splitmix(seed);
  const auto rotate = [](std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };

  Random random(7, "ready order");
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t expected = rotate(s[1] * 5, 7) * 9;
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    ASSERT_EQ(random.next(), expected) << i;
  }
}

TEST(Random, BelowStaysBelowAndReachesEveryNumber) {
  Random random(5);
  std::array<int, 7> hits{};
  for (int i = 0; i < 7000; ++i) ++hits.at(random.below(7));
  for (int count : hits) EXPECT_GT(count, 700);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.below(1), 0u);
  const std::uint64_t most = ~std::uint64_t{0};
  for (int i = 0; i < 10; ++i) EXPECT_LT(random.below(most), most);
}

TEST(Hash, NamesHashAsFnv1aSays) {
  EXPECT_EQ(hash_name(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_name("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_name("foobar"), 0x85944171f73967e8u);
}

TEST(Hash, MixingDependsOnTheOrder) {
  EXPECT_NE(mix(mix(0, 1), 2), mix(mix(0, 2), 1));
  EXPECT_NE(mix(0, 1), mix(0, 2));
  EXPECT_NE(mix(mix(0, 1), 0), mix(0, 1));
}

}  // namespace random_test
}  // namespace tiffany
