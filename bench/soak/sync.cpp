// A million messages between a thousand tasks under each of 200 seeds (or as many as the arguments
// say): none may be lost, come twice or overtake another of its sender, and memory must not grow
// from seed to seed. Exits with 1 when that is not so.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench_support.hpp"
#include "support/channel_storm.hpp"

namespace {

constexpr std::size_t kTasks = 1000;
constexpr std::uint64_t kWarmUp = 10;
constexpr std::uint64_t kAllowedGrowth = 8 * 1024 * 1024;  // of the allocator, from seed to seed

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
  const std::uint64_t messages = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  if (argc > 3 || seeds <= kWarmUp || messages < kTasks) {
    std::fprintf(stderr, "usage: %s [seeds, more than %ju] [messages for each, %zu or more]\n",
                 argv[0], std::uintmax_t{kWarmUp}, kTasks);
    return 2;
  }
  std::size_t before = 0;
  std::uint64_t received = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    if (seed == kWarmUp) before = bench::rss_bytes();
    tiffany::test::ChannelStorm storm(seed, kTasks, messages);
    const std::string complaint = storm.run();
    if (!complaint.empty()) {
      std::printf("FAILED: %s\n", complaint.c_str());
      return 1;
    }
    received += storm.received();
    if (seed % 20 == 19) {
      std::printf("%ju seeds, %ju messages: nothing lost\n", std::uintmax_t{seed + 1},
                  std::uintmax_t{received});
      std::fflush(stdout);
    }
  }
  const std::size_t after = bench::rss_bytes();
  std::printf("%zu KiB resident after %ju seeds, %zu KiB after %ju\n", before / 1024,
              std::uintmax_t{kWarmUp}, after / 1024, std::uintmax_t{seeds});
  if (after > before + kAllowedGrowth) {
    std::puts("FAILED: memory grows from seed to seed");
    return 1;
  }
  return 0;
}
