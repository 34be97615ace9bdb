#include "tiffany/sync/latch.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/harness.hpp"

namespace tiffany {
namespace latch_test {

using namespace test;

TEST(Latch, OpensWhenItWasCountedDownAndStaysOpen) {
  run_program([]() -> Task<void> {
    Latch latch(3);
    Trace trace;
    const auto wait = [&](std::string name) -> Task<void> {
      co_await latch.wait();
      trace.push_back(name);
    };
    spawn(std::ref(wait), "a");
    spawn(std::ref(wait), "b");
    co_await yield();
    latch.count_down();
    EXPECT_EQ(latch.left(), 2u);
    co_await sleep(1ms);
    EXPECT_EQ(trace, Trace());
    latch.count_down(2);
    EXPECT_TRUE(latch.open());
    co_await sleep(1ms);
    EXPECT_EQ(trace, Trace({"a", "b"}));
    co_await latch.wait();
  });
}

TEST(Latch, OfZeroIsOpenFromTheBeginning) {
  run_program([]() -> Task<void> {
    Latch latch(0);
    EXPECT_TRUE(latch.open());
    co_await latch.wait();
  });
}

TEST(Latch, CountingDownTooFarIsAnErrorAndChangesNothing) {
  Latch latch(2);
  latch.count_down(0);
  const auto error = thrown_by([&] { latch.count_down(3); });
  EXPECT_EQ(code_of(error), Errc::bad_argument);
  EXPECT_NE(what_of(error).find("had 2 left was counted down by 3"), std::string::npos);
  EXPECT_EQ(latch.left(), 2u);
}

}  // namespace latch_test
}  // namespace tiffany
