// I4, T9: what every blocking call does when the task that makes it is cancelled: before the call,
// while parked in it, and after its result has arrived. Yield is in sleep_test.cpp, poll-style
// tasks are in engine/poll_test.cpp.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace cancel_calls_test {

using namespace test;

// What the calls wait for. All of it arrives at 10 ms, when nobody does anything about it.
class Stage {
 public:
  Stage() {
    helper = spawn(wait_for, gate.future());
    stubborn = spawn(wait_behind_shield, gate.future());
  }
  void arrive() {
    arrived_ = true;
    gate.complete(1);
    direct.complete(1);
    outside.complete(1);
  }
  // Nobody is left in a wait list, but for the two helpers that wait for the gate.
  void expect_no_waits() const {
    EXPECT_FALSE(helper.waitable().has_waiters());
    EXPECT_FALSE(stubborn.waitable().has_waiters());
    EXPECT_FALSE(direct.future().waitable().has_waiters());
    EXPECT_FALSE(never.future().waitable().has_waiters());
    EXPECT_FALSE(outside.future().waitable().has_waiters());
  }
  bool arrived() const { return arrived_; }

  static Task<int> wait_for(Future<int> future) { co_return co_await future; }
  static Task<int> wait_behind_shield(Future<int> future) { co_return co_await shield(future); }

  Promise<int> gate;
  Promise<int> direct;
  Promise<int> never;
  ExternalPromise<int> outside;
  Handle<int> helper;    // ends when the gate opens
  Handle<int> stubborn;  // likewise, and cannot be cancelled before

 private:
  bool arrived_ = false;
};

using Block = Task<void> (*)(Stage&);

Task<void> in_sleep(Stage&) { co_await sleep_until(Time(10ms)); }
Task<void> in_join(Stage& stage) { static_cast<void>(co_await stage.helper); }
Task<void> in_taking_join(Stage& stage) {
  Handle<int> handle = stage.helper;
  static_cast<void>(co_await std::move(handle));
}
Task<void> in_outcome(Stage& stage) { static_cast<void>(co_await stage.helper.outcome()); }
Task<void> in_future(Stage& stage) { static_cast<void>(co_await stage.direct.future()); }
Task<void> in_future_outcome(Stage& stage) {
  static_cast<void>(co_await stage.direct.future().outcome());
}
Task<void> in_external(Stage& stage) { static_cast<void>(co_await stage.outside.future()); }
Task<void> in_gather(Stage& stage) { co_await gather(stage.helper, stage.direct.future()); }
Task<void> in_gather_of_range(Stage& stage) {
  const std::vector<Handle<int>> handles = {stage.helper, stage.stubborn};
  co_await gather(handles);
}
Task<void> in_all_settled(Stage& stage) {
  co_await all_settled(stage.helper, stage.direct.future());
}
Task<void> in_all_settled_of_range(Stage& stage) {
  const std::vector<Future<int>> futures = {stage.direct.future(), stage.outside.future()};
  co_await all_settled(futures);
}
Task<void> in_race(Stage& stage) { co_await race(stage.never.future(), stage.helper); }
Task<void> in_race_of_range(Stage& stage) {
  const std::vector<Future<int>> futures = {stage.never.future(), stage.direct.future()};
  co_await race(futures);
}
Task<void> in_scope_join(Stage& stage) {
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(Stage::wait_for, stage.direct.future());
    co_return;
  });
}
Task<void> in_scope_block(Stage& stage) {
  co_await scope([&](Scope&) -> Task<void> { static_cast<void>(co_await stage.direct.future()); });
}
Task<void> in_within_future(Stage& stage) { co_await within(1h, stage.direct.future()); }
Task<void> in_within_task(Stage& stage) {
  co_await within(1h, Stage::wait_for(stage.direct.future()));
}
Task<void> in_cancel_and_join(Stage& stage) { co_await cancel_and_join(stage.stubborn); }
Task<void> in_race_of_tasks(Stage& stage) {
  co_await race(Stage::wait_for(stage.never.future()), Stage::wait_for(stage.direct.future()));
}
Task<void> in_any_of_tasks(Stage& stage) {
  co_await any(Stage::wait_for(stage.never.future()), Stage::wait_for(stage.direct.future()));
}
Task<void> in_nested_call(Stage& stage) {
  static_cast<void>(co_await Stage::wait_for(stage.direct.future()));
}

struct BlockingCall {
  const char* name;
  Block block;
};
void PrintTo(const BlockingCall& call, std::ostream* out) { *out << call.name; }

const BlockingCall kAnsweredAtOnce[] = {
    {"Join", in_join},
    {"TakingJoin", in_taking_join},
    {"Outcome", in_outcome},
    {"Future", in_future},
    {"FutureOutcome", in_future_outcome},
    {"External", in_external},
    {"Gather", in_gather},
    {"GatherOfRange", in_gather_of_range},
    {"AllSettled", in_all_settled},
    {"AllSettledOfRange", in_all_settled_of_range},
    {"Race", in_race},
    {"RaceOfRange", in_race_of_range},
    {"ScopeBlock", in_scope_block},
    {"WithinFuture", in_within_future},
    {"WithinTask", in_within_task},
    {"CancelAndJoin", in_cancel_and_join},
    {"NestedCall", in_nested_call},
};
// Those that suspend even when everything is there.
const BlockingCall kAlwaysSuspend[] = {
    {"Sleep", in_sleep},
    {"ScopeJoin", in_scope_join},
    {"RaceOfTasks", in_race_of_tasks},
    {"AnyOfTasks", in_any_of_tasks},
};

std::vector<BlockingCall> all_calls() {
  std::vector<BlockingCall> calls(std::begin(kAnsweredAtOnce), std::end(kAnsweredAtOnce));
  calls.insert(calls.end(), std::begin(kAlwaysSuspend), std::end(kAlwaysSuspend));
  return calls;
}

class CancelOfCall : public ::testing::TestWithParam<BlockingCall> {
 protected:
  Task<void> victim(Stage& stage, bool cancel_first) {
    const AtExit exit(trace, "unwound");
    if (cancel_first) this_task::cancel("before the call");
    co_await GetParam().block(stage);
    trace.push_back("passed");
    co_await yield();
    trace.push_back("beyond");
  }
  // Runs a test with a stage, and lets everything end that is left of the stage.
  template <class F>
  void on_stage(F& test) {
    const auto program = [&]() -> Task<void> {
      Stage stage;
      const auto body = [&]() -> Task<void> { co_await test(stage); };
      auto handle = spawn(std::ref(body));
      co_await handle;
      if (!stage.arrived()) stage.arrive();
      co_await all_settled(stage.helper, stage.stubborn);
    };
    Scheduler scheduler(Options().virtual_time());
    {
      auto handle = scheduler.spawn(std::ref(program));
      scheduler.run();
      EXPECT_EQ(handle.state(), TaskState::completed) << what_of(handle.waitable().error());
    }
    scheduler.step_until_idle();  // the last word of the external promise
    expect_nothing_left(scheduler);
  }

  Trace trace;
};
class CancelOfAnsweredCall : public CancelOfCall {};

TEST_P(CancelOfCall, I4_OfATaskThatHasNotStartedNothingRuns) {
  const auto test = [&](Stage& stage) -> Task<void> {
    const auto body = [&]() -> Task<void> { co_await victim(stage, false); };
    auto handle = spawn(std::ref(body));
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    stage.expect_no_waits();
    stage.arrive();
    co_await sleep(20ms);
    EXPECT_EQ(trace, Trace());
  };
  on_stage(test);
}

TEST_P(CancelOfCall, I4_BeforeTheCallItThrowsAndLeavesNoRegistration) {
  const auto test = [&](Stage& stage) -> Task<void> {
    const auto body = [&]() -> Task<void> { co_await victim(stage, true); };
    auto handle = spawn(std::ref(body));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_NE(what_of(outcome.error()).find("before the call"), std::string::npos);
    EXPECT_EQ(trace, Trace({"unwound"}));
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    EXPECT_EQ(now(), Time());
    stage.expect_no_waits();
  };
  on_stage(test);
}

TEST_P(CancelOfCall, I4_WhileParkedTheWaitIsWithdrawnAndTheCodeBehindItNeverRuns) {
  const auto test = [&](Stage& stage) -> Task<void> {
    const auto body = [&]() -> Task<void> { co_await victim(stage, false); };
    auto handle = spawn(std::ref(body));
    co_await sleep(1ms);
    EXPECT_EQ(handle.state(), TaskState::blocked);
    EXPECT_EQ(trace, Trace());
    handle.cancel("while parked");
    EXPECT_EQ(trace, Trace()) << "cancel returns at once";
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_NE(what_of(outcome.error()).find("while parked"), std::string::npos);
    EXPECT_EQ(trace, Trace({"unwound"}));
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    EXPECT_EQ(now(), Time(1ms)) << "a virtual clock does not jump to a dead timer";
    stage.expect_no_waits();
    stage.arrive();
    co_await sleep(20ms);
    EXPECT_EQ(trace, Trace({"unwound"})) << "what arrives later wakes nobody";
  };
  on_stage(test);
}

TEST_P(CancelOfCall, I4_AfterTheResultArrivedTheResultWinsAndTheNextSuspensionThrows) {
  const auto test = [&](Stage& stage) -> Task<void> {
    const auto body = [&]() -> Task<void> { co_await victim(stage, false); };
    // Less urgent than everything else, so that it does not see its result before it is cancelled.
    auto handle = spawn.with_priority(20)(std::ref(body));
    co_await sleep_until(Time(5ms));
    EXPECT_EQ(handle.state(), TaskState::blocked);
    co_await sleep_until(Time(10ms));
    stage.arrive();
    for (int i = 0; i < 100 && handle.state() == TaskState::blocked; ++i) co_await yield();
    if (handle.state() == TaskState::blocked)
      co_await sleep(0ms);  // external: arrives with the turn
    EXPECT_EQ(handle.state(), TaskState::ready);
    EXPECT_EQ(trace, Trace());
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"passed", "unwound"}));
    stage.expect_no_waits();
  };
  on_stage(test);
}

TEST_P(CancelOfAnsweredCall, I4_ACancelledTaskIsStillAnsweredWithoutASuspension) {
  const auto test = [&](Stage& stage) -> Task<void> {
    stage.arrive();
    co_await all_settled(stage.helper, stage.stubborn, stage.outside.future());
    const auto body = [&]() -> Task<void> { co_await victim(stage, true); };
    auto handle = spawn(std::ref(body));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"passed", "unwound"}));
  };
  on_stage(test);
}

const auto kName = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Calls, CancelOfCall, ::testing::ValuesIn(all_calls()), kName);
INSTANTIATE_TEST_SUITE_P(Calls, CancelOfAnsweredCall, ::testing::ValuesIn(kAnsweredAtOnce), kName);

}  // namespace cancel_calls_test
}  // namespace tiffany
