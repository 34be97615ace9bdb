// T13: Scope::limit_memory, the limit on what the tasks of one scope take.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/fault_programs.hpp"
#include "tiffany/core/guard.hpp"

namespace tiffany {
namespace scope_memory_test {

using namespace test;

char* volatile seen_by_others = nullptr;  // what is put here stays in its frame

struct Large {
  char bytes[500] = {};
};
Task<void> hold(Large large, Future<int> event) {
  seen_by_others = large.bytes;
  co_await event;
}
Task<void> nothing() { co_return; }
Task<Large> make_large() {
  co_await yield();
  co_return Large();
}

constexpr std::size_t kHuge = 60'000;

// Not inlined, or Clang puts its frame into that of its caller.
[[gnu::noinline]] Task<std::size_t> huge_call() {
  std::array<char, kHuge> bytes{};
  seen_by_others = bytes.data();
  co_await yield();
  co_return bytes.size();
}

template <class F>
SpawnDenied denial_of(F spawns) {
  try {
    spawns();
  } catch (const SpawnDenied& denied) {
    return denied;
  }
  ADD_FAILURE() << "nothing was denied";
  return SpawnDenied(SpawnDenied::Limit::tasks, 0, 0);
}

// What one task of hold() takes, with its frame.
Task<std::size_t> bytes_of_hold() {
  Promise<int> event;
  std::size_t bytes = 0;
  co_await scope([&](Scope& s) -> Task<void> {
    s.limit_memory(1'000'000);
    s.spawn(hold, Large(), event.future());
    co_await yield();
    bytes = s.live_bytes();
    event.complete(1);
  });
  co_return bytes;
}

TEST(ScopeMemory, T13_ASpawnBeyondTheMemoryOfItsScopeIsDeniedAndThereIsRoomWhenOthersHaveEnded) {
  run_program([]() -> Task<void> {
    const std::size_t each = co_await bytes_of_hold();
    EXPECT_GT(each, 1000u) << "the arguments and the frame";
    Promise<int> event;
    co_await scope([&](Scope& s) -> Task<void> {
      s.limit_memory(5 * each);
      for (std::size_t i = 1; i <= 5; ++i) {
        s.spawn(hold, Large(), event.future());
        co_await yield();  // it makes its frame
        EXPECT_EQ(s.live_bytes(), i * each);
      }
      const SpawnDenied denied = denial_of([&] { s.spawn(nothing); });
      EXPECT_EQ(denied.code(), Errc::spawn_denied);
      EXPECT_EQ(denied.limit(), SpawnDenied::Limit::memory_of_scope);
      EXPECT_EQ(denied.used(), 5 * each);
      EXPECT_EQ(denied.allowed(), 5 * each);
      const std::string counts = std::to_string(5 * each) + " of " + std::to_string(5 * each);
      EXPECT_EQ(std::string(denied.what()),
                "A task was not spawned: the frames of its scope's tasks take " + counts +
                    " bytes that they may take. Wait for some to end, or raise "
                    "Scope::limit_memory.");
      EXPECT_EQ(s.live(), 5u) << "nothing has happened";
      EXPECT_EQ(Scheduler::current()->counters().denied, 1u);
      co_await Scheduler::current()->spawn(hold, Large(), []() {
        Promise<int> kept;
        kept.complete(1);
        return kept.future();
      }());  // other scopes are not concerned
      event.complete(1);
      while (s.live() > 0) co_await yield();
      EXPECT_EQ(s.live_bytes(), 0u);
      s.spawn(hold, Large(), event.future());
    });
  });
}

TEST(ScopeMemory, T13_ArgumentsThatDoNotFitAreDestroyedAndTheSpawnIsDenied) {
  run_program([]() -> Task<void> {
    auto shared = std::make_shared<int>(1);
    const auto takes = [](std::shared_ptr<int>, Large) -> Task<void> { co_return; };
    co_await scope([&](Scope& s) -> Task<void> {
      s.limit_memory(400);
      const SpawnDenied denied = denial_of([&] { s.spawn(takes, shared, Large()); });
      EXPECT_EQ(denied.limit(), SpawnDenied::Limit::memory_of_scope);
      EXPECT_EQ(denied.used(), 0u);
      EXPECT_EQ(denied.allowed(), 400u);
      EXPECT_EQ(shared.use_count(), 1);
      EXPECT_EQ(s.live(), 0u);
      co_return;
    });
  });
}

TEST(ScopeMemory, T13_ATaskWhoseFirstFrameDoesNotFitFailsAndTheOthersGoOn) {
  run_program([]() -> Task<void> {
    co_await scope(collect_all, [&](Scope& s) -> Task<void> {
      s.limit_memory(10'000);
      auto large = s.spawn(huge_call);
      auto small = s.spawn(nothing);
      const std::exception_ptr error = co_await error_of(large);
      EXPECT_THROW(std::rethrow_exception(error), std::bad_alloc);
      co_await small;
      EXPECT_EQ(s.live_bytes(), 0u);
    });
  });
}

TEST(ScopeMemory, T13_WhatATaskCallsCountsInItsScope) {
  run_program([]() -> Task<void> {
    bool thrown = false;
    const auto calls = [&]() -> Task<std::size_t> {
      try {
        co_return co_await huge_call();
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      co_return 0;
    };
    co_await scope([&](Scope& s) -> Task<void> {
      s.limit_memory(kHuge / 2);
      EXPECT_EQ(co_await s.spawn(calls), 0u);
      EXPECT_TRUE(std::exchange(thrown, false));
      s.limit_memory(2 * kHuge);  // the last call stands
      auto fits = s.spawn(calls);
      co_await yield();
      EXPECT_GT(s.live_bytes(), kHuge);
      EXPECT_EQ(co_await fits, kHuge);
      EXPECT_FALSE(thrown);
      EXPECT_LT(s.live_bytes(), 100u);
    });
  });
}

TEST(ScopeMemory, T13_TheBlockAndWhatWasSpawnedBeforeDoNotCount) {
  run_program([]() -> Task<void> {
    Promise<int> event;
    co_await scope([&](Scope& s) -> Task<void> {
      EXPECT_EQ(s.live_bytes(), 0u) << "nobody counts";
      s.spawn(hold, Large(), event.future());
      s.limit_memory(1000);
      co_await yield();
      EXPECT_EQ(co_await huge_call(), kHuge);
      EXPECT_EQ(s.live_bytes(), 0u);
      event.complete(1);
    });
  });
}

TEST(ScopeMemory, T13_TasksOfAScopeInsideCountThereAsTheyDoForTheLimitOfTasks) {
  run_program([]() -> Task<void> {
    Promise<int> event;
    const auto opens_a_scope = [&](Scope& outer) -> Task<void> {
      co_await scope([&](Scope& inner) -> Task<void> {
        const std::size_t before = outer.live_bytes();
        inner.limit_memory(100'000);
        inner.spawn(hold, Large(), event.future());
        inner.spawn(hold, Large(), event.future());
        co_await yield();
        EXPECT_GT(inner.live_bytes(), 2 * sizeof(Large));
        EXPECT_EQ(outer.live_bytes(), before);
        EXPECT_EQ(outer.live(), 1u);
        event.complete(1);
      });
      co_await scope([&](Scope& inner) -> Task<void> {
        inner.spawn(hold, Large(), event.future());  // no limit of its own, and outside of this one
        inner.spawn(huge_call);
        co_return;
      });
    };
    co_await scope([&](Scope& s) -> Task<void> {
      s.limit_tasks(1);
      s.limit_memory(5'000);
      s.spawn(opens_a_scope, std::ref(s));
      co_return;
    });
  });
}

TEST(ScopeMemory, T13_ATaskOfTheScopeSpawnsIntoItUnderTheSameLimit) {
  run_program([]() -> Task<void> {
    Promise<int> event;
    co_await scope([&](Scope& s) -> Task<void> {
      s.limit_memory(5'000);
      const auto spawns = [&]() -> Task<void> {
        const SpawnDenied denied = denial_of([&] {
          for (int i = 0; i < 100; ++i) spawn(nothing).cancel();
          for (int i = 0; i < 100; ++i) {
            spawn(hold, Large(), event.future()).cancel();  // its arguments go at once
          }
          for (int i = 0; i < 100; ++i) spawn(hold, Large(), event.future());
        });
        EXPECT_EQ(denied.limit(), SpawnDenied::Limit::memory_of_scope);
        s.cancel("enough");
        co_return;
      };
      s.spawn(spawns);
      co_return;
    });
  });
}

TEST(ScopeMemory, T13_AResultCountsAsLongAsItIsKeptAndMayOutliveTheScope) {
  run_program([]() -> Task<void> {
    Handle<Large> kept;
    co_await scope([&](Scope& s) -> Task<void> {
      s.limit_memory(10'000);
      kept = s.spawn(make_large);
      while (!kept.done()) co_await yield();
      EXPECT_GE(s.live_bytes(), sizeof(Large));
      EXPECT_LT(s.live_bytes(), 2 * sizeof(Large));
      auto dropped = s.spawn(make_large);
      while (!dropped.done()) co_await yield();
      EXPECT_GE(s.live_bytes(), 2 * sizeof(Large));
      dropped = Handle<Large>();
      EXPECT_LT(s.live_bytes(), 2 * sizeof(Large));
    });
    EXPECT_EQ((co_await kept).bytes[499], 0);
  });
}

TEST(ScopeMemory, T13_AResultMayOutliveTheScheduler) {
  Handle<Large> kept;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto program = [&]() -> Task<void> {
      co_await scope([&](Scope& s) -> Task<void> {
        s.limit_memory(10'000);
        kept = s.spawn(make_large);
        co_return;
      });
    };
    scheduler.spawn(program);
    scheduler.run();
    EXPECT_EQ(scheduler.arena().live_blocks(), 1u) << "the arena of the scope";
  }
  EXPECT_TRUE(kept.done());
}

TEST(ScopeMemory, T13_WhatAScopeTakesCountsForTheSchedulerToo) {
  run_program(
      []() -> Task<void> {
        Scheduler& scheduler = *Scheduler::current();
        const std::size_t before = scheduler.arena().live_bytes();
        Promise<int> event;
        co_await scope([&](Scope& s) -> Task<void> {
          s.limit_memory(1'000'000);
          const SpawnDenied denied = denial_of([&] {
            for (int i = 0; i < 1000; ++i) s.spawn(hold, Large(), event.future());
          });
          EXPECT_EQ(denied.limit(), SpawnDenied::Limit::memory);
          EXPECT_EQ(denied.allowed(), 100'000u);
          EXPECT_GT(denied.used(), 99'000u);
          EXPECT_GE(scheduler.arena().live_bytes(), s.live_bytes());
          s.cancel("enough");
          co_return;
        });
        EXPECT_LT(scheduler.arena().live_bytes(), before + 1000) << "it is all given back";
        co_await spawn(make_large);
      },
      Options().virtual_time().limit_memory(100'000));
}

class Waits final : public AgentTask<Large> {
  Poll<Large> poll(PollContext& context) override {
    if (left_-- == 0) return Poll<Large>::ready(Large());
    context.wake_after(1ms);
    return Poll<Large>::pending();
  }
  int left_ = 1;
};

TEST(ScopeMemory, T13_FibersAgentsAndTasksThatComeAfterOthersCountToo) {
  run_program([]() -> Task<void> {
    const auto fiber = [](Large) -> std::size_t { return await(huge_call()); };
    Promise<int> event;
    co_await scope([&](Scope& s) -> Task<void> {
      s.limit_memory(2 * kHuge);
      auto fibers = s.spawn_fiber(fiber, Large());
      co_await yield();
      EXPECT_GT(s.live_bytes(), kHuge + sizeof(Large));
      EXPECT_EQ(co_await fibers, kHuge);
      EXPECT_EQ(s.live_bytes(), 0u);
      {
        auto agent = spawn_agent(s, std::make_unique<Waits>());
        co_await agent.outcome();
        EXPECT_GE(s.live_bytes(), sizeof(Large));
      }
      auto later = s.spawn.after(event.future())(nothing);
      EXPECT_GT(s.live_bytes(), 0u);
      s.limit_memory(s.live_bytes() + 40);
      const SpawnDenied denied = denial_of([&] { s.spawn.after(later, later)(nothing); });
      EXPECT_EQ(denied.limit(), SpawnDenied::Limit::memory_of_scope);
      event.complete(1);
      co_await later;
      EXPECT_EQ(s.live_bytes(), 0u);
    });
  });
}

TEST(ScopeMemory, T13_TheTasksOfTheRootScopeMayBeLimitedToo) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.root().limit_memory(1000);
  const SpawnDenied denied = denial_of([&] {
    for (int i = 0; i < 10; ++i) scheduler.spawn(hold, Large(), Future<int>());
  });
  EXPECT_EQ(denied.limit(), SpawnDenied::Limit::memory_of_scope);
  scheduler.shutdown();
}

Task<void> letters(std::string& out, char letter, int times) {
  for (int i = 0; i < times; ++i) {
    out += letter;
    co_await yield();
    if (i % 3 == 0) co_await sleep(1ms);
  }
}

TEST(ScopeMemory, T13_ALimitThatIsNotReachedChangesNothingButTheCost) {
  const auto run = [](bool limited, Options options) {
    Scheduler scheduler(std::move(options).virtual_time());
    std::string order;
    const auto program = [&]() -> Task<void> {
      auto spinning = spawn(letters, std::ref(order), 'x', 20);
      co_await scope([&](Scope& s) -> Task<void> {
        if (limited) s.limit_memory(1'000'000);
        s.spawn(letters, std::ref(order), 'a', 10);
        s.spawn(letters, std::ref(order), 'b', 10);
        s.spawn.with_priority(20)(letters, std::ref(order), 'c', 10);
        auto unbegun = s.spawn(letters, std::ref(order), '?', 10);
        auto stopped = s.spawn(letters, std::ref(order), 'd', 1000);
        unbegun.cancel();
        co_await letters(order, '-', 5);
        co_await cancel_and_join(stopped);
      });
      co_await spinning;
      co_await scope([&](Scope& s) -> Task<void> {  // one that is alone
        if (limited) s.limit_memory(1'000'000);
        s.spawn(letters, std::ref(order), 'e', 10);
        co_return;
      });
    };
    scheduler.spawn(program);
    scheduler.run();
    expect_nothing_left(scheduler);
    return order + std::to_string(scheduler.trace_hash()) + " " +
           std::to_string(scheduler.slices());
  };
  const std::vector<Options (*)()> kinds = {
      [] { return Options(); },
      [] { return Options().order(fifo_order()); },
      [] { return Options().watch(1h); },
      [] { return Options().ageing(3); },
      [] { return Options().quantum(1).turn(1); },
  };
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(run(true, kinds[i]()), run(false, kinds[i]())) << i;
  }
}

// Every program, in a root scope with so little memory that it fails, then with more and more.
TEST(ScopeMemory, T13_WhereverTheMemoryOfAScopeRunsOutSomebodyHearsOfItAndNothingIsLost) {
  for (const FaultProgram& program : kFaultPrograms) {
    bool failed = true;
    std::size_t failures = 0;
    for (std::size_t limit = 0; failed && !HasFailure(); limit += 64) {
      SCOPED_TRACE(std::string(program.name) + ", with bytes: " + std::to_string(limit));
      ASSERT_LT(limit, 1'000'000u);
      Scheduler scheduler(Options().virtual_time().log_to([](const LogLine&) {}));
      scheduler.root().limit_memory(limit);
      std::exception_ptr error;
      try {
        auto handle = scheduler.spawn(program.run);
        scheduler.run();
        handle.waitable().mark_observed();
        error = handle.waitable().error();
      } catch (...) {
        error = std::current_exception();
      }
      EXPECT_TRUE(error == nullptr || is_lack_of_memory(error)) << what_of(error);
      failed = error != nullptr;
      scheduler.step_until_idle();  // lets external promises hear that they were dropped
      if (!program.may_leave_a_promise) {
        EXPECT_EQ(scheduler.live_tasks(), 0u);
        EXPECT_EQ(scheduler.root().live_bytes(), 0u);
      }
      failures += failed;
    }
    EXPECT_GT(failures, 0u) << program.name;
  }
}

}  // namespace scope_memory_test
}  // namespace tiffany
