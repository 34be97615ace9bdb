// W1, W8: promises that other threads complete, by object and by UUID.
#include "tiffany/core/external.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "support/watched_clock.hpp"

namespace tiffany {
namespace external_thread_test {

using namespace test;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSlow = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
constexpr bool kSlow = true;
#else
constexpr bool kSlow = false;
#endif
#else
constexpr bool kSlow = false;
#endif

// Runs a function on a thread of its own until it has ended. The scheduler stands still meanwhile,
// so what comes from outside comes at a known place of the program.
template <class F>
void on_another_thread(const F& f) {
  std::thread(std::cref(f)).join();
}

// Hears of the objects that were dropped when, or after, the last task had ended.
void read_inbox(Scheduler& scheduler) {
  while (!scheduler.inbox()->empty()) scheduler.step();
}

// As run_program, for programs whose external promises live until their end.
template <class F>
void run_with_outside(F&& program, Options options = Options().virtual_time()) {
  Scheduler scheduler(std::move(options));
  {
    auto handle = scheduler.spawn(std::ref(program)).named("main");
    scheduler.run();
    handle.waitable().mark_observed();
    EXPECT_EQ(handle.state(), TaskState::completed) << what_of(handle.waitable().error());
  }
  EXPECT_EQ(scheduler.pending_externals(), 0u);
  read_inbox(scheduler);
  expect_nothing_left(scheduler);
}

template <class T>
Task<T> wait_for(Future<T> future) {
  co_return co_await future;
}

// ---- By object ----

TEST(ExternalPromise, W1_AnotherThreadCompletesItAndTheWaiterGetsTheValue) {
  const auto program = []() -> Task<void> {
    ExternalPromise<std::string> promise;
    auto waiter = spawn(wait_for<std::string>, promise.future());
    co_await yield();
    EXPECT_EQ(waiter.state(), TaskState::blocked);
    EXPECT_FALSE(promise.future().done());
    bool counted = false;
    on_another_thread([&] { counted = promise.complete("from another thread"); });
    EXPECT_TRUE(counted);
    const std::string value = co_await waiter;
    EXPECT_EQ(value, "from another thread");
    EXPECT_EQ(promise.future().state(), TaskState::completed);
  };
  run_with_outside(program);
}

TEST(ExternalPromise, W1_MayBeCompletedFromATaskOfTheSameScheduler) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> promise;
    EXPECT_TRUE(promise.complete(7));
    EXPECT_FALSE(promise.future().done()) << "it is delivered when the next turn begins";
    const int value = co_await promise.future();
    EXPECT_EQ(value, 7);
  };
  run_with_outside(program);
}

TEST(ExternalPromise, W1_CompletionsArriveInTheOrderTheyWereMade) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    std::vector<ExternalPromise<std::string>> promises(3);
    const auto waits = [&](std::size_t i) -> Task<void> {
      trace.push_back(co_await promises[i].future());
    };
    auto a = spawn(std::ref(waits), 0u);
    auto b = spawn(std::ref(waits), 1u);
    auto c = spawn(std::ref(waits), 2u);
    co_await yield();
    on_another_thread([&] {
      promises[2].complete("third");
      promises[0].complete("first");
      promises[1].complete("second");
    });
    co_await gather(a, b, c);
  };
  run_with_outside(program);
  EXPECT_EQ(trace, Trace({"third", "first", "second"}));
}

TEST(ExternalPromise, I7_WorksWithoutAValue) {
  const auto program = []() -> Task<void> {
    ExternalPromise<void> promise;
    auto waiter = spawn(wait_for<void>, promise.future());
    co_await yield();
    on_another_thread([&] { promise.complete(); });
    co_await waiter;
    EXPECT_EQ(waiter.state(), TaskState::completed);
  };
  run_with_outside(program);
}

TEST(ExternalPromise, W4_AnErrorGoesToTheWaiterAsItWasGiven) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> promise;
    auto waiter = spawn(wait_for<int>, promise.future());
    co_await yield();
    on_another_thread([&] {
      EXPECT_TRUE(promise.fail(std::make_exception_ptr(std::out_of_range("no such row"))));
    });
    const auto error = co_await error_of(waiter);
    EXPECT_THROW(std::rethrow_exception(error), std::out_of_range);
    EXPECT_EQ(what_of(error), "no such row");
    EXPECT_EQ(promise.future().state(), TaskState::failed);
  };
  run_with_outside(program);
}

TEST(ExternalPromise, W1_ASecondCompletionIsCountedAndTheFirstValueStands) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> promise;
    on_another_thread([&] {
      EXPECT_TRUE(promise.complete(1));
      EXPECT_FALSE(promise.complete(2));
      EXPECT_FALSE(promise.fail(std::make_exception_ptr(std::runtime_error("too late"))));
    });
    EXPECT_EQ(promise.ignored(), 2u);
    const int value = co_await promise.future();
    EXPECT_EQ(value, 1);
    EXPECT_FALSE(promise.complete(3)) << "also after it was delivered";
    EXPECT_EQ(promise.ignored(), 3u);
    const int again = co_await promise.future();
    EXPECT_EQ(again, 1);
  };
  run_with_outside(program);
}

TEST(ExternalPromise, W1_OfManyThreadsThatCompleteItExactlyOneCounts) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> promise;
    std::atomic<int> counted{0};
    std::atomic<int> winner{-1};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 1000; ++i) {
          if (!promise.complete(t * 1000 + i)) continue;
          ++counted;
          winner = t * 1000 + i;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(counted, 1);
    EXPECT_EQ(promise.ignored(), 3999u);
    const int value = co_await promise.future();
    EXPECT_EQ(value, winner);
  };
  run_with_outside(program);
}

TEST(ExternalPromise, W3_SeveralWaitersAreWokenInTheOrderTheyCameAndLateOnesGetItToo) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    ExternalPromise<int> promise;
    const auto waits = [&](std::string name) -> Task<void> {
      const int value = co_await promise.future();
      trace.push_back(name + "=" + std::to_string(value));
    };
    auto a = spawn(std::ref(waits), "a");
    auto b = spawn(std::ref(waits), "b");
    auto urgent = spawn.with_priority(3)(std::ref(waits), "urgent");
    co_await sleep(1ms);
    on_another_thread([&] { promise.complete(5); });
    co_await gather(a, b, urgent);
    co_await waits("late");
  };
  run_with_outside(program);
  EXPECT_EQ(trace, Trace({"urgent=5", "a=5", "b=5", "late=5"}));
}

TEST(ExternalPromise, W3_IsGatheredRacedAndAskedForItsOutcomeLikeAnyWaitable) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> first;
    ExternalPromise<int> second;
    const auto task = []() -> Task<int> {
      co_await sleep(1h);
      co_return 3;
    };
    auto slow = spawn(task);
    on_another_thread([&] { second.complete(2); });
    auto raced = co_await race(first.future(), second.future(), slow);
    EXPECT_EQ(raced.index, 1u);
    EXPECT_EQ(raced.get<1>(), 2);
    on_another_thread([&] { first.complete(1); });
    auto all = co_await gather(first.future(), second.future(), slow);
    EXPECT_EQ(all.get<0>() * 100 + all.get<1>() * 10 + all.get<2>(), 123);
    ExternalPromise<int> failing;
    on_another_thread([&] { failing.fail(std::make_exception_ptr(std::runtime_error("down"))); });
    const auto outcome = co_await failing.future().outcome();
    EXPECT_TRUE(outcome.failed());
    EXPECT_EQ(what_of(outcome.error()), "down");
  };
  run_with_outside(program);
}

TEST(ExternalPromise, CanOnlyBeMadeInATask) {
  EXPECT_EQ(code_of(thrown_by([] { ExternalPromise<int> promise; })), Errc::no_task);
}

// ---- Dropped ----

TEST(ExternalPromise, W8_WhenTheLastObjectIsDroppedTheWaiterGetsAnError) {
  const auto program = []() -> Task<void> {
    std::optional<ExternalPromise<int>> promise(std::in_place);
    std::optional<ExternalPromise<int>> copy(promise);
    auto waiter = spawn(wait_for<int>, promise->future());
    co_await yield();
    promise.reset();
    co_await sleep(1ms);
    EXPECT_EQ(waiter.state(), TaskState::blocked) << "a copy is left";
    copy.reset();
    const auto error = co_await error_of(waiter);
    EXPECT_EQ(code_of(error), Errc::broken_promise);
  };
  run_with_outside(program);
}

TEST(ExternalPromise, W8_TheLastObjectMayBeDroppedOnAnotherThread) {
  const auto program = []() -> Task<void> {
    std::optional<ExternalPromise<int>> promise(std::in_place);
    const Future<int> future = promise->future();
    on_another_thread([&] { promise.reset(); });
    const auto error = co_await error_of(future);
    EXPECT_EQ(code_of(error), Errc::broken_promise);
    EXPECT_EQ(Scheduler::current()->pending_externals(), 0u);
  };
  run_with_outside(program);
}

TEST(ExternalPromise, W1_DroppingItAfterItsCompletionLosesNothing) {
  const auto program = []() -> Task<void> {
    std::optional<ExternalPromise<std::string>> promise(std::in_place);
    const auto future = promise->future();
    on_another_thread([&] {
      promise->complete("kept");
      promise.reset();
    });
    const std::string value = co_await future;
    EXPECT_EQ(value, "kept");
  };
  run_with_outside(program);
}

TEST(ExternalPromise, W1_AfterItsUuidWasAskedForItStaysPendingWithoutObjects) {
  const auto program = []() -> Task<void> {
    Scheduler& scheduler = *Scheduler::current();
    const Gateway gateway(scheduler);
    std::optional<ExternalPromise<int>> promise(std::in_place);
    const Uuid uuid = promise->uuid();
    auto waiter = spawn(wait_for<int>, promise->future());
    promise.reset();
    co_await sleep(1ms);
    EXPECT_EQ(waiter.state(), TaskState::blocked);
    EXPECT_EQ(scheduler.pending_externals(), 1u);
    bool counted = false;
    on_another_thread([&] { counted = gateway.complete(uuid, 8); });
    EXPECT_TRUE(counted);
    const int value = co_await waiter;
    EXPECT_EQ(value, 8);
    EXPECT_EQ(scheduler.pending_externals(), 0u);
  };
  run_with_outside(program);
}

// ---- By UUID ----

TEST(ExternalGateway, W1_CompletesByUuidFromAnotherThread) {
  const auto program = []() -> Task<void> {
    const Gateway gateway(*Scheduler::current());
    ExternalPromise<std::string> promise;
    const std::string text = promise.uuid().text();
    auto waiter = spawn(wait_for<std::string>, promise.future());
    co_await yield();
    on_another_thread([&, gateway] {
      const std::optional<Uuid> uuid = Uuid::parse(text);
      ASSERT_TRUE(uuid);
      EXPECT_TRUE(gateway.complete<std::string>(*uuid, "by uuid"));
      EXPECT_FALSE(gateway.complete<std::string>(*uuid, "second"));
    });
    EXPECT_EQ(promise.ignored(), 1u);
    const std::string value = co_await waiter;
    EXPECT_EQ(value, "by uuid");
  };
  run_with_outside(program);
}

TEST(ExternalGateway, W4_FailsByUuid) {
  const auto program = []() -> Task<void> {
    const Gateway gateway(*Scheduler::current());
    ExternalPromise<int> promise;
    ExternalPromise<void> nothing;
    const Uuid uuid = promise.uuid();
    const Uuid nothing_uuid = nothing.uuid();
    on_another_thread([&] {
      const auto error = std::make_exception_ptr(std::runtime_error("refused"));
      EXPECT_TRUE(gateway.fail<int>(uuid, error));
      EXPECT_TRUE(gateway.fail<void>(nothing_uuid, error));
    });
    const auto error = co_await error_of(promise.future());
    EXPECT_EQ(what_of(error), "refused");
    const auto outcome = co_await nothing.future().outcome();
    EXPECT_EQ(what_of(outcome.error()), "refused");
  };
  run_with_outside(program);
}

TEST(ExternalGateway, I7_CompletesByUuidWithoutAValue) {
  const auto program = []() -> Task<void> {
    const Gateway gateway(*Scheduler::current());
    ExternalPromise<void> promise;
    const Uuid uuid = promise.uuid();
    on_another_thread([&] {
      EXPECT_TRUE(gateway.complete(uuid));
      EXPECT_FALSE(gateway.complete(uuid));
      EXPECT_EQ(code_of(thrown_by([&] { gateway.complete(uuid, 1); })), Errc::unknown_promise);
    });
    const auto outcome = co_await promise.future().outcome();
    EXPECT_TRUE(outcome.ok());
  };
  run_with_outside(program);
}

TEST(ExternalGateway, W1_AnUnknownUuidIsAnErrorThatNamesIt) {
  const auto program = []() -> Task<void> {
    const Gateway gateway(*Scheduler::current());
    Random random(1, "test");
    const Uuid stranger = Uuid::random(random);
    const auto error = thrown_by([&] { gateway.complete(stranger, 1); });
    EXPECT_EQ(code_of(error), Errc::unknown_promise);
    EXPECT_NE(what_of(error).find(stranger.text()), std::string::npos) << what_of(error);
    EXPECT_EQ(code_of(thrown_by([&] { gateway.fail<int>(stranger, nullptr); })),
              Errc::unknown_promise);
    co_return;
  };
  run_with_outside(program);
}

TEST(ExternalGateway, W1_AValueOfAnotherTypeIsAnErrorAndThePromiseStaysPending) {
  const auto program = []() -> Task<void> {
    const Gateway gateway(*Scheduler::current());
    ExternalPromise<int> promise;
    const Uuid uuid = promise.uuid();
    on_another_thread([&] {
      EXPECT_EQ(code_of(thrown_by([&] { gateway.complete(uuid, std::string("7")); })),
                Errc::unknown_promise);
      EXPECT_EQ(code_of(thrown_by([&] { gateway.complete(uuid, 7L); })), Errc::unknown_promise);
    });
    EXPECT_EQ(promise.ignored(), 0u) << "they did not count";
    on_another_thread([&] { EXPECT_TRUE(gateway.complete(uuid, 7)); });
    const int value = co_await promise.future();
    EXPECT_EQ(value, 7);
  };
  run_with_outside(program);
}

TEST(ExternalGateway, W9_AUuidIsForgottenWhenItsPromiseIsSettled) {
  const auto program = []() -> Task<void> {
    const Gateway gateway(*Scheduler::current());
    ExternalPromise<int> promise;
    const Uuid uuid = promise.uuid();
    promise.complete(1);
    EXPECT_FALSE(gateway.complete(uuid, 2)) << "on its way, but not delivered yet";
    co_await promise.future();
    EXPECT_EQ(code_of(thrown_by([&] { gateway.complete(uuid, 3); })), Errc::unknown_promise);
    EXPECT_EQ(promise.ignored(), 1u);
  };
  run_with_outside(program);
}

TEST(ExternalGateway, W1_APromiseWhoseUuidWasNeverAskedForIsNotThere) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> known;
    ExternalPromise<int> unknown;
    EXPECT_EQ(known.uuid(), known.uuid()) << "it has one";
    EXPECT_NE(known.uuid(), unknown.uuid());
    known.complete(1);
    unknown.complete(2);
    co_await gather(known.future(), unknown.future());
  };
  run_with_outside(program);
}

TEST(ExternalGateway, T7_UuidsComeFromTheSeedOfTheScheduler) {
  const auto uuid_of = [](std::uint64_t seed) {
    std::string text;
    const auto program = [&]() -> Task<void> {
      ExternalPromise<int> promise;
      text = promise.uuid().text();
      promise.complete(1);
      co_await promise.future();
    };
    run_with_outside(program, Options().virtual_time().seed(seed));
    return text;
  };
  EXPECT_EQ(uuid_of(1), uuid_of(1));
  EXPECT_NE(uuid_of(1), uuid_of(2));
}

// ---- Idle, and no deadlock ----

TEST(ExternalIdle, T5_AnIdleSchedulerOnARealClockIsWokenByTheThread) {
  std::counting_semaphore<> idle(0);
  Scheduler scheduler(Options().clock(std::make_unique<WatchedClock>(idle)));
  int value = 0;
  std::thread thread;
  const auto body = [&]() -> Task<void> {
    ExternalPromise<int> promise;
    thread = std::thread([&idle, promise] {
      idle.acquire();  // the scheduler is about to sleep, without any limit
      promise.complete(42);
    });
    value = co_await promise.future();
  };
  scheduler.spawn(std::ref(body));
  scheduler.run();
  thread.join();
  EXPECT_EQ(value, 42);
  read_inbox(scheduler);
  expect_nothing_left(scheduler);
}

TEST(ExternalIdle, T5_EveryCompletionWakesAnIdleScheduler) {
  constexpr int kRounds = 1000;
  std::counting_semaphore<> idle(0);
  Scheduler scheduler(Options().clock(std::make_unique<WatchedClock>(idle)));
  std::mutex mutex;
  std::optional<ExternalPromise<int>> next;
  int sum = 0;
  const auto body = [&]() -> Task<void> {
    for (int i = 1; i <= kRounds; ++i) {
      ExternalPromise<int> promise;
      const Future<int> future = promise.future();
      {
        const std::lock_guard lock(mutex);
        next.emplace(promise);
      }
      sum += co_await future;
    }
  };
  scheduler.spawn(std::ref(body));
  std::thread thread([&] {
    for (int i = 1; i <= kRounds;) {
      idle.acquire();
      std::optional<ExternalPromise<int>> promise;
      {
        const std::lock_guard lock(mutex);
        promise.swap(next);
      }
      // None: it was woken by the drop of the one before, and sleeps again.
      if (promise) promise->complete(i++);
    }
  });
  scheduler.run();
  thread.join();
  EXPECT_EQ(sum, kRounds * (kRounds + 1) / 2);
  read_inbox(scheduler);
  expect_nothing_left(scheduler);
}

TEST(ExternalIdle, W8_APendingOneIsNotADeadlockOnAVirtualClockEither) {
  std::thread thread;
  std::binary_semaphore go(0);
  const auto program = [&]() -> Task<void> {
    ExternalPromise<int> promise;
    thread = std::thread([&go, promise] {
      go.acquire();
      promise.complete(3);
    });
    co_await sleep(1h);  // timers do not wait for the outside
    EXPECT_EQ(now(), Time(1h));
    go.release();
    const int value = co_await promise.future();
    EXPECT_EQ(value, 3);
    EXPECT_EQ(now(), Time(1h));
    thread.join();
  };
  run_with_outside(program);
}

TEST(ExternalIdle, W8_OnceItIsSettledADeadlockIsOneAgain) {
  Scheduler scheduler(Options().virtual_time());
  const auto stuck = []() -> Task<void> {
    Promise<int> never;
    static_cast<void>(co_await never.future());
  };
  const auto waits = []() -> Task<void> {
    ExternalPromise<int> promise;
    promise.complete(1);
    static_cast<void>(co_await promise.future());
  };
  scheduler.spawn(stuck);
  scheduler.spawn(waits);
  EXPECT_EQ(code_of(thrown_by([&] { scheduler.run(); })), Errc::deadlock);
  EXPECT_EQ(scheduler.live_tasks(), 1u);
  scheduler.shutdown();
  expect_nothing_left(scheduler);
}

TEST(ExternalIdle, W8_ADroppedOneDoesNotHoldOffADeadlock) {
  Scheduler scheduler(Options().virtual_time());
  const auto stuck = []() -> Task<void> {
    {
      ExternalPromise<int> dropped;
    }
    Promise<int> never;
    static_cast<void>(co_await never.future());
  };
  scheduler.spawn(stuck);
  EXPECT_EQ(code_of(thrown_by([&] { scheduler.run(); })), Errc::deadlock);
  scheduler.shutdown();
  expect_nothing_left(scheduler);
}

TEST(ExternalIdle, T9_WithinGivesUpOnOneThatNobodyCompletes) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> promise;
    const auto timed = co_await within(5ms, promise.future());
    EXPECT_TRUE(timed.timed_out());
    EXPECT_EQ(now(), Time(5ms));
    on_another_thread([&] { promise.complete(9); });
    const auto later = co_await within(5ms, promise.future());
    EXPECT_TRUE(later.has_value());
    EXPECT_EQ(later.value(), 9);
  };
  run_with_outside(program);
}

// ---- Cancel of the one who waits ----

TEST(ExternalCancel, I4_BeforeItsStartTheWaiterNeverWaitsAndThePromiseStays) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> promise;
    auto waiter = spawn(wait_for<int>, promise.future());
    waiter.cancel("not needed");
    EXPECT_EQ(waiter.state(), TaskState::cancelled);
    EXPECT_FALSE(promise.future().waitable().has_waiters());
    on_another_thread([&] { EXPECT_TRUE(promise.complete(4)); });
    const int value = co_await promise.future();
    EXPECT_EQ(value, 4);
  };
  run_with_outside(program);
}

TEST(ExternalCancel, I4_WithACancelPendingTheWaitIsNotBegun) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> promise;
    bool went_on = false;
    const auto body = [&]() -> Task<void> {
      this_task::cancel("from inside");
      static_cast<void>(co_await promise.future());
      went_on = true;
    };
    auto waiter = spawn(std::ref(body));
    static_cast<void>(co_await waiter.outcome());
    EXPECT_EQ(waiter.state(), TaskState::cancelled);
    EXPECT_FALSE(went_on);
    EXPECT_FALSE(promise.future().waitable().has_waiters());
    promise.complete(0);
    co_await promise.future();
  };
  run_with_outside(program);
}

TEST(ExternalCancel, I4_WhileParkedTheWaitIsWithdrawnAndTheValueStaysForOthers) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> promise;
    auto cancelled = spawn(wait_for<int>, promise.future());
    auto other = spawn(wait_for<int>, promise.future());
    co_await yield();
    EXPECT_EQ(cancelled.state(), TaskState::blocked);
    cancelled.cancel();
    static_cast<void>(co_await cancelled.outcome());
    EXPECT_EQ(cancelled.state(), TaskState::cancelled);
    EXPECT_FALSE(promise.future().done());
    on_another_thread([&] { EXPECT_TRUE(promise.complete(4)); });
    const int value = co_await other;
    EXPECT_EQ(value, 4);
  };
  run_with_outside(program);
}

TEST(ExternalCancel, I4_WithTheLastWaiterGoneACompletionIsStillWelcome) {
  const auto program = []() -> Task<void> {
    ExternalPromise<int> promise;
    auto waiter = spawn(wait_for<int>, promise.future());
    co_await yield();
    on_another_thread([&] { promise.complete(6); });  // sent, but not delivered yet
    waiter.cancel();
    static_cast<void>(co_await waiter.outcome());
    EXPECT_EQ(waiter.state(), TaskState::cancelled);
    const int value = co_await promise.future();
    EXPECT_EQ(value, 6) << "a value is not lost to a cancel";
  };
  run_with_outside(program);
}

TEST(ExternalCancel, I4_AfterTheResultArrivedItWinsAndTheNextSuspensionThrows) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    ExternalPromise<int> promise;
    const auto body = [&]() -> Task<void> {
      const int value = co_await promise.future();
      trace.push_back("got " + std::to_string(value));
      co_await yield();
      trace.push_back("never");
    };
    auto waiter = spawn(std::ref(body));
    co_await yield();
    on_another_thread([&] { promise.complete(6); });
    co_await yield();  // a turn begins, and this task is before the waiter in the queue
    EXPECT_EQ(waiter.state(), TaskState::ready);
    waiter.cancel();
    static_cast<void>(co_await waiter.outcome());
    EXPECT_EQ(waiter.state(), TaskState::cancelled);
  };
  run_with_outside(program, Options().virtual_time().turn(1));
  EXPECT_EQ(trace, Trace({"got 6"}));
}

// ---- The end of the scheduler ----

TEST(ExternalEnd, W9_CompletionAfterTheSchedulerIsGoneIsRefusedAndLeaksNothing) {
  const auto value = std::make_shared<int>(1);
  std::optional<ExternalPromise<std::shared_ptr<int>>> promise;
  std::optional<ExternalPromise<std::shared_ptr<int>>> failing;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto body = [&]() -> Task<void> {
      promise.emplace();
      failing.emplace();
      static_cast<void>(co_await promise->future());
    };
    scheduler.spawn(std::ref(body));
    scheduler.step_until_idle();
  }
  on_another_thread([&] {
    EXPECT_FALSE(promise->complete(value));
    EXPECT_FALSE(failing->fail(std::make_exception_ptr(std::runtime_error("nobody hears"))));
    promise.reset();
  });
  EXPECT_EQ(value.use_count(), 1);
}

TEST(ExternalEnd, W9_ACompletionThatTheSchedulerNeverReadIsFreed) {
  const auto value = std::make_shared<int>(1);
  {
    Scheduler scheduler(Options().virtual_time());
    const auto body = [&]() -> Task<void> {
      ExternalPromise<std::shared_ptr<int>> promise;
      on_another_thread([&] { EXPECT_TRUE(promise.complete(value)); });
      EXPECT_EQ(value.use_count(), 2);
      co_return;
    };
    scheduler.spawn(std::ref(body));
    scheduler.step();
    EXPECT_EQ(scheduler.live_tasks(), 0u);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(ExternalEnd, W9_AFutureMayOutliveTheScheduler) {
  const auto value = std::make_shared<int>(1);
  Future<std::shared_ptr<int>> settled;
  Future<std::shared_ptr<int>> pending;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto body = [&]() -> Task<void> {
      ExternalPromise<std::shared_ptr<int>> promise;
      ExternalPromise<std::shared_ptr<int>> published;
      static_cast<void>(published.uuid());
      settled = promise.future();
      pending = published.future();
      promise.complete(value);
      static_cast<void>(co_await settled);
    };
    scheduler.spawn(std::ref(body));
    scheduler.run();
  }
  EXPECT_EQ(settled.state(), TaskState::completed);
  EXPECT_EQ(*settled.value(false), 1);
  EXPECT_FALSE(pending.done());
  settled = pending = {};
  EXPECT_EQ(value.use_count(), 1);
}

TEST(ExternalEnd, I8_ToAGatewayNothingIsKnownOnceTheSchedulerIsGone) {
  std::optional<Gateway> gateway;
  std::optional<ExternalPromise<int>> kept;
  Uuid dropped_uuid;
  Uuid kept_uuid;
  {
    Scheduler scheduler(Options().virtual_time());
    gateway.emplace(scheduler);
    const auto body = [&]() -> Task<void> {
      ExternalPromise<int> dropped;
      dropped_uuid = dropped.uuid();
      kept.emplace();
      kept_uuid = kept->uuid();
      co_return;
    };
    scheduler.spawn(std::ref(body));
    scheduler.run();
    EXPECT_EQ(scheduler.pending_externals(), 2u);
  }
  on_another_thread([&] {
    EXPECT_EQ(code_of(thrown_by([&] { gateway->complete(dropped_uuid, 1); })),
              Errc::unknown_promise);
    EXPECT_EQ(code_of(thrown_by([&] { gateway->complete(kept_uuid, 1); })), Errc::unknown_promise)
        << "although an object of it is left";
    EXPECT_FALSE(kept->complete(1));
  });
}

TEST(ExternalEnd, W9_ThreadsMayCompleteWhileTheSchedulerEnds) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    std::atomic<int> started{0};
    const auto value = std::make_shared<int>(round);
    {
      Scheduler scheduler;
      const auto body = [&]() -> Task<void> {
        for (int t = 0; t < 2; ++t) {
          std::vector<ExternalPromise<std::shared_ptr<int>>> promises(20);
          threads.emplace_back([&started, value, mine = std::move(promises)]() mutable {
            ++started;
            for (auto& promise : mine) promise.complete(value);
            mine.clear();
          });
        }
        co_return;
      };
      scheduler.spawn(std::ref(body));
      scheduler.step();
      while (started == 0) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    EXPECT_EQ(value.use_count(), 1);
  }
}

// ---- Many ----

// Promises on their way to the threads that complete them.
class Work {
 public:
  using Batch = std::vector<ExternalPromise<std::uint64_t>>;

  void give(std::uint64_t first, Batch batch) {
    const std::lock_guard lock(mutex_);
    batches_.emplace_back(first, std::move(batch));
    changed_.notify_one();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // What a thread does: completes each promise with its number, until closed.
  void serve() {
    for (;;) {
      std::pair<std::uint64_t, Batch> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || !batches_.empty(); });
        if (batches_.empty()) return;
        work = std::move(batches_.front());
        batches_.pop_front();
      }
      for (ExternalPromise<std::uint64_t>& promise : work.second) promise.complete(work.first++);
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::uint64_t, Batch>> batches_;
  bool closed_ = false;
};

TEST(ExternalThreads, W1_OfAMillionCompletionsFromFourThreadsNoneIsLost) {
  constexpr std::uint64_t kTotal = kSlow ? 100'000 : 1'000'000;
  constexpr std::uint64_t kTasks = 8;
  constexpr std::uint64_t kBatch = 250;
  static_assert(kTotal % (kTasks * kBatch) == 0);

  Scheduler scheduler;
  Work work;
  std::uint64_t next = 1;
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
  const auto body = [&]() -> Task<void> {
    for (std::uint64_t done = 0; done < kTotal / kTasks; done += kBatch) {
      std::vector<Future<std::uint64_t>> futures;
      {
        Work::Batch batch(kBatch);
        for (const auto& promise : batch) futures.push_back(promise.future());
        work.give(std::exchange(next, next + kBatch), std::move(batch));
      }
      for (const Future<std::uint64_t>& future : futures) {
        sum += co_await future;
        ++count;
      }
    }
  };
  for (std::uint64_t i = 0; i < kTasks; ++i) scheduler.spawn(std::ref(body));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { work.serve(); });
  scheduler.run();
  work.close();
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(count, kTotal);
  EXPECT_EQ(sum, kTotal * (kTotal + 1) / 2);
  EXPECT_EQ(scheduler.pending_externals(), 0u);
  read_inbox(scheduler);
  expect_nothing_left(scheduler);
}

}  // namespace external_thread_test
}  // namespace tiffany
