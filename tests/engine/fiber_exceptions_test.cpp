// T10: the exceptions of a fiber are its own, wherever it waits.
#include <gtest/gtest.h>
#include <unwind.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/fibers.hpp"
#include "support/harness.hpp"
#include "tiffany/engine/fiber.hpp"

namespace tiffany {
namespace fiber_exceptions_test {

using namespace test;

TEST(FiberExceptions, T10_WhatItThrowsFailsTheTaskAndReachesItsJoiners) {
  const auto program = []() -> Task<void> {
    auto handle = spawn_fiber([]() -> int {
      fiber::yield();
      throw std::out_of_range("no such place");
    });
    const auto error = co_await error_of(handle);
    EXPECT_THROW(std::rethrow_exception(error), std::out_of_range);
    EXPECT_EQ(handle.state(), TaskState::failed);
  };
  run_program(program);
}

Task<void> fails_below(int depth) {
  co_await yield();
  if (depth > 0) co_await fails_below(depth - 1);
  throw std::runtime_error("from the depth");
}

TEST(FiberExceptions, T10_WhatItAwaitsThrowsThere) {
  run_fiber([] {
    EXPECT_EQ(what_of(thrown_by([] { await(fails_below(5)); })), "from the depth");
    EXPECT_EQ(what_of(thrown_by([] { await(spawn(fails_below, 3)); })), "from the depth");
    EXPECT_EQ(code_of(thrown_by([] { fiber::sleep(-1ms); })), Errc::bad_argument);
  });
}

TEST(FiberExceptions, T10_AFailureThatNobodyAwaitedIsReported) {
  std::string logged;
  Scheduler scheduler(
      Options().virtual_time().log_to([&](const LogLine& line) { logged += line.message; }));
  scheduler.spawn_fiber([] { throw std::runtime_error("unheard"); });
  scheduler.run();
  EXPECT_NE(logged.find("unheard"), std::string::npos) << logged;
  EXPECT_NE(logged.find("fiber_exceptions_test.cpp:"), std::string::npos) << logged;
  expect_no_fiber_left(scheduler);
}

// Each is in a handler while the others are in theirs, and they end in another order than they
// began.
TEST(FiberExceptions, T10_AFiberMayWaitInAHandlerAndStillHasItsException) {
  const auto handles = [](int number, Duration delay) {
    const std::string mine = "mine " + std::to_string(number);
    std::string rethrown;
    try {
      try {
        throw std::runtime_error(mine);
      } catch (const std::exception&) {
        fiber::yield();
        EXPECT_EQ(what_of(std::current_exception()), mine);
        try {
          throw std::logic_error("inner " + mine);
        } catch (const std::logic_error& inner) {
          fiber::sleep(delay);
          EXPECT_EQ(std::string(inner.what()), "inner " + mine);
          EXPECT_EQ(what_of(std::current_exception()), "inner " + mine);
        }
        EXPECT_EQ(what_of(std::current_exception()), mine);
        fiber::yield();
        throw;
      }
    } catch (const std::exception& again) {
      rethrown = again.what();
    }
    EXPECT_EQ(std::current_exception(), nullptr);
    return rethrown == mine;
  };
  const auto program = [&]() -> Task<void> {
    std::vector<Handle<bool>> all;
    for (int i = 0; i < 10; ++i) all.push_back(spawn_fiber(std::ref(handles), i, 1ms * (10 - i)));
    const auto sees_none = []() -> Task<void> {
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(std::current_exception(), nullptr);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        co_await sleep(500us);
      }
    };
    co_await sees_none();
    for (const bool good : co_await gather(all)) EXPECT_TRUE(good);
  };
  run_program(program);
}

// Destructors wait while exceptions are on their way through them.
TEST(FiberExceptions, T10_AFiberMayWaitWhileAnExceptionIsOnItsWay) {
  struct Waits {
    explicit Waits(Duration d) : delay(d) {}
    ~Waits() {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      fiber::sleep(delay);
      EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
    Duration delay;
  };
  const auto throws = [](int number) {
    try {
      const Waits waits(1ms * (10 - number));
      throw std::runtime_error(std::to_string(number));
    } catch (const std::exception& error) {
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      return error.what() == std::to_string(number);
    }
  };
  run_fiber([&] {
    std::vector<Handle<bool>> all;
    for (int i = 0; i < 10; ++i) all.push_back(spawn_fiber(std::ref(throws), i));
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      fiber::sleep(500us);
    }
    for (const bool good : await(gather(all))) EXPECT_TRUE(good);
  });
}

TEST(FiberExceptions, T10_AHandlerAroundTheSchedulerKeepsItsExceptionToo) {
  try {
    throw std::runtime_error("outside");
  } catch (const std::exception&) {
    run_fiber([] {
      EXPECT_EQ(std::current_exception(), nullptr) << "a fiber begins with none";
      try {
        throw std::runtime_error("inside");
      } catch (const std::exception&) {
        fiber::sleep(1ms);
        EXPECT_EQ(what_of(std::current_exception()), "inside");
      }
      fiber::yield();
      EXPECT_EQ(std::current_exception(), nullptr);
    });
    EXPECT_EQ(what_of(std::current_exception()), "outside");
  }
}

TEST(FiberExceptions, T10_ASchedulerMayBeDestroyedWhileAnExceptionIsOnItsWay) {
  Trace trace;
  try {
    Scheduler scheduler(Options().virtual_time());
    scheduler.spawn_fiber([&] {
      const AtExit exit(trace, "gone");
      try {
        fiber::sleep(1h);
      } catch (const Cancelled&) {
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        throw;
      }
    });
    scheduler.step();
    throw std::runtime_error("unwinds the scheduler");
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "unwinds the scheduler");
  }
  EXPECT_EQ(trace, Trace({"gone"}));
}

// ---- Through code that knows nothing of it ----

int compare_and_wait(const void* a, const void* b) {
  fiber::sleep(1ms);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
int compare_and_throw(const void*, const void*) {
  fiber::yield();
  throw std::runtime_error("incomparable");
}

TEST(FiberExceptions, I3_AFunctionOfTheCLibraryWaitsInItsCallback) {
  run_fiber([] {
    auto other = spawn_fiber([] {
      fiber::sleep(1us);
      return now();
    });
    int numbers[] = {3, 1, 2};
    std::qsort(numbers, 3, sizeof(int), compare_and_wait);
    EXPECT_EQ(numbers[0] * 100 + numbers[1] * 10 + numbers[2], 123);
    EXPECT_GE(now(), Time(2ms));
    EXPECT_EQ(await(other), Time(1us));
    EXPECT_EQ(what_of(thrown_by([&] { std::qsort(numbers, 3, sizeof(int), compare_and_throw); })),
              "incomparable");
  });
}

// What a debugger does: from the innermost function outwards, until there is none.
TEST(FiberExceptions, P6_WalkingUpItsStackEndsWhereItBegan) {
  run_fiber([] {
    int frames = 0;
    fiber::yield();
    const _Unwind_Reason_Code end = _Unwind_Backtrace(
        [](_Unwind_Context*, void* count) {
          return ++*static_cast<int*>(count) < 200 ? _URC_NO_REASON : _URC_NORMAL_STOP;
        },
        &frames);
    EXPECT_EQ(end, _URC_END_OF_STACK);
    EXPECT_GT(frames, 2);
    EXPECT_LT(frames, 40);
  });
}

}  // namespace fiber_exceptions_test
}  // namespace tiffany
