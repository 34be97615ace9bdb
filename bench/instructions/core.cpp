// Does one thing so many times, for an instruction counter to watch:
//
//   instructions_core yield|spawn_join|nested_call COUNT
//
// Setting up costs the same whatever the count, so the difference between two counts is exact.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tiffany/tiffany.hpp"

namespace {

using tiffany::Task;

// Among a thousand tasks, so that each yield is a switch.
constexpr std::uint64_t kYielders = 1000;

Task<void> yield_often(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) co_await tiffany::yield();
}

Task<void> yield_in_turn(std::uint64_t count) {
  for (std::uint64_t i = 0; i < kYielders; ++i) tiffany::spawn(yield_often, count / kYielders);
  co_return;
}

Task<std::uint64_t> give_back(std::uint64_t n) { co_return n; }

Task<void> spawn_and_join(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    auto handle = tiffany::spawn(give_back, i);
    co_await handle;
  }
}

Task<void> call_often(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) co_await give_back(i);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "";
  const std::uint64_t count = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  tiffany::Options options = tiffany::Options().virtual_time();
  if (what == "yield") return tiffany::run(yield_in_turn(count), std::move(options));
  if (what == "spawn_join") return tiffany::run(spawn_and_join(count), std::move(options));
  if (what == "nested_call") return tiffany::run(call_often(count), std::move(options));
  std::fputs("usage: instructions_core yield|spawn_join|nested_call COUNT\n", stderr);
  return 2;
}
