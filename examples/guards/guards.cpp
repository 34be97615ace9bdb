// Limits, budgets and ageing: what keeps one part of a program from taking the rest with it.
#include <cstdio>

#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

Task<void> serve(int request) {
  co_await sleep(10ms);
  std::printf("request %d is served\n", request);
}

// A frame for every level.
Task<int> parse_nested(int depth) {
  co_await yield();
  if (depth == 0) co_return 0;
  co_return 1 + co_await parse_nested(depth - 1);
}

Task<void> read_uploads() {
  co_await scope(collect_all, [](Scope& s) -> Task<void> {
    s.limit_memory(1'000'000);
    for (int depth = 10; depth <= 100'000; depth *= 100) {
      auto upload = s.spawn(parse_nested, depth);
      const auto outcome = co_await upload.outcome();
      std::printf("%d levels: %s\n", depth, outcome.ok() ? "parsed" : "too much memory");
    }
  });
}

Task<void> accept_requests() {
  co_await scope([](Scope& s) -> Task<void> {
    s.limit_tasks(2);
    for (int request = 1; request <= 4; ++request) {
      for (bool accepted = false; !accepted;) {
        try {
          s.spawn(serve, request);
          accepted = true;
        } catch (const SpawnDenied& denied) {
          std::printf("request %d must wait: %zu of %zu are being served\n", request, denied.used(),
                      denied.allowed());
        }
        if (!accepted) co_await sleep(15ms);
      }
    }
  });
}

Task<void> yield_for_ever() {
  for (;;) co_await yield();
}
Task<void> patient() {
  for (int i = 0; i < 3; ++i) co_await yield();
  std::printf("the least urgent task has finished\n");
}

Task<void> urgent_load() {
  auto load = spawn.with_priority(1)(yield_for_ever);
  auto starving = spawn.with_priority(255)(patient);
  co_await starving;
  co_await cancel_and_join(load, "enough");
}

}  // namespace

int main() {
  run(accept_requests(), Options().virtual_time().limit_tasks(100));
  run(read_uploads(), Options().virtual_time());
  return run(urgent_load(), Options().virtual_time().ageing(16));
}
