// Options::system_failure: what the failure of a system task does.
#include <gtest/gtest.h>

#include <string>

#include "support/tasks.hpp"
#include "tiffany/core/failures.hpp"

namespace tiffany {
namespace system_task_test {

using namespace test;

TEST(SystemTask, T11_AFailingSystemTaskEndsTheRunWhereThePolicySaysSo) {
  Trace trace;
  {
    Scheduler scheduler(
        Options().virtual_time().system_failure(SystemFailure::end_run).log_to([](const LogLine&) {
          ADD_FAILURE() << "it is thrown, not reported";
        }));
    scheduler.spawn(gives, std::ref(trace), 50, "work");
    scheduler.spawn.system()(fails_after, 10, "disk full").named("flusher");
    try {
      scheduler.run();
      ADD_FAILURE() << "did not throw";
    } catch (const SystemTaskFailed& failed) {
      const std::string what = failed.what();
      EXPECT_EQ(what.find("The system task #2 \"flusher\", spawned at system_task_test.cpp:"), 0u)
          << what;
      EXPECT_NE(what.find("It failed with: disk full"), std::string::npos) << what;
      EXPECT_EQ(what_of(failed.failure().error), "disk full");
      EXPECT_EQ(failed.failure().task.text(), "#2");
    }
    EXPECT_EQ(scheduler.now(), Time(10ms));
    expect_nothing_left(scheduler);
    scheduler.run();  // thrown once
  }
  EXPECT_EQ(trace, Trace({"work gone"}));
}

TEST(SystemTask, T11_TheFirstFailureIsTheOneThatIsThrown) {
  Scheduler scheduler(
      Options().virtual_time().system_failure(SystemFailure::end_run).log_to([](const LogLine&) {
      }));
  const auto bad_loser = []() -> Task<void> {
    try {
      co_await sleep(1h);
    } catch (const Cancelled&) {
      throw std::runtime_error("second");
    }
  };
  scheduler.spawn.system()(fails_after, 10, "first");
  scheduler.spawn.system()(bad_loser);
  const std::string what = what_of(thrown_by([&] { scheduler.run_until(Time(1s)); }));
  EXPECT_NE(what.find("It failed with: first"), std::string::npos) << what;
}

TEST(SystemTask, T11_ByDefaultItIsReportedLikeAnyOther) {
  Trace lines;
  Scheduler scheduler(Options().virtual_time().log_to(
      [&](const LogLine& line) { lines.emplace_back(line.message); }));
  scheduler.spawn.system()(fails_after, 10, "disk full");
  scheduler.run();
  EXPECT_EQ(lines.size(), 1u);
}

TEST(SystemTask, T11_OnlySystemTasksOfTheRootScopeEndTheRun) {
  const auto program = []() -> Task<void> {
    const auto block = []() -> Task<void> {
      co_await scope([](Scope& s) -> Task<void> {
        s.spawn.system()(fails_after, 1, "inside");
        co_return;
      });
    };
    EXPECT_EQ(what_of(co_await error_of(block())), "inside");
    auto ordinary = spawn(fails_after, 1, "ordinary");
    EXPECT_EQ(what_of(co_await error_of(ordinary)), "ordinary");
  };
  run_program(program, Options().virtual_time().system_failure(SystemFailure::end_run));
}

TEST(SystemTask, T11_ASupervisedSystemTaskIsRestartedAndThenEndsTheRun) {
  int starts = 0;
  Scheduler scheduler(
      Options().virtual_time().system_failure(SystemFailure::end_run).log_to([](const LogLine&) {
      }));
  const auto flusher = [&]() -> Task<void> {
    ++starts;
    co_await sleep(1ms);
    throw std::runtime_error("disk full");
  };
  const auto system = [&]() -> Task<void> {
    co_await supervise(
        Supervision(RestartStrategy::one_for_one).intensity(2, 1s).priority(kSystemPriority),
        [&](Supervisor& s) { s.permanent("flusher", flusher); });
  };
  scheduler.spawn.system()(std::ref(system)).named("system");
  const std::string what = what_of(thrown_by([&] { scheduler.run(); }));
  EXPECT_NE(what.find("The system task #1 \"system\""), std::string::npos) << what;
  EXPECT_NE(what.find("3 ms: child \"flusher\" failed (number 3): disk full"), std::string::npos);
  EXPECT_EQ(starts, 3);
}

}  // namespace system_task_test
}  // namespace tiffany
