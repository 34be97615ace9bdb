#include "tiffany/core/scope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace scope_test {

using namespace test;

Task<int> after_ms(Trace& trace, int ms, std::string name) {
  const AtExit exit(trace, name + " gone");
  co_await sleep(std::chrono::milliseconds(ms));
  trace.push_back(name);
  co_return ms;
}
Task<void> fails_after_ms(int ms, std::string why) {
  co_await sleep(std::chrono::milliseconds(ms));
  throw std::runtime_error(why);
}

// ---- Joining ----

TEST(Scope, T9_NoTaskOutlivesTheBlock) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    co_await scope([&](Scope& s) -> Task<void> {
      s.spawn(after_ms, std::ref(trace), 3, "slow");
      s.spawn(after_ms, std::ref(trace), 1, "quick");
      EXPECT_EQ(s.live(), 2u);
      trace.push_back("block ends");
      co_return;
    });
    trace.push_back("scope ends");
    EXPECT_EQ(now(), Time(3ms));
    EXPECT_EQ(Scheduler::current()->live_tasks(), 1u);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"block ends", "quick", "quick gone", "slow", "slow gone", "scope ends"}));
}

TEST(Scope, T9_GivesWhatItsBlockReturns) {
  const auto program = []() -> Task<void> {
    const std::string text = co_await scope([](Scope&) -> Task<std::string> {
      co_await sleep(1ms);
      co_return std::string("result");
    });
    EXPECT_EQ(text, "result");
    co_await scope([](Scope&) -> Task<void> { co_return; });
  };
  run_program(program);
}

TEST(Scope, T9_APlainSpawnInTheBlockBelongsToTheScope) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    co_await scope([&](Scope& s) -> Task<void> {
      spawn(after_ms, std::ref(trace), 1, "plain");
      EXPECT_EQ(s.live(), 1u);
      co_return;
    });
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"plain", "plain gone"}));
}

TEST(Scope, T9_GrandchildrenBelongToTheNearestScope) {
  Trace trace;
  const auto child = [&]() -> Task<void> {
    spawn(after_ms, std::ref(trace), 5, "grandchild");
    trace.push_back("child ends");
    co_return;
  };
  const auto program = [&]() -> Task<void> {
    co_await scope([&](Scope& s) -> Task<void> {
      s.spawn(std::ref(child));
      co_return;
    });
    trace.push_back("scope ends");
    EXPECT_EQ(now(), Time(5ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"child ends", "grandchild", "grandchild gone", "scope ends"}));
}

TEST(Scope, T9_ScopesNestAndEachJoinsItsOwn) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    co_await scope([&](Scope& outer) -> Task<void> {
      outer.spawn(after_ms, std::ref(trace), 9, "outer child");
      co_await scope([&](Scope& inner) -> Task<void> {
        inner.spawn(after_ms, std::ref(trace), 1, "inner child");
        outer.spawn(after_ms, std::ref(trace), 3, "spawned outwards");
        EXPECT_EQ(inner.live(), 1u);
        EXPECT_EQ(outer.live(), 2u);
        co_return;
      });
      trace.push_back("inner ends");
      spawn(after_ms, std::ref(trace), 2, "outer again");
      EXPECT_EQ(outer.live(), 3u);
    });
    trace.push_back("outer ends");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"inner child", "inner child gone", "inner ends", "spawned outwards",
                          "spawned outwards gone", "outer again", "outer again gone", "outer child",
                          "outer child gone", "outer ends"}));
}

TEST(Scope, W3_HandlesOfAScopeOutliveIt) {
  const auto program = []() -> Task<void> {
    Trace trace;
    Handle<int> kept;
    co_await scope([&](Scope& s) -> Task<void> {
      kept = s.spawn(after_ms, std::ref(trace), 2, "x");
      co_return;
    });
    EXPECT_TRUE(kept.done());
    const int value = co_await kept;
    EXPECT_EQ(value, 2);
    kept.cancel();  // its scope is gone; this must not look for it
  };
  run_program(program);
}

// ---- fail_fast ----

TEST(Scope, W4_TheFirstFailureCancelsTheBlockAndTheSiblingsAndIsThrown) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Handle<int> sibling;
    std::exception_ptr error;
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        const AtExit exit(trace, "block gone");
        sibling = s.spawn(after_ms, std::ref(trace), 50, "sibling");
        s.spawn(fails_after_ms, 2, "first");
        s.spawn(fails_after_ms, 60, "second");
        co_await sleep(100ms);
        trace.push_back("never");
      });
    } catch (...) {
      error = std::current_exception();
    }
    EXPECT_EQ(what_of(error), "first");
    EXPECT_EQ(now(), Time(2ms));
    EXPECT_EQ(sibling.state(), TaskState::cancelled);
    const CancelReasonPtr reason = Scheduler::current()->find(sibling.id())->cancel_reason();
    EXPECT_EQ(reason->cause, CancelCause::sibling_failed);
    co_await sleep(1ms);  // the task itself was not cancelled
  };
  run_program(program);
  EXPECT_EQ(trace.size(), 2u);
  EXPECT_EQ(std::count(trace.begin(), trace.end(), "never"), 0);
}

TEST(Scope, W4_AFailureAfterTheBlockEndedIsThrownToo) {
  const auto program = []() -> Task<void> {
    std::exception_ptr error;
    try {
      co_await scope([](Scope& s) -> Task<void> {
        s.spawn(fails_after_ms, 2, "late");
        co_return;
      });
    } catch (...) {
      error = std::current_exception();
    }
    EXPECT_EQ(what_of(error), "late");
  };
  run_program(program);
}

TEST(Scope, W4_WhatTheBlockThrowsCancelsAndJoinsItsTasksFirst) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    std::exception_ptr error;
    Handle<int> child;
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        child = s.spawn(after_ms, std::ref(trace), 50, "child");
        co_await sleep(1ms);
        throw std::runtime_error("block");
      });
    } catch (...) {
      trace.push_back("caught");
      error = std::current_exception();
    }
    EXPECT_EQ(what_of(error), "block");
    EXPECT_EQ(now(), Time(1ms));
    const CancelReasonPtr reason = Scheduler::current()->find(child.id())->cancel_reason();
    EXPECT_EQ(reason->cause, CancelCause::scope_ended);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"child gone", "caught"}));
}

TEST(Scope, W4_AChildThatIsCancelledAloneIsNoFailureOfTheScope) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    co_await scope([&](Scope& s) -> Task<void> {
      auto victim = s.spawn(after_ms, std::ref(trace), 50, "victim");
      s.spawn(after_ms, std::ref(trace), 2, "other");
      co_await sleep(1ms);
      victim.cancel();
    });
    EXPECT_EQ(now(), Time(2ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"victim gone", "other", "other gone"}));
}

TEST(Scope, W4_TheErrorOfAFailedChildIsThrownOnceAndNotAlsoReported) {
  Trace lines;
  const auto program = []() -> Task<void> {
    try {
      co_await scope([](Scope& s) -> Task<void> {
        s.spawn(fails_after_ms, 1, "once");
        co_return;
      });
    } catch (const std::runtime_error&) {
    }
  };
  run_program(program, Options().virtual_time().log_to(
                           [&](const LogLine& line) { lines.emplace_back(line.message); }));
  EXPECT_EQ(lines, Trace());
}

// ---- Scope::cancel, deadlines ----

TEST(Scope, T9_CancelEndsTheBlockAtItsNextSuspensionAndSaysSo) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    std::exception_ptr error;
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        s.spawn(after_ms, std::ref(trace), 50, "child");
        co_await sleep(1ms);
        s.cancel("enough");
        EXPECT_TRUE(s.cancelled());
        trace.push_back("goes on");
        co_await sleep(1ms);
        trace.push_back("never");
      });
    } catch (...) {
      error = std::current_exception();
    }
    EXPECT_EQ(code_of(error), Errc::scope_cancelled);
    EXPECT_NE(what_of(error).find("enough"), std::string::npos) << what_of(error);
    EXPECT_EQ(now(), Time(1ms));
    co_await sleep(1ms);  // the task goes on behind its scope
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"goes on", "child gone"}));
}

TEST(Scope, T9_ABlockThatCancelsItsTasksAndRunsToItsEndHasItsResult) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const int value = co_await scope([&](Scope& s) -> Task<int> {
      s.spawn(after_ms, std::ref(trace), 50, "server");
      co_await sleep(1ms);
      s.cancel("done with it");
      co_return 5;
    });
    EXPECT_EQ(value, 5);
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"server gone"}));
}

TEST(Scope, T9_ATaskMayCancelTheScopeItRunsIn) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    std::exception_ptr error;
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        const auto canceller = [&]() -> Task<void> {
          co_await sleep(1ms);
          s.cancel("from a task");
        };
        s.spawn(std::ref(canceller));
        co_await sleep(1h);
      });
    } catch (...) {
      error = std::current_exception();
    }
    EXPECT_EQ(code_of(error), Errc::scope_cancelled);
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
}

TEST(Scope, T9_ADeadlineCancelsTheScopeWithThatReason) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Handle<int> child;
    CancelCause cause{};
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        s.set_deadline(Time(3ms));
        child = s.spawn(after_ms, std::ref(trace), 50, "child");
        co_await sleep(1h);
        trace.push_back("never");
      });
    } catch (const ScopeCancelled& cancelled) {
      cause = cancelled.reason().cause;
    }
    EXPECT_EQ(cause, CancelCause::deadline);
    EXPECT_EQ(now(), Time(3ms));
    EXPECT_EQ(child.state(), TaskState::cancelled);
    EXPECT_EQ(Scheduler::current()->find(child.id())->cancel_reason()->cause,
              CancelCause::deadline);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"child gone"}));
}

TEST(Scope, T9_ADeadlineThatPassesWhileTheTasksAreJoinedCancelsThem) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    std::exception_ptr error;
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        s.set_timeout(3ms);
        s.spawn(after_ms, std::ref(trace), 50, "child");
        co_return;
      });
    } catch (...) {
      error = std::current_exception();
    }
    EXPECT_EQ(code_of(error), Errc::scope_cancelled);
    EXPECT_EQ(now(), Time(3ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"child gone"}));
}

TEST(Scope, T9_ADeadlineThatIsNotReachedLeavesNothingBehind) {
  Trace trace;
  Scheduler scheduler(Options().virtual_time());
  const auto program = [&]() -> Task<void> {
    co_await scope([&](Scope& s) -> Task<void> {
      s.set_timeout(1ms);
      s.set_timeout(1h);  // the last call stands
      s.spawn(after_ms, std::ref(trace), 5, "child");
      co_return;
    });
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(scheduler.now(), Time(5ms));
}

// ---- A cancelled scope ----

TEST(Scope, T9_WhatIsSpawnedIntoACancelledScopeIsCancelledAndNeverStarts) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    TaskState state{};
    co_await scope([&](Scope& s) -> Task<void> {
      s.cancel();
      auto late = s.spawn(after_ms, std::ref(trace), 1, "late");
      state = late.state();
      co_return;
    });
    EXPECT_EQ(state, TaskState::cancelled);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace());
}

TEST(Scope, I4_ACancelFromOutsideUnwindsTheBlockAndJoinsTheTasksBeforeItGoesOn) {
  Trace trace;
  const auto owner = [&]() -> Task<void> {
    const AtExit exit(trace, "owner gone");
    co_await scope([&](Scope& s) -> Task<void> {
      const AtExit block(trace, "block gone");
      s.spawn(after_ms, std::ref(trace), 50, "child");
      co_await sleep(1h);
      trace.push_back("never");
    });
    trace.push_back("never");
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(owner));
    co_await sleep(1ms);
    handle.cancel("outer");
    const auto error = co_await error_of(handle);
    EXPECT_EQ(code_of(error), Errc::task_cancelled);
    EXPECT_NE(what_of(error).find("outer"), std::string::npos) << what_of(error);
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"block gone", "child gone", "owner gone"}));
}

TEST(Scope, I4_ACancelFromOutsideWaitsForAShieldedChild) {
  Trace trace;
  const auto child = [&]() -> Task<void> { co_await shield(after_ms(trace, 10, "shielded")); };
  const auto owner = [&]() -> Task<void> {
    const AtExit exit(trace, "owner gone");
    co_await scope([&](Scope& s) -> Task<void> {
      s.spawn(std::ref(child));
      co_return;
    });
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(owner));
    co_await sleep(1ms);
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(now(), Time(10ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"shielded", "shielded gone", "owner gone"}));
}

TEST(Scope, I4_ACancelledOuterScopeEndsTheInnerOnesFirst) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    std::exception_ptr error;
    try {
      co_await scope([&](Scope& outer) -> Task<void> {
        const auto canceller = [&]() -> Task<void> {
          co_await sleep(1ms);
          outer.cancel("outermost");
        };
        outer.spawn(std::ref(canceller));
        const AtExit exit(trace, "outer block gone");
        co_await scope([&](Scope& inner) -> Task<void> {
          inner.spawn(after_ms, std::ref(trace), 50, "inner child");
          co_return;
        });
        trace.push_back("never");
      });
    } catch (...) {
      error = std::current_exception();
    }
    EXPECT_EQ(code_of(error), Errc::scope_cancelled);
    EXPECT_NE(what_of(error).find("outermost"), std::string::npos) << what_of(error);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"inner child gone", "outer block gone"}));
}

// ---- The root scope ----

TEST(RootScope, T10_AFailureThatNobodyLookedAtIsReportedOnce) {
  Trace lines;
  unsigned line = 0;
  const auto program = [&]() -> Task<void> {
    spawn(fails_after_ms, 1, "unseen").named("lonely");
    line = static_cast<unsigned>(__LINE__ - 1);
    co_await sleep(5ms);
  };
  run_program(program, Options().virtual_time().log_to([&](const LogLine& entry) {
    lines.push_back(entry.task.text() + " " + std::string(entry.message));
  }));
  const std::string spawned = "spawned at scope_test.cpp:" + std::to_string(line);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("#2 task #2 \"lonely\", " + spawned +
                          ", failed and nobody looked at the error: unseen"
                          "\n  thrown in task #2 \"lonely\""
                          "\n      at scope_test.cpp:"),
            0u)
      << lines[0];
  EXPECT_NE(lines[0].find(" in fails_after_ms\n      " + spawned + " by task #1, spawned at "),
            std::string::npos)
      << lines[0];
}

TEST(RootScope, T10_AFailureThatSomebodyLookedAtIsNotReported) {
  Trace lines;
  const auto program = []() -> Task<void> {
    auto joined = spawn(fails_after_ms, 1, "joined");
    auto asked = spawn(fails_after_ms, 1, "asked");
    auto gathered = spawn(fails_after_ms, 1, "gathered");
    auto settled = spawn(fails_after_ms, 1, "settled");
    auto raced = spawn(fails_after_ms, 1, "raced");
    co_await error_of(joined);
    co_await asked.outcome();
    try {
      co_await gather(gathered);
    } catch (const std::runtime_error&) {
    }
    co_await all_settled(settled);
    try {
      co_await race(raced);
    } catch (const std::runtime_error&) {
    }
  };
  run_program(program, Options().virtual_time().log_to(
                           [&](const LogLine& entry) { lines.emplace_back(entry.message); }));
  EXPECT_EQ(lines, Trace());
}

TEST(RootScope, T10_CancelledTasksAreNotReported) {
  Trace lines;
  const auto program = []() -> Task<void> {
    auto handle = spawn(fails_after_ms, 5, "never");
    co_await sleep(1ms);
    handle.cancel();
    co_await sleep(1ms);
  };
  run_program(program, Options().virtual_time().log_to(
                           [&](const LogLine& entry) { lines.emplace_back(entry.message); }));
  EXPECT_EQ(lines, Trace());
}

TEST(RootScope, T10_AFailureInTheRootScopeCancelsNobody) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    spawn(fails_after_ms, 1, "alone");
    spawn(after_ms, std::ref(trace), 3, "other");
    co_await sleep(5ms);
  };
  run_program(program, Options().virtual_time().log_to([](const LogLine&) {}));
  EXPECT_EQ(trace, Trace({"other", "other gone"}));
}

TEST(RootScope, T9_RunWaitsForEverythingThatWasSpawned) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    spawn(after_ms, std::ref(trace), 7, "left behind");
    trace.push_back("main ends");
    co_return;
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"main ends", "left behind", "left behind gone"}));
}

}  // namespace scope_test
}  // namespace tiffany
