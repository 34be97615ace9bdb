// Messages between a thousand tasks, under two hundred seeds: none lost, none twice, none reordered
// per sender. `./dev soak sync` does the same with a million messages for each seed.
#include <gtest/gtest.h>

#include "support/channel_storm.hpp"

namespace tiffany {
namespace channel_storm_test {

TEST(ChannelStorm, NothingIsLostComesTwiceOrOvertakes) {
  constexpr std::uint64_t kMessages = 5000;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::ChannelStorm storm(seed, 1000, kMessages);
    ASSERT_EQ(storm.run(), "");
    ASSERT_GT(storm.received(), kMessages / 2) << "most senders live to the end";
  }
}

}  // namespace channel_storm_test
}  // namespace tiffany
