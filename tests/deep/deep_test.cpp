// T4: calls nest to any depth on a constant native stack, at every optimisation level.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/harness.hpp"

namespace tiffany {
namespace deep_test {

using namespace test;

constexpr std::uint64_t kMillion = 1'000'000;

Task<std::uint64_t> same(std::uint64_t n) { co_return n; }
Task<void> nothing() { co_return; }

Task<std::uint64_t> depth_of(std::uint64_t n) {
  if (n == 0) co_return 0;
  co_return 1 + co_await depth_of(n - 1);
}

TEST(Deep, T4_TenMillionSynchronousAwaitsInALoop) {
  std::uint64_t sum = 0;
  const auto program = [&]() -> Task<void> {
    for (std::uint64_t i = 0; i < 10 * kMillion; ++i) sum += co_await same(i);
  };
  run_program(program);
  EXPECT_EQ(sum, 10 * kMillion * (10 * kMillion - 1) / 2);
}

TEST(Deep, T4_AMillionSynchronousAwaitsWithoutAValue) {
  std::uint64_t count = 0;
  const auto program = [&]() -> Task<void> {
    for (std::uint64_t i = 0; i < kMillion; ++i) {
      co_await nothing();
      ++count;
    }
  };
  run_program(program);
  EXPECT_EQ(count, kMillion);
}

TEST(Deep, T4_AMillionSystemCallsThatAreAnsweredAtOnce) {
  std::uint64_t count = 0;
  const auto program = [&]() -> Task<void> {
    auto done = spawn(same, 1u);
    co_await done;
    for (std::uint64_t i = 0; i < kMillion; ++i) count += co_await done;
  };
  run_program(program);
  EXPECT_EQ(count, kMillion);
}

TEST(Deep, T4_AMillionDeepRecursionReturnsItsValue) {
  std::uint64_t depth = 0;
  const auto program = [&]() -> Task<void> { depth = co_await depth_of(kMillion); };
  run_program(program);
  EXPECT_EQ(depth, kMillion);
}

Task<std::uint64_t> asleep_at_the_bottom(std::uint64_t n) {
  if (n > 0) co_return 1 + co_await asleep_at_the_bottom(n - 1);
  co_await sleep(1ms);
  co_await yield();
  co_return 0;
}

TEST(Deep, T4_ATaskSuspendedUnderAMillionFramesGoesOnAtTheBottom) {
  std::uint64_t depth = 0;
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(asleep_at_the_bottom, kMillion);
    depth = co_await handle;
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
  EXPECT_EQ(depth, kMillion);
}

// Counts frames that were left.
class Counted {
 public:
  explicit Counted(std::uint64_t& gone) noexcept : gone_(gone) {}
  ~Counted() { ++gone_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::uint64_t& gone_;
};

Task<int> throws_at_the_bottom(std::uint64_t n, std::uint64_t& gone) {
  const Counted counted(gone);
  if (n == 0) throw std::runtime_error("from the bottom");
  co_return co_await throws_at_the_bottom(n - 1, gone);
}

TEST(Deep, T4_AnExceptionPassesThroughAHundredThousandFrames) {
  constexpr std::uint64_t kDepth = 100'000;
  std::uint64_t gone = 0;
  const auto program = [&]() -> Task<void> {
    const auto error = co_await error_of(throws_at_the_bottom(kDepth, gone));
    EXPECT_EQ(what_of(error), "from the bottom");
    EXPECT_EQ(gone, kDepth + 1);
  };
  run_program(program);
}

TEST(Deep, T10_AnExceptionThroughManyFramesFailsTheTaskAndReachesItsJoiner) {
  std::uint64_t gone = 0;
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(throws_at_the_bottom, 10'000u, std::ref(gone));
    const auto error = co_await error_of(handle);
    EXPECT_EQ(what_of(error), "from the bottom");
    EXPECT_EQ(handle.state(), TaskState::failed);
  };
  run_program(program);
  EXPECT_EQ(gone, 10'001u);
}

Task<void> parks_at_the_bottom(std::uint64_t n, std::uint64_t& gone, std::uint64_t& went_on) {
  const Counted counted(gone);
  if (n == 0) {
    Promise<int> never;
    static_cast<void>(co_await never.future());
  } else {
    co_await parks_at_the_bottom(n - 1, gone, went_on);
  }
  ++went_on;
}

TEST(Deep, I4_CancellingATaskParkedUnderAMillionFramesUnwindsAllOfThem) {
  std::uint64_t gone = 0;
  std::uint64_t went_on = 0;
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(parks_at_the_bottom, kMillion, std::ref(gone), std::ref(went_on));
    co_await yield();
    EXPECT_EQ(handle.state(), TaskState::blocked);
    EXPECT_EQ(gone, 0u);
    handle.cancel("far too deep");
    static_cast<void>(co_await handle.outcome());
    EXPECT_EQ(handle.state(), TaskState::cancelled);
    EXPECT_EQ(gone, kMillion + 1);
    EXPECT_EQ(went_on, 0u) << "no code after a suspension point ran";
  };
  run_program(program);
}

TEST(Deep, T2_AnEndingSchedulerUnwindsAHundredThousandFrames) {
  std::uint64_t gone = 0;
  std::uint64_t went_on = 0;
  {
    Scheduler scheduler(Options().virtual_time());
    scheduler.spawn(parks_at_the_bottom, 100'000u, std::ref(gone), std::ref(went_on));
    scheduler.step_until_idle();
  }
  EXPECT_EQ(gone, 100'001u);
  EXPECT_EQ(went_on, 0u);
}

TEST(Deep, T4_AChainOfAHundredThousandTasksThatEachWaitForTheOneBefore) {
  constexpr std::uint64_t kTasks = 100'000;
  std::uint64_t result = 0;
  const auto program = [&]() -> Task<void> {
    Promise<std::uint64_t> start;
    const auto first = [](Future<std::uint64_t> future) -> Task<std::uint64_t> {
      co_return co_await future;
    };
    const auto link = [](Handle<std::uint64_t> before) -> Task<std::uint64_t> {
      co_return 1 + co_await before;
    };
    auto last = spawn(first, start.future());
    for (std::uint64_t i = 0; i < kTasks; ++i) last = spawn(link, last);
    co_await yield();
    start.complete(0);
    result = co_await last;
  };
  run_program(program);
  EXPECT_EQ(result, kTasks);
}

}  // namespace deep_test
}  // namespace tiffany
