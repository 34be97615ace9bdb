// What idle tasks cost when their code is not in memory: the short form of ./dev soak evicted.
#include <gtest/gtest.h>
#include <malloc.h>

#include <string>

#include "durable/durable_world.hpp"

namespace tiffany {
namespace evicted_memory_test {

using namespace std::chrono_literals;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)

class EvictedMemory : public DurableWorld {};
TIFFANY_ON_EVERY_LAYOUT(EvictedMemory);

Durable<int> idle_for_long(Flow& flow, int number) {
  co_await flow.step("begin", [] {});
  co_return number + co_await flow.signal<int>("add");
}

std::size_t heap_bytes() {
  const struct mallinfo2 about = mallinfo2();
  return about.uordblks + about.hblkhd;
}

TEST_P(EvictedMemory, AnIdleTaskTakesLessThanAKilobyteAndIsThereForASignal) {
  types_ = [] {
    Registry types;
    types.add("idle", 1, idle_for_long);
    return types;
  };
  host_options.hot_tasks = 10;
  constexpr int kTasks = 1000;
  live([&](Host& host) -> Task<void> {
    const std::size_t before = heap_bytes();
    Uuid last;
    for (int i = 0; i < kTasks; ++i) last = co_await host.start("idle", i);
    co_await sleep(1s);
    EXPECT_LT((heap_bytes() - before) / kTasks, 1024U);
    co_await host.signal(last, "add", 1);
    EXPECT_EQ(co_await host.result<int>(last), kTasks);
    co_await host.close();
  });
}

#endif

}  // namespace evicted_memory_test
}  // namespace tiffany
