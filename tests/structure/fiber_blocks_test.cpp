// I3: blocks of structured concurrency in plain functions.
#include "tiffany/structure/fiber_blocks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "support/fibers.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace fiber_blocks_test {

using namespace test;

constexpr ContextKey<std::string> kUser{"user"};

int number_after(Duration delay, int number) {
  fiber::sleep(delay);
  return number;
}

TEST(FiberBlocks, I3_NoTaskOutlivesAScope) {
  run_fiber([] {
    int ended = 0;
    const auto owned = std::make_unique<int>(5);
    const int result = fiber::scope([&ended, moved = *owned](Scope& s) {
      for (int i = 1; i <= 3; ++i) {
        s.spawn_fiber([&ended, i] {
          fiber::sleep(1ms * i);
          ++ended;
        });
      }
      return moved;
    });
    EXPECT_EQ(result, 5);
    EXPECT_EQ(ended, 3);
    EXPECT_EQ(now(), Time(3ms));
  });
}

TEST(FiberBlocks, I3_ThePoliciesOfScopes) {
  run_fiber([] {
    const auto fails = [](Duration delay, std::string why) {
      fiber::sleep(delay);
      throw std::runtime_error(why);
    };
    const auto fast = thrown_by([&] {
      fiber::scope([&](Scope& s) {
        s.spawn_fiber(fails, 2ms, "second");
        s.spawn_fiber(fails, 1ms, "first");
      });
    });
    EXPECT_EQ(what_of(fast), "first");
    EXPECT_EQ(now(), Time(1ms));
    const auto all = thrown_by([&] {
      fiber::scope(collect_all, [&](Scope& s) {
        s.spawn_fiber(fails, 2ms, "second");
        s.spawn_fiber(fails, 1ms, "first");
      });
    });
    EXPECT_EQ(code_of(all), Errc::tasks_failed);
    Handle<int> quick;
    const TaskId winner = fiber::scope(first_success, [&](Scope& s) {
      s.spawn_fiber(number_after, 1h, 1);
      quick = s.spawn_fiber(number_after, 1ms, 2);
    });
    EXPECT_EQ(winner, quick.id());
    EXPECT_EQ(await(quick), 2);
  });
}

TEST(FiberBlocks, I3_WhatTheBlockOfAScopeThrowsCancelsItsTasks) {
  run_fiber([] {
    Handle<int> child;
    const auto error = thrown_by([&] {
      fiber::scope([&](Scope& s) {
        child = s.spawn_fiber(number_after, 1h, 1);
        fiber::yield();
        throw std::runtime_error("the block");
      });
    });
    EXPECT_EQ(what_of(error), "the block");
    EXPECT_EQ(child.state(), TaskState::cancelled);
  });
}

TEST(FiberBlocks, I3_WithinGivesTheValueOrUnwindsTheBlock) {
  run_fiber([] {
    Trace trace;
    const auto in_time = fiber::within(2ms, [] { return number_after(1ms, 7); });
    EXPECT_EQ(in_time.value(), 7);
    EXPECT_FALSE(fiber::within(1ms, [] { fiber::yield(); }).timed_out());
    const auto late = fiber::within(2ms, [&] {
      const AtExit exit(trace, "unwound");
      fiber::sleep(1h);
    });
    EXPECT_TRUE(late.timed_out());
    EXPECT_EQ(trace, Trace({"unwound"}));
    EXPECT_EQ(now(), Time(3ms));
    fiber::yield();  // the timeout is over
  });
}

TEST(FiberBlocks, I3_ACancelFromOutsideIsNotTheTimeoutOfABlock) {
  run_fiber([] {
    auto handle = spawn_fiber([] {
      static_cast<void>(fiber::within(1h, [] { fiber::sleep(2h); }));
      ADD_FAILURE() << "not reached";
    });
    fiber::yield();
    handle.cancel();
    EXPECT_TRUE(await(handle.outcome()).cancelled());
  });
}

TEST(FiberBlocks, I2_AValueIsInTheContextOfItsBlock) {
  run_fiber([] {
    const std::string seen = fiber::with(kUser, "ann", [] {
      fiber::yield();
      return ask(kUser) + await(spawn_fiber([] { return ask(kUser); }));
    });
    EXPECT_EQ(seen, "annann");
    EXPECT_EQ(lookup(kUser), nullptr);
  });
}

}  // namespace fiber_blocks_test
}  // namespace tiffany
