// Level 0: a yield, and a spawn with its join, in nanoseconds and in instructions. Compiled twice:
// for "ours" with the library as it is, for "floor" with one in which transitions of tasks are
// neither counted nor told (TIFFANY_WITHOUT_SEAM). TIFFANY_INSTRUCTIONS is the program
// bench/instructions/core.cpp over the same library.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "row.hpp"
#include "switches.hpp"

namespace {

using namespace tiffany;

double yield_level_0(const bench::Suite& suite) {
  Scheduler scheduler(Options().clock(real_clock()));
  return bench::ns_per_yield(suite, scheduler);
}

Task<std::size_t> give_back(std::size_t n) { co_return n; }
Task<void> spawn_and_join(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto handle = spawn(give_back, i);
    co_await handle;
  }
}

double spawn_join_level_0(const bench::Suite& suite) {
  const std::size_t count = suite.quick() ? 200'000 : 1'000'000;
  Scheduler scheduler(Options().clock(real_clock()));
  scheduler.spawn(spawn_and_join, count);
  return bench::cpu_ns_of([&] { scheduler.run(); }) / static_cast<double>(count);
}

// Executed instructions, as callgrind counts them.
double instructions_of(const char* what, std::uint64_t count) {
  const std::string command =
      "valgrind --tool=callgrind --callgrind-out-file=/dev/null " TIFFANY_INSTRUCTIONS " " +
      std::string(what) + " " + std::to_string(count) + " 2>&1";
  std::FILE* const out = popen(command.c_str(), "r");
  bench::check(out != nullptr, "a shell for valgrind");
  unsigned long long collected = 0;
  for (char line[512]; std::fgets(line, sizeof line, out) != nullptr;) {
    const std::string_view text(line);
    const std::size_t at = text.find("Collected : ");
    if (at != std::string_view::npos) std::sscanf(line + at, "Collected : %llu", &collected);
  }
  pclose(out);
  bench::check(collected > 0, "valgrind counts instructions; install it");
  return static_cast<double>(collected);
}

// The difference between two counts, which is exact: setting up costs the same.
double difference(const char* what) {
  constexpr std::uint64_t kCount = 20'000;
  const double once = instructions_of(what, kCount);
  return (instructions_of(what, 2 * kCount) - once) / static_cast<double>(kCount);
}
double yield_instructions(const bench::Suite&) { return difference("yield"); }
double spawn_join_instructions(const bench::Suite&) { return difference("spawn_join"); }

const bench::Row rows[] = {
    {"yield_level_0", "ns", bench::Weight::light, yield_level_0},
    {"spawn_join_level_0", "ns", bench::Weight::light, spawn_join_level_0},
    {"yield_instructions", "instructions", bench::Weight::heavy, yield_instructions},
    {"spawn_join_instructions", "instructions", bench::Weight::heavy, spawn_join_instructions},
};

}  // namespace
