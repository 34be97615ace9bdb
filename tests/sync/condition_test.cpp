#include "tiffany/sync/condition.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace condition_test {

using namespace test;

// A log that can be looked at.
class Lines {
 public:
  Options options() {
    return Options().virtual_time().log_to(
        [this](const LogLine& line) { lines_.push_back(std::string(line.message)); });
  }
  const std::vector<std::string>& all() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

// A queue with a lock, and somebody who waits for something in it.
class Shop {
 public:
  Task<void> serve(std::string name) {
    auto guard = co_await mutex.lock();
    co_await filled.wait(guard, [this] { return !goods.empty(); });
    EXPECT_TRUE(guard) << "the lock is back";
    trace.push_back(name + std::to_string(goods.back()));
    goods.pop_back();
  }
  // Waits once, without looking.
  Task<void> wait_once(std::string name) {
    auto guard = co_await mutex.lock();
    co_await filled.wait(guard);
    EXPECT_EQ(mutex.owner(), this_task::id());
    trace.push_back(name);
  }
  Mutex mutex;
  Condition filled;
  std::vector<int> goods;
  Trace trace;
};

TEST(Condition, TheLockIsLetGoMeanwhileAndTakenAgain) {
  run_program([]() -> Task<void> {
    Shop shop;
    auto a = spawn(&Shop::serve, &shop, "a");
    auto b = spawn(&Shop::serve, &shop, "b");
    co_await yield();
    EXPECT_FALSE(shop.mutex.locked());
    auto guard = co_await shop.mutex.lock();
    shop.goods = {2, 1};
    shop.filled.notify_all();
    co_await sleep(1ms);
    EXPECT_EQ(shop.trace, Trace()) << "they stand in line for the lock";
    guard.unlock();
    co_await gather(a, b);
    EXPECT_EQ(shop.trace, Trace({"a1", "b2"}));
  });
}

TEST(Condition, NotifyOneWakesThemInTheOrderTheyCame) {
  run_program([]() -> Task<void> {
    Shop shop;
    auto a = spawn(&Shop::wait_once, &shop, "a");
    auto b = spawn(&Shop::wait_once, &shop, "b");
    co_await yield();
    shop.filled.notify_one();
    co_await sleep(1ms);
    EXPECT_EQ(shop.trace, Trace({"a"}));
    shop.filled.notify_one();
    co_await gather(a, b);
    EXPECT_EQ(shop.trace, Trace({"a", "b"}));
    shop.filled.notify_one();  // nobody waits, and it is not kept
    auto c = spawn(&Shop::wait_once, &shop, "c");
    co_await yield();
    EXPECT_EQ(c.state(), TaskState::blocked);
    shop.filled.notify_all();
    co_await c;
  });
}

TEST(Condition, APredicateThatHoldsIsNotWaitedFor) {
  run_program([]() -> Task<void> {
    Shop shop;
    shop.goods = {1};
    co_await shop.serve("a");
    EXPECT_EQ(shop.trace, Trace({"a1"}));
  });
}

TEST(Condition, ACancelledWaiterHasTheLockWhenItUnwinds) {
  run_program([]() -> Task<void> {
    Shop shop;
    Trace& trace = shop.trace;
    const auto wait = [&]() -> Task<void> {
      auto guard = co_await shop.mutex.lock();
      try {
        co_await shop.filled.wait(guard);
      } catch (const Cancelled&) {
        trace.push_back(guard ? "unwinds with the lock" : "unwinds without the lock");
        throw;
      }
    };
    auto handle = spawn(std::ref(wait));
    co_await yield();
    auto guard = co_await shop.mutex.lock();
    handle.cancel();
    co_await sleep(1ms);
    EXPECT_EQ(trace, Trace()) << "the lock is taken";
    EXPECT_EQ(handle.state(), TaskState::blocked);
    guard.unlock();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"unwinds with the lock"}));
    EXPECT_FALSE(shop.mutex.locked());
  });
}

TEST(Condition, ACancelledTaskDoesNotLetGoOfTheLock) {
  run_program([]() -> Task<void> {
    Shop shop;
    auto other = spawn(&Shop::serve, &shop, "other");
    const auto wait = [&]() -> Task<void> {
      auto guard = co_await shop.mutex.lock();
      co_await yield();  // the other one stands in line
      this_task::cancel();
      try {
        co_await shop.filled.wait(guard);
      } catch (const Cancelled&) {
        EXPECT_EQ(shop.mutex.owner(), this_task::id());
        EXPECT_EQ(shop.trace, Trace());
        throw;
      }
    };
    auto handle = spawn.with_priority(1)(std::ref(wait));
    shop.goods = {1};
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    co_await other;
  });
}

TEST(Condition, WithinGivesUpWithTheLock) {
  run_program([]() -> Task<void> {
    Shop shop;
    auto guard = co_await shop.mutex.lock();
    const auto late = co_await within(5ms, shop.filled.wait(guard));
    EXPECT_TRUE(late.timed_out());
    EXPECT_TRUE(guard);
    EXPECT_EQ(now(), Time(5ms));
    const auto never = [] { return false; };
    const auto later = co_await within(5ms, shop.filled.wait(guard, never));
    EXPECT_TRUE(later.timed_out());
    EXPECT_EQ(shop.mutex.owner(), this_task::id());
  });
}

TEST(Condition, AGuardThatHasNothingIsAnError) {
  run_program([]() -> Task<void> {
    Condition condition;
    Mutex::Guard guard;
    const auto error = co_await error_of(condition.wait(guard));
    EXPECT_EQ(code_of(error), Errc::holds_nothing);
    EXPECT_NE(what_of(error).find("A guard was used that has nothing in it"), std::string::npos);
  });
}

TEST(Condition, WhatEndedTheWaitIsReportedWhenTheMutexIsGoneAsWell) {
  Lines lines;
  Scheduler scheduler(lines.options());
  const auto program = []() -> Task<void> {
    std::optional<Mutex> mutex(std::in_place);
    std::optional<Condition> condition(std::in_place);
    const auto wait = [&]() -> Task<void> {
      auto guard = co_await mutex->lock();
      co_await condition->wait(guard);
    };
    auto handle = spawn(std::ref(wait));
    co_await yield();
    const auto guard = co_await mutex->lock();
    condition.reset();
    co_await yield();  // the waiter stands in line for the mutex
    mutex.reset();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.failed());
    EXPECT_NE(what_of(outcome.error()).find("mutex"), std::string::npos);
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(scheduler.counters().unseen_failures, 1u);
  ASSERT_EQ(lines.all().size(), 1u);
  EXPECT_NE(lines.all()[0].find("waited for a condition, and neither that nor taking the mutex "
                                "again succeeded, so that this error cannot be thrown: "),
            std::string::npos)
      << lines.all()[0];
  EXPECT_NE(lines.all()[0].find("a condition"), std::string::npos);
}

TEST(Condition, ACancelThatMeetsALostMutexIsNoErrorToReport) {
  Lines lines;
  Scheduler scheduler(lines.options());
  const auto program = []() -> Task<void> {
    std::optional<Mutex> mutex(std::in_place);
    Condition condition;
    const auto wait = [&]() -> Task<void> {
      auto guard = co_await mutex->lock();
      co_await condition.wait(guard);
    };
    auto handle = spawn(std::ref(wait));
    co_await yield();
    const auto guard = co_await mutex->lock();
    handle.cancel();
    co_await yield();
    mutex.reset();
    const auto outcome = co_await handle.outcome();
    EXPECT_EQ(code_of(outcome.error()), Errc::primitive_gone);
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(lines.all().size(), 0u);
}

}  // namespace condition_test
}  // namespace tiffany
