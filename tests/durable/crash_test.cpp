// A short crash campaign; `./dev soak crash` is the long one.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "durable/crash/campaign.hpp"

namespace tiffany {
namespace crash_test {

class CrashTest : public testing::TestWithParam<wal::Layout> {};

TEST_P(CrashTest, D3_NothingIsLostOrDoneTwiceByAProcessThatIsKilledAtAnyMoment) {
  std::string name = (std::filesystem::temp_directory_path() / "tiffany-crash-XXXXXX").string();
  const std::string directory = mkdtemp(name.data());
  crash::Campaign campaign(GetParam(), 15, 48, 7, directory);
  campaign.run();
  for (const std::string& each : campaign.complaints) ADD_FAILURE() << each;
  EXPECT_GE(campaign.kills, campaign.complaints.empty() ? 15 : 0);
  std::filesystem::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(, CrashTest, testing::Values(wal::Layout::journal, wal::Layout::files),
                         [](const testing::TestParamInfo<wal::Layout>& layout) {
                           return layout.param == wal::Layout::journal ? "journal" : "files";
                         });

}  // namespace crash_test
}  // namespace tiffany
