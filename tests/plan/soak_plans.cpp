// ./dev soak plans [kills]: a program with 20 plans is killed so often (500), every fifth time
// together with some supervisors of its commands. Prints what is wrong, and ends with 1 then.
#include <cstdio>
#include <cstdlib>

#include "plan/kill_campaign.hpp"

int main(int count, char** words) {
  using namespace tiffany;
  const int kills = count > 1 ? std::atoi(words[1]) : 500;
  int wrong = 0;
  int supervisors = 0;
  constexpr int kPlans = 20;
  constexpr int kKillsOfOne = 20;  // then everything has ended, and another round begins
  for (int done = 0; done < kills; done += kKillsOfOne) {
    std::string name = (std::filesystem::temp_directory_path() / "tiffany-XXXXXX").string();
    const std::string path = mkdtemp(name.data());
    KillCampaign campaign(path, TIFFANY_RUN, kPlans, static_cast<std::uint64_t>(done) + 1);
    campaign.run(std::min(kKillsOfOne, kills - done), 5);
    supervisors += campaign.supervisors_killed();
    for (const std::string& sentence : campaign.wrong()) {
      std::printf("%s: %s\n", path.c_str(), sentence.c_str());
      ++wrong;
    }
    if (campaign.wrong().empty()) std::filesystem::remove_all(path);
    std::printf("%d kills, %d of supervisors, %d wrong\n", done + kKillsOfOne, supervisors, wrong);
    std::fflush(stdout);
  }
  return wrong == 0 ? 0 : 1;
}
