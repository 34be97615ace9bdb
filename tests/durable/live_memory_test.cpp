// What a durable task costs while its code is in memory and waits: ./dev bench durable has the same
// as rss_live_task, for 100,000 of them; bench_durable_live_task says what the bytes are.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "durable/durable_world.hpp"
#include "tiffany/core/task_record.hpp"

namespace tiffany {
namespace live_memory_test {

using namespace std::chrono_literals;

// Frames of coroutines are larger without the optimiser, and all blocks with a sanitizer.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__) && \
    defined(__OPTIMIZE__)
constexpr std::size_t kMost = 2048;
#else
constexpr std::size_t kMost = 16384;
#endif
constexpr std::size_t kTasks = 1000;

class LiveMemory : public DurableWorld {};
TIFFANY_ON_EVERY_LAYOUT(LiveMemory);

// As the one of the bench.
Durable<int> waits_for_promise(Flow& flow, int steps) {
  int sum = 0;
  for (int i = 0; i < steps; ++i) sum += co_await flow.step("add", [i] { return i; });
  auto never = co_await flow.promise<int>("never");
  co_return sum + co_await never;
}

std::size_t bytes_now() {
  const struct mallinfo2 about = mallinfo2();
  return about.uordblks + about.hblkhd + Scheduler::current()->arena().live_bytes();
}

// Its records in the log are on a disk, and count only as places in its index.
void expect_small(const char* when, std::size_t before) {
  const std::size_t each = (bytes_now() - before) / kTasks + sizeof(TaskRecord);
  EXPECT_LE(each, kMost) << when;
  testing::Test::RecordProperty(when, static_cast<int>(each));
}

TEST_P(LiveMemory, ATaskThatWaitsTakesTwoKilobytesAtMost) {
  types_ = [] {
    Registry types;
    types.add("waits", 1, waits_for_promise);
    return types;
  };
  live([&](Host& host) -> Task<void> {
    const std::size_t before = bytes_now();
    for (std::size_t i = 0; i < kTasks; ++i) co_await host.start("waits", 3);
    co_await sleep(1s);
    expect_small("started", before);
    co_await host.close();
  });
  Scheduler scheduler(Options().virtual_time());
  Registry types = types_();
  const auto open = [](Host* host) -> Task<void> {
    const std::size_t before = bytes_now();
    co_await host->open();
    co_await sleep(1s);
    EXPECT_EQ(host->counts()[DurableStatus::running], kTasks);
    expect_small("recovered", before);
    co_await host->close();
  };
  Host host(types, log_options());
  auto handle = scheduler.spawn(open, &host);
  while (!handle.done()) {
    if (!scheduler.step() && !scheduler.poll(scheduler.now())) {
      scheduler.run_until(scheduler.now() + 1h);
    }
  }
}

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
std::size_t mappings_now() {
  std::ifstream maps("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

// The library is optimised, whatever the tests are. A process has 65,530 mappings, and a frame of
// more than a kilobyte is one of its own.
TEST_P(LiveMemory, TasksThatAreStartedAtOnceNeedNoMappingEach) {
  types_ = [] {
    Registry types;
    types.add("waits", 1, waits_for_promise);
    return types;
  };
  live([&](Host& host) -> Task<void> {
    const std::size_t before = mappings_now();
    std::size_t most = 0;
    co_await scope([&](Scope& all) -> Task<void> {
      const auto start = [](Host* to) -> Task<void> { co_await to->start("waits", 3); };
      for (std::size_t i = 0; i < kTasks; ++i) all.spawn(start, &host);
      while (host.counts()[DurableStatus::running] < kTasks) {
        most = std::max(most, mappings_now());
        co_await yield();
      }
    });
    EXPECT_LT(most, before + kTasks / 2);
    co_await host.close();
  });
}
#endif

}  // namespace live_memory_test
}  // namespace tiffany
