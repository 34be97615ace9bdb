// Event, latch, barrier and condition beside a reference: those who wait, and those who were let
// go.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "sync/generated.hpp"

namespace tiffany {
namespace signals_model_test {

using namespace test;

class Reference {
 public:
  void wait(int who) { waiting_.push_back(who); }
  void release(int who) { released_.insert(who); }
  void release_one() {
    if (waiting_.empty()) return;
    released_.insert(waiting_.front());
    waiting_.pop_front();
  }
  void release_all() {
    while (!waiting_.empty()) release_one();
  }
  void withdraw(int who) {
    if (std::erase(waiting_, who) > 0) withdrawn_.insert(who);
  }
  bool released(int who) const { return released_.contains(who); }
  bool withdrawn(int who) const { return withdrawn_.contains(who); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  std::deque<int> waiting_;
  std::set<int> released_;
  std::set<int> withdrawn_;
};

// Awaits something that was entered into the reference just before, and looks at how that ended.
template <class Call>
Task<void> check_wait(Reference& reference, int self, Call call) {
  try {
    static_cast<void>(co_await call());
  } catch (const Cancelled&) {
    EXPECT_TRUE(reference.withdrawn(self)) << self << " was to go on";
    throw;
  }
  EXPECT_TRUE(reference.released(self)) << self << " went on too early";
}

TEST(SignalsModel, AnEventDoesWhatTheReferenceDoes) {
  const auto program = [](Random& random) -> Task<void> {
    ManualResetEvent event;
    Reference reference;
    Operations operations;
    const auto wait = [&](int self) -> Task<void> {
      if (event.is_set()) {
        reference.release(self);
      } else {
        reference.wait(self);
      }
      co_await check_wait(reference, self, [&] { return event.wait(); });
    };
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t what = random.below(10);
      if (what < 5) {
        operations.start(wait);
      } else if (what < 7) {
        operations.cancel_one(random, [&](int who) { reference.withdraw(who); });
      } else if (what < 8) {
        reference.release_all();
        event.set();
        if (random.below(2) == 0) event.reset();
      } else {
        event.reset();
        co_await yield_up_to(random, 6);
      }
    }
    co_await yield();
    reference.release_all();
    event.set();
    co_await operations.join();
    EXPECT_EQ(reference.waiting(), 0u);
  };
  for_each_seed(program);
}

TEST(SignalsModel, ALatchDoesWhatTheReferenceDoes) {
  const auto program = [](Random& random) -> Task<void> {
    const auto count = static_cast<std::size_t>(random.below(8));
    Latch latch(count);
    Reference reference;
    Operations operations;
    const auto wait = [&](int self) -> Task<void> {
      if (latch.open()) {
        reference.release(self);
      } else {
        reference.wait(self);
      }
      co_await check_wait(reference, self, [&] { return latch.wait(); });
    };
    for (int step = 0; step < 40 || !latch.open(); ++step) {
      const std::uint64_t what = random.below(10);
      if (what < 5) {
        operations.start(wait);
      } else if (what < 7) {
        operations.cancel_one(random, [&](int who) { reference.withdraw(who); });
      } else if (what < 8 && !latch.open()) {
        if (latch.left() == 1) reference.release_all();
        latch.count_down();
      } else {
        co_await yield_up_to(random, 6);
      }
    }
    co_await operations.join();
    EXPECT_EQ(reference.waiting(), 0u);
  };
  for_each_seed(program);
}

TEST(SignalsModel, ABarrierDoesWhatTheReferenceDoes) {
  const auto program = [](Random& random) -> Task<void> {
    const auto parties = static_cast<std::size_t>(1 + random.below(5));
    Barrier barrier(parties);
    Reference reference;
    Operations operations;
    std::uint64_t rounds = 0;
    const auto arrive = [&](int self) -> Task<void> {
      const bool last = reference.waiting() + 1 == parties;
      if (last) {
        ++rounds;
        reference.release_all();
        reference.release(self);
      } else {
        reference.wait(self);
      }
      bool was_last = false;
      co_await check_wait(reference, self,
                          [&]() -> Task<void> { was_last = co_await barrier.arrive(); });
      EXPECT_EQ(was_last, last);
    };
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t what = random.below(10);
      if (what < 6) {
        operations.start(arrive);
      } else if (what < 8) {
        operations.cancel_one(random, [&](int who) { reference.withdraw(who); });
      } else {
        co_await yield_up_to(random, 6);
      }
      EXPECT_EQ(barrier.waiting(), reference.waiting());
      EXPECT_EQ(barrier.rounds(), rounds);
    }
    operations.cancel_all([&](int who) { reference.withdraw(who); });
    co_await operations.join();
    EXPECT_EQ(barrier.waiting(), 0u);
  };
  for_each_seed(program);
}

TEST(SignalsModel, AConditionDoesWhatTheReferenceDoes) {
  const auto program = [](Random& random) -> Task<void> {
    Mutex mutex;
    Condition condition;
    Reference reference;
    Operations operations;
    int inside = 0;
    const auto alone = [&] {
      EXPECT_EQ(inside, 0) << "two have the lock";
      EXPECT_EQ(mutex.owner(), this_task::id());
    };
    const auto wait = [&](int self) -> Task<void> {
      auto guard = co_await mutex.lock();
      alone();
      ++inside;
      try {
        co_await yield_up_to(random, 2);
      } catch (const Cancelled&) {
      }
      --inside;
      const bool pending = Scheduler::current()->cancel_pending();
      if (!pending) reference.wait(self);
      try {
        co_await condition.wait(guard);
      } catch (const Cancelled&) {
        alone();
        EXPECT_TRUE(pending || reference.withdrawn(self)) << self << " was notified";
        throw;
      }
      alone();
      EXPECT_TRUE(reference.released(self)) << self << " was not notified";
    };
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t what = random.below(12);
      if (what < 5) {
        operations.start(wait);
      } else if (what < 7) {
        operations.cancel_one(random, [&](int who) { reference.withdraw(who); });
      } else if (what < 9) {
        reference.release_one();
        condition.notify_one();
      } else if (what < 10) {
        reference.release_all();
        condition.notify_all();
      } else {
        co_await yield_up_to(random, 8);
      }
    }
    operations.cancel_all([&](int who) { reference.withdraw(who); });
    co_await operations.join();
    EXPECT_FALSE(mutex.locked());
  };
  for_each_seed(program);
}

}  // namespace signals_model_test
}  // namespace tiffany
