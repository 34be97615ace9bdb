// Tasks that only yield are switched without a look at their records (core/ready_queue.hpp). Nobody
// may be able to tell.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace yield_test {

using namespace test;

Task<void> yield_times(int times) {
  for (int i = 0; i < times; ++i) co_await yield();
}
Task<void> yield_for_ever() {
  for (;;) co_await yield();
}

TaskRecord& record_of(const Handle<void>& handle) {
  return *Scheduler::current()->find(handle.id());
}

TEST(Yield, T2_EveryYieldIsAStepOfItsTaskWheneverOneAsks) {
  run_program([]() -> Task<void> {
    auto a = spawn(yield_times, 10);
    auto b = spawn(yield_times, 10);
    for (std::uint64_t round = 0; round < 10; ++round) {
      EXPECT_EQ(record_of(a).steps(), round);
      EXPECT_EQ(record_of(b).steps(), round);
      EXPECT_EQ(Scheduler::current()->running()->steps(), round) << "its own as well";
      co_await yield();
    }
    co_await gather(a, b);
    EXPECT_EQ(a.waitable().state(), TaskState::completed);
  });
}

TEST(Yield, T2_StepsOfManyTasksCanBeCountedAtOnce) {
  run_program([]() -> Task<void> {
    std::vector<Handle<void>> tasks;
    for (int i = 0; i < 100; ++i) tasks.push_back(spawn(yield_times, 20 + i));
    for (int i = 0; i < 15; ++i) co_await yield();
    Scheduler::current()->count_steps();
    for (const auto& task : tasks) EXPECT_EQ(record_of(task).recorded_steps(), 15u);
    Scheduler::current()->count_steps();
    for (const auto& task : tasks) EXPECT_EQ(record_of(task).recorded_steps(), 15u) << "not twice";
  });
}

TEST(Yield, T2_StepsAreTheSameUnderAnyOrder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Scheduler scheduler(Options().virtual_time().order(random_order(seed)));
    auto task = scheduler.spawn(yield_times, 7);
    scheduler.spawn(yield_times, 9);
    auto handle = task;
    TaskRecord* record = scheduler.find(task.id());
    scheduler.run();
    EXPECT_EQ(record->steps(), 7u);
  }
}

TEST(Yield, T4_ATaskIsRunningWhileItRunsAndSuspendedAfterItYielded) {
  run_program([]() -> Task<void> {
    std::vector<TaskState> seen;
    Handle<void> self;
    const auto watch = [](Handle<void>& me, std::vector<TaskState>& states) -> Task<void> {
      for (int i = 0; i < 4; ++i) {
        states.push_back(me.state());
        co_await yield();
      }
    };
    self = spawn(watch, std::ref(self), std::ref(seen));
    EXPECT_EQ(self.state(), TaskState::pending);
    for (int i = 0; i < 4; ++i) {
      co_await yield();
      EXPECT_EQ(self.state(), TaskState::suspended);
    }
    co_await self;
    EXPECT_EQ(seen, std::vector<TaskState>(4, TaskState::running));
  });
}

TEST(Yield, I4_ACancelReachesATaskThatOnlyYields) {
  run_program([]() -> Task<void> {
    auto doomed = spawn(yield_for_ever);
    auto other = spawn(yield_times, 50);
    for (int i = 0; i < 5; ++i) co_await yield();
    doomed.cancel("enough");
    const auto outcome = co_await doomed.outcome();
    EXPECT_TRUE(outcome.cancelled());
    // Those who were not cancelled go on as before.
    co_await other;
    EXPECT_EQ(other.state(), TaskState::completed);
  });
}

TEST(Yield, I4_ATaskThatCancelsItselfStopsAtItsNextYield) {
  run_program([]() -> Task<void> {
    int after = 0;
    Handle<void> self;
    const auto suicidal = [](Handle<void>& me, int& rounds) -> Task<void> {
      for (int i = 0; i < 10; ++i) {
        if (i == 5) me.cancel("enough");
        ++rounds;
        co_await yield();
      }
    };
    self = spawn(suicidal, std::ref(self), std::ref(after));
    spawn(yield_times, 20);
    EXPECT_TRUE((co_await self.outcome()).cancelled());
    EXPECT_EQ(after, 6);
  });
}

TEST(Yield, I4_AShieldedTaskYieldsThroughACancelAndStopsBehindTheShield) {
  run_program([]() -> Task<void> {
    int rounds = 0;
    const auto steps = [](int& done) -> Task<void> {
      for (; done < 10; ++done) co_await yield();
    };
    const auto careful = [&](int& done) -> Task<void> {
      co_await shield(steps(done));
      co_await yield();
      done = -1;
    };
    auto task = spawn(careful, std::ref(rounds));
    spawn(yield_times, 30);
    for (int i = 0; i < 4; ++i) co_await yield();
    task.cancel("enough");
    EXPECT_TRUE((co_await task.outcome()).cancelled());
    EXPECT_EQ(rounds, 10);
  });
}

TEST(Yield, T6_AMoreUrgentTaskComesBetweenTwoThatOnlyYield) {
  std::string order;
  run_program([&]() -> Task<void> {
    const auto letters = [](std::string& out, char letter, int times) -> Task<void> {
      for (int i = 0; i < times; ++i) {
        out += letter;
        co_await yield();
      }
    };
    const auto waits = [](std::string& out, Future<int> event) -> Task<void> {
      co_await event;
      out += '!';
    };
    Promise<int> event;
    spawn(letters, std::ref(order), 'a', 4);
    spawn(letters, std::ref(order), 'b', 4);
    spawn.with_priority(1)(waits, std::ref(order), event.future());
    for (int i = 0; i < 2; ++i) co_await yield();
    event.complete(1);
    co_await yield();
  });
  EXPECT_EQ(order, "abab!abab");
}

TEST(Yield, T1_ManyTasksTakeTheirTurnsInOrderWhileTheRingGrows) {
  // From 1,536 tasks on frames are fetched ahead; spawning in between makes the ring larger.
  run_program([]() -> Task<void> {
    constexpr int kTasks = 4000;
    std::vector<int> rounds(kTasks, 0);
    int behind = 0;
    const auto player = [](std::vector<int>& all, std::size_t me, int& wrong) -> Task<void> {
      for (int i = 0; i < 5; ++i) {
        if (me > 0 && all[me - 1] != all[me] + 1) ++wrong;
        ++all[me];
        co_await yield();
      }
    };
    for (std::size_t i = 0; i < kTasks; ++i) {
      spawn(player, std::ref(rounds), i, std::ref(behind));
      if (i % 1000 == 999) spawn(yield_times, 3);
    }
    for (int i = 0; i < 6; ++i) co_await yield();
    EXPECT_EQ(behind, 0);
    EXPECT_EQ(rounds, std::vector<int>(kTasks, 5));
  });
}

// Takes address space, and no memory.
class Reserved {
 public:
  explicit Reserved(std::size_t bytes)
      : bytes_(bytes),
        at_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Reserved() {
    if (ok()) munmap(at_, bytes_);
  }
  Reserved(Reserved&& other) noexcept : bytes_(other.bytes_), at_(other.at_) {
    other.at_ = MAP_FAILED;
  }
  Reserved& operator=(Reserved&&) = delete;
  bool ok() const { return at_ != MAP_FAILED; }
  std::uintptr_t at() const { return reinterpret_cast<std::uintptr_t>(at_); }

 private:
  std::size_t bytes_;
  void* at_;
};

// Large, so that its frame is a mapping of its own. Not inlined, or Clang puts the frame elsewhere.
[[gnu::noinline]] Task<void> yield_from(const void*& frame, int times) {
  std::array<char, 4000> bytes{};
  frame = bytes.data();
  for (int i = 0; i < times; ++i) co_await yield();
}

// The place of a task in the ring has 32 bits for where its frame is.
TEST(Yield, T2_ATaskWhoseFrameIsFarAwayYieldsLikeAnyOther) {
  constexpr std::size_t kFar = std::size_t{16} << 30;
  Scheduler scheduler(Options().virtual_time());
  std::vector<Reserved> reserved;
  reserved.emplace_back(kFar + (kFar >> 2));
  if (!reserved.front().ok()) GTEST_SKIP() << "there is not so much address space";
  // What is mapped from now on is on the other side of it: gaps as large as the arena's mappings
  // are filled. Not a multiple of a huge page, which the kernel would align.
  constexpr std::size_t kGap = (std::size_t{1} << 21) + 4096;
  do {
    reserved.emplace_back(kGap);
  } while (reserved.size() < 10'000 && reserved.back().at() > reserved.front().at());
  const void* frames[2] = {};
  auto a = scheduler.spawn(yield_from, std::ref(frames[0]), 10);
  auto b = scheduler.spawn(yield_from, std::ref(frames[1]), 10);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(scheduler.step());
  for (const Handle<void>& handle : {a, b}) {
    EXPECT_EQ(scheduler.find(handle.id())->steps(), 10u);
    EXPECT_EQ(handle.state(), TaskState::suspended);
  }
  const auto record = reinterpret_cast<std::intptr_t>(scheduler.find(a.id()));
  EXPECT_GT(std::abs(record - reinterpret_cast<std::intptr_t>(frames[0])),
            static_cast<std::intptr_t>(kFar));
  scheduler.run();
  EXPECT_TRUE(a.done() && b.done());
}

TEST(Yield, T17_TheTraceOfYieldsDependsOnWhoYielded) {
  const auto trace = [](int first, int second) {
    Scheduler scheduler(Options().virtual_time());
    scheduler.spawn(yield_times, first);
    scheduler.spawn(yield_times, second);
    scheduler.run();
    return scheduler.trace_hash();
  };
  EXPECT_EQ(trace(3, 4), trace(3, 4));
  EXPECT_NE(trace(3, 4), trace(4, 3));
}

}  // namespace yield_test
}  // namespace tiffany
