// DESIGN 7: a rolling hash tells two runs apart, and a recorded order makes a run again.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace trace_test {

using namespace test;

Task<int> number_after(Duration delay, int number) {
  co_await sleep(delay);
  co_return number;
}
Task<void> yield_times(int times) {
  for (int i = 0; i < times; ++i) co_await yield();
}

class TwoSteps final : public AgentTask<int> {
 public:
  Poll<int> poll(PollContext& context) override {
    if (std::exchange(first_, false)) {
      context.wake_after(2ms);
      return Poll<int>::pending();
    }
    return Poll<int>::ready(2);
  }

 private:
  bool first_ = true;
};

// A call that is answered at once. Its name is part of the known hash below.
class GetId final : public InstantCall {
 public:
  static constexpr CallName call_name{"get_id"};
  GetId() noexcept = default;
  Answer start(Scheduler&, TaskRecord&) noexcept { return Answer::now; }
  void finish() noexcept {}
};
GetId get_id() noexcept { return GetId(); }

// A program with a bit of everything whose calls depend on who runs when.
Task<void> everything() {
  Promise<int> promise;
  const Future<int> future = promise.future();
  const auto waits = [](Future<int> awaited) -> Task<int> { co_return co_await awaited; };
  auto waiter = spawn(waits, future);
  auto sleeper = spawn(number_after, 3ms, 3);
  auto yielder = spawn.with_priority(20)(yield_times, 5);
  auto busy = spawn(yield_times, 4);
  auto agent = spawn_agent(std::make_unique<TwoSteps>());
  auto doomed = spawn(number_after, 1h, 0);
  co_await yield();
  promise.complete(1);
  co_await gather(waiter, sleeper, agent);
  doomed.cancel("enough");
  static_cast<void>(co_await doomed.outcome());
  co_await scope([](Scope& s) -> Task<void> {
    for (int i = 0; i < 3; ++i) s.spawn(yield_times, i);
    co_return;
  });
  static_cast<void>(co_await within(1ms, number_after(5ms, 1)));
  co_await race(busy, yielder);
  const auto fails = []() -> Task<void> {
    co_await get_id();
    throw std::runtime_error("expected");
  };
  auto failing = spawn(fails);
  static_cast<void>(co_await failing.outcome());
}

struct Traced {
  Traced(std::uint64_t h, std::vector<TaskId> p) : hash(h), picks(std::move(p)) {}
  std::uint64_t hash;
  std::vector<TaskId> picks;
};

template <class F>
Traced run_of(F program, Options options = Options().virtual_time()) {
  Scheduler scheduler(std::move(options));
  scheduler.spawn(std::move(program));
  scheduler.run();
  expect_nothing_left(scheduler);
  return Traced(scheduler.trace_hash(), scheduler.picks());
}
template <class F>
std::uint64_t hash_of(F program, Options options = Options().virtual_time()) {
  return run_of(std::move(program), std::move(options)).hash;
}

// ---- The hash ----

TEST(Trace, T7_TheSameProgramTwiceGivesTheSameHash) {
  const std::uint64_t first = hash_of(everything);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(hash_of(everything), first);
}

TEST(Trace, T7_TheHashDoesNotDependOnWhereThingsAreInMemory) {
  const std::uint64_t first = hash_of(everything);
  // Other addresses for everything that the second run makes.
  std::vector<std::unique_ptr<char[]>> ballast;
  for (std::size_t size = 16; size < 100'000; size = size * 3 / 2) {
    ballast.push_back(std::make_unique<char[]>(size));
  }
  Scheduler neighbour(Options().virtual_time());
  neighbour.spawn(everything);
  neighbour.step();
  EXPECT_EQ(hash_of(everything), first);
}

TEST(Trace, T7_ASchedulerStartsWithAnEmptyTrace) {
  const Scheduler scheduler(Options().virtual_time());
  EXPECT_EQ(scheduler.trace_hash(), Scheduler(Options().virtual_time()).trace_hash());
}

TEST(Trace, T7_EveryCallYieldAndEndChangesIt) {
  Scheduler scheduler(Options().virtual_time().turn(1).quantum(1));
  std::vector<std::uint64_t> seen{scheduler.trace_hash()};
  const auto body = []() -> Task<void> {
    co_await get_id();
    co_await yield();
    co_await checkpoint();
  };
  scheduler.spawn(body);
  while (scheduler.step()) seen.push_back(scheduler.trace_hash());
  EXPECT_EQ(std::set<std::uint64_t>(seen.begin(), seen.end()).size(), seen.size());
  EXPECT_GE(seen.size(), 4u);
}

TEST(Trace, T7_AnotherOrderGivesAnotherHash) {
  const auto two = [](int first, int second) {
    return [first, second]() -> Task<void> {
      spawn(yield_times, first);
      spawn(yield_times, second);
      co_return;
    };
  };
  EXPECT_EQ(hash_of(two(2, 3)), hash_of(two(2, 3)));
  EXPECT_NE(hash_of(two(2, 3)), hash_of(two(3, 2)));
}

TEST(Trace, T7_AnotherPolicyGivesAnotherHashWhereItMatters) {
  const std::uint64_t by_priority = hash_of(everything);
  const auto with = [](std::unique_ptr<ReadyPolicy> policy) {
    return hash_of(everything, Options().virtual_time().order(std::move(policy)));
  };
  EXPECT_NE(with(fifo_order()), by_priority) << "the program has tasks of two priorities";
  EXPECT_NE(with(depth_first_order()), by_priority);
  EXPECT_NE(with(fifo_order()), with(depth_first_order()));
  // A task that is alone cannot be ordered.
  const auto alone = [] { return yield_times(3); };
  EXPECT_EQ(hash_of(alone, Options().virtual_time().order(depth_first_order())), hash_of(alone));
}

TEST(Trace, T7_TheDefaultOrderIsThatOfThePolicyByPriority) {
  EXPECT_EQ(hash_of(everything, Options().virtual_time().order(priority_order())),
            hash_of(everything));
}

TEST(Trace, W6_AnotherQuantumGivesAnotherHashWhereItMatters) {
  const auto asks = []() -> Task<void> {
    for (int i = 0; i < 10; ++i) co_await get_id();
  };
  const auto two = [asks]() -> Task<void> {
    spawn(asks);
    spawn(asks);
    co_return;
  };
  const auto with = [](const auto& program, std::uint32_t quantum) {
    return hash_of(program, Options().virtual_time().quantum(quantum));
  };
  EXPECT_NE(with(two, 1), with(two, 100));
  EXPECT_NE(with(two, 3), with(two, 100));
  EXPECT_EQ(with(two, 100), with(two, 200)) << "neither is ever spent";
  EXPECT_EQ(with(asks, 1), with(asks, 100)) << "a task that is alone is never preempted";
}

TEST(Trace, T7_AnotherTimeGivesAnotherHash) {
  const auto sleeps = [](Duration delay) {
    return hash_of([delay]() -> Task<void> { co_await sleep(delay); });
  };
  EXPECT_EQ(sleeps(10ms), sleeps(10ms));
  EXPECT_NE(sleeps(10ms), sleeps(20ms));
}

TEST(Trace, T7_AnotherEndGivesAnotherHash) {
  const auto ends = [](int how) {
    return hash_of([how]() -> Task<void> {
      const auto child = [how]() -> Task<void> {
        if (how == 1) throw std::runtime_error("failed");
        if (how == 2) this_task::cancel();
        co_await get_id();
        if (how == 2) co_await checkpoint();
      };
      auto handle = spawn(child);
      static_cast<void>(co_await handle.outcome());
    });
  };
  EXPECT_EQ(std::set<std::uint64_t>({ends(0), ends(1), ends(2)}).size(), 3u);
}

TEST(Trace, T7_HowManyTasksRunPerTurnDoesNotMatterOnAVirtualClock) {
  const auto without_timers = []() -> Task<void> {
    spawn(yield_times, 10);
    spawn(yield_times, 7);
    co_await yield_times(3);
  };
  EXPECT_EQ(hash_of(without_timers, Options().virtual_time().turn(1)),
            hash_of(without_timers, Options().virtual_time().turn(1000)));
}

// ---- Seeded orders ----

TEST(Trace, T7_OneSeedIsOneOrderAndOtherSeedsAreOthers) {
  const auto with = [](std::uint64_t seed) {
    return hash_of(everything, Options().virtual_time().order(random_order(seed)));
  };
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(with(seed), with(seed)) << seed;
    hashes.insert(with(seed));
  }
  EXPECT_GT(hashes.size(), 10u);
}

// ---- Recorded orders ----

TEST(Trace, T7_RecordingDoesNotChangeTheRun) {
  const Traced recorded = run_of(everything, Options().virtual_time().record_picks());
  EXPECT_EQ(recorded.hash, hash_of(everything));
  EXPECT_GT(recorded.picks.size(), 10u);
  EXPECT_EQ(recorded.picks.front(), TaskId(1, 1));
  EXPECT_EQ(run_of(everything).picks.size(), 0u) << "nothing is kept unless asked for";
}

TEST(Trace, T7_ARecordedOrderMakesARandomRunAgain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Traced original =
        run_of(everything, Options().virtual_time().order(random_order(seed)).record_picks());
    const Traced again = run_of(
        everything, Options().virtual_time().order(recorded_order(original.picks)).record_picks());
    EXPECT_EQ(again.hash, original.hash) << seed;
    EXPECT_EQ(again.picks, original.picks) << seed;
  }
}

TEST(Trace, T7_ARecordedOrderMakesADepthFirstRunAgain) {
  const Traced original =
      run_of(everything, Options().virtual_time().order(depth_first_order()).record_picks());
  EXPECT_EQ(hash_of(everything, Options().virtual_time().order(recorded_order(original.picks))),
            original.hash);
}

TEST(Trace, T7_BehindTheLastPickItGoesOnByPriority) {
  const Traced original = run_of(everything, Options().virtual_time().record_picks());
  for (const std::size_t kept : {std::size_t{0}, std::size_t{1}, original.picks.size() / 2}) {
    std::vector<TaskId> picks = original.picks;
    picks.resize(kept);
    EXPECT_EQ(hash_of(everything, Options().virtual_time().order(recorded_order(picks))),
              original.hash)
        << kept;
  }
}

// Without destroying the scheduler that diverged: that has a test of its own below.
[[noreturn]] void leave_the_process() {
  std::fflush(nullptr);
  std::_Exit(::testing::Test::HasFailure() ? EXIT_FAILURE : EXIT_SUCCESS);
}

Task<void> spawn_two() {
  spawn(yield_times, 2);
  spawn(yield_times, 2);
  co_return;
}

TEST(Trace, T7_WhenTheProgramDivergesTheErrorNamesBothSides) {
  const auto body = [] {
    // Task 1 is picked, spawns 2 and 3, and then a task is wanted that does not exist.
    Scheduler scheduler(
        Options().virtual_time().order(recorded_order({TaskId(1, 1), TaskId(9, 1), TaskId(2, 1)})));
    scheduler.spawn(spawn_two);
    const auto error = thrown_by([&] { scheduler.run(); });
    EXPECT_EQ(code_of(error), Errc::diverged);
    const std::string text = what_of(error);
    EXPECT_NE(text.find("task #9"), std::string::npos) << "what was recorded: " << text;
    EXPECT_NE(text.find("task #2"), std::string::npos) << "what is there: " << text;
    EXPECT_NE(text.find("pick 1"), std::string::npos) << "where: " << text;
    leave_the_process();
  };
  EXPECT_SURVIVES(body);
}

TEST(Trace, T7_ATaskThatIsParkedWhenItIsWantedIsADivergence) {
  const auto body = [] {
    Scheduler scheduler(
        Options().virtual_time().order(recorded_order({TaskId(1, 1), TaskId(2, 1), TaskId(2, 1)})));
    const auto two = []() -> Task<void> {
      spawn(number_after, 1ms, 1);
      spawn(number_after, 1ms, 2);
      co_return;
    };
    scheduler.spawn(two);
    const auto error = thrown_by([&] { scheduler.run(); });
    EXPECT_EQ(code_of(error), Errc::diverged);
    EXPECT_NE(what_of(error).find("task #2"), std::string::npos) << what_of(error);
    EXPECT_NE(what_of(error).find("task #3"), std::string::npos) << what_of(error);
    leave_the_process();
  };
  EXPECT_SURVIVES(body);
}

// The error leaves tasks behind. They must be ended without asking the recording again.
TEST(Trace, T2_ASchedulerThatDivergedCanBeDestroyed) {
  const auto body = [] {
    Trace trace;
    {
      Scheduler scheduler(Options().virtual_time().order(
          recorded_order({TaskId(1, 1), TaskId(2, 1), TaskId(9, 1)})));
      const auto owns = [&]() -> Task<void> {
        const AtExit exit(trace, "unwound");
        for (;;) co_await yield();
      };
      scheduler.spawn(std::ref(owns));
      scheduler.spawn(std::ref(owns));
      EXPECT_EQ(code_of(thrown_by([&] { scheduler.run(); })), Errc::diverged);
      EXPECT_EQ(scheduler.live_tasks(), 2u);
    }
    EXPECT_EQ(trace, Trace({"unwound", "unwound"}));
  };
  EXPECT_SURVIVES(body);
}

TEST(Trace, T2_ASchedulerThatIsDestroyedDoesNotInsistOnItsRecordedOrder) {
  const auto body = [] {
    Scheduler scheduler(Options().virtual_time().order(recorded_order({TaskId(9, 1)})));
    scheduler.spawn(spawn_two);
    scheduler.spawn(spawn_two);
  };
  EXPECT_SURVIVES(body);
}

TEST(Trace, T7_APickThatWasNotMadeIsNotWrittenDown) {
  const auto body = [] {
    Scheduler scheduler(Options()
                            .virtual_time()
                            .order(recorded_order({TaskId(1, 1), TaskId(9, 1)}))
                            .record_picks());
    scheduler.spawn(spawn_two);
    EXPECT_EQ(code_of(thrown_by([&] { scheduler.run(); })), Errc::diverged);
    EXPECT_EQ(scheduler.picks(), std::vector<TaskId>{TaskId(1, 1)});
  };
  EXPECT_SURVIVES(body);
}

TEST(Trace, T2_ASchedulerThatDivergedHasNoRunningTaskAnyMore) {
  const auto body = [] {
    Scheduler scheduler(
        Options().virtual_time().order(recorded_order({TaskId(1, 1), TaskId(9, 1)})));
    scheduler.spawn(spawn_two);
    EXPECT_EQ(code_of(thrown_by([&] { scheduler.run(); })), Errc::diverged);
    EXPECT_EQ(scheduler.running(), nullptr) << "the one that ran last has ended and is gone";
    leave_the_process();
  };
  EXPECT_SURVIVES(body);
}

}  // namespace trace_test
}  // namespace tiffany
