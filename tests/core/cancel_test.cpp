// How a cancellation reaches a task and how it leaves it. What each blocking call does when it is
// cancelled is in cancel_calls_test.cpp.
#include "tiffany/core/cancel.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/harness.hpp"

namespace tiffany {
namespace cancel_test {

using namespace test;

Task<void> sleep_long() { co_await sleep(1h); }

TEST(Cancel, T9_ATaskThatHasNotStartedNeverStarts) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto body = [&](AtExit) -> Task<void> {
      trace.push_back("started");
      co_return;
    };
    auto handle = spawn(std::ref(body), AtExit(trace, "argument gone"));
    handle.cancel();
    trace.push_back("cancelled");
    EXPECT_EQ(handle.state(), TaskState::cancelled);
    co_await sleep(1ms);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"argument gone", "cancelled"}));
}

// Its place in the queue is a reference to its record, and must not outlive the program.
void expect_no_record_of_a_task_that_never_started(Options options) {
  Scheduler scheduler(std::move(options));
  TaskId id;
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(sleep_long);
    id = handle.id();
    handle.cancel();
    co_return;
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(scheduler.find(id), nullptr);
}

TEST(Cancel, W9_ATaskThatNeverStartedLeavesNothingInTheQueue) {
  expect_no_record_of_a_task_that_never_started(Options().virtual_time());
}

TEST(Cancel, W9_ATaskThatNeverStartedLeavesNothingUnderAnotherOrderEither) {
  expect_no_record_of_a_task_that_never_started(Options().virtual_time().order(fifo_order()));
  expect_no_record_of_a_task_that_never_started(Options().virtual_time().order(random_order(1)));
  expect_no_record_of_a_task_that_never_started(Options().virtual_time().record_picks());
}

TEST(Cancel, I4_AParkedTaskUnwindsInnermostFirstAndNothingBehindTheSuspensionRuns) {
  Trace trace;
  const auto inner = [&]() -> Task<void> {
    const AtExit first(trace, "inner 1");
    const AtExit second(trace, "inner 2");
    co_await sleep(1h);
    trace.push_back("never");
  };
  const auto middle = [&]() -> Task<int> {
    const AtExit exit(trace, "middle");
    co_await inner();
    trace.push_back("never");
    co_return 1;
  };
  const auto outer = [&](AtExit) -> Task<void> {
    const AtExit exit(trace, "outer");
    const int value = co_await middle();
    trace.push_back("never" + std::to_string(value));
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(outer), AtExit(trace, "argument"));
    co_await sleep(1ms);
    handle.cancel();
    trace.push_back("cancel returned");
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"cancel returned", "inner 2", "inner 1", "middle", "outer", "argument"}));
}

TEST(Cancel, I4_EveryLaterSuspensionThrowsAgain) {
  Trace trace;
  const auto body = [&]() -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      try {
        if (i == 0) co_await sleep(1h);
        if (i == 1) co_await yield();
        if (i == 2) co_await checkpoint();
        trace.push_back("never");
      } catch (const Cancelled& cancelled) {
        trace.push_back(cancelled.reason().message);
      }
    }
    co_await sleep_long();
    trace.push_back("never");
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(body));
    co_await yield();
    handle.cancel("stop");
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"stop", "stop", "stop"}));
}

// Ruling: every system call counts against the quantum, those that throw included. A task that
// swallows its cancellation in a loop is wrong, but it must not take the others down with it.
TEST(Cancel, W6_ATaskThatSwallowsEveryCancelDoesNotTakeTheSchedulerHostage) {
  const auto body = [] {
    bool stop = false;
    const auto stubborn = [&]() -> Task<void> {
      while (!stop) {
        try {
          co_await sleep(1h);
        } catch (const Cancelled&) {
        }
      }
    };
    const auto program = [&]() -> Task<void> {
      auto handle = spawn(std::ref(stubborn));
      co_await yield();
      handle.cancel();
      for (int i = 0; i < 10; ++i) co_await yield();
      stop = true;
      co_await handle;
    };
    run_program(program);
  };
  EXPECT_SURVIVES(body);
}

TEST(Cancel, I4_AnArrivedResultWinsAndTheCancelStaysPending) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Promise<int> promise;
    const auto body = [&]() -> Task<void> {
      trace.push_back(std::to_string(co_await promise.future()));
      static_cast<void>(co_await promise.future());  // answered at once: no suspension
      trace.push_back("again");
      co_await yield();
      trace.push_back("never");
    };
    auto handle = spawn(std::ref(body));
    co_await yield();
    promise.complete(5);
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"5", "again"}));
}

TEST(Cancel, T9_CancellingAFinishedTaskKeepsItsValue) {
  const auto program = []() -> Task<void> {
    const auto body = []() -> Task<int> { co_return 3; };
    auto handle = spawn(body);
    co_await handle;
    handle.cancel("late");
    const int value = co_await handle;
    EXPECT_EQ(value, 3);
    EXPECT_EQ(handle.state(), TaskState::completed);
    EXPECT_EQ(Scheduler::current()->find(handle.id())->cancel_reason(), nullptr);
    const auto fail = []() -> Task<int> {
      co_await yield();
      throw std::runtime_error("first");
    };
    auto failed = spawn(fail);
    const auto error = co_await error_of(failed);
    failed.cancel();
    EXPECT_EQ(failed.state(), TaskState::failed);
    EXPECT_EQ(what_of(error), "first");
  };
  run_program(program);
}

TEST(Cancel, T9_ReasonRequesterAndSiteAreRecorded) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(sleep_long);
    co_await yield();
    cancel(handle, "too slow");
    const auto line = static_cast<unsigned>(__LINE__ - 1);
    const CancelReasonPtr reason = Scheduler::current()->find(handle.id())->cancel_reason();
    EXPECT_EQ(reason->cause, CancelCause::requested);
    EXPECT_EQ(reason->message, "too slow");
    EXPECT_EQ(reason->requester, this_task::id());
    EXPECT_EQ(reason->site.line(), line);
    EXPECT_EQ(reason->text(), "cancelled by task #1 at cancel_test.cpp:" + std::to_string(line) +
                                  ": too slow (requested)");
    co_await handle.outcome();
  };
  run_program(program);
}

TEST(Cancel, T9_FromOutsideOfEveryTaskThereIsNoRequester) {
  Scheduler scheduler(Options().virtual_time());
  auto handle = scheduler.spawn(sleep_long);
  handle.cancel();
  const CancelReasonPtr reason = scheduler.find(handle.id())->cancel_reason();
  EXPECT_FALSE(reason->requester);
  EXPECT_EQ(reason->text().find("by task"), std::string::npos) << reason->text();
  handle = {};
  scheduler.step_until_idle();
  expect_nothing_left(scheduler);
}

// B49
TEST(Cancel, T9_ASecondCancelKeepsTheFirstReason) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(sleep_long);
    co_await yield();
    handle.cancel("first");
    handle.cancel("second");
    const auto error = co_await error_of(handle);
    EXPECT_NE(what_of(error).find("first"), std::string::npos);
    EXPECT_EQ(what_of(error).find("second"), std::string::npos);
  };
  run_program(program);
}

// B41
TEST(Cancel, T9_ATaskThatCancelsItselfGoesOnToItsNextSuspension) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto callee = [&]() -> Task<void> {
      trace.push_back("a call is no suspension");
      co_return;
    };
    const auto body = [&]() -> Task<void> {
      this_task::cancel("by myself");
      trace.push_back("still running");
      co_await callee();
      co_await sleep(1ms);
      trace.push_back("never");
    };
    auto handle = spawn(std::ref(body));
    const auto error = co_await error_of(handle);
    EXPECT_NE(what_of(error).find("by myself"), std::string::npos);
    EXPECT_NE(what_of(error).find("by task #2"), std::string::npos) << what_of(error);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"still running", "a call is no suspension"}));
}

TEST(Cancel, T9_ATaskThatCancelsItselfAndDoesNotSuspendAgainIsCompleted) {
  const auto program = []() -> Task<void> {
    const auto body = []() -> Task<int> {
      this_task::cancel();
      co_return 4;
    };
    auto handle = spawn(body);
    const int value = co_await handle;
    EXPECT_EQ(value, 4);
  };
  run_program(program);
}

TEST(Cancel, I4_AHandlerForErrorsDoesNotSwallowIt) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto body = [&]() -> Task<void> {
      try {
        co_await sleep(1h);
      } catch (const std::exception&) {
        trace.push_back("swallowed");
      }
      trace.push_back("never");
    };
    auto handle = spawn(std::ref(body));
    co_await yield();
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace());
}

TEST(Cancel, I4_ItPassesThroughTheHandlersOfCallersAsAnException) {
  Trace trace;
  const auto inner = []() -> Task<void> { co_await sleep(1h); };
  const auto outer = [&]() -> Task<void> {
    try {
      co_await inner();
    } catch (...) {
      trace.push_back("handler of the caller");
      throw;
    }
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(outer));
    co_await yield();
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"handler of the caller"}));
}

TEST(Cancel, W2_ATaskThatCatchesItAndReturnsAValueIsCompleted) {
  const auto program = []() -> Task<void> {
    const auto body = []() -> Task<int> {
      try {
        co_await sleep(1h);
      } catch (const Cancelled&) {
      }
      co_return 9;
    };
    auto handle = spawn(body);
    co_await yield();
    handle.cancel();
    const int value = co_await handle;
    EXPECT_EQ(value, 9);
    EXPECT_EQ(handle.state(), TaskState::completed);
  };
  run_program(program);
}

TEST(Cancel, W4_ATaskThatThrowsAnErrorWhileUnwindingHasFailed) {
  const auto program = []() -> Task<void> {
    const auto body = []() -> Task<int> {
      try {
        co_await sleep(1h);
      } catch (const Cancelled&) {
        throw std::runtime_error("while cleaning up");
      }
      co_return 9;
    };
    auto handle = spawn(body);
    co_await yield();
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.failed());
    EXPECT_EQ(what_of(outcome.error()), "while cleaning up");
  };
  run_program(program);
}

// A Cancelled that somebody kept and threw elsewhere is not a cancellation of that task.
TEST(Cancel, W4_AStrayCancelledInATaskThatNobodyCancelledIsAFailure) {
  const auto program = []() -> Task<void> {
    std::exception_ptr kept;
    const auto first = [&]() -> Task<void> {
      try {
        co_await sleep(1h);
      } catch (...) {
        kept = std::current_exception();
        throw;
      }
    };
    auto handle = spawn(std::ref(first));
    co_await yield();
    handle.cancel();
    co_await handle.outcome();
    const auto second = [&]() -> Task<void> {
      std::rethrow_exception(kept);
      co_return;
    };
    auto stray = spawn(std::ref(second));
    const auto outcome = co_await stray.outcome();
    EXPECT_TRUE(outcome.failed());
  };
  run_program(program);
}

// B39, B50: whoever waits for a cancelled task hears of it.
TEST(Cancel, W4_WaitersOfACancelledTaskAreWoken) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto victim = spawn(sleep_long);
    const auto waiter = [&](std::string name) -> Task<void> {
      const auto outcome = co_await victim.outcome();
      trace.push_back(name + (outcome.cancelled() ? " cancelled" : " ?"));
    };
    auto a = spawn(std::ref(waiter), "a");
    auto b = spawn(std::ref(waiter), "b");
    co_await yield();
    victim.cancel();
    co_await gather(a, b);
    EXPECT_EQ(now(), Time());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"a cancelled", "b cancelled"}));
}

// B39: a cancelled waiter is never resumed by a later completion.
TEST(Cancel, I4_ACancelledWaiterIsNotWokenByALaterCompletion) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Promise<int> promise;
    const auto body = [&]() -> Task<void> {
      try {
        static_cast<void>(co_await promise.future());
      } catch (const Cancelled&) {
        trace.push_back("cancelled");
        throw;
      }
      trace.push_back("never");
    };
    auto handle = spawn(std::ref(body));
    co_await yield();
    handle.cancel();
    promise.complete(1);  // between the cancel and the unwinding
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"cancelled"}));
}

// ---- Shield ----

TEST(Shield, I4_HoldsACancelBackAndTheFirstSuspensionBehindItThrows) {
  Trace trace;
  const auto cleanup = [&]() -> Task<int> {
    co_await sleep(5ms);
    trace.push_back("cleaned up");
    co_return 8;
  };
  const auto body = [&]() -> Task<void> {
    const int value = co_await shield(cleanup());
    trace.push_back("behind the shield " + std::to_string(value));
    co_await yield();
    trace.push_back("never");
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(body));
    co_await sleep(1ms);
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(now(), Time(5ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"cleaned up", "behind the shield 8"}));
}

TEST(Shield, I4_ACancelledTaskCanCleanUpBehindOne) {
  Trace trace;
  const auto cleanup = [&]() -> Task<void> {
    co_await sleep(2ms);
    trace.push_back("cleaned up");
  };
  const auto body = [&]() -> Task<void> {
    bool cancelled = false;
    try {
      co_await sleep(1h);
    } catch (const Cancelled&) {
      cancelled = true;
    }
    if (cancelled) co_await shield(cleanup());
    co_await checkpoint();
    trace.push_back("never");
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(body));
    co_await yield();
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(now(), Time(2ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"cleaned up"}));
}

TEST(Shield, I4_OverAHandleItShieldsTheWaitAndNotTheTask) {
  const auto program = []() -> Task<void> {
    auto target = spawn(sleep_long);
    const auto body = [&]() -> Task<void> { co_await shield(target); };
    auto handle = spawn(std::ref(body));
    co_await yield();
    handle.cancel();
    co_await sleep(1ms);
    EXPECT_EQ(handle.state(), TaskState::blocked);
    target.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.failed()) << "the awaited task was cancelled, which is an error here";
    EXPECT_EQ(code_of(outcome.error()), Errc::task_cancelled);
  };
  run_program(program);
}

TEST(Shield, I4_WhatIsCancelledInsideTheShieldIsNotHeldBack) {
  const auto program = []() -> Task<void> {
    const auto inside = []() -> Task<bool> {
      const auto timed = co_await within(1ms, sleep_long());
      co_return timed.timed_out();
    };
    const bool timed_out = co_await shield(inside());
    EXPECT_TRUE(timed_out);
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
}

TEST(Shield, I4_ShieldsNest) {
  Trace trace;
  const auto inner = [&]() -> Task<void> {
    co_await sleep(1ms);
    trace.push_back("inner");
  };
  const auto outer = [&]() -> Task<void> {
    co_await shield(inner());
    co_await sleep(1ms);
    trace.push_back("outer");
  };
  const auto body = [&]() -> Task<void> {
    this_task::cancel();
    co_await shield(outer());
    co_await yield();
    trace.push_back("never");
  };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(body));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"inner", "outer"}));
}

TEST(CancelCause, T9_HasAName) {
  EXPECT_STREQ(name_of(CancelCause::requested), "requested");
  EXPECT_STREQ(name_of(CancelCause::sibling_failed), "sibling failed");
  EXPECT_STREQ(name_of(CancelCause::scope_ended), "scope ended");
  EXPECT_STREQ(name_of(CancelCause::deadline), "deadline");
  EXPECT_STREQ(name_of(CancelCause::timeout), "timeout");
  EXPECT_STREQ(name_of(CancelCause::race_decided), "race decided");
  EXPECT_STREQ(name_of(CancelCause::shutdown), "shutdown");
}

}  // namespace cancel_test
}  // namespace tiffany
