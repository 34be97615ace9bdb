// The run loop: its order of work, the ways to drive it, and what it tells about itself.
#include "tiffany/core/scheduler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "support/hand_clock.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace scheduler_test {

using namespace test;

Task<void> note(Trace& trace, std::string text) {
  trace.push_back(std::move(text));
  co_return;
}
Task<void> sleep_then_note(Trace& trace, Duration delay, std::string text) {
  co_await sleep(delay);
  trace.push_back(std::move(text));
}
Task<void> note_twice(Trace& trace, std::string text) {
  trace.push_back(text + "1");
  co_await yield();
  trace.push_back(text + "2");
}

// ---- Order ----

TEST(Scheduler, T6_TheParentGoesOnAfterASpawnAndTheChildIsQueued) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    spawn(note, std::ref(trace), "child");
    trace.push_back("parent");
    co_await yield();
    trace.push_back("parent again");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"parent", "child", "parent again"}));
}

TEST(Scheduler, T6_AMoreUrgentChildStillWaitsForTheParentsNextSuspension) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    spawn(note, std::ref(trace), "equal");
    spawn.with_priority(3)(note, std::ref(trace), "urgent");
    spawn.system()(note, std::ref(trace), "system");
    trace.push_back("parent");
    co_await yield();
    trace.push_back("parent again");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"parent", "system", "urgent", "equal", "parent again"}));
}

TEST(Scheduler, T6_TasksOfOnePriorityRunInTheOrderTheyBecameReady) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    for (const char* name : {"a", "b", "c"}) spawn(note_twice, std::ref(trace), name);
    co_return;
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"a1", "b1", "c1", "a2", "b2", "c2"}));
}

TEST(Scheduler, T6_SmallerNumbersRunFirstAndStarveTheOthersByDesign) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    spawn.with_priority(255)(note_twice, std::ref(trace), "least");
    spawn(note_twice, std::ref(trace), "default");
    spawn.with_priority(9)(note_twice, std::ref(trace), "nine");
    spawn.system()(note_twice, std::ref(trace), "system");
    co_return;
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"system1", "system2", "nine1", "nine2", "default1", "default2", "least1",
                          "least2"}));
}

// B13: a wake-up through a timer, a promise or a join must not forget the priority.
TEST(Scheduler, T6_AWokenTaskKeepsItsPriority) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Promise<int> gate;
    const auto wait_gate = [&](Future<int> future, std::string name) -> Task<void> {
      static_cast<void>(co_await future);
      trace.push_back(name);
    };
    const auto wait_task = [&](Handle<void> handle, std::string name) -> Task<void> {
      co_await handle;
      trace.push_back(name);
    };
    auto opener = spawn(sleep_then_note, std::ref(trace), 1ms, "opener");
    spawn.with_priority(20)(sleep_then_note, std::ref(trace), 1ms, "sleep 20");
    spawn.with_priority(20)(std::ref(wait_gate), gate.future(), "gate 20");
    spawn.with_priority(20)(std::ref(wait_task), opener, "join 20");
    spawn.with_priority(5)(sleep_then_note, std::ref(trace), 1ms, "sleep 5");
    spawn.with_priority(4)(std::ref(wait_task), opener, "join 4");
    spawn.with_priority(5)(std::ref(wait_gate), gate.future(), "gate 5");
    co_await sleep(1ms);
    gate.complete(1);
    co_await yield();
    trace.push_back("main");
    co_await sleep(1ms);  // keeps the lambdas alive for the least urgent
  };
  run_program(program);
  // At 1 ms the timers fire in the order they were armed: main's first, since it slept after it had
  // spawned but before the children began.
  EXPECT_EQ(trace, Trace({"sleep 5", "gate 5", "opener", "join 4", "main", "sleep 20", "gate 20",
                          "join 20"}));
}

// ---- The turn ----

TEST(Scheduler, T5_ATurnDeliversWhatCameFromOutsideThenFiresTimersThenRunsTasks) {
  Trace trace;
  Time time{};
  Scheduler scheduler(Options().clock(std::make_unique<HandClock>(time)).turn(1));
  const auto program = [&]() -> Task<void> {
    ExternalPromise<int> outside;
    const auto wait_outside = [&]() -> Task<void> {
      static_cast<void>(co_await outside.future());
      trace.push_back("outside");
    };
    spawn(sleep_then_note, std::ref(trace), 5ms, "timer");
    auto waiter = spawn(std::ref(wait_outside));
    co_await yield();
    co_await yield();
    // In this turn, all three come to be due; the task that is ready was so before.
    spawn(note, std::ref(trace), "ready before");
    time = Time(5ms);
    outside.complete(1);
    co_await waiter;
  };
  auto handle = scheduler.spawn(std::ref(program));
  scheduler.run();
  EXPECT_EQ(handle.state(), TaskState::completed);
  EXPECT_EQ(trace, Trace({"ready before", "outside", "timer"}));
}

TEST(Scheduler, T5_NowIsConstantWithinATurnHoweverTheClockRuns) {
  Time time{};
  Scheduler scheduler(Options().clock(std::make_unique<HandClock>(time)).turn(3));
  std::vector<Time> seen;
  const auto look = [&]() -> Task<void> {
    time += 1ms;
    seen.push_back(now());
    co_return;
  };
  for (int i = 0; i < 6; ++i) scheduler.spawn(std::ref(look));
  scheduler.run();
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_EQ(seen[0], Time());
  EXPECT_EQ(seen[1], seen[0]);
  EXPECT_EQ(seen[2], seen[0]);
  EXPECT_EQ(seen[3], Time(3ms));
  EXPECT_EQ(seen[5], seen[3]);
}

TEST(Scheduler, T5_ABusyTaskDoesNotKeepTimersFromFiring) {
  Trace trace;
  Time time{};
  Scheduler scheduler(Options().clock(std::make_unique<HandClock>(time)).turn(4));
  bool rang = false;
  const auto busy = [&]() -> Task<void> {
    for (int i = 0; i < 100 && !rang; ++i) {
      time += 1ms;
      co_await yield();  // alone: it goes on at once, but not for longer than a turn
    }
    trace.push_back(rang ? "heard" : "deaf");
  };
  const auto alarm = [&]() -> Task<void> {
    co_await sleep(10ms);
    rang = true;
  };
  scheduler.spawn(std::ref(alarm));
  scheduler.spawn(std::ref(busy));
  scheduler.run();
  EXPECT_EQ(trace, Trace({"heard"}));
}

TEST(Scheduler, T5_ARealClockSleepsUntilTheNextDeadline) {
  Time time{};
  Scheduler scheduler(Options().clock(std::make_unique<HandClock>(time)));
  Trace trace;
  scheduler.spawn(sleep_then_note, std::ref(trace), 3h, "late");
  scheduler.spawn(sleep_then_note, std::ref(trace), 1h, "early");
  scheduler.run();
  EXPECT_EQ(trace, Trace({"early", "late"}));
  EXPECT_EQ(time, Time(3h));
}

TEST(Scheduler, T7_AVirtualClockJumpsFromDeadlineToDeadline) {
  std::vector<Time> seen;
  const auto program = [&]() -> Task<void> {
    seen.push_back(now());
    co_await sleep(24h * 365);
    seen.push_back(now());
    co_await sleep(1ns);
    seen.push_back(now());
  };
  run_program(program);
  EXPECT_EQ(seen, std::vector<Time>({Time(), Time(24h * 365), Time(24h * 365 + 1ns)}));
}

TEST(Scheduler, T7_AVirtualClockDoesNotMoveWhileATaskIsReady) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    spawn(sleep_then_note, std::ref(trace), 1ns, "slept");
    for (int i = 0; i < 1000; ++i) co_await yield();
    EXPECT_EQ(now(), Time());
    trace.push_back("busy");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"busy", "slept"}));
}

TEST(Scheduler, I6_ARealClockMovesByItselfAndMonotonically) {
  Scheduler scheduler;
  const auto program = [&]() -> Task<void> {
    const Time before = now();
    co_await sleep(1us);
    EXPECT_GE(now(), before + 1us);
  };
  run_on_scheduler(scheduler, program);
}

// ---- Driving it ----

TEST(Scheduler, T2_StepRunsAtMostOneTaskAndMovesNoTime) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  EXPECT_FALSE(scheduler.step());
  scheduler.spawn(note_twice, std::ref(trace), "a");
  scheduler.spawn(note_twice, std::ref(trace), "b");
  scheduler.spawn(sleep_then_note, std::ref(trace), 1ms, "slept");
  EXPECT_EQ(scheduler.ready_len(), 3u);
  EXPECT_TRUE(scheduler.step());
  EXPECT_EQ(trace, Trace({"a1"}));
  EXPECT_TRUE(scheduler.step());
  EXPECT_EQ(trace, Trace({"a1", "b1"}));
  int steps = 0;
  while (scheduler.step()) ++steps;
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(trace, Trace({"a1", "b1", "a2", "b2"}));
  EXPECT_EQ(scheduler.now(), Time());
  EXPECT_EQ(scheduler.live_tasks(), 1u);
  EXPECT_FALSE(scheduler.step());
  scheduler.run();
  EXPECT_EQ(trace.back(), "slept");
  expect_nothing_left(scheduler);
}

TEST(Scheduler, T2_StepDoesNotCountATaskThatWasCancelledBeforeItsFirstTurn) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  auto dead = scheduler.spawn(note, std::ref(trace), "dead");
  dead.cancel();
  EXPECT_EQ(scheduler.ready_len(), 0u);
  EXPECT_FALSE(scheduler.step()) << "nothing was ready";
  EXPECT_EQ(trace, Trace());
}

TEST(Scheduler, T2_StepUntilIdleRunsWhatIsReadyAndMovesNoTime) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  scheduler.spawn(note_twice, std::ref(trace), "a");
  scheduler.spawn(note_twice, std::ref(trace), "b");
  scheduler.spawn(sleep_then_note, std::ref(trace), 0ms, "slept 0");
  scheduler.spawn(sleep_then_note, std::ref(trace), 1ns, "slept 1");
  EXPECT_EQ(scheduler.step_until_idle(), 7u);
  EXPECT_EQ(trace, Trace({"a1", "b1", "a2", "b2", "slept 0"}));
  EXPECT_EQ(scheduler.now(), Time());
  EXPECT_EQ(scheduler.step_until_idle(), 0u);
  EXPECT_EQ(scheduler.live_tasks(), 1u);
  scheduler.run();
}

TEST(Scheduler, T2_RunUntilStopsAtItsTime) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  scheduler.spawn(sleep_then_note, std::ref(trace), 5ms, "five");
  scheduler.spawn(sleep_then_note, std::ref(trace), 10ms, "ten");
  scheduler.spawn(sleep_then_note, std::ref(trace), 10ms + 1ns, "later");
  scheduler.run_until(Time(10ms));
  EXPECT_EQ(trace, Trace({"five", "ten"}));
  EXPECT_EQ(scheduler.now(), Time(10ms));
  scheduler.run_until(Time(10ms));
  EXPECT_EQ(scheduler.live_tasks(), 1u);
  scheduler.run_until(Time(20ms));
  EXPECT_EQ(trace.back(), "later");
  EXPECT_EQ(scheduler.now(), Time(20ms)) << "a virtual clock is moved there though no task is left";
  expect_nothing_left(scheduler);
}

TEST(Scheduler, T2_RunUntilIsNotADeadlockWhenATaskCannotBeWoken) {
  Scheduler scheduler(Options().virtual_time());
  const auto stuck = []() -> Task<void> {
    Promise<int> never;
    static_cast<void>(co_await never.future());
  };
  scheduler.spawn(stuck);
  scheduler.run_until(Time(1s));
  EXPECT_EQ(scheduler.now(), Time(1s));
  EXPECT_EQ(scheduler.live_tasks(), 1u);
  scheduler.shutdown();
  expect_nothing_left(scheduler);
}

TEST(Scheduler, T2_PollRunsWhatIsReadyAndElseWaitsUntilTheDeadline) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  scheduler.spawn(note, std::ref(trace), "now");
  scheduler.spawn(sleep_then_note, std::ref(trace), 5ms, "five");
  EXPECT_TRUE(scheduler.poll(Time(1ms)));
  EXPECT_EQ(trace, Trace({"now"}));
  EXPECT_EQ(scheduler.now(), Time()) << "something was ready, so it did not wait";
  EXPECT_FALSE(scheduler.poll(Time(1ms)));
  EXPECT_EQ(scheduler.now(), Time(1ms));
  EXPECT_TRUE(scheduler.poll(Time(1s)));
  EXPECT_EQ(scheduler.now(), Time(5ms));
  EXPECT_EQ(trace, Trace({"now", "five"}));
  EXPECT_FALSE(scheduler.poll(Time(0ms))) << "a deadline that has passed is a mere look";
}

TEST(Scheduler, T2_DrivingAgainFromInsideIsRefused) {
  Scheduler other(Options().virtual_time());
  const auto program = [&]() -> Task<void> {
    Scheduler& scheduler = *Scheduler::current();
    EXPECT_EQ(code_of(thrown_by([&] { scheduler.run(); })), Errc::nested_run);
    EXPECT_EQ(code_of(thrown_by([&] { scheduler.step(); })), Errc::nested_run);
    EXPECT_EQ(code_of(thrown_by([&] { scheduler.step_until_idle(); })), Errc::nested_run);
    EXPECT_EQ(code_of(thrown_by([&] { scheduler.run_until(Time(1s)); })), Errc::nested_run);
    EXPECT_EQ(code_of(thrown_by([&] { scheduler.poll(Time(1s)); })), Errc::nested_run);
    const auto error = thrown_by([&] { other.run(); });
    EXPECT_EQ(code_of(error), Errc::nested_run);
    EXPECT_NE(what_of(error).find("task #1 \"main\""), std::string::npos) << what_of(error);
    co_await yield();  // nothing was broken
  };
  run_program(program);
}

TEST(Scheduler, T2_TwoSchedulersOnOneThreadTakeTurnsWithoutNoticing) {
  Scheduler a(Options().virtual_time());
  Scheduler b(Options().virtual_time());
  Trace trace;
  a.spawn(note_twice, std::ref(trace), "a");
  b.spawn(note_twice, std::ref(trace), "b");
  for (bool ran = true; ran;) {
    ran = a.step();
    ran = b.step() || ran;
  }
  EXPECT_EQ(trace, Trace({"a1", "b1", "a2", "b2"}));
  EXPECT_EQ(Scheduler::current(), nullptr);
}

TEST(Scheduler, CallsThatNeedATaskSaySoOutsideOfOne) {
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(now()); })), Errc::no_task);
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(this_task::id()); })), Errc::no_task);
  EXPECT_EQ(code_of(thrown_by([] { this_task::cancel(); })), Errc::no_task);
  EXPECT_EQ(code_of(thrown_by([] { Promise<int> promise; })), Errc::no_task);
  EXPECT_EQ(code_of(thrown_by([] { ExternalPromise<int> promise; })), Errc::no_task);
  const auto nothing = []() -> Task<void> { co_return; };
  const auto error = thrown_by([&] { spawn(nothing); });
  EXPECT_EQ(code_of(error), Errc::no_task);
  EXPECT_NE(what_of(error).find("spawn()"), std::string::npos) << what_of(error);
}

// Clang puts the frame of a callee into the frame of its caller where it can, and there it is
// aligned to 8 bytes only. Whatever the scheduler remembers of a suspended frame must bear that.
template <std::size_t kSize>
Task<std::size_t> suspends_with(std::array<char, kSize> local) {
  co_await yield();
  co_await sleep(1ms);
  co_await yield();
  co_return local.size();
}

TEST(Scheduler, T4_ATaskGoesOnInTheCalleeItWasSuspendedInWhereverThatFrameLies) {
  const auto program = []() -> Task<void> {
    const auto neighbour = []() -> Task<void> {
      for (int i = 0; i < 50; ++i) co_await yield();
    };
    spawn(neighbour);
    std::size_t sum = co_await suspends_with(std::array<char, 1>());
    sum += co_await suspends_with(std::array<char, 8>());
    sum += co_await suspends_with(std::array<char, 24>());
    sum += co_await suspends_with(std::array<char, 41>());
    EXPECT_EQ(sum, 74u);
    EXPECT_EQ(now(), Time(4ms));
  };
  run_program(program);
}

// ---- Looking at it ----

TEST(Scheduler, T2_TellsItsCountsAndTheStatesOfItsTasks) {
  Scheduler scheduler(Options().virtual_time());
  const auto sleeper = []() -> Task<void> { co_await sleep(1s); };
  auto a = scheduler.spawn(sleeper);
  auto b = scheduler.spawn(sleeper);
  EXPECT_EQ(a.state(), TaskState::pending);
  EXPECT_EQ(scheduler.live_tasks(), 2u);
  EXPECT_EQ(scheduler.ready_len(), 2u);
  EXPECT_EQ(scheduler.armed_timers(), 0u);
  scheduler.step_until_idle();
  EXPECT_EQ(a.state(), TaskState::blocked);
  EXPECT_EQ(scheduler.ready_len(), 0u);
  EXPECT_EQ(scheduler.armed_timers(), 2u);
  std::vector<TaskId> ids;
  scheduler.for_each_task([&](TaskRecord& task) { ids.push_back(task.id()); });
  EXPECT_EQ(ids, std::vector<TaskId>({a.id(), b.id()}));
  scheduler.run();
  EXPECT_EQ(a.state(), TaskState::completed);
  ids.clear();
  scheduler.for_each_task([&](TaskRecord& task) { ids.push_back(task.id()); });
  EXPECT_TRUE(ids.empty());
}

TEST(Scheduler, T1_ATaskKnowsItsIdParentPriorityNameSpawnSiteAndSteps) {
  const auto program = []() -> Task<void> {
    Scheduler& scheduler = *Scheduler::current();
    const auto child = []() -> Task<void> {
      this_task::set_name("renamed");
      EXPECT_EQ(this_task::name(), "renamed");
      co_await checkpoint();
      co_await yield();
    };
    auto handle = spawn.with_priority(42)(child);
    const auto line = static_cast<std::uint32_t>(__LINE__ - 1);
    handle.named("first name");
    const TaskRecord& record = *scheduler.find(handle.id());
    EXPECT_EQ(record.parent(), this_task::id());
    EXPECT_EQ(record.priority(), 42);
    EXPECT_EQ(record.spawn_site().line(), line);
    EXPECT_EQ(handle.name(), "first name");
    co_await handle;
    EXPECT_EQ(handle.name(), "renamed");
    EXPECT_EQ(record.steps(), 2u);
  };
  run_program(program);
}

TEST(Scheduler, W2_TheStatesOfATaskOnItsWay) {
  const auto program = []() -> Task<void> {
    Promise<int> gate;
    Handle<void> self;
    const auto body = [&]() -> Task<void> {
      EXPECT_EQ(self.state(), TaskState::running);
      co_await yield();
      static_cast<void>(co_await gate.future());
      EXPECT_EQ(self.state(), TaskState::running);
    };
    self = spawn(std::ref(body));
    EXPECT_EQ(self.state(), TaskState::pending);
    co_await yield();
    EXPECT_EQ(self.state(), TaskState::suspended);
    co_await yield();
    EXPECT_EQ(self.state(), TaskState::blocked);
    gate.complete(1);
    EXPECT_EQ(self.state(), TaskState::ready);
    co_await yield();
    EXPECT_EQ(self.state(), TaskState::completed);
    co_await yield();
    EXPECT_EQ(self.state(), TaskState::completed);
  };
  run_program(program);
}

TEST(State, W2_HasNamesAndThreeFinalOnes) {
  for (TaskState state : {TaskState::pending, TaskState::ready, TaskState::running,
                          TaskState::suspended, TaskState::preempted, TaskState::blocked}) {
    EXPECT_FALSE(is_final(state)) << name_of(state);
  }
  for (TaskState state : {TaskState::completed, TaskState::failed, TaskState::cancelled}) {
    EXPECT_TRUE(is_final(state)) << name_of(state);
  }
  EXPECT_STREQ(name_of(TaskState::preempted), "preempted");
  EXPECT_STREQ(name_of(TaskState::cancelled), "cancelled");
}

TEST(Scheduler, T3_LogWritesALineWithTimeTaskAndName) {
  Trace lines;
  Scheduler scheduler(Options().virtual_time().log_to([&](const LogLine& line) {
    lines.push_back(std::to_string(line.time.time_since_epoch() / 1ms) + " " + line.task.text() +
                    " " + std::string(line.task_name) + ": " + std::string(line.message));
  }));
  const auto program = []() -> Task<void> {
    co_await sleep(3ms);
    log("hello");
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(lines, Trace({"3 #1 main: hello"}));
}

TEST(Scheduler, ADepthFirstOrderRunsTheNewestTaskFirst) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    spawn(note_twice, std::ref(trace), "a");
    spawn(note_twice, std::ref(trace), "b");
    co_await yield();
    trace.push_back("main");
  };
  Scheduler scheduler(Options().virtual_time().order(depth_first_order()));
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(trace, Trace({"main", "b1", "b2", "a1", "a2"}));
}

TEST(Scheduler, AFifoOrderIgnoresPriorities) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    spawn.with_priority(200)(note, std::ref(trace), "a");
    spawn.system()(note, std::ref(trace), "b");
    co_return;
  };
  run_program(program, Options().virtual_time().order(fifo_order()));
  EXPECT_EQ(trace, Trace({"a", "b"}));
}

}  // namespace scheduler_test
}  // namespace tiffany
