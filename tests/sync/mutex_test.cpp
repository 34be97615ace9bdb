#include "tiffany/sync/mutex.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/harness.hpp"

namespace tiffany {
namespace mutex_test {

using namespace test;

TEST(Mutex, OneTaskAtATimeAcrossSuspensionsInTheOrderTheyAsked) {
  run_program([]() -> Task<void> {
    Mutex mutex;
    Trace trace;
    const auto work = [&](std::string name) -> Task<void> {
      const auto guard = co_await mutex.lock();
      trace.push_back("+" + name);
      co_await sleep(1ms);
      trace.push_back("-" + name);
    };
    auto a = spawn(std::ref(work), "a");
    auto b = spawn(std::ref(work), "b");
    auto c = spawn(std::ref(work), "c");
    co_await gather(a, b, c);
    EXPECT_EQ(trace, Trace({"+a", "-a", "+b", "-b", "+c", "-c"}));
    EXPECT_FALSE(mutex.locked());
    EXPECT_FALSE(mutex.owner());
  });
}

TEST(Mutex, TheLockIsHandedToTheFirstInLineAndNobodySlipsInBetween) {
  run_program([]() -> Task<void> {
    Mutex mutex;
    const auto work = [&]() -> Task<void> { const auto guard = co_await mutex.lock(); };
    auto guard = co_await mutex.lock();
    EXPECT_EQ(mutex.owner(), this_task::id());
    auto next = spawn(std::ref(work));
    co_await yield();
    guard.unlock();
    EXPECT_TRUE(mutex.locked()) << "the next has it, though it has not run yet";
    EXPECT_EQ(mutex.owner(), next.id());
    EXPECT_FALSE(mutex.try_lock().has_value());
    co_await next;
    EXPECT_TRUE(mutex.try_lock().has_value());
    EXPECT_FALSE(mutex.locked()) << "the guard of that was dropped at once";
  });
}

TEST(Mutex, RelockByTheOwnerIsAnErrorThatNamesBothPlaces) {
  run_program([]() -> Task<void> {
    Mutex mutex;
    const unsigned first = __LINE__ + 1;
    auto guard = co_await mutex.lock();
    const unsigned second = __LINE__ + 1;
    const auto again = [&]() -> Task<void> { static_cast<void>(co_await mutex.lock()); };
    const auto error = co_await error_of(again());
    EXPECT_EQ(code_of(error), Errc::relock);
    const std::string text = what_of(error);
    EXPECT_NE(
        text.find("task #1 \"main\" asked for a mutex at mutex_test.cpp:" + std::to_string(second)),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("that it holds already, from mutex_test.cpp:" + std::to_string(first)),
              std::string::npos)
        << text;
    EXPECT_EQ(code_of(thrown_by([&] { mutex.try_lock(); })), Errc::relock);
    guard.unlock();
    guard.unlock();  // once is enough, twice does no harm
    guard = co_await mutex.lock();
    EXPECT_TRUE(guard);
    EXPECT_EQ(guard.mutex(), &mutex);
  });
}

TEST(Mutex, AGuardCanBeMovedAndAssigned) {
  run_program([]() -> Task<void> {
    Mutex mutex;
    Mutex other;
    Mutex::Guard kept;
    EXPECT_FALSE(kept);
    {
      auto guard = co_await mutex.lock();
      kept = std::move(guard);
      EXPECT_FALSE(guard);
    }
    EXPECT_TRUE(mutex.locked());
    auto& self = kept;
    kept = std::move(self);
    EXPECT_TRUE(mutex.locked());
    kept = co_await other.lock();
    EXPECT_FALSE(mutex.locked()) << "what it had was let go";
    EXPECT_TRUE(other.locked());
    kept = Mutex::Guard();
    EXPECT_FALSE(other.locked());
    EXPECT_EQ(kept.mutex(), nullptr);
  });
}

TEST(Mutex, CanBeLockedFromOutsideOfAnyTask) {
  Mutex mutex;
  auto guard = mutex.try_lock();
  ASSERT_TRUE(guard.has_value());
  EXPECT_FALSE(mutex.try_lock().has_value());
  EXPECT_FALSE(mutex.owner()) << "no task";
  Scheduler scheduler(Options().virtual_time());
  const auto work = [&]() -> Task<void> { const auto lock = co_await mutex.lock(); };
  auto handle = scheduler.spawn(std::ref(work));
  scheduler.step_until_idle();
  EXPECT_EQ(handle.state(), TaskState::blocked);
  EXPECT_NE(scheduler.wait_report().find("a mutex held by code outside of any task"),
            std::string::npos);
  guard->unlock();
  scheduler.run();
  EXPECT_EQ(handle.state(), TaskState::completed);
}

TEST(Mutex, WithinAndShieldTakeALock) {
  run_program([]() -> Task<void> {
    Mutex mutex;
    const auto hold = [&]() -> Task<void> {
      const auto guard = co_await mutex.lock();
      co_await sleep(10ms);
    };
    auto holder = spawn(std::ref(hold));
    co_await yield();
    auto late = co_await within(5ms, mutex.lock());
    EXPECT_TRUE(late.timed_out());
    auto in_time = co_await within(10ms, mutex.lock());
    EXPECT_FALSE(in_time.timed_out());
    EXPECT_EQ(mutex.owner(), this_task::id());
    in_time.value().unlock();
    const auto shielded = co_await shield(mutex.lock());
    EXPECT_TRUE(shielded);
    co_await holder;
  });
}

}  // namespace mutex_test
}  // namespace tiffany
