// Kills a process full of durable tasks with SIGKILL a thousand times in each layout of the log (or
// as often as the argument says), starts it again each time, and counts from outside what it did:
// see tests/durable/crash/. Exits with 1 when anything was lost, done twice, or differs from an
// undisturbed run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "durable/crash/campaign.hpp"

namespace {

using tiffany::crash::Campaign;
using tiffany::wal::Layout;

bool run(Layout layout, const char* name, int kills, int tasks, std::uint64_t seed) {
  std::string directory =
      (std::filesystem::current_path() / "build" / "soak-crash-XXXXXX").string();
  std::filesystem::create_directories("build");
  if (::mkdtemp(directory.data()) == nullptr) {
    std::perror("soak: no directory below build/");
    return false;
  }
  std::printf("%s: %d kills, %d tasks in each round, seed %ju\n", name, kills, tasks,
              std::uintmax_t{seed});
  std::fflush(stdout);
  Campaign campaign(layout, kills, tasks, seed, directory);
  campaign.verbose = true;
  campaign.run();
  std::printf(
      "  %d lives, %d of them ended by SIGKILL (%ju while the log was being opened), in %d rounds\n"
      "  %ju effects; %ju were asked for again with the same key; %ju times the outcome of one "
      "that\n"
      "  may happen once at most was unknown, and the task was told so\n"
      "  %ju acknowledged starts, signals, promises and results\n",
      campaign.lives, campaign.kills, std::uintmax_t{campaign.killed_while_opening},
      campaign.rounds, std::uintmax_t{campaign.effects}, std::uintmax_t{campaign.repeated},
      std::uintmax_t{campaign.unknown}, std::uintmax_t{campaign.acknowledged});
  for (const std::string& each : campaign.complaints) std::printf("  WRONG: %s\n", each.c_str());
  if (!campaign.complaints.empty()) return false;  // the log stays, to be looked at
  std::filesystem::remove_all(directory);
  std::puts("  every task ended as in an undisturbed run, and nothing was lost or done twice");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int kills = argc > 1 ? std::atoi(argv[1]) : 1000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const int tasks = argc > 3 ? std::atoi(argv[3]) : 200;
  if (argc > 4 || kills < 1 || tasks < 1) {
    std::fprintf(stderr, "usage: %s [kills] [seed] [tasks]\n", argv[0]);
    return 2;
  }
  const bool journal = run(Layout::journal, "journal", kills, tasks, seed);
  const bool files = run(Layout::files, "files", kills, tasks, seed);
  return journal && files ? 0 : 1;
}
