// Ten thousand programs of durable tasks (or as many as the argument says), made from seeds:
// recorded and replayed, and cut off at random points and recovered. Results and logs must be the
// same, nothing may diverge, and two runs of the same seed must have the same trace. Exits with 1
// when that is not so.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "durable/random_program.hpp"

namespace {

using namespace tiffany;
using random_program::Lives;

std::string run(std::uint64_t seed) {
  const wal::Layout layout = seed % 2 == 0 ? wal::Layout::journal : wal::Layout::files;
  if (const std::string wrong = Lives(wal::Layout::files, seed).replay(); !wrong.empty()) {
    return "after a replay, " + wrong;
  }
  if (const std::string wrong = Lives(layout, seed).run(); !wrong.empty()) {
    return "after crashes, " + wrong;
  }
  random_program::Outcome outcomes[2];
  for (auto& outcome : outcomes) {
    random_program::forget();
    LoggedCrashTest world(layout);
    outcome = random_program::live(world, seed, random_program::Outside::cancels);
  }
  return outcomes[0] == outcomes[1] ? "" : "two runs of the same seed differ";
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t programs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (argc > 3 || programs == 0) {
    std::fprintf(stderr, "usage: %s [programs] [the first seed]\n", argv[0]);
    return 2;
  }
  for (std::uint64_t i = 0; i < programs; ++i) {
    const std::string wrong = run(first + i);
    if (!wrong.empty()) {
      std::printf("FAILED with seed %ju: %s\n", std::uintmax_t{first + i}, wrong.c_str());
      return 1;
    }
    if (i % 1000 == 999 || i + 1 == programs) {
      std::printf("%ju programs: all replayed to the same results, commands and traces\n",
                  std::uintmax_t{i + 1});
      std::fflush(stdout);
    }
  }
  return 0;
}
