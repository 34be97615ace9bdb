#include "tiffany/core/promise.hpp"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace promise_test {

using namespace test;

TEST(Promise, W1_TheCompleterGoesOnAndWaitersBecomeReadyInTheirOrder) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Promise<int> promise;
    const auto waiter = [&](Future<int> future, std::string name) -> Task<void> {
      const int value = co_await future;
      trace.push_back(name + std::to_string(value));
    };
    std::vector<Handle<void>> waiters;
    for (const char* name : {"a", "b", "c"}) {
      waiters.push_back(spawn(std::ref(waiter), promise.future(), name));
    }
    co_await yield();
    EXPECT_FALSE(promise.done());
    promise.complete(7);
    trace.push_back("completed");
    EXPECT_TRUE(promise.done());
    co_await yield();
    trace.push_back("completer again");
    co_await gather(waiters);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"completed", "a7", "b7", "c7", "completer again"}));
}

TEST(Promise, W1_WaitersKeepTheirOwnPriorities) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Promise<void> promise;
    const auto waiter = [&](Future<void> future, std::string name) -> Task<void> {
      co_await future;
      trace.push_back(name);
    };
    spawn.with_priority(50)(std::ref(waiter), promise.future(), "50");
    spawn.with_priority(7)(std::ref(waiter), promise.future(), "7");
    co_await sleep(1ms);
    promise.complete();
    co_await yield();
    trace.push_back("completer");
    co_await sleep(1ms);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"7", "completer", "50"}));
}

// B19: complete-then-wait is the same as wait-then-complete.
TEST(Promise, W3_AFutureMayBeAwaitedAfterItsPromiseIsSettledOrGone) {
  const auto program = []() -> Task<void> {
    Future<std::string> future;
    {
      Promise<std::string> promise;
      future = promise.future();
      EXPECT_EQ(future.state(), TaskState::pending);
      promise.complete("kept");
    }
    EXPECT_TRUE(future.done());
    EXPECT_EQ(future.state(), TaskState::completed);
    for (int i = 0; i < 2; ++i) {
      const std::string value = co_await future;
      EXPECT_EQ(value, "kept");
    }
  };
  run_program(program);
}

TEST(Promise, W1_AFailureIsThrownToEveryWaiter) {
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    auto early = spawn(error_of<Future<int>>, promise.future());
    co_await yield();
    promise.fail(std::runtime_error("no luck"));
    const auto first = co_await early;
    const auto second = co_await error_of(promise.future());
    EXPECT_EQ(what_of(first), "no luck");
    EXPECT_EQ(what_of(second), "no luck");
    const auto outcome = co_await promise.future().outcome();
    EXPECT_TRUE(outcome.failed());
    EXPECT_EQ(promise.future().state(), TaskState::failed);
  };
  run_program(program);
}

TEST(Promise, W1_FailTakesAnExceptionPointerOfAnyKind) {
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    promise.fail(std::make_exception_ptr(42));
    int caught = 0;
    try {
      static_cast<void>(co_await promise.future());
    } catch (int value) {
      caught = value;
    }
    EXPECT_EQ(caught, 42);
  };
  run_program(program);
}

// B51
TEST(Promise, W1_ASecondCompletionIsAnErrorToTheSecondAndTheFirstValueStands) {
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    promise.complete(1);
    EXPECT_EQ(code_of(thrown_by([&] { promise.complete(2); })), Errc::already_settled);
    EXPECT_EQ(code_of(thrown_by([&] { promise.fail(std::runtime_error("x")); })),
              Errc::already_settled);
    const int value = co_await promise.future();
    EXPECT_EQ(value, 1);

    Promise<int> failed;
    failed.fail(std::runtime_error("first"));
    EXPECT_EQ(code_of(thrown_by([&] { failed.complete(2); })), Errc::already_settled);
    const auto error = co_await error_of(failed.future());
    EXPECT_EQ(what_of(error), "first");
  };
  run_program(program);
}

TEST(Promise, W1_APromiseDroppedWhilePendingFailsItsWaiters) {
  const auto program = []() -> Task<void> {
    std::optional<Promise<int>> promise(std::in_place);
    auto early = spawn(error_of<Future<int>>, promise->future());
    auto future = promise->future();
    co_await yield();
    promise.reset();
    const auto first = co_await early;
    const auto second = co_await error_of(future);
    EXPECT_EQ(code_of(first), Errc::broken_promise);
    EXPECT_EQ(code_of(second), Errc::broken_promise);
  };
  run_program(program);
}

TEST(Promise, W1_AssigningOverAPendingPromiseBreaksIt) {
  const auto program = []() -> Task<void> {
    Promise<int> a;
    const auto future = a.future();
    Promise<int> b;
    b.complete(5);
    a = std::move(b);
    const auto error = co_await error_of(future);
    EXPECT_EQ(code_of(error), Errc::broken_promise);
    const int value = co_await a.future();
    EXPECT_EQ(value, 5);
  };
  run_program(program);
}

TEST(Promise, W1_ACancelledOwnerBreaksItsPromise) {
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    const auto future = promise.future();
    const auto owner = [](Promise<int> mine) -> Task<void> {
      co_await sleep(1h);
      mine.complete(1);
    };
    auto handle = spawn(owner, std::move(promise));
    co_await yield();
    handle.cancel();
    const auto error = co_await error_of(future);
    EXPECT_EQ(code_of(error), Errc::broken_promise);
    EXPECT_EQ(now(), Time());
  };
  run_program(program);
}

TEST(Promise, W1_AnOwnerThatIsCancelledBeforeItStartsBreaksItsPromiseToo) {
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    const auto future = promise.future();
    const auto owner = [](Promise<int> mine) -> Task<void> {
      mine.complete(1);
      co_return;
    };
    auto handle = spawn(owner, std::move(promise));
    handle.cancel();
    const auto error = co_await error_of(future);
    EXPECT_EQ(code_of(error), Errc::broken_promise);
  };
  run_program(program);
}

// The promise goes while nobody drives the scheduler. Who waits must hear of it all the same, or
// the program ends in a deadlock that it does not have.
TEST(Promise, W1_APromiseDroppedBetweenTwoStepsFailsItsWaitersToo) {
  Scheduler scheduler(Options().virtual_time());
  std::optional<Promise<int>> promise;
  std::exception_ptr error;
  const auto waiter = [&]() -> Task<void> {
    promise.emplace();
    error = co_await error_of(promise->future());
  };
  scheduler.spawn(std::ref(waiter));
  scheduler.step_until_idle();
  promise.reset();
  const auto thrown = thrown_by([&] { scheduler.run(); });
  EXPECT_EQ(thrown, nullptr) << what_of(thrown);
  EXPECT_EQ(code_of(error), Errc::broken_promise);
}

TEST(Promise, I8_AMovedFromPromiseIsAClearError) {
  const auto program = []() -> Task<void> {
    Promise<int> a;
    Promise<int> b = std::move(a);
    EXPECT_EQ(code_of(thrown_by([&] { a.complete(1); })), Errc::stale_handle);  // NOLINT
    EXPECT_EQ(code_of(thrown_by([&] { a.fail(std::runtime_error("x")); })), Errc::stale_handle);
    b.complete(2);
    const int value = co_await b.future();
    EXPECT_EQ(value, 2);
  };
  run_program(program);
}

TEST(Promise, W1_CompletingNeedsARunningTask) {
  Scheduler scheduler(Options().virtual_time());
  std::optional<Promise<int>> promise;
  const auto make = [&]() -> Task<void> {
    promise.emplace();
    co_return;
  };
  scheduler.spawn(std::ref(make));
  scheduler.run();
  EXPECT_EQ(code_of(thrown_by([&] { promise->complete(1); })), Errc::no_task);
  EXPECT_FALSE(promise->done());
  promise.reset();
  expect_nothing_left(scheduler);
}

TEST(Promise, I7_VoidAndSharedValues) {
  const auto program = []() -> Task<void> {
    Promise<void> done;
    done.complete();
    co_await done.future();
    // What cannot be copied is shared.
    Promise<std::shared_ptr<std::string>> shared;
    shared.complete(std::make_shared<std::string>("one"));
    const auto a = co_await shared.future();
    const auto b = co_await shared.future();
    EXPECT_EQ(a, b);
  };
  run_program(program);
}

TEST(Promise, W9_NothingStaysOfAPromiseThatNobodyHolds) {
  const auto program = []() -> Task<void> {
    const std::size_t before = Scheduler::current()->arena().live_blocks();
    for (int i = 0; i < 1000; ++i) {
      Promise<std::string> promise;
      promise.complete(std::string(200, 'x'));
      const std::string value = co_await promise.future();
      EXPECT_EQ(value.size(), 200u);
    }
    EXPECT_EQ(Scheduler::current()->arena().live_blocks(), before);
  };
  run_program(program);
}

}  // namespace promise_test
}  // namespace tiffany
