// The clocks, and what wakes a scheduler that sleeps on one.
#include "tiffany/core/reactor.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <system_error>

#include "support/harness.hpp"

namespace tiffany {
namespace reactor_test {

using namespace test;

TEST(Reactor, W6_OnARealClockASleepTakesAtLeastAsLongAsItSays) {
  const auto program = []() -> Task<void> {
    const Time before = now();
    co_await sleep(2ms);
    EXPECT_GE(now() - before, 2ms);
  };
  run_program(program, Options());
}

TEST(Reactor, W6_ARealClockCannotBeMoved) {
  const auto clock = real_clock();
  EXPECT_FALSE(clock->virtual_time());
  const Time later = clock->now() + 1h;
  clock->advance_to(later);
  EXPECT_LT(clock->now(), later);
}

TEST(Reactor, W6_AVirtualClockIsMovedForwardsOnly) {
  const auto clock = virtual_clock();
  clock->advance_to(Time(5ms));
  clock->advance_to(Time(3ms));
  EXPECT_EQ(clock->now(), Time(5ms));
}

TEST(Reactor, I8_WithoutADescriptorToBeWokenByASchedulerIsNotMade) {
  if (TIFFANY_ASAN) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto error = thrown_by([] { const Scheduler scheduler; });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THROW(std::rethrow_exception(error), std::system_error);
  EXPECT_NE(what_of(error).find("is the limit on open files reached?"), std::string::npos)
      << what_of(error);
}

}  // namespace reactor_test
}  // namespace tiffany
