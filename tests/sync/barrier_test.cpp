#include "tiffany/sync/barrier.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/harness.hpp"

namespace tiffany {
namespace barrier_test {

using namespace test;

TEST(Barrier, NobodyGoesOnBeforeAllHaveComeRoundAfterRound) {
  run_program([]() -> Task<void> {
    Barrier barrier(3);
    Trace trace;
    const auto work = [&](std::string name, int ms) -> Task<void> {
      for (int round = 1; round <= 2; ++round) {
        co_await sleep(std::chrono::milliseconds(ms));
        trace.push_back(name + std::to_string(round));
        const bool last = co_await barrier.arrive();
        if (last) trace.push_back(name + " was last");
      }
    };
    auto a = spawn(std::ref(work), "a", 3);
    auto b = spawn(std::ref(work), "b", 1);
    auto c = spawn(std::ref(work), "c", 2);
    co_await gather(a, b, c);
    EXPECT_EQ(trace, Trace({"b1", "c1", "a1", "a was last", "b2", "c2", "a2", "a was last"}));
    EXPECT_EQ(barrier.rounds(), 2u);
    EXPECT_EQ(barrier.waiting(), 0u);
    EXPECT_EQ(barrier.parties(), 3u);
  });
}

TEST(Barrier, ACancelledTaskHasNotComeAndDropMakesUpForIt) {
  run_program([]() -> Task<void> {
    Barrier barrier(3);
    const auto work = [&]() -> Task<bool> { co_return co_await barrier.arrive(); };
    auto a = spawn(std::ref(work));
    auto b = spawn(std::ref(work));
    co_await yield();
    EXPECT_EQ(barrier.waiting(), 2u);
    a.cancel();
    EXPECT_EQ(barrier.waiting(), 1u);
    auto c = spawn(std::ref(work));
    co_await yield();
    EXPECT_EQ(b.state(), TaskState::blocked) << "two of three";
    barrier.drop();
    EXPECT_EQ(barrier.parties(), 2u);
    const auto ends = co_await gather(b, c);
    EXPECT_FALSE(ends.get<0>());
    EXPECT_FALSE(ends.get<1>()) << "the one that was dropped would have been last";
    EXPECT_EQ(barrier.rounds(), 1u);
  });
}

TEST(Barrier, OfOneLetsThroughAtOnce) {
  run_program([]() -> Task<void> {
    Barrier barrier(1);
    const bool last = co_await barrier.arrive();
    EXPECT_TRUE(last);
    barrier.drop();
    EXPECT_EQ(barrier.parties(), 0u);
    EXPECT_EQ(code_of(thrown_by([&] { barrier.drop(); })), Errc::bad_argument);
    const bool alone = co_await barrier.arrive();
    EXPECT_TRUE(alone) << "with nobody to wait for";
  });
}

TEST(Barrier, ForNobodyIsAnError) {
  EXPECT_EQ(code_of(thrown_by([] { Barrier none(0); })), Errc::bad_argument);
}

}  // namespace barrier_test
}  // namespace tiffany
