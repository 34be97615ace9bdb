// The policies of scopes: collect_all and first_success. fail_fast is in scope_test.cpp.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/tasks.hpp"
#include "tiffany/core/failures.hpp"
#include "tiffany/core/scope.hpp"

namespace tiffany {
namespace scope_policy_test {

using namespace test;

// ---- collect_all ----

TEST(ScopePolicy, W4_CollectAllRunsEveryTaskToItsEndAndThrowsTheFailuresTogether) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    try {
      co_await scope(collect_all, [&](Scope& s) -> Task<void> {
        s.spawn(gives, std::ref(trace), 30, "slow");
        s.spawn(fails_after, 20, "second").named("b");
        s.spawn(fails_after, 10, "first");
        co_await sleep(15ms);
        trace.push_back("block goes on");
      });
      ADD_FAILURE() << "did not throw";
    } catch (const TasksFailed& failed) {
      EXPECT_EQ(failed.code(), Errc::tasks_failed);
      EXPECT_STREQ(failed.what(),
                   "2 tasks of a scope failed; failures() has the errors.\n"
                   "  task #4: first\n"
                   "  task #3 \"b\": second");
      EXPECT_EQ(failed.failures().size(), 2u);
      EXPECT_EQ(failed.failures().at(1).task.text(), "#3");
      EXPECT_EQ(what_of(failed.failures().at(1).error), "second");
    }
    EXPECT_EQ(now(), Time(30ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"block goes on", "slow", "slow gone"}));
}

TEST(ScopePolicy, W4_AFailureThatWasLookedAtThroughItsHandleIsNotThrown) {
  const auto program = []() -> Task<void> {
    const int value = co_await scope(collect_all, [](Scope& s) -> Task<int> {
      std::vector<Handle<int>> handles{s.spawn(fails_after, 1, "seen"),
                                       s.spawn(fails_after, 2, "also seen")};
      const auto ends = co_await all_settled(handles);
      EXPECT_EQ(what_of(ends.at(0).error()), "seen");
      co_return 5;
    });
    EXPECT_EQ(value, 5);
    const auto half = [&]() -> Task<void> {
      co_await scope(collect_all, [](Scope& s) -> Task<void> {
        auto seen = s.spawn(fails_after, 1, "seen");
        s.spawn(fails_after, 2, "unseen");
        EXPECT_EQ(what_of(co_await error_of(seen)), "seen");
      });
    };
    const auto error = co_await error_of(half());
    EXPECT_EQ(what_of(error),
              "1 task of a scope failed; failures() has the errors.\n  task #2.2: unseen");
  };
  run_program(program);
}

TEST(ScopePolicy, W4_ALongListOfFailuresIsCutInTheText) {
  const auto program = []() -> Task<void> {
    const auto block = []() -> Task<void> {
      co_await scope(collect_all, [](Scope& s) -> Task<void> {
        for (int i = 0; i < 10; ++i) s.spawn(fails_after, i, "no " + std::to_string(i));
        co_return;
      });
    };
    const std::string what = what_of(co_await error_of(block()));
    EXPECT_NE(what.find("no 7\n  ... and 2 more"), std::string::npos) << what;
  };
  run_program(program);
}

TEST(ScopePolicy, W4_WhatTheBlockThrowsCancelsTheTasksAndTheirFailuresAreReported) {
  Trace trace;
  Trace lines;
  const auto program = [&]() -> Task<void> {
    const auto block = [&]() -> Task<void> {
      co_await scope(collect_all, [&](Scope& s) -> Task<void> {
        s.spawn(gives, std::ref(trace), 50, "cancelled");
        s.spawn(fails_after, 1, "collected");
        co_await sleep(5ms);
        throw std::runtime_error("the block's own");
      });
    };
    EXPECT_EQ(what_of(co_await error_of(block())), "the block's own");
    EXPECT_EQ(now(), Time(5ms));
  };
  run_program(program, Options().virtual_time().log_to(
                           [&](const LogLine& line) { lines.emplace_back(line.message); }));
  EXPECT_EQ(trace, Trace({"cancelled gone"}));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("failed and nobody looked at the error: collected"), std::string::npos);
}

TEST(ScopePolicy, W4_CollectedFailuresWinOverACancelFromOutside) {
  const auto program = []() -> Task<void> {
    const auto block = []() -> Task<void> {
      co_await scope(collect_all, [](Scope& s) -> Task<void> {
        s.spawn(fails_after, 1, "collected");
        s.spawn(fails_after, 50, "never");
        co_return;
      });
    };
    auto task = spawn(block);
    co_await sleep(5ms);
    const auto end = co_await cancel_and_join(task);
    EXPECT_TRUE(end.failed());
    EXPECT_EQ(code_of(end.error()), Errc::tasks_failed);
  };
  run_program(program);
}

// ---- first_success ----

TEST(ScopePolicy, W4_TheFirstSuccessCancelsTheOthersAndIsNamed) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Handle<int> quick;
    Handle<int> slow;
    const TaskId winner = co_await scope(first_success, [&](Scope& s) -> Task<void> {
      s.spawn(fails_after, 1, "does not count");
      slow = s.spawn(gives, std::ref(trace), 50, "slow");
      quick = s.spawn(gives, std::ref(trace), 10, "quick");
      co_await sleep(1h);
      trace.push_back("not reached");
    });
    EXPECT_EQ(now(), Time(10ms));
    EXPECT_EQ(winner, quick.id());
    EXPECT_EQ(co_await quick, 10);
    const auto end = co_await slow.outcome();
    EXPECT_TRUE(end.cancelled());
    EXPECT_NE(what_of(end.error()).find("task #4 completed first (race decided)"),
              std::string::npos)
        << what_of(end.error());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"quick", "quick gone", "slow gone"}));
}

TEST(ScopePolicy, W4_TheLosersHaveEndedWhenTheWinnerIsKnown) {
  Trace trace;
  const auto slow_to_stop = [&]() -> Task<void> {
    bool cancelled = false;
    try {
      co_await sleep(1h);
    } catch (const Cancelled&) {
      cancelled = true;
    }
    const auto clean_up = []() -> Task<void> { co_await sleep(5ms); };
    if (cancelled) co_await shield(clean_up());
    trace.push_back("stopped");
    throw std::runtime_error("too late to count");
  };
  const auto program = [&]() -> Task<void> {
    co_await scope(first_success, [&](Scope& s) -> Task<void> {
      s.spawn(slow_to_stop);
      s.spawn(gives, std::ref(trace), 10, "quick");
      co_return;
    });
    EXPECT_EQ(now(), Time(15ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"quick", "quick gone", "stopped"}));
}

TEST(ScopePolicy, W4_AllFailedCarriesEveryErrorInTheOrderTheyEnded) {
  const auto program = []() -> Task<void> {
    try {
      co_await scope(first_success, [](Scope& s) -> Task<void> {
        s.spawn(fails_after, 3, "third");
        s.spawn(fails_after, 1, "first");
        auto cancelled = s.spawn(fails_after, 50, "never");
        co_await sleep(2ms);
        cancelled.cancel("not needed");
      });
      ADD_FAILURE() << "did not throw";
    } catch (const AllFailed& failed) {
      EXPECT_EQ(failed.errors().size(), 3u);
      EXPECT_EQ(what_of(failed.errors().at(0)), "first");
      EXPECT_EQ(code_of(failed.errors().at(1)), Errc::task_cancelled);
      EXPECT_EQ(what_of(failed.errors().at(2)), "third");
      EXPECT_STREQ(failed.what(),
                   "None of the 3 contenders succeeded; errors() holds what each of them failed "
                   "with. The last one: third");
    }
  };
  run_program(program);
}

TEST(ScopePolicy, W4_AFirstSuccessScopeWithoutTasksIsAnError) {
  const auto program = []() -> Task<void> {
    const auto block = []() -> Task<void> {
      co_await scope(first_success, [](Scope&) -> Task<void> { co_return; });
    };
    EXPECT_EQ(code_of(co_await error_of(block())), Errc::empty_race);
  };
  run_program(program);
}

TEST(ScopePolicy, W4_WhatContendersSpawnDoesNotDecide) {
  Trace trace;
  Trace lines;
  const auto contender = [&]() -> Task<int> {
    spawn(gives, std::ref(trace), 1, "helper");
    spawn(fails_after, 2, "a helper broke");
    co_await sleep(10ms);
    co_return 1;
  };
  const auto program = [&]() -> Task<void> {
    Handle<int> handle;
    const TaskId winner = co_await scope(first_success, [&](Scope& s) -> Task<void> {
      handle = s.spawn(contender);
      co_return;
    });
    EXPECT_EQ(winner, handle.id());
    EXPECT_EQ(now(), Time(10ms));
  };
  run_program(program, Options().virtual_time().log_to(
                           [&](const LogLine& line) { lines.emplace_back(line.message); }));
  EXPECT_EQ(lines.size(), 1u) << "the helper's failure is reported, since nobody looked at it";
}

TEST(ScopePolicy, W4_AFirstSuccessScopeThatIsCancelledHasNoWinner) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto cancelled = [&]() -> Task<void> {
      co_await scope(first_success, [&](Scope& s) -> Task<void> {
        s.spawn(gives, std::ref(trace), 50, "a");
        s.cancel("never mind");
        co_return;
      });
    };
    EXPECT_EQ(code_of(co_await error_of(cancelled())), Errc::scope_cancelled);
    const auto late = [&]() -> Task<void> {
      co_await scope(first_success, [&](Scope& s) -> Task<void> {
        s.set_timeout(5ms);
        s.spawn(gives, std::ref(trace), 50, "b");
        co_return;
      });
    };
    EXPECT_EQ(code_of(co_await error_of(late())), Errc::scope_cancelled);
    auto outside = spawn(late);
    co_await sleep(1ms);
    EXPECT_TRUE((co_await cancel_and_join(outside)).cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"b gone", "b gone"}));
}

TEST(ScopePolicy, W4_AWinnerStandsWhenACancelComesWhileTheLosersEnd) {
  Trace trace;
  const auto slow_to_stop = []() -> Task<void> {
    const auto whole = []() -> Task<void> { co_await sleep(20ms); };
    co_await shield(whole());
  };
  const auto program = [&]() -> Task<void> {
    bool decided = false;
    const auto block = [&]() -> Task<void> {
      const TaskId winner = co_await scope(first_success, [&](Scope& s) -> Task<void> {
        s.spawn(slow_to_stop);
        s.spawn(gives, std::ref(trace), 10, "quick");
        co_return;
      });
      decided = static_cast<bool>(winner);
      co_await checkpoint();
      ADD_FAILURE() << "the cancel was lost";
    };
    auto task = spawn(block);
    co_await sleep(15ms);
    EXPECT_TRUE((co_await cancel_and_join(task)).cancelled());
    EXPECT_TRUE(decided);
    EXPECT_EQ(now(), Time(20ms));
  };
  run_program(program);
}

TEST(ScopePolicy, W4_EverySeedOfTheOrderGivesTheSameWinnerWhenTimeDecides) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Trace trace;
    const auto program = [&]() -> Task<void> {
      std::vector<Handle<int>> handles;
      const TaskId winner = co_await scope(first_success, [&](Scope& s) -> Task<void> {
        for (int ms : {30, 10, 20}) handles.push_back(s.spawn(gives, std::ref(trace), ms, "x"));
        co_return;
      });
      EXPECT_EQ(winner, handles[1].id()) << seed;
    };
    run_program(program, Options().virtual_time().order(random_order(seed)));
  }
}

// ---- report_failures ----

TEST(ScopePolicy, AReportScopeLogsAndCountsAFailureAndEverybodyGoesOn) {
  Trace trace;
  std::vector<std::string> reported;
  const auto program = [&]() -> Task<void> {
    const int result = co_await scope(report_failures, [&](Scope& s) -> Task<int> {
      s.spawn(fails_after, 1, "reset by peer").named("connection");
      s.spawn(gives, std::ref(trace), 5, "neighbour");
      co_await sleep(3ms);
      EXPECT_EQ(s.failures(), 1u);
      EXPECT_EQ(reported.size(), 1u) << "at once";
      trace.push_back("block");
      co_return 7;
    });
    EXPECT_EQ(result, 7);
  };
  Scheduler scheduler(Options().virtual_time().log_to([&](const LogLine& line) {
    EXPECT_EQ(what_of(line.unseen_error), "reset by peer");
    reported.emplace_back(line.message);
  }));
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(trace, Trace({"block", "neighbour", "neighbour gone"}));
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_NE(reported[0].find("\"connection\", spawned at scope_policy_test.cpp"),
            std::string::npos);
  EXPECT_EQ(scheduler.counters().unseen_failures, 1u);
}

TEST(ScopePolicy, AFailureOfAReportScopeThatWasLookedAtIsCountedAndNotLogged) {
  const auto program = [&]() -> Task<void> {
    co_await scope(report_failures, [&](Scope& s) -> Task<void> {
      auto task = s.spawn(fails_after, 1, "seen");
      const auto end = co_await task.outcome();
      EXPECT_TRUE(end.failed());
      EXPECT_EQ(s.failures(), 1u);
    });
  };
  Scheduler scheduler(
      Options().virtual_time().log_to([&](const LogLine& line) { ADD_FAILURE() << line.message; }));
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(scheduler.counters().unseen_failures, 0u);
}

TEST(ScopePolicy, WhatTheBlockOfAReportScopeThrowsEndsItsTasksAndIsThrown) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto block = [&](Scope& s) -> Task<void> {
      s.spawn(gives, std::ref(trace), 5, "never");
      co_await sleep(1ms);
      throw std::runtime_error("the listener is gone");
    };
    const auto error = co_await error_of(scope(report_failures, block));
    EXPECT_EQ(what_of(error), "the listener is gone");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"never gone"}));
}

TEST(ScopePolicy, ManyFailuresInAReportScopeKeepTheMemoryFlat) {
  std::uint64_t lines = 0;
  const auto program = [&]() -> Task<void> {
    const auto fails = []() -> Task<void> {
      throw std::runtime_error("connection reset by peer");
      co_return;
    };
    co_await scope(report_failures, [&](Scope& s) -> Task<void> {
      std::size_t after_the_first = 0;
      for (int i = 0; i < 2000; ++i) {
        s.spawn(fails);
        co_await sleep(1ms);
        const std::size_t bytes = Scheduler::current()->arena().live_bytes();
        if (i == 0) after_the_first = bytes;
        EXPECT_EQ(bytes, after_the_first);
      }
      EXPECT_EQ(s.failures(), 2000u);
      EXPECT_EQ(s.live(), 0u);
    });
  };
  run_program(program, Options().virtual_time().log_to([&](const LogLine&) { ++lines; }));
  EXPECT_EQ(lines, 2000u);
}

}  // namespace scope_policy_test
}  // namespace tiffany
