// T10: an exception ends its task only. T4: results and exceptions flow to the caller.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace exceptions_test {

using namespace test;

struct Custom : std::runtime_error {
  explicit Custom(int n) : std::runtime_error("custom"), number(n) {}
  int number;
};

Task<int> throws_at_once() {
  throw Custom(1);
  co_return 0;
}
Task<int> throws_later() {
  co_await sleep(1ms);
  throw Custom(2);
}
Task<int> passes_on() { co_return co_await throws_later(); }

TEST(Exceptions, T10_AnExceptionEndsItsTaskAndNoOther) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto worker = [&](std::string name) -> Task<void> {
      co_await sleep(2ms);
      trace.push_back(name);
    };
    auto before = spawn(std::ref(worker), "before");
    auto bad = spawn(throws_later);
    auto after = spawn(std::ref(worker), "after");
    const auto error = co_await error_of(bad);
    EXPECT_EQ(what_of(error), "custom");
    EXPECT_EQ(bad.state(), TaskState::failed);
    co_await gather(before, after);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"before", "after"}));
}

TEST(Exceptions, T10_ItKeepsItsTypeAndItsContentOnTheWayToTheJoiner) {
  const auto program = []() -> Task<void> {
    int number = 0;
    auto handle = spawn(passes_on);
    try {
      static_cast<void>(co_await handle);
    } catch (const Custom& custom) {
      number = custom.number;
    }
    EXPECT_EQ(number, 2);
  };
  run_program(program);
}

TEST(Exceptions, T10_ItMayBeThrownBeforeTheFirstSuspension) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(throws_at_once);
    const auto error = co_await error_of(handle);
    EXPECT_EQ(what_of(error), "custom");
    const auto called = co_await error_of(throws_at_once());
    EXPECT_EQ(what_of(called), "custom");
  };
  run_program(program);
}

TEST(Exceptions, T10_ItMayBeAnything) {
  const auto program = []() -> Task<void> {
    const auto body = []() -> Task<void> {
      co_await yield();
      throw 42;
    };
    auto handle = spawn(body);
    int caught = 0;
    try {
      co_await handle;
    } catch (int value) {
      caught = value;
    }
    EXPECT_EQ(caught, 42);
  };
  run_program(program);
}

TEST(Exceptions, T4_ACallerCatchesWhatItsCalleeThrowsAndGoesOn) {
  Trace trace;
  const auto callee = [&]() -> Task<int> {
    const AtExit exit(trace, "callee gone");
    co_await sleep(1ms);
    throw Custom(3);
  };
  const auto program = [&]() -> Task<void> {
    for (int i = 0; i < 2; ++i) {
      try {
        static_cast<void>(co_await callee());
        trace.push_back("never");
      } catch (const Custom&) {
        trace.push_back("caught");
      }
    }
    co_await sleep(1ms);
    trace.push_back("goes on");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"callee gone", "caught", "callee gone", "caught", "goes on"}));
}

TEST(Exceptions, T4_ItUnwindsEveryCallerInnermostFirst) {
  Trace trace;
  const auto inner = [&]() -> Task<void> {
    const AtExit exit(trace, "inner");
    co_await yield();
    throw Custom(4);
  };
  const auto middle = [&]() -> Task<void> {
    const AtExit exit(trace, "middle");
    co_await inner();
    trace.push_back("never");
  };
  const auto outer = [&]() -> Task<void> {
    const AtExit exit(trace, "outer");
    try {
      co_await middle();
    } catch (const std::invalid_argument&) {
      trace.push_back("never");
    }
    trace.push_back("never");
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(outer));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.failed());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"inner", "middle", "outer"}));
}

TEST(Exceptions, T4_ACallerMayTranslateIt) {
  const auto program = []() -> Task<void> {
    const auto translate = []() -> Task<int> {
      try {
        co_return co_await throws_later();
      } catch (const Custom& custom) {
        throw std::invalid_argument("number " + std::to_string(custom.number));
      }
    };
    auto handle = spawn(translate);
    const auto error = co_await error_of(handle);
    EXPECT_EQ(what_of(error), "number 2");
  };
  run_program(program);
}

TEST(Exceptions, T4_ResultsFlowToTheCallerMoveOnlyOnesIncluded) {
  const auto program = []() -> Task<void> {
    const auto make = [](int n) -> Task<std::unique_ptr<int>> {
      if (n > 2) co_await sleep(1ms);
      co_return std::make_unique<int>(n);
    };
    const auto add = [&]() -> Task<int> {
      const auto a = co_await make(2);
      const auto b = co_await make(3);
      co_return *a + *b;
    };
    const int sum = co_await add();
    EXPECT_EQ(sum, 5);
  };
  run_program(program);
}

TEST(Exceptions, T4_ATaskKeptInAVariableIsAwaitedOnceByMovingIt) {
  const auto program = []() -> Task<void> {
    Trace trace;
    const auto body = [&](AtExit) -> Task<int> {
      trace.push_back("ran");
      co_return 3;
    };
    Task<int> kept = body(AtExit(trace, "argument gone"));
    EXPECT_EQ(trace, Trace()) << "a Task is a call that has not begun";
    const int value = co_await std::move(kept);
    EXPECT_EQ(value, 3);
    {
      Task<int> dropped = body(AtExit(trace, "dropped"));
    }
    EXPECT_EQ(trace.front(), "ran");
    EXPECT_EQ(trace.back(), "dropped");
  };
  run_program(program);
}

TEST(Exceptions, T10_TheErrorOutlivesTheTaskAndItsHandles) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(throws_later);
    const auto error = co_await error_of(handle);
    const TaskId id = handle.id();
    handle = {};
    EXPECT_EQ(Scheduler::current()->find(id), nullptr);
    EXPECT_EQ(what_of(error), "custom");
  };
  run_program(program);
}

struct ThrowsWhenMoved {
  ThrowsWhenMoved() = default;
  ThrowsWhenMoved(const ThrowsWhenMoved&) = default;
  ThrowsWhenMoved(ThrowsWhenMoved&&) noexcept(false) { throw std::runtime_error("not moved"); }
  ThrowsWhenMoved& operator=(const ThrowsWhenMoved&) = default;
  ThrowsWhenMoved& operator=(ThrowsWhenMoved&&) = default;
  ~ThrowsWhenMoved() = default;
};

TEST(Exceptions, T10_AResultThatCannotBeMovedFailsTheTask) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto body = [&]() -> Task<ThrowsWhenMoved> {
      const AtExit exit(trace, "frame gone");
      const ThrowsWhenMoved value;
      co_return value;  // copied into the frame, and cannot be moved out of it
    };
    auto handle = spawn(std::ref(body));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.failed());
    EXPECT_EQ(what_of(outcome.error()), "not moved");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"frame gone"}));
}

// Two tasks with exceptions in flight at once: what one catches must not be what the other threw.
TEST(Exceptions, T10_ErrorsOfSeveralTasksDoNotMix) {
  const auto program = []() -> Task<void> {
    const auto thrower = [](int n) -> Task<void> {
      co_await sleep(std::chrono::milliseconds(n % 3));
      throw Custom(n);
    };
    const auto catcher = [&](int n) -> Task<int> {
      int seen = 0;
      for (int i = 0; i < 3; ++i) {
        try {
          co_await thrower(n + i);
        } catch (const Custom& custom) {
          seen += custom.number;
        }
        co_await yield();
      }
      co_return seen;
    };
    std::vector<Handle<int>> handles;
    for (int n = 0; n < 50; ++n) handles.push_back(spawn(std::ref(catcher), n));
    const auto sums = co_await gather(handles);
    for (int n = 0; n < 50; ++n) EXPECT_EQ(sums[static_cast<std::size_t>(n)], 3 * n + 3);
  };
  run_program(program);
}

// ---- run() and run_on() ----

TEST(Run, T10_GivesTheExitCodeOrPrintsTheErrorAsASentence) {
  const auto program = [](int code) -> Task<int> {
    co_await sleep(1ms);
    co_return code;
  };
  EXPECT_EQ(run(program(3), Options().virtual_time()), 3);
  const auto quiet = []() -> Task<void> { co_await sleep(1ms); };
  EXPECT_EQ(run(quiet(), Options().virtual_time()), 0);
  const auto fails = []() -> Task<void> {
    co_await sleep(1ms);
    throw std::runtime_error("It did not work.");
  };
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(fails(), Options().virtual_time()), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "error: It did not work.\n");
  const auto odd = []() -> Task<void> {
    co_await sleep(1ms);
    throw 1;
  };
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(odd(), Options().virtual_time()), 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("not a std::exception"),
            std::string::npos);
}

TEST(Run, W8_ADeadlockIsPrintedToo) {
  const auto stuck = []() -> Task<void> {
    Promise<int> never;
    static_cast<void>(co_await never.future());
  };
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(stuck(), Options().virtual_time()), 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("error: Deadlock"), std::string::npos);
}

TEST(Run, T2_RunOnGivesTheResultOfTheProgramOrThrows) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = [](int n) -> Task<std::unique_ptr<int>> {
    EXPECT_EQ(this_task::name(), "main");
    co_await sleep(1ms);
    if (n < 0) throw Custom(n);
    co_return std::make_unique<int>(n);
  };
  EXPECT_EQ(*run_on(scheduler, program(4)), 4);
  EXPECT_EQ(*run_on(scheduler, program(5)), 5);
  EXPECT_THROW(run_on(scheduler, program(-1)), Custom);
  expect_nothing_left(scheduler);
}

}  // namespace exceptions_test
}  // namespace tiffany
