// W6: preemption after a number of system calls, and the mode where every call is a switch.
#include <gtest/gtest.h>

#include <string>

#include "support/harness.hpp"

namespace tiffany {
namespace quantum_test {

using namespace test;

Task<int> five() { co_return 5; }

// Makes calls that are all answered at once.
Task<void> ask(Trace& trace, std::string name, int times) {
  for (int i = 0; i < times; ++i) {
    co_await checkpoint();
    trace.push_back(name);
  }
}

Trace interleaving(std::uint32_t quantum) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    spawn(ask, std::ref(trace), "a", 4);
    spawn(ask, std::ref(trace), "b", 4);
    co_return;
  };
  run_program(program, Options().virtual_time().quantum(quantum));
  return trace;
}

TEST(Quantum, W6_ATaskGoesToTheBackWhenItsCallsAreSpent) {
  EXPECT_EQ(interleaving(100), Trace({"a", "a", "a", "a", "b", "b", "b", "b"}));
  // The switch comes after the call that spends the quantum, before its result is used.
  EXPECT_EQ(interleaving(3), Trace({"a", "a", "b", "b", "a", "a", "b", "b"}));
  EXPECT_EQ(interleaving(2), Trace({"a", "b", "a", "a", "b", "b", "a", "b"}));
}

TEST(Quantum, W6_WithAQuantumOfOneEveryCallIsASwitch) {
  EXPECT_EQ(interleaving(1), Trace({"a", "b", "a", "b", "a", "b", "a", "b"}));
}

TEST(Quantum, AQuantumOfZeroIsTakenAsOne) { EXPECT_EQ(interleaving(0), interleaving(1)); }

TEST(Quantum, W6_EveryCallThatIsAnsweredAtOnceCounts) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto done = spawn(five);
    co_await done;
    const auto other = [&]() -> Task<void> {
      for (int i = 0; i < 5; ++i) {
        trace.push_back("other");
        co_await yield();
      }
    };
    auto neighbour = spawn(std::ref(other));
    static_cast<void>(co_await done);
    trace.push_back("join");
    static_cast<void>(co_await done.outcome());
    trace.push_back("outcome");
    co_await gather(done, done);
    trace.push_back("gather");
    co_await race(done, done);
    trace.push_back("race");
    co_await checkpoint();
    trace.push_back("checkpoint");
    co_await neighbour;
  };
  run_program(program, Options().virtual_time().quantum(1));
  EXPECT_EQ(trace, Trace({"other", "join", "other", "outcome", "other", "gather", "other", "race",
                          "other", "checkpoint"}));
}

TEST(Quantum, W6_APreemptedTaskIsInAStateOfItsOwnAndHasItsResult) {
  const auto program = []() -> Task<void> {
    auto done = spawn(five);
    co_await done;
    int result = 0;
    const auto body = [&]() -> Task<void> { result = co_await done; };
    auto handle = spawn(std::ref(body));
    co_await yield();
    EXPECT_EQ(handle.state(), TaskState::preempted);
    EXPECT_EQ(result, 0) << "the code after the call has not run yet";
    handle.cancel();  // comes too late for the result
    co_await yield();
    EXPECT_EQ(result, 5);
    EXPECT_EQ(handle.state(), TaskState::completed);
  };
  run_program(program, Options().virtual_time().quantum(1));
}

TEST(Quantum, W6_ATaskThatIsAloneGoesOnWithoutADetourThroughTheQueue) {
  // Nobody could see the difference but the one who counts picks: a single task is picked once per
  // turn, not once per call.
  Scheduler scheduler(Options().virtual_time().quantum(1).turn(1000).record_picks());
  Trace trace;
  scheduler.spawn(ask, std::ref(trace), "a", 500);
  scheduler.run();
  EXPECT_EQ(trace.size(), 500u);
  EXPECT_EQ(scheduler.picks().size(), 1u);
}

TEST(Quantum, W6_YieldsOfATaskThatIsAloneTakeTheShortcutToo) {
  Scheduler scheduler(Options().virtual_time().turn(1000).record_picks());
  const auto body = []() -> Task<void> {
    for (int i = 0; i < 500; ++i) co_await yield();
  };
  scheduler.spawn(body);
  scheduler.run();
  EXPECT_EQ(scheduler.picks().size(), 1u);
}

TEST(Quantum, W6_TheShortcutEndsWhenSomebodyElseIsReady) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    co_await checkpoint();
    trace.push_back("alone");
    spawn(ask, std::ref(trace), "child", 2);
    co_await checkpoint();
    trace.push_back("not alone");
  };
  run_program(program, Options().virtual_time().quantum(1));
  EXPECT_EQ(trace, Trace({"alone", "not alone", "child", "child"}));
}

TEST(Quantum, W6_CallsThatParkDoNotNeedAQuantum) {
  const auto program = []() -> Task<void> {
    for (int i = 0; i < 10; ++i) {
      co_await sleep(1ms);
      auto handle = spawn(five);
      const int value = co_await handle;
      EXPECT_EQ(value, 5);
    }
    EXPECT_EQ(now(), Time(10ms));
  };
  run_program(program, Options().virtual_time().quantum(1));
}

}  // namespace quantum_test
}  // namespace tiffany
