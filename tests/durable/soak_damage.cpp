// Damages 10,000 logs of durable tasks, or as many as the argument says, and opens them. Exits with
// 1 when something is lost without a word or happens twice, and is killed by an alarm when one of
// them takes more than a minute. A second argument is the first seed.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "durable/damage/campaign.hpp"

int main(int argc, char** argv) {
  const long logs = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 10'000;
  std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (argc > 3 || logs <= 0) {
    std::fprintf(stderr, "usage: %s [logs] [seed]\n", argv[0]);
    return 2;
  }
  using tiffany::damage::Campaign;
  constexpr int kSamples = 500;  // of one campaign
  std::array<std::uint64_t, Campaign::kKinds> counts{};
  std::uint64_t said = 0, refused = 0, repaired = 0, accepted = 0, wrong = 0;
  long done = 0;
  for (; done < logs; ++seed) {
    alarm(60);
    Campaign campaign(seed);
    for (int i = 0; i < kSamples && done < logs; ++i, ++done) {
      alarm(60);
      const std::string complaint = campaign.once();
      if (complaint.empty()) continue;
      std::printf("FAILED: seed %ju, %s: %s\n", std::uintmax_t{seed}, campaign.what().c_str(),
                  complaint.c_str());
      if (++wrong == 20) return 1;
    }
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += campaign.counts[i];
    said += campaign.said;
    refused += campaign.refused;
    repaired += campaign.repaired;
    accepted += campaign.accepted;
    std::printf("seed %ju: %ld logs\n", std::uintmax_t{seed}, done);
    std::fflush(stdout);
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::printf("%8ju  %s\n", std::uintmax_t{counts[i]}, Campaign::kNames[i]);
  }
  std::printf(
      "%ld damaged logs: somebody was told in %ju, %ju openings refused, %ju repaired, %ju "
      "accepted; "
      "%ju with something done twice or lost without a word\n",
      done, std::uintmax_t{said}, std::uintmax_t{refused}, std::uintmax_t{repaired},
      std::uintmax_t{accepted}, std::uintmax_t{wrong});
  return wrong == 0 ? 0 : 1;
}
