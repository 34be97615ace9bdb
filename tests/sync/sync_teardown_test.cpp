// What becomes of those who wait when a primitive is destroyed, and of what was handed over when
// the task that it was for is dropped by force, together with its scheduler.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace sync_teardown_test {

using namespace test;

// ---- Destroyed under those who wait

// Two tasks wait for what `await` awaits of a primitive; then it is destroyed.
template <class P, class F>
void expect_gone(std::unique_ptr<P> primitive, F await, const std::string& what) {
  run_program([&]() -> Task<void> {
    const auto wait = [&]() -> Task<void> { co_await await(*primitive); };
    const std::vector<Handle<void>> waiting = {spawn(std::ref(wait)), spawn(std::ref(wait))};
    co_await yield();
    EXPECT_EQ(waiting[1].state(), TaskState::blocked) << what;
    primitive.reset();
    for (const auto& handle : waiting) {
      const auto error = co_await error_of(handle);
      EXPECT_EQ(code_of(error), Errc::primitive_gone) << what;
      EXPECT_NE(
          what_of(error).find("A task waited for " + what + ", which was destroyed meanwhile"),
          std::string::npos)
          << what_of(error);
    }
  });
}

Task<void> wait_for_event(ManualResetEvent& event) { co_await event.wait(); }
Task<void> wait_for_latch(Latch& latch) { co_await latch.wait(); }
Task<void> wait_at_barrier(Barrier& barrier) { static_cast<void>(co_await barrier.arrive()); }

TEST(SyncGone, ThoseWhoWaitGetAnErrorThatSaysWhatWasDestroyed) {
  expect_gone(std::make_unique<ManualResetEvent>(), wait_for_event, "an event");
  expect_gone(std::make_unique<Latch>(1u), wait_for_latch, "a latch");
  expect_gone(std::make_unique<Barrier>(3u), wait_at_barrier, "a barrier");
  Mutex door;
  const auto wait_for_condition = [&](Condition& condition) -> Task<void> {
    auto guard = co_await door.lock();
    co_await condition.wait(guard);
  };
  expect_gone(std::make_unique<Condition>(), wait_for_condition, "a condition");
  EXPECT_FALSE(door.locked());
}

TEST(SyncGone, LocksAndPermitsOfWhatWasDestroyedAreEmpty) {
  run_program([]() -> Task<void> {
    auto mutex = std::make_unique<Mutex>();
    auto shared = std::make_unique<SharedMutex>();
    auto semaphore = std::make_unique<Semaphore>(1);
    auto guard = co_await mutex->lock();
    auto written = co_await shared->lock();
    auto permit = co_await semaphore->acquire();
    const auto lock = [&]() -> Task<void> { static_cast<void>(co_await mutex->lock()); };
    const auto read = [&]() -> Task<void> { static_cast<void>(co_await shared->lock_shared()); };
    const auto either = [&]() -> Task<void> {
      co_await race(shared->lock(), shared->lock_shared(), semaphore->acquire());
    };
    const auto acquire = [&]() -> Task<void> { static_cast<void>(co_await semaphore->acquire()); };
    std::vector<Handle<void>> waiting = {spawn(std::ref(lock)), spawn(std::ref(read)),
                                         spawn(std::ref(either)), spawn(std::ref(read)),
                                         spawn(std::ref(acquire))};
    co_await yield();
    mutex.reset();
    shared.reset();
    semaphore.reset();
    for (const auto& handle : waiting) {
      EXPECT_EQ(code_of(co_await error_of(handle)), Errc::primitive_gone);
    }
    EXPECT_FALSE(guard);
    EXPECT_FALSE(written);
    EXPECT_FALSE(permit);
    guard.unlock();
    permit.release();
  });
}

TEST(SyncGone, ALockThatWasHandedOverAndDestroyedBeforeItsTaskGoesOnIsGone) {
  run_program([]() -> Task<void> {
    auto mutex = std::make_unique<Mutex>();
    auto guard = co_await mutex->lock();
    const auto lock = [&]() -> Task<void> { static_cast<void>(co_await mutex->lock()); };
    auto handle = spawn(std::ref(lock));
    co_await yield();
    guard.unlock();
    EXPECT_EQ(handle.state(), TaskState::ready);
    mutex.reset();
    const auto error = co_await error_of(handle);
    EXPECT_EQ(code_of(error), Errc::primitive_gone);
    EXPECT_NE(what_of(error).find("a mutex"), std::string::npos);
  });
}

// ---- Dropped by force

// Two schedulers on one thread. The first is destroyed while one of its tasks keeps the processor,
// so that its other tasks are dropped without seeing what they have just been given. The second
// lives.
class SyncForce : public ::testing::Test {
 protected:
  template <class F, class... Args>
  void doomed(F& body, Args&&... args) {
    doomed_->spawn.with_priority(200)(std::ref(body), std::forward<Args>(args)...);
    doomed_->step_until_idle();
  }
  template <class F, class... Args>
  auto lives(F& body, Args&&... args) {
    auto handle = lives_.spawn(std::ref(body), std::forward<Args>(args)...);
    lives_.step_until_idle();
    EXPECT_EQ(handle.state(), TaskState::blocked);
    return handle;
  }
  void drop() {
    doomed_->spawn.with_priority(1)(hog);
    doomed_->step();
    doomed_.reset();
    run_lives();
  }
  void run_lives() { lives_.step_until_idle(); }

 private:
  static Task<void> hog() {
    for (;;) {
      try {
        co_await yield();
      } catch (const Cancelled&) {
      }
    }
  }
  Scheduler lives_{Options().virtual_time()};
  std::unique_ptr<Scheduler> doomed_ = std::make_unique<Scheduler>(Options().virtual_time());
};

TEST_F(SyncForce, ALockGoesOnToTheNext) {
  Mutex mutex;
  auto guard = mutex.try_lock();
  const auto lock = [&]() -> Task<void> { static_cast<void>(co_await mutex.lock()); };
  doomed(lock);
  auto next = lives(lock);
  guard.reset();
  EXPECT_EQ(next.state(), TaskState::blocked) << "the other one was first";
  drop();
  EXPECT_EQ(next.state(), TaskState::completed);
  EXPECT_FALSE(mutex.locked());
}

TEST_F(SyncForce, ASharedLockGoesOnToTheNext) {
  SharedMutex mutex;
  auto guard = mutex.try_lock();
  const auto read = [&]() -> Task<void> { static_cast<void>(co_await mutex.lock_shared()); };
  const auto write = [&]() -> Task<void> { static_cast<void>(co_await mutex.lock()); };
  doomed(read);
  doomed(read);
  auto next = lives(write);
  guard.reset();
  EXPECT_EQ(mutex.readers(), 2u);
  drop();
  EXPECT_EQ(next.state(), TaskState::completed);
  EXPECT_EQ(mutex.readers(), 0u);
}

TEST_F(SyncForce, PermitsGoOnToTheNext) {
  Semaphore seats(2);
  auto permit = seats.try_acquire(2);
  const auto acquire = [&]() -> Task<void> { static_cast<void>(co_await seats.acquire(2)); };
  doomed(acquire);
  doomed(acquire);
  auto next = lives(acquire);
  permit.reset();
  EXPECT_EQ(seats.available(), 0u);
  drop();
  EXPECT_EQ(next.state(), TaskState::completed);
  EXPECT_EQ(seats.available(), 2u);
}

TEST_F(SyncForce, ANotificationGoesOnToTheNext) {
  Condition condition;
  Mutex door;
  const auto wait = [&]() -> Task<void> {
    auto guard = co_await door.lock();
    co_await condition.wait(guard);
  };
  doomed(wait);
  auto next = lives(wait);
  condition.notify_one();
  drop();
  EXPECT_EQ(next.state(), TaskState::completed);
  EXPECT_FALSE(door.locked());
}

TEST_F(SyncForce, ANotificationToAllIsNotPassedOn) {
  auto condition = std::make_unique<Condition>();
  Mutex door;
  const auto wait = [&]() -> Task<void> {
    auto guard = co_await door.lock();
    co_await condition->wait(guard);
  };
  doomed(wait);
  condition->notify_all();
  auto next = lives(wait);
  drop();
  EXPECT_EQ(next.state(), TaskState::blocked) << "it came after the notification";
  condition->notify_one();
  condition.reset();
  EXPECT_EQ(next.state(), TaskState::ready);
  run_lives();
  EXPECT_EQ(next.state(), TaskState::completed);
}

TEST_F(SyncForce, ANotifiedTaskMayOutliveTheCondition) {
  auto condition = std::make_unique<Condition>();
  Mutex door;
  const auto wait = [&]() -> Task<void> {
    auto guard = co_await door.lock();
    co_await condition->wait(guard);
  };
  doomed(wait);
  condition->notify_one();
  condition.reset();
  drop();  // the address sanitizer sees that nobody looks for it
}

TEST_F(SyncForce, AValueGoesOnToTheNext) {
  auto numbers = channel<int>(1);
  const auto receive = [&]() -> Task<std::optional<int>> {
    co_return co_await numbers.receiver.recv();
  };
  doomed(receive);
  auto next = lives(receive);
  EXPECT_EQ(numbers.sender.try_send(7), Posted::accepted);
  drop();
  EXPECT_EQ(next.value(false), 7);
}

TEST_F(SyncForce, ValuesGoBackIntoTheChannelInTheirOrder) {
  auto numbers = channel<int>(4);
  ManualResetEvent event;
  const auto receive = [&](bool later) -> Task<void> {
    if (later) co_await event.wait();
    static_cast<void>(co_await numbers.receiver.recv());
    ADD_FAILURE() << "no task gets that far";
  };
  doomed(receive, true);
  doomed(receive, false);
  doomed(receive, false);
  event.set();
  const auto nothing = []() -> Task<void> { co_return; };
  doomed(nothing);  // lets the first one wait, behind the others
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(numbers.sender.try_send(i), Posted::accepted);
  EXPECT_EQ(numbers.receiver.size(), 2u) << "three were handed over: not in the order of the tasks";
  drop();
  EXPECT_EQ(numbers.receiver.size(), 5u);
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(numbers.receiver.try_recv(), i);
  EXPECT_EQ(numbers.receiver.try_recv(), std::nullopt);
}

TEST_F(SyncForce, WhatCameBackIsReceivedLikeEverythingElse) {
  auto numbers = channel<int>(1);
  const auto receive = [&]() -> Task<void> { static_cast<void>(co_await numbers.receiver.recv()); };
  doomed(receive);
  doomed(receive);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(numbers.sender.try_send(i), Posted::accepted);
  const auto send = [&]() -> Task<void> { co_await numbers.sender.send(4); };
  auto sender = lives(send);
  drop();
  std::vector<int> received;
  const auto receive_four = [&]() -> Task<void> {
    while (received.size() < 3) received.push_back((co_await numbers.receiver.recv()).value());
    const auto more = co_await numbers.receiver.recv_many(4);
    received.insert(received.end(), more.begin(), more.end());
    static_cast<void>(co_await numbers.receiver.recv());
  };
  auto receiver = lives(receive_four);
  EXPECT_EQ(sender.state(), TaskState::completed);
  EXPECT_EQ(received, std::vector<int>({1, 2, 3, 4}));
  numbers.sender.close();
  run_lives();
}

TEST_F(SyncForce, ValuesThatNobodyCanReceiveGoWithTheTask) {
  auto value = std::make_shared<int>(1);
  auto boxes = channel<std::shared_ptr<int>>(1);
  const auto receive = [&]() -> Task<void> { static_cast<void>(co_await boxes.receiver.recv()); };
  doomed(receive);
  doomed(receive);
  boxes.sender.try_send(value);
  boxes.sender.try_send(value);
  boxes.sender.try_send(value);
  {
    Channel<std::shared_ptr<int>> gone = std::move(boxes);
  }
  EXPECT_EQ(value.use_count(), 3) << "two were handed over";
  drop();
  EXPECT_EQ(value.use_count(), 1);
}

TEST_F(SyncForce, WhatCameBackIsDestroyedWithTheLastReceiver) {
  auto value = std::make_shared<int>(1);
  auto boxes = channel<std::shared_ptr<int>>(1);
  const auto receive = [&]() -> Task<void> { static_cast<void>(co_await boxes.receiver.recv()); };
  doomed(receive);
  boxes.sender.try_send(value);
  drop();
  EXPECT_EQ(boxes.receiver.size(), 1u);
  boxes.receiver = Receiver<std::shared_ptr<int>>();
  EXPECT_EQ(value.use_count(), 1);
}

TEST_F(SyncForce, TheWinnerOfARaceGoesOnToTheNext) {
  auto numbers = channel<int>(1);
  Mutex mutex;
  auto guard = mutex.try_lock();
  const auto select = [&]() -> Task<void> { co_await race(numbers.receiver.recv(), mutex.lock()); };
  doomed(select);
  doomed(select);
  numbers.sender.try_send(1);
  guard.reset();
  EXPECT_TRUE(mutex.locked());
  EXPECT_EQ(numbers.receiver.size(), 0u);
  drop();
  EXPECT_FALSE(mutex.locked());
  EXPECT_EQ(numbers.receiver.try_recv(), 1);
}

}  // namespace sync_teardown_test
}  // namespace tiffany
