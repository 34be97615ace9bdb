// T13: stacks with guards, kept within bounds.
#include "tiffany/base/stack_pool.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <vector>

#include "support/end_now.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace stack_pool_test {

using namespace test;

constexpr std::size_t kBytes = std::size_t{64} << 10;

void touch(std::byte* address) { *static_cast<volatile std::byte*>(address) = std::byte{1}; }

TEST(StackPool, T13_AStackCanBeWrittenToFromEndToEnd) {
  StackPool pool(kBytes - 1);
  EXPECT_EQ(pool.bytes(), kBytes) << "in whole pages";
  const StackPool::Stack stack = pool.take();
  EXPECT_GE(stack.top - stack.low, static_cast<std::ptrdiff_t>(kBytes));
  for (std::byte* at = stack.low; at < stack.top; at += 1024) touch(at);
  touch(stack.top - 1);
  pool.give_back(stack);
}

class StackPoolGuards : public testing::TestWithParam<StackPool::Guards> {};

TEST_P(StackPoolGuards, T13_WhatIsBelowAStackCannotBeTouched) {
  const auto below = [](std::size_t by) {
    StackPool pool(kBytes, GetParam());
    for (int i = 0; i < 3; ++i) static_cast<void>(pool.take());
    struct sigaction plain = {};
    plain.sa_handler = [](int) { end_now(44); };
    sigaction(SIGSEGV, &plain, nullptr);
    touch(pool.take().low - by);
  };
  EXPECT_EXIT(below(1), ::testing::ExitedWithCode(44), "");
  EXPECT_EXIT(below(StackPool::kGuard), ::testing::ExitedWithCode(44), "");
}

INSTANTIATE_TEST_SUITE_P(Both, StackPoolGuards,
                         testing::Values(StackPool::Guards::best, StackPool::Guards::mapped));

TEST(StackPool, T13_TheLastThatCameBackIsTheFirstToBeTaken) {
  StackPool pool(kBytes);
  const StackPool::Stack a = pool.take();
  const StackPool::Stack b = pool.take();
  EXPECT_EQ(pool.in_use(), 2u);
  pool.give_back(a);
  pool.give_back(b);
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_EQ(pool.kept(), 2u);
  EXPECT_EQ(pool.take().low, b.low);
  EXPECT_EQ(pool.take().low, a.low);
  pool.give_back(a);
  pool.give_back(b);
}

TEST(StackPool, T13_KeepsNoMoreThanItMayAndGivesTheMemoryOfMostBack) {
  StackPool pool(kBytes);
  std::vector<StackPool::Stack> all;
  for (std::size_t i = 0; i < StackPool::kKept + 10; ++i) {
    all.push_back(pool.take());
    touch(all.back().low);
    touch(all.back().top - 1);
  }
  for (const StackPool::Stack& stack : all) pool.give_back(stack);
  EXPECT_EQ(pool.kept(), StackPool::kKept);
  std::size_t touched = 0;
  std::vector<StackPool::Stack> again;
  for (std::size_t i = 0; i < StackPool::kKept; ++i) {
    again.push_back(pool.take());
    if (*again.back().low != std::byte{0}) ++touched;
  }
  EXPECT_EQ(pool.kept(), 0u);
  EXPECT_GE(touched, StackPool::kWarm);
  EXPECT_LE(touched, 2 * StackPool::kWarm);
  for (const StackPool::Stack& stack : again) pool.give_back(stack);
}

TEST(StackPool, T13_ASizeThatMakesNoSenseIsAnError) {
  EXPECT_EQ(code_of(thrown_by([] { StackPool pool(1000); })), Errc::bad_argument);
  EXPECT_EQ(code_of(thrown_by([] { StackPool pool(SIZE_MAX); })), Errc::bad_argument);
}

TEST(StackPool, T13_WithoutAddressSpaceThereIsAnErrorThatSaysWhatToDo) {
  if (TIFFANY_ASAN) GTEST_SKIP() << "the sanitizer notes every byte of a stack";
  StackPool pool(std::size_t{1} << 40);
  std::vector<StackPool::Stack> all;
  const auto error = thrown_by([&] {
    for (int i = 0; i < 10'000; ++i) all.push_back(pool.take());
  });
  EXPECT_EQ(code_of(error), Errc::no_stack);
  EXPECT_NE(what_of(error).find("Options::limit_fibers"), std::string::npos) << what_of(error);
  for (const StackPool::Stack& stack : all) pool.give_back(stack);
}

}  // namespace stack_pool_test
}  // namespace tiffany
