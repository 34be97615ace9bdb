// W9: what has ended does not accumulate. `./dev soak core` does the same for longer, and watches
// the memory of the process.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace memory_test {

using namespace test;

constexpr int kCycles = 100'000;

Task<int> number(int n) { co_return n; }
Task<std::string> text(int n) { co_return std::string(static_cast<std::size_t>(n % 100), 'x'); }
Task<void> sleep_long() { co_await sleep(1h); }
Task<void> fails() {
  co_await yield();
  throw std::runtime_error("planned");
}

// Repeats something and expects that each round leaves nothing behind, neither memory nor ids that
// are in use.
template <class F>
void expect_no_growth(int cycles, F& round) {
  const auto program = [&]() -> Task<void> {
    Scheduler& scheduler = *Scheduler::current();
    co_await round();  // the first one fills the free lists
    const std::size_t blocks = scheduler.arena().live_blocks();
    const std::size_t bytes = scheduler.arena().live_bytes();
    for (int i = 0; i < cycles; ++i) co_await round();
    EXPECT_EQ(scheduler.arena().live_blocks(), blocks);
    EXPECT_EQ(scheduler.arena().live_bytes(), bytes);
    EXPECT_EQ(scheduler.armed_timers(), 0u);
    EXPECT_EQ(scheduler.live_tasks(), 1u);
    auto probe = spawn(number, 1);
    EXPECT_LE(probe.id().slot(), 64u) << "slots of ended tasks are used again";
    co_await probe;
  };
  run_program(program, Options().virtual_time().log_to([](const LogLine&) {}));
}

TEST(Memory, W9_SpawnAndJoinLeaveNothing) {
  const auto round = []() -> Task<void> {
    auto handle = spawn(number, 1);
    co_await handle;
  };
  expect_no_growth(kCycles, round);
}

TEST(Memory, W9_DroppedHandlesLeaveNothing) {
  const auto round = []() -> Task<void> {
    spawn(text, 90);
    co_await yield();
  };
  expect_no_growth(kCycles, round);
}

TEST(Memory, W9_FailuresAndTheirReportsLeaveNothing) {
  const auto round = []() -> Task<void> {
    auto seen = spawn(fails);
    spawn(fails);
    co_await seen.outcome();
    co_await yield();
  };
  expect_no_growth(5000, round);
}

TEST(Memory, W9_CancelledTasksLeaveNothingWhereverTheyWere) {
  const auto round = []() -> Task<void> {
    auto pending = spawn(sleep_long).named("pending");
    pending.cancel("before it began");
    auto parked = spawn(sleep_long).named("parked");
    co_await yield();
    parked.cancel("while parked");
    co_await parked.outcome();
  };
  expect_no_growth(10'000, round);
}

TEST(Memory, W9_GroupsScopesAndTimeoutsLeaveNothing) {
  const auto round = []() -> Task<void> {
    std::vector<Handle<int>> handles;
    for (int i = 0; i < 5; ++i) handles.push_back(spawn(number, i));
    co_await gather(handles);
    co_await race(handles);
    co_await within(1ms, sleep_long());
    co_await scope([](Scope& s) -> Task<void> {
      s.spawn(number, 1);
      s.spawn(text, 2);
      co_return;
    });
    co_await race(number(1), number(2));
  };
  expect_no_growth(5000, round);
}

TEST(Memory, W9_PromisesLeaveNothing) {
  const auto round = []() -> Task<void> {
    Promise<std::string> kept;
    kept.complete(std::string(50, 'y'));
    static_cast<void>(co_await kept.future());
    Future<int> broken;
    {
      Promise<int> promise;
      broken = promise.future();
    }
    co_await broken.outcome();
  };
  expect_no_growth(10'000, round);
}

TEST(Memory, W9_ManyTasksAtOnceAreAllGivenBack) {
  const auto program = []() -> Task<void> {
    std::vector<Handle<int>> handles;
    for (int i = 0; i < 20'000; ++i) handles.push_back(spawn(number, i));
    const auto values = co_await gather(handles);
    EXPECT_EQ(values.size(), handles.size());
    handles.clear();
    EXPECT_EQ(Scheduler::current()->live_tasks(), 1u);
  };
  run_program(program);
}

TEST(Memory, W9_ASchedulerCountsItsOwnMemoryOnly) {
  Scheduler a(Options().virtual_time());
  Scheduler b(Options().virtual_time());
  auto in_a = a.spawn(sleep_long);
  a.step_until_idle();
  EXPECT_GT(a.arena().live_blocks(), 0u);
  EXPECT_EQ(b.arena().live_blocks(), 0u);
  a.run();
  in_a = {};
  expect_nothing_left(a);
}

}  // namespace memory_test
}  // namespace tiffany
