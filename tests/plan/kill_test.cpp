// Plans with real commands in a program that is killed. ./dev soak plans does more of it.
#include <gtest/gtest.h>

#include "plan/kill_campaign.hpp"

namespace tiffany {
namespace plan_kill_test {

class PlanKills : public testing::Test {
 protected:
  PlanKills() {
    std::string name = (std::filesystem::temp_directory_path() / "tiffany-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~PlanKills() override { std::filesystem::remove_all(path_); }
  std::string path_;
};

TEST_F(PlanKills, EachCommandOfAProgramThatIsKilledRunsOnce) {
  KillCampaign campaign(path_, TIFFANY_RUN, 3, 1);
  campaign.run(8, 0);
  EXPECT_EQ(campaign.wrong(), std::vector<std::string>());
}

TEST_F(PlanKills, WithSupervisorsKilledToo) {
  KillCampaign campaign(path_, TIFFANY_RUN, 3, 2);
  campaign.run(6, 2);
  EXPECT_EQ(campaign.wrong(), std::vector<std::string>());
}

}  // namespace plan_kill_test
}  // namespace tiffany
