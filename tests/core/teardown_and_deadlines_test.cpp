// Found by the model test, each as small as it gets.
#include <gtest/gtest.h>
#include <string>
#include <vector>
#include "tiffany/tiffany.hpp"
namespace tiffany {
namespace teardown_and_deadlines_test {
using namespace std::chrono_literals;

Task<void> nothing() { co_return; }
Task<void> cancel_one_before_it_began(TaskId* id) {
  Handle<void> child = spawn(nothing);
  *id = child.id();
  child.cancel();
  co_return;
}
// 1. Also leaks the arena (LeakSanitizer).
TEST(Regression, ATaskCancelledBeforeItBeganLeavesNoRecord) {
  Scheduler scheduler(Options().virtual_time().turn(1));
  TaskId id;
  scheduler.spawn(cancel_one_before_it_began, &id);
  scheduler.run();
  EXPECT_EQ(scheduler.find(id), nullptr);
}

// 2.
Task<void> late_block(Scope& scope) {
  scope.set_timeout(-1ns);
  co_await sleep(5ns);
  co_await sleep(5ns);
}
Task<void> past_deadline(Time* when) {
  try {
    co_await scope(late_block);
  } catch (const ScopeCancelled&) {
  }
  *when = now();
}
TEST(Regression, ADeadlineBeforeTheClockBeganIsDueAtOnce) {
  Scheduler scheduler(Options().virtual_time());
  Time when;
  scheduler.spawn(past_deadline, &when);
  scheduler.run();
  EXPECT_EQ(when, Time());
}

// 3.
struct Leaving {
  Leaving(std::vector<std::string>* o, const char* n) : out(o), name(n) {}
  ~Leaving() { out->push_back(name); }
  std::vector<std::string>* out;
  const char* name;
};
Task<void> stubborn(Future<int> never, std::vector<std::string>* order) {
  const Leaving leaving(order, "child");
  co_await shield(never);
}
Task<void> owner(std::vector<std::string>* order) {
  const Leaving leaving(order, "owner of the scope");
  Promise<int> never;
  auto block = [&](Scope& s) -> Task<void> {
    s.spawn(stubborn, never.future(), order);
    co_return;
  };
  co_await scope(block);
}
TEST(Regression, ATaskDoesNotOutliveItsScopeWhenTheSchedulerIsDestroyed) {
  std::vector<std::string> order;
  {
    Scheduler scheduler(Options().virtual_time());
    scheduler.spawn(owner, &order);
    EXPECT_THROW(scheduler.run(), Deadlock);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"child", "owner of the scope"}));
}

// 4.
Task<void> zero_deadline_block(Scope& scope) {
  scope.set_timeout(0ns);
  co_return;
}
Task<void> zero_deadline(bool* threw) {
  try {
    co_await scope(zero_deadline_block);
  } catch (const ScopeCancelled&) {
    *threw = true;
  }
}
TEST(Regression, ADeadlineAfterEverythingEndedIsTooLate) {
  Scheduler scheduler(Options().virtual_time().turn(1).quantum(1));
  bool threw = false;
  scheduler.spawn(zero_deadline, &threw);
  scheduler.run();
  EXPECT_FALSE(threw);
}

// 5. Only with the change of the ready queue that keeps the frame beside the task.
Task<void> inner_yield() {
  co_await yield();
  co_await yield();
}
Task<void> calls_and_yields() {
  co_await inner_yield();
  co_await inner_yield();
}
TEST(Regression, ATaskThatYieldsInsideANestedCallGoesOnThere) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(calls_and_yields);
  scheduler.spawn.with_priority(20)(calls_and_yields);
  scheduler.run();
}
}  // namespace teardown_and_deadlines_test
}  // namespace tiffany
