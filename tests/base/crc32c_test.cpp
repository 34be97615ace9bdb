#include "tiffany/base/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tiffany/base/random.hpp"

namespace tiffany {
namespace crc32c_test {

std::string random_bytes(Random& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random.below(256));
  return bytes;
}

TEST(Crc32c, KnownVectorsGiveTheirKnownNumbers) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("a"), 0xC1D04330u);
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(rising), 0x46DD794Eu);
}

TEST(Crc32c, TheTableGivesTheKnownNumbersToo) {
  EXPECT_EQ(detail::crc32c_by_table("123456789", 0), 0xE3069283u);
  EXPECT_EQ(detail::crc32c_by_table(std::string(32, '\0'), 0), 0x8A9136AAu);
}

TEST(Crc32c, TheInstructionAndTheTableAgreeOnEveryLengthAndAlignment) {
  if (!detail::has_crc32c_instruction()) GTEST_SKIP() << "this processor has no such instruction";
  Random random(1);
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string bytes = random_bytes(random, size + size % 8);
    const std::string_view part = std::string_view(bytes).substr(size % 8);
    const auto seed = static_cast<std::uint32_t>(random.next());
    ASSERT_EQ(detail::crc32c_by_instruction(part, seed), detail::crc32c_by_table(part, seed))
        << size;
    ASSERT_EQ(crc32c(part, seed), detail::crc32c_by_table(part, seed)) << size;
  }
}

TEST(Crc32c, InPiecesItIsTheSameAsInOne) {
  Random random(2);
  const std::string bytes = random_bytes(random, 100);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const std::string_view all = bytes;
    EXPECT_EQ(crc32c(all.substr(cut), crc32c(all.substr(0, cut))), crc32c(all));
    EXPECT_EQ(
        detail::crc32c_by_table(all.substr(cut), detail::crc32c_by_table(all.substr(0, cut), 0)),
        crc32c(all));
  }
}

TEST(Crc32c, EveryFlippedBitIsFound) {
  Random random(3);
  std::string bytes = random_bytes(random, 64);
  const std::uint32_t good = crc32c(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(crc32c(bytes), good);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
}

}  // namespace crc32c_test
}  // namespace tiffany
