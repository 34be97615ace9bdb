// Reads damaged logs for ten minutes, or for as many seconds as the argument says. Exits with 1
// when something goes wrong, and is killed by an alarm when one of them takes more than a minute. A
// second argument is the first seed.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "wal/fuzz.hpp"

int main(int argc, char** argv) {
  const long seconds = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 600;
  std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (argc > 3 || seconds <= 0) {
    std::fprintf(stderr, "usage: %s [seconds] [seed]\n", argv[0]);
    return 2;
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  std::uint64_t samples = 0, damaged = 0, opened = 0, records = 0;
  for (; Clock::now() - start < std::chrono::seconds(seconds); ++seed) {
    tiffany::wal::test::Fuzz fuzz(seed);
    for (int i = 0; i < 2000; ++i, ++samples) {
      alarm(60);
      const std::string wrong = fuzz.once();
      if (!wrong.empty()) {
        std::printf("FAILED: seed %ju, sample %d: %s\n", std::uintmax_t{seed}, i, wrong.c_str());
        return 1;
      }
    }
    damaged += fuzz.damaged;
    opened += fuzz.opened;
    records += fuzz.records;
    if (seed % 20 == 0) {
      std::printf("seed %ju: %ju logs read\n", std::uintmax_t{seed}, std::uintmax_t{samples});
      std::fflush(stdout);
    }
  }
  std::printf("%ju logs, %ju of them damaged, %ju records, %ju opened for writing: nothing amiss\n",
              std::uintmax_t{samples}, std::uintmax_t{damaged}, std::uintmax_t{records},
              std::uintmax_t{opened});
  return 0;
}
