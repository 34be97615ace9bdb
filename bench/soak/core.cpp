// Spawns and joins tasks, one after the other, a hundred million times (or as often as the argument
// says), and checks that memory does not grow: the resident set after the first million and at the
// end must differ by less than a mebibyte. Exits with 1 when they do not.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "tiffany/tiffany.hpp"

namespace {

constexpr std::uint64_t kWarmUp = 1'000'000;
constexpr std::int64_t kAllowedGrowth = 1024 * 1024;

std::int64_t resident_bytes() {
  std::FILE* statm = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  const int fields = statm != nullptr ? std::fscanf(statm, "%*d %ld", &pages) : 0;
  if (statm != nullptr) std::fclose(statm);
  if (fields != 1) {
    std::fputs("soak: /proc/self/statm cannot be read\n", stderr);
    std::exit(2);
  }
  return std::int64_t{pages} * sysconf(_SC_PAGESIZE);
}

tiffany::Task<std::uint64_t> give_back(std::uint64_t n) { co_return n; }

// Adds up what the tasks return.
tiffany::Task<std::uint64_t> spawn_and_join(std::uint64_t from, std::uint64_t to) {
  std::uint64_t sum = 0;
  for (std::uint64_t n = from; n < to; ++n) {
    auto handle = tiffany::spawn(give_back, n);
    sum += co_await handle;
  }
  co_return sum;
}

// The sum of 0 .. n-1, as it wraps around.
std::uint64_t sum_below(std::uint64_t n) { return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n; }

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t cycles = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000'000;
  if (argc > 2 || cycles <= kWarmUp) {
    std::fprintf(stderr, "usage: %s [cycles, more than %ju]\n", argv[0], std::uintmax_t{kWarmUp});
    return 2;
  }

  tiffany::Scheduler scheduler;
  std::uint64_t sum = tiffany::run_on(scheduler, spawn_and_join(0, kWarmUp));
  const std::int64_t before = resident_bytes();
  std::printf("after %11ju spawn/join cycles: %jd KiB resident\n", std::uintmax_t{kWarmUp},
              std::intmax_t{before / 1024});
  std::fflush(stdout);

  sum += tiffany::run_on(scheduler, spawn_and_join(kWarmUp, cycles));
  const std::int64_t after = resident_bytes();
  std::printf("after %11ju spawn/join cycles: %jd KiB resident\n", std::uintmax_t{cycles},
              std::intmax_t{after / 1024});

  if (sum != sum_below(cycles)) {
    std::puts("FAILED: the tasks did not return what they were given");
    return 1;
  }
  if (std::abs(after - before) >= kAllowedGrowth) {
    std::puts("FAILED: memory must stay within 1 MiB");
    return 1;
  }
  std::puts("memory is flat");
  return 0;
}
