// No error is dropped without a word: whoever loses a race, comes second or comes too late is
// reported.
#include <gtest/gtest.h>

#include <memory>
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

// ---- Promises ----

TEST(LostErrors, APromiseThatWasFailedAndThatNobodyLookedAtIsReported) {
  Reports reports;
  const auto program = [&]() -> Task<void> {
    Promise<int> promise;
    const Future<int> future = promise.future();
    promise.fail(std::runtime_error("no such user"));
    co_await yield();
    EXPECT_EQ(reports.errors, Trace()) << "somebody may still ask";
    EXPECT_TRUE(future.done()) << "which is not to look at the error";
  };
  run_program(program, reports.options());
  EXPECT_EQ(reports.errors, Trace({"no such user"}));
}

TEST(LostErrors, APromiseThatFailedInARaceItLostIsReported) {
  Reports reports;
  const auto program = [&]() -> Task<void> {
    Promise<int> quick;
    Promise<int> slow;
    quick.complete(1);
    const auto won = co_await race(quick.future(), slow.future());
    EXPECT_EQ(won.index, 0u);
    slow.fail(std::runtime_error("too late"));
  };
  run_program(program, reports.options());
  EXPECT_EQ(reports.errors, Trace({"too late"}));
}

TEST(LostErrors, APromiseWhoseErrorSomebodyGotOrThatWasOnlyDroppedIsNot) {
  Reports reports;
  const auto program = [&]() -> Task<void> {
    Promise<int> thrown;
    thrown.fail(std::runtime_error("thrown"));
    const auto waits = [](Future<int> future) -> Task<int> { co_return co_await future; };
    EXPECT_EQ(what_of(co_await error_of(waits(thrown.future()))), "thrown");
    Promise<int> looked_at;
    looked_at.fail(std::runtime_error("looked at"));
    EXPECT_TRUE((co_await looked_at.future().outcome()).failed());
    Promise<int> gathered;
    gathered.fail(std::runtime_error("gathered"));
    static_cast<void>(co_await all_settled(gathered.future()));
    const Promise<int> dropped;
  };
  run_program(program, reports.options());
  EXPECT_EQ(reports.errors, Trace());
}

TEST(LostErrors, AnExternalPromiseThatWasFailedAndThatNobodyLookedAtIsReported) {
  Reports reports;
  const auto program = [&]() -> Task<void> {
    {
      const ExternalPromise<int> answer;
      answer.fail(std::make_exception_ptr(std::runtime_error("the line is dead")));
    }
    co_await sleep(1ms);
  };
  run_program(program, reports.options());
  EXPECT_EQ(reports.errors, Trace({"the line is dead"}));
}

// ---- The end of a scheduler ----

// Throws three times from the moment when it is told to, and then gives tasks again. (One that
// never does keeps the records of its tasks for ever.)
class Refusing final : public ReadyPolicy {
 public:
  explicit Refusing(const bool& refuses) : refuses_(refuses) {}
  void push(TaskRecord& task) override { order_->push(task); }
  TaskRecord& pop() override {
    if (refuses_ && left_-- > 0) throw std::runtime_error("no order today");
    return order_->pop();
  }
  std::size_t size() const noexcept override { return order_->size(); }

 private:
  const bool& refuses_;
  int left_ = 3;
  std::unique_ptr<ReadyPolicy> order_ = fifo_order();
};

TEST(LostErrors, AnOrderThatThrowsWhileItsSchedulerIsDestroyedIsReportedOnce) {
  Trace lines;
  bool refuses = false;
  {
    Scheduler scheduler(Options()
                            .virtual_time()
                            .order(std::make_unique<Refusing>(refuses))
                            .log_to([&](const LogLine& line) {
                              if (line.unseen_error != nullptr) lines.emplace_back(line.message);
                            }));
    scheduler.spawn(fails_after, 1000, "never");
    scheduler.spawn(fails_after, 1000, "never");
    scheduler.step_until_idle();
    refuses = true;
  }
  EXPECT_EQ(lines, Trace({"The order of the tasks threw while its scheduler was being destroyed: "
                          "no order today"}));
}

// ---- A log sink that throws ----

TEST(LogSink, OneThatThrowsDoesNotReachTheTaskThatLogs) {
  bool went_on = false;
  const auto program = [&]() -> Task<void> {
    log("a line");
    went_on = true;
    co_return;
  };
  Scheduler scheduler(Options().virtual_time().log_to(
      [](const LogLine&) { throw std::runtime_error("no space left on device"); }));
  run_on_scheduler(scheduler, program);
  EXPECT_TRUE(went_on);
  EXPECT_EQ(scheduler.counters().lost_log_lines, 1u);
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
    EXPECT_EQ(scheduler.counters().lost_log_lines, 2 + scheduler.counters().spinners);
    EXPECT_EQ(scheduler.counters().unseen_failures, 2u);
  };
  EXPECT_SURVIVES(body);
}

}  // namespace lost_errors_test
}  // namespace tiffany
