// T18: values from any thread into tasks.
#include "tiffany/core/mailbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "support/watched_clock.hpp"

namespace tiffany {
namespace mailbox_thread_test {

using namespace test;

// The scheduler stands still meanwhile, so what comes from outside comes at a known place.
template <class F>
void on_another_thread(const F& f) {
  std::thread(std::cref(f)).join();
}

template <class T>
Task<T> next_of(Mailbox<T>& box) {
  co_return co_await box.next();
}

TEST(MailboxThread, T18_AValueFromAnotherThreadReachesTheTaskThatWaits) {
  run_program([]() -> Task<void> {
    Mailbox<std::string> box(4);
    auto sender = box.sender();
    auto waiter = spawn(next_of<std::string>, std::ref(box));
    co_await yield();
    EXPECT_EQ(waiter.state(), TaskState::blocked);
    Posted posted = Posted::closed;
    on_another_thread([&] { posted = sender.post("hello"); });
    EXPECT_EQ(posted, Posted::accepted);
    const std::string value = co_await waiter;
    EXPECT_EQ(value, "hello");
    EXPECT_EQ(box.size(), 0u);
  });
}

TEST(MailboxThread, T18_ValuesThatCameBeforeAnybodyWaitedAreTakenInTheirOrder) {
  run_program([]() -> Task<void> {
    Mailbox<int> box(8);
    auto sender = box.sender();
    on_another_thread([&] {
      for (int i = 1; i <= 3; ++i) EXPECT_EQ(sender.post(i), Posted::accepted);
    });
    EXPECT_EQ(box.size(), 3u) << "what is on its way counts";
    EXPECT_FALSE(box.try_next().has_value()) << "it is delivered when the next turn begins";
    co_await sleep(1ms);
    EXPECT_EQ(box.try_next(), 1);
    const int second = co_await box.next();
    const int third = co_await box.next();
    EXPECT_EQ(second, 2);
    EXPECT_EQ(third, 3);
    EXPECT_FALSE(box.try_next().has_value());
  });
}

TEST(MailboxThread, T18_TasksThatWaitAreServedInTheOrderTheyCame) {
  run_program([]() -> Task<void> {
    Mailbox<int> box(8);
    auto sender = box.sender();
    auto first = spawn(next_of<int>, std::ref(box));
    auto second = spawn(next_of<int>, std::ref(box));
    auto third = spawn(next_of<int>, std::ref(box));
    co_await yield();
    for (int i = 1; i <= 3; ++i) EXPECT_EQ(sender.post(i), Posted::accepted);
    const auto values = co_await gather(first, second, third);
    EXPECT_EQ(values.get<0>(), 1);
    EXPECT_EQ(values.get<1>(), 2);
    EXPECT_EQ(values.get<2>(), 3);
  });
}

TEST(MailboxThread, T18_MoveOnlyValuesPassThrough) {
  run_program([]() -> Task<void> {
    Mailbox<std::unique_ptr<int>> box(1);
    auto sender = box.sender();
    EXPECT_EQ(sender.post(std::make_unique<int>(5)), Posted::accepted);
    std::unique_ptr<int> value = co_await box.next();
    EXPECT_EQ(*value, 5);
  });
}

TEST(MailboxThread, T18_AFullMailboxRefusesAndCountsAndHasRoomAgainAfterATake) {
  run_program([]() -> Task<void> {
    Mailbox<int> box(2);
    auto sender = box.sender();
    EXPECT_EQ(sender.post(1), Posted::accepted);
    EXPECT_EQ(sender.post(2), Posted::accepted);
    EXPECT_EQ(sender.post(3), Posted::full);
    EXPECT_EQ(sender.post(4), Posted::full);
    EXPECT_EQ(sender.refused(), 2u);
    EXPECT_EQ(box.refused(), 2u);
    const int first = co_await box.next();
    EXPECT_EQ(first, 1);
    EXPECT_EQ(sender.post(5), Posted::accepted);
    const int second = co_await box.next();
    const int third = co_await box.next();
    EXPECT_EQ(second, 2);
    EXPECT_EQ(third, 5) << "what was refused is not there";
  });
}

TEST(MailboxThread, T18_WhatBecameOfAPostHasAName) {
  EXPECT_STREQ(name_of(Posted::accepted), "accepted");
  EXPECT_STREQ(name_of(Posted::full), "full");
  EXPECT_STREQ(name_of(Posted::closed), "closed");
}

TEST(MailboxThread, T18_ACapacityOfZeroIsAnError) {
  run_program([]() -> Task<void> {
    EXPECT_EQ(code_of(thrown_by([] { Mailbox<int> box(0); })), Errc::bad_argument);
    co_return;
  });
}

TEST(MailboxThread, T18_MakingOneOutsideOfATaskNeedsItsScheduler) {
  EXPECT_EQ(code_of(thrown_by([] { Mailbox<int> box(1); })), Errc::no_task);
  Scheduler scheduler(Options().virtual_time());
  Mailbox<int> box(scheduler, 1);
  auto sender = box.sender();
  EXPECT_EQ(sender.post(3), Posted::accepted);
  auto reader = scheduler.spawn(next_of<int>, std::ref(box));
  scheduler.run();
  EXPECT_EQ(tiffany::detail::result_now(reader), 3);
}

// ---- Who may still post ----

TEST(MailboxThread, W8_AWaitIsNoDeadlockWhileASenderExists) {
  Scheduler scheduler(Options().virtual_time());
  Mailbox<int> box(scheduler, 1);
  std::optional<MailSender<int>> sender = box.sender();
  auto reader = scheduler.spawn(next_of<int>, std::ref(box));
  std::thread other([sender = *sender] { EXPECT_EQ(sender.post(9), Posted::accepted); });
  scheduler.run();
  other.join();
  EXPECT_EQ(tiffany::detail::result_now(reader), 9);
}

TEST(MailboxThread, W8_AWaitInAMailboxWithoutASenderIsADeadlockThatSaysSo) {
  Scheduler scheduler(Options().virtual_time());
  Mailbox<int> box(scheduler, 1);
  auto reader = scheduler.spawn(next_of<int>, std::ref(box));
  const std::string what = what_of(thrown_by([&] { scheduler.run(); }));
  EXPECT_NE(what.find("waits for a value in a mailbox that has no sender"), std::string::npos)
      << what;
  scheduler.shutdown();
}

TEST(MailboxThread, T18_WhenTheLastSenderIsDroppedThoseWhoWaitGetAnError) {
  run_program([]() -> Task<void> {
    Mailbox<int> box(2);
    std::optional<MailSender<int>> sender = box.sender();
    MailSender<int> copy = *sender;
    auto first = spawn(next_of<int>, std::ref(box));
    auto second = spawn(next_of<int>, std::ref(box));
    sender.reset();
    co_await sleep(1ms);
    EXPECT_EQ(first.state(), TaskState::blocked) << "a copy is left";
    std::optional<MailSender<int>> last = std::move(copy);
    on_another_thread([&] { last.reset(); });
    const std::exception_ptr error = co_await error_of(first);
    EXPECT_EQ(code_of(error), Errc::mailbox_closed) << what_of(error);
    const std::exception_ptr again = co_await error_of(second);
    EXPECT_EQ(code_of(again), Errc::mailbox_closed);
  });
}

TEST(MailboxThread, T18_WhatWasPostedBeforeTheLastSenderWentIsDeliveredFirst) {
  run_program([]() -> Task<void> {
    Mailbox<int> box(2);
    {
      auto sender = box.sender();
      EXPECT_EQ(sender.post(1), Posted::accepted);
      EXPECT_EQ(sender.post(2), Posted::accepted);
    }
    co_await sleep(1ms);
    const int first = co_await box.next();
    const int second = co_await box.next();
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 2);
    const std::exception_ptr error = co_await error_of(next_of<int>(box));
    EXPECT_EQ(code_of(error), Errc::mailbox_closed);
  });
}

TEST(MailboxThread, T18_ANewSenderOpensTheMailboxAgain) {
  run_program([]() -> Task<void> {
    Mailbox<int> box(2);
    static_cast<void>(box.sender());
    auto sender = box.sender();  // before the mailbox has heard that the first one is gone
    auto reader = spawn(next_of<int>, std::ref(box));
    co_await sleep(1ms);
    EXPECT_EQ(reader.state(), TaskState::blocked);
    EXPECT_EQ(sender.post(4), Posted::accepted);
    const int value = co_await reader;
    EXPECT_EQ(value, 4);
  });
}

TEST(MailboxThread, T18_AMailboxThatIsDestroyedRefusesPostsAndEndsTheWaits) {
  run_program([]() -> Task<void> {
    auto box = std::make_unique<Mailbox<int>>(2);
    auto sender = box->sender();
    auto reader = spawn(next_of<int>, std::ref(*box));
    co_await yield();
    EXPECT_EQ(sender.post(1), Posted::accepted) << "on its way when the mailbox goes";
    box.reset();
    EXPECT_EQ(sender.post(2), Posted::closed);
    const std::exception_ptr error = co_await error_of(reader);
    EXPECT_EQ(code_of(error), Errc::mailbox_closed);
    co_await sleep(1ms);
  });
}

TEST(MailboxThread, W9_ValuesThatNobodyTookAreDestroyed) {
  auto counted = std::make_shared<int>(0);
  run_program([&]() -> Task<void> {
    Mailbox<std::shared_ptr<int>> box(4);
    auto sender = box.sender();
    EXPECT_EQ(sender.post(counted), Posted::accepted);
    co_await sleep(1ms);
    EXPECT_EQ(sender.post(counted), Posted::accepted);  // one in the box, one on its way
    EXPECT_EQ(counted.use_count(), 3);
  });
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(MailboxThread, T18_AfterTheSchedulerIsGonePostsAreRefusedForGood) {
  std::optional<MailSender<int>> sender;
  std::optional<Mailbox<int>> box;
  {
    Scheduler scheduler(Options().virtual_time());
    box.emplace(scheduler, 1);
    sender = box->sender();
  }
  EXPECT_EQ(sender->post(1), Posted::closed);
  EXPECT_EQ(sender->post(2), Posted::closed) << "not full";
}

// ---- Cancelling the one who waits ----

TEST(MailboxThread, T9_CancelledBeforeTheWaitAValueThatIsThereIsTakenElseItThrows) {
  run_program([]() -> Task<void> {
    Mailbox<int> box(4);
    auto sender = box.sender();
    EXPECT_EQ(sender.post(1), Posted::accepted);
    co_await sleep(1ms);
    Trace trace;
    auto body = [&]() -> Task<void> {
      this_task::cancel("early");
      const int value = co_await box.next();
      trace.push_back("took " + std::to_string(value));
      co_await box.next();
      trace.push_back("not reached");
    };
    auto task = spawn(std::ref(body));
    const auto end = co_await task.outcome();
    EXPECT_TRUE(end.cancelled());
    EXPECT_EQ(trace, (Trace{"took 1"}));
    EXPECT_EQ(sender.post(2), Posted::accepted);
    const int next = co_await box.next();
    EXPECT_EQ(next, 2) << "the cancelled wait took nothing with it";
  });
}

TEST(MailboxThread, T9_CancelledWhileParkedTheNextValueGoesToTheNextWhoWaits) {
  run_program([]() -> Task<void> {
    Mailbox<int> box(4);
    auto sender = box.sender();
    auto first = spawn(next_of<int>, std::ref(box));
    auto second = spawn(next_of<int>, std::ref(box));
    auto third = spawn(next_of<int>, std::ref(box));
    co_await yield();
    second.cancel("changed my mind");
    first.cancel("me too");
    EXPECT_EQ(sender.post(7), Posted::accepted);
    const int value = co_await third;
    EXPECT_EQ(value, 7);
    EXPECT_EQ(first.state(), TaskState::cancelled);
    EXPECT_EQ(second.state(), TaskState::cancelled);
  });
}

TEST(MailboxThread, T9_CancelledAfterTheValueWasHandedOverTheValueWins) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  std::optional<Mailbox<int>> box;
  box.emplace(scheduler, 4);
  auto sender = box->sender();
  auto body = [&]() -> Task<void> {
    const int value = co_await box->next();
    trace.push_back("got " + std::to_string(value));
    co_await sleep(1ms);
    trace.push_back("not reached");
  };
  auto reader = scheduler.spawn(std::ref(body));
  // More urgent, and woken by the same message: it runs between the wake of the reader and its
  // turn.
  auto canceller = [&]() -> Task<void> {
    co_await box->next();
    reader.cancel("too late for this value");
  };
  auto other = scheduler.spawn.with_priority(1)(std::ref(canceller));
  scheduler.step_until_idle();
  // The canceller came first and is first served.
  EXPECT_EQ(sender.post(1), Posted::accepted);
  EXPECT_EQ(sender.post(2), Posted::accepted);
  scheduler.run();
  EXPECT_EQ(trace, (Trace{"got 2"}));
  EXPECT_EQ(reader.state(), TaskState::cancelled);
}

TEST(MailboxThread, T9_ATaskThatDoesNotStopIsDroppedByForceWhileItWaits) {
  std::optional<Mailbox<int>> box;  // outlives the scheduler
  std::optional<MailSender<int>> sender;
  bool dropped = false;
  {
    Scheduler scheduler(Options().virtual_time());
    box.emplace(scheduler, 1);
    sender = box->sender();
    const auto stubborn = [&]() -> Task<void> {
      const std::shared_ptr<void> at_exit(nullptr, [&](void*) { dropped = true; });
      for (;;) {
        try {
          co_await box->next();
        } catch (const Cancelled&) {
        }
      }
    };
    scheduler.spawn(std::ref(stubborn));
    scheduler.step_until_idle();
  }
  EXPECT_TRUE(dropped);
  EXPECT_EQ(sender->post(1), Posted::closed);
}

// ---- Many threads ----

TEST(MailboxThread, T18_AnIdleSchedulerIsWokenAtOnce) {
  constexpr int kRounds = 100;
  std::counting_semaphore<> idle(0);
  Scheduler scheduler(Options().clock(std::make_unique<WatchedClock>(idle, false)));
  Mailbox<int> box(scheduler, 1);
  std::thread poster([&idle, sender = box.sender()] {
    for (int i = 0; i < kRounds; ++i) {
      idle.acquire();  // the scheduler has nothing to do and sleeps, or is about to
      EXPECT_EQ(sender.post(i), Posted::accepted);
    }
  });
  int sum = 0;
  auto reader = [&]() -> Task<void> {
    for (int i = 0; i < kRounds; ++i) sum += co_await box.next();
  };
  scheduler.spawn(std::ref(reader));
  scheduler.run();
  poster.join();
  EXPECT_EQ(sum, kRounds * (kRounds - 1) / 2);
}

TEST(MailboxThread, T18_NothingAcceptedIsLostAndEachThreadKeepsItsOrderUnderLoad) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  struct Signal {
    int thread = 0;
    int number = 0;
  };
  Scheduler scheduler;
  Mailbox<Signal> box(scheduler, 16);
  std::atomic<std::uint64_t> told_full = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &told_full, sender = box.sender()] {
      for (int i = 0; i < kEach; ++i) {
        while (sender.post(Signal{t, i}) == Posted::full) {
          ++told_full;
          std::this_thread::yield();
        }
      }
    });
  }
  std::vector<int> next(kThreads, 0);
  int received = 0;
  auto reader = [&]() -> Task<void> {
    try {
      for (;;) {
        const Signal signal = co_await box.next();
        EXPECT_EQ(signal.number, next[static_cast<std::size_t>(signal.thread)]++);
        ++received;
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::mailbox_closed);  // all threads have ended
    }
  };
  scheduler.spawn(std::ref(reader));
  scheduler.run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(received, kThreads * kEach);
  EXPECT_EQ(box.refused(), told_full.load());
}

}  // namespace mailbox_thread_test
}  // namespace tiffany
