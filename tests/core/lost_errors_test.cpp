// No error is dropped without a word: whoever loses a race, comes second or comes too late is reported.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "support/tasks.hpp"
#include "tiffany/core/failures.hpp"

namespace tiffany {
namespace lost_errors_test {

using namespace test;

// What tasks failed with that nobody looked at, as their reports have it.
class Reports {
 public:
  Options options() {
    return Options().virtual_time().log_to([this](const LogLine& line) {
      if (line.unseen_error != nullptr) errors.push_back(what_of(line.unseen_error));
    });
  }
  Trace errors;
};

bool mentions(const Trace& lines, const std::string& text) {
  for (const std::string& line : lines) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

Task<int> collects_a_failure() {
  co_await scope(collect_all, [&](Scope& s) -> Task<void> {
    s.spawn(fails_after, 1, "the disk is full");
    co_await sleep(1h);
  });
  co_return 1;
}

TEST(LostErrors, AFailureInACollectAllScopeThatLosesARaceIsReported) {
  Reports reports;
  const auto program = [&]() -> Task<void> {
    const auto quick = []() -> Task<int> {
      co_await sleep(5ms);
      co_return 2;
    };
    const auto won = co_await race(collects_a_failure(), quick());
    EXPECT_EQ(won.index, 1u);
  };
  run_program(program, reports.options());
  ASSERT_EQ(reports.errors.size(), 1u);
  EXPECT_TRUE(mentions(reports.errors, "the disk is full")) << reports.errors[0];
}

// It is cancelled, and its clean-up fails.
Task<int> fails_when_cancelled() {
  try {
    co_await sleep(1h);
  } catch (const Cancelled&) {
  }
  throw std::runtime_error("could not clean up");
}

TEST(LostErrors, ALoserThatFailsWhileItIsCancelledIsReported) {
  Reports reports;
  const auto program = [&]() -> Task<void> {
    const auto quick = []() -> Task<int> {
      co_await sleep(5ms);
      co_return 2;
    };
    const auto won = co_await race(fails_when_cancelled(), quick());
    EXPECT_EQ(won.index, 1u);
  };
  run_program(program, reports.options());
  EXPECT_EQ(reports.errors, Trace({"could not clean up"}));
}

TEST(LostErrors, AContenderThatFailedBeforeAnotherSucceededIsReported) {
  Reports reports;
  const auto program = [&]() -> Task<void> {
    const auto quick = []() -> Task<int> {
      co_await sleep(5ms);
      co_return 2;
    };
    const auto won = co_await any(fails_after(1, "the first mirror is down"), quick());
    EXPECT_EQ(won.index, 1u);
    co_await scope(first_success, [&](Scope& s) -> Task<void> {
      s.spawn(fails_after, 1, "the second mirror is down");
      s.spawn(fails_when_cancelled);
      s.spawn(quick);
      co_return;
    });
  };
  run_program(program, reports.options());
  EXPECT_EQ(reports.errors,
            Trace({"the first mirror is down", "could not clean up", "the second mirror is down"}));
}

TEST(LostErrors, WhatIsThrownTogetherIsNotReportedAsWell) {
  Reports reports;
  const auto program = [&]() -> Task<void> {
    const auto error = co_await error_of(any(fails_after(1, "a"), fails_after(2, "b")));
    EXPECT_EQ(code_of(error), Errc::all_failed);
    const auto loser = co_await error_of(race(fails_after(1, "c"), fails_after(1000, "d")));
    EXPECT_EQ(what_of(loser), "c");
  };
  run_program(program, reports.options());
  EXPECT_EQ(reports.errors, Trace());
}

TEST(LostErrors, WhatABlockThrowsAfterATaskOfItsScopeFailedIsReported) {
  Reports reports;
  const auto program = [&]() -> Task<void> {
    std::string thrown;
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        s.spawn(fails_after, 1, "the task");
        try {
          co_await sleep(1h);
        } catch (const Cancelled&) {
        }
        throw std::runtime_error("the block");
      });
    } catch (const std::runtime_error& error) {
      thrown = error.what();
    }
    EXPECT_EQ(thrown, "the task");
  };
  run_program(program, reports.options());
  EXPECT_EQ(reports.errors, Trace({"the block"}));
}

// ---- A log sink that throws ----

TEST(LogSink, OneThatThrowsDoesNotReachTheTaskThatLogs) {
  bool went_on = false;
  const auto program = [&]() -> Task<void> {
    co_await log("a line");
    went_on = true;
  };
  Scheduler scheduler(Options().virtual_time().log_to(
      [](const LogLine&) { throw std::runtime_error("no space left on device"); }));
  run_on_scheduler(scheduler, program);
  EXPECT_TRUE(went_on);
  EXPECT_EQ(scheduler.lost_log_lines(), 1u);
}

TEST(LogSink, OneThatThrowsDoesNotEndTheProcessWhenAFailureIsReported) {
  const auto body = [] {
    Scheduler scheduler(Options().virtual_time().watch_steps(1).log_to(
        [](const LogLine&) { throw std::runtime_error("no space left on device"); }));
    scheduler.spawn(fails_after, 1, "unseen");
    scheduler.spawn.system()(fails_after, 2, "unseen, too");
    const auto spins = []() -> Task<void> {
      for (int i = 0; i < 10; ++i) co_await yield();
    };
    scheduler.spawn(spins);
    scheduler.run();
    expect_nothing_left(scheduler);
    EXPECT_EQ(scheduler.lost_log_lines(), 2 + scheduler.spinners());
    EXPECT_EQ(scheduler.unseen_failures(), 2u);
  };
  EXPECT_SURVIVES(body);
}

}  // namespace lost_errors_test
}  // namespace tiffany
