// A coroutine that GCC 12 compiles wrongly (docs/compilers.md) ends the program with a sentence
// that says where and what to write instead, and not with a crash.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/harness.hpp"
#include "tiffany/base/temporaries.hpp"

namespace tiffany {
namespace miscompiled_test {

using namespace test;

Task<bool> truth() {
  co_await yield();
  co_return true;
}

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13 && !defined(__SANITIZE_ADDRESS__)

int passed = 0;

Task<void> in_an_if() {
  if (co_await truth()) ++passed;
}
Task<void> in_a_while() {
  while (co_await truth()) {
    if (++passed > 3) co_return;
  }
}
Task<void> in_a_switch() {
  switch (co_await truth()) {
    default:
      ++passed;
  }
}

void runs(Task<void> (*body)()) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(body);
  scheduler.run();
}
void runs_within_another(Task<void> (*body)()) {
  Scheduler scheduler(Options().virtual_time());
  const auto outer = [body]() -> Task<void> {
    const bool ready = co_await truth();
    if (ready) co_await body();
  };
  scheduler.spawn(std::ref(outer));
  scheduler.run();
}

const char* const kSentence = "came back without having begun.*const bool ok";

TEST(MiscompiledDeathTest, ATaskEndsTheProgramWithASentence) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(runs(in_an_if), kSentence);
  EXPECT_DEATH(runs(in_a_while), kSentence);
  EXPECT_DEATH(runs(in_a_switch), kSentence);
}

TEST(MiscompiledDeathTest, ACallEndsTheProgramWithASentenceThatNamesThePlace) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(runs_within_another(in_an_if), "awaits, at .*miscompiled_test.cpp");
  EXPECT_DEATH(runs_within_another(in_a_while), kSentence);
  EXPECT_DEATH(runs_within_another(in_a_switch), kSentence);
}

#endif

TEST(Miscompiled, WithAVariableTheSameIsRight) {
  int seen = 0;
  run_program([&]() -> Task<void> {
    const bool ok = co_await truth();
    if (ok) ++seen;
  });
  EXPECT_EQ(seen, 1);
}

}  // namespace miscompiled_test
}  // namespace tiffany
