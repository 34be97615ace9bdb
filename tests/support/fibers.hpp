// What the tests of fibers share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "support/harness.hpp"

namespace tiffany::test {

inline void expect_no_fiber_left(Scheduler& scheduler) {
  expect_nothing_left(scheduler);
  EXPECT_EQ(detail::FiberStacks::of(scheduler).in_use(), 0u) << "a stack did not come back";
  EXPECT_EQ(detail::FiberStacks::of(scheduler).promised(), 0u) << "a stack is still counted";
}

// Runs a plain function as a fiber until everything has ended, and expects that it did not fail.
template <class F>
void run_fiber_on(Scheduler& scheduler, F& program) {
  {
    auto handle = scheduler.spawn_fiber(std::ref(program)).named("main");
    scheduler.run();
    ASSERT_TRUE(handle.done());
    handle.waitable().mark_observed();
    EXPECT_EQ(handle.state(), TaskState::completed) << what_of(handle.waitable().error());
  }
  expect_no_fiber_left(scheduler);
}

template <class F>
void run_fiber(F&& program, Options options = Options().virtual_time()) {
  Scheduler scheduler(std::move(options));
  run_fiber_on(scheduler, program);
}

}  // namespace tiffany::test
