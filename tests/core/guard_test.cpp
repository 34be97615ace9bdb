// T12, T13: limits, budgets and ageing.
#include "tiffany/core/guard.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/fault_programs.hpp"

namespace tiffany {
namespace guard_test {

using namespace test;

Task<void> nothing() { co_return; }
Task<void> wait_for(Future<int> event) { co_await event; }
Task<void> yield_times(int times) {
  for (int i = 0; i < times; ++i) co_await yield();
}
Task<void> yield_for_ever() {
  for (;;) co_await yield();
}
// Every await is answered at once.
Task<void> ask_times(Future<int> kept, int times) {
  for (int i = 0; i < times; ++i) co_await kept;
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

TEST(Guard, T13_ASpawnBeyondTheLimitOfTheSchedulerIsDenied) {
  run_program(
      []() -> Task<void> {
        Promise<int> event;
        for (int i = 0; i < 9; ++i) spawn(wait_for, event.future());
        const SpawnDenied denied = denial_of([&] { spawn(wait_for, event.future()); });
        EXPECT_EQ(denied.code(), Errc::spawn_denied);
        EXPECT_EQ(denied.limit(), SpawnDenied::Limit::tasks);
        EXPECT_EQ(denied.used(), 10u);
        EXPECT_EQ(denied.allowed(), 10u);
        EXPECT_STREQ(denied.what(),
                     "A task was not spawned: the scheduler has 10 of 10 tasks that it may have. "
                     "Wait for some to end, or raise Options::limit_tasks.");
        EXPECT_EQ(Scheduler::current()->live_tasks(), 10u) << "nothing has happened";
        EXPECT_EQ(Scheduler::current()->counters().denied, 1u);
        event.complete(1);
        co_await yield();
        co_await yield();
        EXPECT_EQ(Scheduler::current()->live_tasks(), 1u);
        co_await spawn(nothing);  // there is room again
      },
      Options().virtual_time().limit_tasks(10));
}

TEST(Guard, T13_AScopeHasALimitOfItsOwn) {
  run_program([]() -> Task<void> {
    co_await scope([](Scope& s) -> Task<void> {
      s.limit_tasks(2);
      s.spawn(nothing);
      s.spawn(nothing);
      const SpawnDenied denied = denial_of([&] { s.spawn(nothing); });
      EXPECT_EQ(denied.limit(), SpawnDenied::Limit::tasks_of_scope);
      EXPECT_EQ(denied.used(), 2u);
      EXPECT_NE(what_of(std::make_exception_ptr(denied)).find("its scope has 2 of 2 tasks"),
                std::string::npos);
      Scheduler::current()->spawn(nothing);  // other scopes are not concerned
      co_await yield();
      s.spawn(nothing);
    });
  });
}

TEST(Guard, T13_ADenialThatNobodyCatchesFailsTheTaskThatSpawned) {
  Scheduler scheduler(Options().virtual_time().limit_tasks(1));
  const auto spawns = []() -> Task<void> {
    spawn(nothing);
    co_return;
  };
  auto handle = scheduler.spawn(spawns);
  scheduler.run();
  handle.waitable().mark_observed();
  EXPECT_EQ(handle.state(), TaskState::failed);
}

TEST(Guard, T13_ArgumentsOfADeniedSpawnAreDestroyedAndNotLost) {
  auto shared = std::make_shared<int>(1);
  const auto takes = [](std::shared_ptr<int>) -> Task<void> { co_return; };
  Scheduler scheduler(Options().virtual_time().limit_tasks(0));
  EXPECT_THROW(scheduler.spawn(takes, shared), SpawnDenied);
  EXPECT_EQ(shared.use_count(), 1);
  expect_nothing_left(scheduler);
}

char* volatile seen_by_others = nullptr;

struct Large {
  char bytes[500] = {};
};
Task<void> hold(Large large, Future<int> event) {
  co_await event;
  static_cast<void>(large);
}

TEST(Guard, T13_SpawnsAreDeniedWhenTheFramesTakeAllTheMemoryTheyMay) {
  run_program(
      []() -> Task<void> {
        int spawned = 0;
        {
          Promise<int> event;
          const SpawnDenied denied = denial_of([&] {
            for (; spawned < 1000; ++spawned) spawn(hold, Large(), event.future());
          });
          EXPECT_EQ(denied.limit(), SpawnDenied::Limit::memory);
          EXPECT_EQ(denied.allowed(), 100'000u);
          EXPECT_GT(denied.used(), 98'000u);
          EXPECT_LE(denied.used(), 100'500u);
          EXPECT_EQ(Scheduler::current()->counters().denied, 1u);
          EXPECT_GT(spawned, 40);
          EXPECT_LT(spawned, 200);
          event.complete(1);
        }
        // Their frames need memory too, and those that get none fail with std::bad_alloc.
        while (Scheduler::current()->live_tasks() > 1) co_await yield();
        co_await spawn(nothing);
      },
      Options().virtual_time().limit_memory(100'000).log_to([](const LogLine&) {}));
}

TEST(Guard, T13_WhenTheMemoryIsUsedUpASpawnIsDeniedBeforeItIsTried) {
  Scheduler scheduler(Options().virtual_time().limit_memory(0));
  const SpawnDenied denied = denial_of([&] { scheduler.spawn(nothing); });
  EXPECT_EQ(denied.limit(), SpawnDenied::Limit::memory);
  EXPECT_EQ(denied.used(), 0u);
  EXPECT_EQ(denied.allowed(), 0u);
  EXPECT_EQ(scheduler.counters().denied, 1u);
}

// Not inlined, or Clang puts its frame into that of its caller.
[[gnu::noinline]] Task<std::size_t> large() {
  std::array<char, 60'000> bytes{};
  seen_by_others = bytes.data();  // or Clang does without it
  co_await yield();
  co_return bytes.size();
}

TEST(Guard, T13_ACallThatNeedsMoreMemoryThanThereMayBeThrows) {
  run_program(
      []() -> Task<void> {
        bool thrown = false;
        try {
          co_await large();
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
        EXPECT_TRUE(thrown);
      },
      Options().virtual_time().limit_memory(50'000));
}

TEST(Guard, T12_TheThrottleCountIsExact) {
  Scheduler scheduler(Options().virtual_time().quantum(10));
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    promise.complete(1);
    auto asks = spawn(ask_times, promise.future(), 100);
    auto other = spawn(yield_times, 1000);
    co_await asks;
    EXPECT_EQ(Scheduler::current()->counters().throttled, 10u);
    co_await other;
  };
  scheduler.spawn(program);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().throttled, 10u);
  EXPECT_EQ(scheduler.throttled(kDefaultPriority), 10u);
  EXPECT_EQ(scheduler.throttled(3), 0u);
}

TEST(Guard, T12_APriorityMayHaveAQuantumOfItsOwn) {
  // In one round of the queue, the thrifty make 2 calls and the others 8.
  Scheduler scheduler(Options().virtual_time().quantum(8).quantum_of(20, 2));
  std::vector<int> calls(2, 0);
  const auto counts = [](Future<int> kept, int& count) -> Task<void> {
    for (; count < 80; ++count) co_await kept;
  };
  const auto program = [&]() -> Task<void> {
    Promise<int> promise;
    promise.complete(1);
    spawn(counts, promise.future(), std::ref(calls[0]));
    spawn.with_priority(20)(counts, promise.future(), std::ref(calls[1]));
    spawn.with_priority(20)(yield_times, 100);
    co_return;
  };
  scheduler.spawn(program);
  scheduler.run();
  EXPECT_EQ(calls, (std::vector<int>{80, 80}));
  EXPECT_EQ(scheduler.throttled(kDefaultPriority), 10u);
  EXPECT_EQ(scheduler.throttled(20), 40u);
}

TEST(Guard, T12_OptionsThatAreAddedToOneByOneKeepTheQuantumOfAPriority) {
  Options options;
  options = Options().virtual_time();
  options = std::move(options).quantum_of(kDefaultPriority, 10);
  options = std::move(options).turn(1000);
  Scheduler scheduler(std::move(options));
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    promise.complete(1);
    co_await ask_times(promise.future(), 100);
  };
  scheduler.spawn(program);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().throttled, 10u);
}

TEST(Guard, T12_LeastUrgentTasksFinishUnderConstantLoadWhenAgeingIsOn) {
  for (const bool ageing : {false, true}) {
    Scheduler scheduler(Options().virtual_time().ageing(ageing ? 16 : 0));
    std::vector<Handle<void>> load;
    for (int i = 0; i < 3; ++i) load.push_back(scheduler.spawn.with_priority(1)(yield_for_ever));
    auto patient = scheduler.spawn.with_priority(255)(yield_times, 50);
    auto middle = scheduler.spawn.with_priority(100)(yield_times, 50);
    for (int i = 0; i < 51 * 2 * 17; ++i) scheduler.step();
    EXPECT_EQ(patient.done(), ageing);
    EXPECT_EQ(middle.done(), ageing) << "every priority has its turn";
    for (auto& task : load) task.cancel();
    scheduler.run();
  }
}

TEST(Guard, T12_AgeingTakesOneSliceInSoMany) {
  Scheduler scheduler(Options().virtual_time().ageing(10));
  std::string order;
  const auto letters = [](std::string& out, char letter, int times) -> Task<void> {
    for (int i = 0; i < times; ++i) {
      out += letter;
      co_await yield();
    }
  };
  scheduler.spawn.with_priority(1)(letters, std::ref(order), 'a', 10);
  scheduler.spawn.with_priority(1)(letters, std::ref(order), 'b', 10);
  scheduler.spawn.with_priority(9)(letters, std::ref(order), '.', 3);
  scheduler.run();
  EXPECT_EQ(order, ".ababababa.babababab.ab");
}

// A letter for each slice.
Task<void> letters(std::string& out, char letter, int times) {
  for (int i = 0; i < times; ++i) {
    out += letter;
    co_await yield();
  }
}

TEST(Guard, T12_ATaskThatWasAloneForLongKeepsNoTimersWaitingAfterwards) {
  for (const bool ageing : {true, false}) {
    Options options = Options().virtual_time().turn(16);
    options = ageing ? std::move(options).ageing(4) : std::move(options).watch(1h);
    Scheduler scheduler(std::move(options));
    bool woken = false;
    const auto sleeper = [&]() -> Task<void> {
      co_await sleep(Duration::zero());
      woken = true;
    };
    const auto loop = [&]() -> Task<void> {
      for (int i = 0; i < 1000 && !woken; ++i) co_await yield();
    };
    const auto alone = [&]() -> Task<void> {
      for (int i = 0; i < 7; ++i) co_await yield();
      spawn(sleeper);
      spawn(loop);
      spawn(loop);
    };
    scheduler.spawn(alone);
    scheduler.run();
    EXPECT_LT(scheduler.slices(), 100u) << (ageing ? "ageing" : "watch");
  }
}

TEST(Guard, T12_SlicesOfATaskThatIsAloneCountForAgeingToo) {
  // The slices 0, 4, 8, ... are for the less urgent, whoever is there to have them.
  Scheduler scheduler(Options().virtual_time().ageing(4));
  std::string order;
  const auto program = [&]() -> Task<void> {
    co_await letters(order, '-', 6);
    spawn.with_priority(20)(letters, std::ref(order), '.', 2);
    spawn(letters, std::ref(order), 'a', 3);
    spawn(letters, std::ref(order), 'b', 3);
  };
  scheduler.spawn(program);
  scheduler.run();
  EXPECT_EQ(order, "------a.bab.ab");
}

TEST(Guard, T12_ThePlaceOfATaskThatWasCancelledBeforeItBeganHasNoPartInAgeing) {
  Scheduler scheduler(Options().virtual_time().ageing(4));
  std::string order;
  const auto program = [&]() -> Task<void> {
    spawn.with_priority(20)(nothing).cancel();
    spawn.with_priority(30)(letters, std::ref(order), '.', 1);
    spawn(letters, std::ref(order), 'a', 3);
    spawn(letters, std::ref(order), 'b', 3);
    co_return;
  };
  scheduler.spawn(program);
  scheduler.run();
  EXPECT_EQ(order, "aba.bab");
}

// ---- Memory that runs out, at every place where it can

// How a program ended under a lack of memory that `shorten` brings about; null when it completed.
template <class Shorten>
std::exception_ptr error_under(const FaultProgram& program, const Shorten& shorten) {
  Scheduler scheduler(Options().virtual_time().log_to([](const LogLine&) {}));
  std::exception_ptr error;
  try {
    auto handle = scheduler.spawn(program.run);
    shorten(const_cast<Arena&>(scheduler.arena()));
    scheduler.run();
    handle.waitable().mark_observed();
    error = handle.waitable().error();
    EXPECT_TRUE(error == nullptr || is_lack_of_memory(error)) << what_of(error);
    shorten(const_cast<Arena&>(scheduler.arena()));
  } catch (...) {
    ADD_FAILURE() << what_of(std::current_exception());
  }
  scheduler.step_until_idle();  // lets external promises hear that they were dropped
  if (!program.may_leave_a_promise) expect_nothing_left(scheduler);
  return error;
}

// What the arena has to make, rather than give out again, fails once, at the n-th. The same for
// operator new is in tests/alloc.
TEST(Guard, T13_WhereverMemoryRunsOutSomebodyHearsOfItAndNothingIsLost) {
  for (const FaultProgram& program : kFaultPrograms) {
    std::size_t failures = 0;
    std::size_t left = 0;
    for (std::size_t n = 1; left == 0 && !HasFailure(); ++n) {
      SCOPED_TRACE(std::string(program.name) + ", without block " + std::to_string(n));
      ASSERT_LT(n, 5000u);
      bool before = true;
      const auto fail_at_nth = [&](Arena& arena) {
        left = arena.fail_at(std::exchange(before, false) ? n : 0);
      };
      if (error_under(program, fail_at_nth) != nullptr) ++failures;
    }
    EXPECT_GT(failures, 0u) << program.name;
  }
}

TEST(Guard, T13_TheSameUnderALimitThatStays) {
  for (const FaultProgram& program : kFaultPrograms) {
    bool failed = true;
    std::size_t failures = 0;
    for (std::size_t limit = 0; failed && !HasFailure(); limit += 64) {
      SCOPED_TRACE(std::string(program.name) + ", with bytes: " + std::to_string(limit));
      ASSERT_LT(limit, 1'000'000u);
      const auto set_limit = [&](Arena& arena) { arena.set_limit(limit); };
      failed = error_under(program, set_limit) != nullptr;
      failures += failed;
    }
    EXPECT_GT(failures, 0u) << program.name;
  }
}

}  // namespace guard_test
}  // namespace tiffany
