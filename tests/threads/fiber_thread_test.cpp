// T17: fibers and threads: each thread has its own, and a scheduler may go from one to another.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/fibers.hpp"
#include "support/harness.hpp"
#include "tiffany/engine/fiber.hpp"

namespace tiffany {
namespace fiber_thread_test {

using namespace test;

TEST(FiberThread, T17_ASchedulerOfFibersMayBeDrivenByOneThreadAfterAnother) {
  Scheduler scheduler(Options().virtual_time());
  int thrown = 0;
  const auto body = [&](int number) {
    for (int round = 0; round < 10; ++round) {
      fiber::yield();
      try {
        throw std::runtime_error(std::to_string(number));
      } catch (const std::exception& error) {
        fiber::sleep(1ms);
        EXPECT_EQ(error.what(), std::to_string(number));
        EXPECT_EQ(what_of(std::current_exception()), std::to_string(number));
        ++thrown;
      }
    }
  };
  for (int i = 0; i < 3; ++i) scheduler.spawn_fiber(std::ref(body), i);
  for (int i = 1; i <= 20; ++i) {
    std::thread([&] { scheduler.run_until(Time(i * 500us)); }).join();
    EXPECT_EQ(std::current_exception(), nullptr);
  }
  scheduler.run();
  EXPECT_EQ(thrown, 30);
  expect_no_fiber_left(scheduler);
}

TEST(FiberThread, T17_EveryThreadHasItsOwnFibers) {
  std::atomic<int> sum = 0;
  const auto body = [&] {
    const auto counts = [](int to) {
      int count = 0;
      for (; count < to; ++count) fiber::yield();
      return count;
    };
    const auto program = [&] {
      std::vector<Handle<int>> all;
      for (int i = 0; i < 10; ++i) all.push_back(spawn_fiber(counts, 100 * i));
      for (const int count : await(gather(all))) sum += count;
    };
    run_fiber(program);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 4 * 4500);
}

TEST(FiberThread, W1_AnotherThreadWakesAFiber) {
  const auto program = [] {
    ExternalPromise<int> answer;
    std::thread other([answer] { answer.complete(42); });
    EXPECT_EQ(await(answer.future()), 42);
    other.join();
  };
  Scheduler scheduler;
  auto handle = scheduler.spawn_fiber(std::ref(program));
  scheduler.run();
  EXPECT_EQ(handle.state(), TaskState::completed);
}

}  // namespace fiber_thread_test
}  // namespace tiffany
