// The end of a scheduler: shutdown, and its destructor with whatever is left in it.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/harness.hpp"

namespace tiffany {
namespace shutdown_test {

using namespace test;

Task<void> nothing() { co_return; }

TEST(Shutdown, T2_CancelsEveryTaskWithThatCauseAndRunsUntilAllHaveEnded) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  const auto waits = [&]() -> Task<void> {
    const AtExit exit(trace, "unwound");
    Promise<int> never;
    static_cast<void>(co_await never.future());
    trace.push_back("never");
  };
  auto parked = scheduler.spawn(std::ref(waits));
  scheduler.step_until_idle();
  auto pending = scheduler.spawn(std::ref(waits));
  scheduler.shutdown("going home");
  EXPECT_EQ(trace, Trace({"unwound"}));
  EXPECT_EQ(parked.state(), TaskState::cancelled);
  EXPECT_EQ(pending.state(), TaskState::cancelled);
  const CancelReasonPtr reason = scheduler.find(parked.id())->cancel_reason();
  ASSERT_NE(reason, nullptr);
  EXPECT_EQ(reason->cause, CancelCause::shutdown);
  EXPECT_EQ(reason->message, "going home");
  EXPECT_FALSE(reason->requester);
  EXPECT_EQ(reason->site.line(), static_cast<unsigned>(__LINE__ - 9));
  parked = pending = {};
  expect_nothing_left(scheduler);
}

// The timer of a sleeper must be found although no task runs and nobody drives the scheduler.
TEST(Shutdown, T2_DisarmsTheTimersOfSleepersWithoutWaitingForThem) {
  const auto body = [] {
    Scheduler scheduler(Options().virtual_time());
    const auto sleeper = []() -> Task<void> { co_await sleep(1h); };
    scheduler.spawn(sleeper);
    scheduler.step_until_idle();
    scheduler.shutdown();
    EXPECT_EQ(scheduler.now(), Time());
    expect_nothing_left(scheduler);
  };
  EXPECT_SURVIVES(body);
}

TEST(Shutdown, T2_LetsAShieldedTaskFinishFirst) {
  const auto body = [] {
    Trace trace;
    Scheduler scheduler(Options().virtual_time());
    const auto cleanup = [&]() -> Task<void> {
      co_await sleep(5ms);
      trace.push_back("cleaned up");
    };
    const auto task = [&]() -> Task<void> {
      co_await shield(cleanup());
      trace.push_back("after the shield");
      co_await yield();
      trace.push_back("never");
    };
    scheduler.spawn(std::ref(task));
    scheduler.step_until_idle();
    scheduler.shutdown();
    EXPECT_EQ(trace, Trace({"cleaned up", "after the shield"}));
    EXPECT_EQ(scheduler.now(), Time(5ms));
    expect_nothing_left(scheduler);
  };
  EXPECT_SURVIVES(body);
}

// Spawns into a scope when it goes.
class SpawnsAtExit {
 public:
  SpawnsAtExit(Scope& scope, Trace& trace) noexcept : scope_(scope), trace_(trace) {}
  ~SpawnsAtExit() {
    const auto late = [](Trace& trace, AtExit) -> Task<void> {
      trace.push_back("began");
      co_await sleep(1h);
    };
    scope_.spawn(late, std::ref(trace_), AtExit(trace_, "spawned and dropped"));
  }
  SpawnsAtExit(const SpawnsAtExit&) = delete;
  SpawnsAtExit& operator=(const SpawnsAtExit&) = delete;

 private:
  Scope& scope_;
  Trace& trace_;
};

// A task that does not end when it is asked to is dropped by force, and its destructors run.
TEST(Shutdown, T2_WhatADestructorSpawnsIntoAScopeThatIsDroppedByForceNeverStarts) {
  Trace trace;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto stubborn = [&]() -> Task<void> {
      co_await scope([&](Scope& s) -> Task<void> {
        const SpawnsAtExit exit(s, trace);
        for (;;) {
          try {
            co_await sleep(1h);
          } catch (const Cancelled&) {
          }
        }
      });
    };
    scheduler.spawn(nothing);
    scheduler.spawn(std::ref(stubborn));
    scheduler.step_until_idle();
  }
  EXPECT_EQ(trace, Trace({"spawned and dropped"}));
}

TEST(Shutdown, T2_WhatIsSpawnedAfterItIsCancelledAndNeverStarts) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.shutdown();
  Trace trace;
  const auto task = [&]() -> Task<void> {
    trace.push_back("ran");
    co_return;
  };
  auto handle = scheduler.spawn(std::ref(task));
  EXPECT_EQ(handle.state(), TaskState::cancelled);
  scheduler.run();
  EXPECT_EQ(trace, Trace());
  EXPECT_EQ(code_of(handle.waitable().error()), Errc::task_cancelled);
  handle = {};
  scheduler.step_until_idle();
  expect_nothing_left(scheduler);
}

TEST(Shutdown, T2_ATaskThatSpawnsWhileItUnwindsGetsACancelledChild) {
  Scheduler scheduler(Options().virtual_time());
  TaskState child = TaskState::pending;
  const auto task = [&]() -> Task<void> {
    try {
      Promise<int> never;
      static_cast<void>(co_await never.future());
    } catch (const Cancelled&) {
      child = spawn(nothing).state();
      throw;
    }
  };
  scheduler.spawn(std::ref(task));
  scheduler.step_until_idle();
  scheduler.shutdown();
  EXPECT_EQ(child, TaskState::cancelled);
}

TEST(Shutdown, T2_ASecondOneIsHarmless) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(nothing);
  scheduler.shutdown();
  scheduler.shutdown();
  EXPECT_EQ(scheduler.live_tasks(), 0u);
}

// ---- The destructor ----

TEST(SchedulerDestructor, T2_DropsTasksThatNeverRanWithTheirArguments) {
  const auto body = [] {
    Trace trace;
    {
      Scheduler scheduler(Options().virtual_time());
      const auto task = [&](AtExit) -> Task<void> {
        trace.push_back("ran");
        co_return;
      };
      scheduler.spawn(std::ref(task), AtExit(trace, "argument gone"));
    }
    EXPECT_EQ(trace, Trace({"argument gone"}));
  };
  EXPECT_SURVIVES(body);
}

TEST(SchedulerDestructor, T2_UnwindsParkedTasksInnermostFirst) {
  Trace trace;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto inner = [&]() -> Task<void> {
      const AtExit exit(trace, "inner");
      co_await sleep(1h);
      trace.push_back("never");
    };
    const auto outer = [&]() -> Task<void> {
      const AtExit exit(trace, "outer");
      co_await inner();
      trace.push_back("never");
    };
    scheduler.spawn(std::ref(outer));
    scheduler.step_until_idle();
  }
  EXPECT_EQ(trace, Trace({"inner", "outer"}));
}

TEST(SchedulerDestructor, T2_BreaksShieldsThatWouldHoldItUpForEver) {
  Trace trace;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto hold = [&]() -> Task<void> {
      const AtExit exit(trace, "unwound");
      Promise<int> never;
      static_cast<void>(co_await never.future());
      trace.push_back("never");
    };
    const auto task = [&]() -> Task<void> { co_await shield(hold()); };
    scheduler.spawn(std::ref(task));
    scheduler.step_until_idle();
  }
  EXPECT_EQ(trace, Trace({"unwound"}));
}

TEST(SchedulerDestructor, T2_DropsByForceATaskThatSwallowsEveryCancel) {
  const auto body = [] {
    Trace trace;
    {
      Scheduler scheduler(Options().virtual_time());
      const auto stubborn = [&]() -> Task<void> {
        const AtExit exit(trace, "dropped");
        for (;;) {
          try {
            co_await sleep(1h);
          } catch (const Cancelled&) {
          }
        }
      };
      scheduler.spawn(std::ref(stubborn));
      scheduler.step_until_idle();
    }
    EXPECT_EQ(trace, Trace({"dropped"}));
  };
  EXPECT_SURVIVES(body);
}

TEST(SchedulerDestructor, T2_ATaskThatWaitsForADroppedOneIsDroppedToo) {
  const auto body = [] {
    Handle<void> waiter;
    {
      Scheduler scheduler(Options().virtual_time());
      const auto stubborn = []() -> Task<void> {
        for (;;) {
          try {
            co_await yield();
          } catch (const Cancelled&) {
          }
        }
      };
      const auto task = [](Handle<void> handle) -> Task<void> { co_await shield(handle); };
      auto handle = scheduler.spawn(stubborn);
      waiter = scheduler.spawn(task, handle);
      scheduler.step();
      scheduler.step();
    }
    EXPECT_EQ(waiter.state(), TaskState::cancelled);
  };
  EXPECT_SURVIVES(body);
}

TEST(SchedulerDestructor, T2_EndsTheTasksOfOpenScopes) {
  Trace trace;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto child = [&](std::string name) -> Task<void> {
      const AtExit exit(trace, name);
      co_await sleep(1h);
    };
    const auto task = [&]() -> Task<void> {
      const AtExit exit(trace, "owner");
      co_await scope([&](Scope& s) -> Task<void> {
        s.spawn(std::ref(child), "first");
        s.spawn(std::ref(child), "second");
        co_return;
      });
    };
    scheduler.spawn(std::ref(task));
    scheduler.step_until_idle();
  }
  EXPECT_EQ(trace, Trace({"first", "second", "owner"}));
}

TEST(SchedulerDestructor, T2_SurvivesAScopeWhoseTasksDoNotEnd) {
  const auto body = [] {
    Trace trace;
    {
      Scheduler scheduler(Options().virtual_time());
      const auto stubborn = [&]() -> Task<void> {
        const AtExit exit(trace, "child dropped");
        for (;;) {
          try {
            co_await sleep(1h);
          } catch (const Cancelled&) {
          }
        }
      };
      const auto task = [&]() -> Task<void> {
        const AtExit exit(trace, "owner gone");
        co_await scope([&](Scope& s) -> Task<void> {
          s.spawn(std::ref(stubborn));
          co_return;
        });
      };
      scheduler.spawn(std::ref(task));
      scheduler.step_until_idle();
    }
    EXPECT_EQ(trace, Trace({"child dropped", "owner gone"}));
  };
  EXPECT_SURVIVES(body);
}

TEST(SchedulerDestructor, T2_WorksInsideATaskOfAnotherScheduler) {
  const auto program = []() -> Task<void> {
    Trace trace;
    {
      Scheduler inner(Options().virtual_time());
      const auto task = [&]() -> Task<void> {
        const AtExit exit(trace, "unwound");
        co_await sleep(1h);
      };
      inner.spawn(std::ref(task));
    }
    EXPECT_EQ(trace, Trace()) << "it never ran, so nothing of it was there to unwind";
    EXPECT_EQ(this_task::id(), TaskId(1, 1)) << "the outer scheduler is the current one again";
    co_await yield();
  };
  run_program(program);
}

}  // namespace shutdown_test
}  // namespace tiffany
