// longest_path_order: of the ready tasks, the one with the longest chain of dependants goes first.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany {
namespace longest_path_test {

using namespace test;

// The order in which tasks begin that are all ready at once.
class Begins {
 public:
  Task<void> task(std::string name) {
    trace.push_back(std::move(name));
    co_return;
  }
  auto code() {
    return [this](std::string name) { return task(std::move(name)); };
  }
  Trace trace;
};
Options longest_path() { return Options().virtual_time().order(longest_path_order()); }

TEST(LongestPath, T19_TheTaskWithTheLongestChainBelowItGoesFirst) {
  Begins begins;
  const auto f = begins.code();
  const auto program = [&]() -> Task<void> {
    auto alone = spawn(f, "alone");
    auto pair = spawn(f, "pair");
    auto chain = spawn(f, "chain");
    auto also_pair = spawn(f, "also pair");
    spawn.after(pair)(f, "pair 2");
    spawn.after(also_pair)(f, "also pair 2");
    auto second = spawn.after(chain)(f, "chain 2");
    spawn.after(second)(f, "chain 3");
    co_return;
  };
  run_program(program, longest_path());
  EXPECT_EQ(begins.trace, Trace({"chain", "pair", "also pair", "chain 2", "alone", "pair 2",
                                 "also pair 2", "chain 3"}));
}

TEST(LongestPath, T19_ADeclaredCostCounts) {
  Begins begins;
  const auto f = begins.code();
  const auto program = [&]() -> Task<void> {
    auto many = spawn(f, "many");
    auto heavy = spawn(f, "heavy");
    auto m2 = spawn.after(many)(f, "many 2");
    auto m3 = spawn.after(m2)(f, "many 3");
    spawn.after(heavy).cost(5)(f, "heavy 2");
    spawn.after(m3, heavy).cost(4)(f, "both");
    co_return;
  };
  run_program(program, longest_path());
  // Below "many": 1 + 1 + 4; below "heavy": 5.
  EXPECT_EQ(begins.trace, Trace({"many", "heavy", "many 2", "many 3", "heavy 2", "both"}));
}

TEST(LongestPath, T19_PriorityComesBeforeTheChain) {
  Begins begins;
  const auto f = begins.code();
  const auto program = [&]() -> Task<void> {
    auto chain = spawn(f, "chain");
    spawn.after(chain)(f, "chain 2");
    spawn.with_priority(9)(f, "urgent");
    co_return;
  };
  run_program(program, longest_path());
  EXPECT_EQ(begins.trace, Trace({"urgent", "chain", "chain 2"}));
}

TEST(LongestPath, T19_PicksCanBeRecordedAndOrdersThatDoNotCareAreNotAsked) {
  const auto run = [](Options options, std::vector<TaskId>* picks) {
    Begins begins;
    const auto f = begins.code();
    const auto program = [&]() -> Task<void> {
      spawn(f, "alone");
      auto first = spawn(f, "first");
      auto chain = spawn(f, "chain");
      auto c2 = spawn.after(chain, first)(f, "chain 2");
      spawn.after(c2, chain)(f, "chain 3");
      auto other = spawn(f, "other");
      spawn.after(other)(f, "other 2");
      Promise<int> promise;
      spawn.after(promise.future(), other)(f, "future");
      promise.complete(1);
      co_await sleep(1ms);
      EXPECT_EQ(c2.done(), true);
    };
    Scheduler scheduler(std::move(options));
    scheduler.spawn(std::ref(program));
    scheduler.run();
    if (picks != nullptr) *picks = scheduler.picks();
    return begins.trace;
  };
  std::vector<TaskId> picks;
  const Trace first = run(longest_path().record_picks(), &picks);
  EXPECT_EQ(run(longest_path(), nullptr), first);
  EXPECT_EQ(run(Options().virtual_time().order(recorded_order(picks)), nullptr), first);
  EXPECT_NE(run(Options().virtual_time(), nullptr), first);
}

TEST(LongestPath, T19_EveryShapeRunsToItsEnd) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed, "graph");
    int ran = 0;
    const auto program = [&]() -> Task<void> {
      const auto f = [&]() -> Task<void> {
        ++ran;
        co_await yield();
      };
      std::vector<Handle<void>> handles;
      for (int i = 0; i < 60; ++i) {
        std::vector<Handle<void>> after;
        for (const auto& handle : handles)
          if (random.below(10) == 0) after.push_back(handle);
        handles.push_back(
            spawn.after(after).cost(1 + static_cast<std::uint32_t>(random.below(4)))(f));
        if (random.below(10) == 0) co_await sleep(1ms);
        if (random.below(10) == 0) handles.back().cancel();
      }
    };
    run_program(program, longest_path());
    EXPECT_GT(ran, 5);
  }
}

// First in, first out, and writes down how long the chain below each task is when its turn comes.
class NotesChains final : public ReadyPolicy {
 public:
  explicit NotesChains(std::vector<std::uint64_t>& chains) : chains_(chains) {}
  void push(TaskRecord& task) override { tasks_.push_back(&task); }
  TaskRecord& pop() override {
    TaskRecord& task = *tasks_.front();
    tasks_.pop_front();
    chains_.push_back(task.chain_below());
    return task;
  }
  std::size_t size() const noexcept override { return tasks_.size(); }
  bool wants_chains() const noexcept override { return true; }

 private:
  std::deque<TaskRecord*> tasks_;
  std::vector<std::uint64_t>& chains_;
};

TEST(LongestPath, T19_AnOrderOfOnesOwnMayLookAtChainsWithoutHearingHowTheyGrow) {
  std::vector<std::uint64_t> chains;
  const auto program = []() -> Task<void> {
    const auto f = []() -> Task<void> { co_return; };
    auto first = spawn(f);
    auto second = spawn.after(first).cost(2)(f);
    spawn.after(second).cost(3)(f);
    co_return;
  };
  run_program(program, Options().virtual_time().order(std::make_unique<NotesChains>(chains)));
  EXPECT_EQ(chains, (std::vector<std::uint64_t>{0, 5, 3, 0}));
}

// Counts how often it hears that a chain has grown.
class CountsGrowth final : public ReadyPolicy {
 public:
  explicit CountsGrowth(std::size_t& times) : times_(times), order_(longest_path_order()) {}
  void push(TaskRecord& task) override { order_->push(task); }
  TaskRecord& pop() override { return order_->pop(); }
  std::size_t size() const noexcept override { return order_->size(); }
  bool wants_chains() const noexcept override { return true; }
  void chain_grows(TaskRecord& task, std::uint64_t chain) override {
    ++times_;
    order_->chain_grows(task, chain);
  }

 private:
  std::size_t& times_;
  std::unique_ptr<ReadyPolicy> order_;
};

TEST(LongestPath, AChainThatIsBuiltFromItsBeginningCostsOneStepForEachTask) {
  constexpr std::size_t kTasks = 1000;
  std::size_t times = 0;
  Begins begins;
  const auto f = begins.code();
  const auto program = [&]() -> Task<void> {
    spawn(f, "alone");
    auto last = spawn(f, "first");
    for (std::size_t i = 1; i < kTasks; ++i) last = spawn.after(last)(f, "next");
    co_return;
  };
  run_program(program, Options().virtual_time().order(std::make_unique<CountsGrowth>(times)));
  EXPECT_EQ(times, kTasks - 1);
  ASSERT_EQ(begins.trace.size(), kTasks + 1);
  EXPECT_EQ(begins.trace.front(), "first");
  EXPECT_EQ(begins.trace[kTasks - 1], "alone");  // like the last of the chain, with nothing below
}

TEST(LongestPath, ATaskThatIsCancelledBeforeItsTurnStillCounts) {
  Begins begins;
  const auto f = begins.code();
  const auto program = [&]() -> Task<void> {
    auto alone = spawn(f, "alone");
    auto chain = spawn(f, "chain");
    auto second = spawn.after(chain)(f, "never");
    auto third = spawn.after(second)(f, "never");
    second.cancel();
    spawn.after(alone)(f, "alone 2");
    co_return;
  };
  run_program(program, longest_path());
  EXPECT_EQ(begins.trace, Trace({"chain", "alone", "alone 2"}));
}

TEST(LongestPath, AChainThatGrowsAfterItsHeadHasWaitedIsKnownToTheHead) {
  Begins begins;
  const auto f = begins.code();
  const auto program = [&]() -> Task<void> {
    auto gate = spawn([]() -> Task<void> { co_await sleep(1ms); });
    auto a = spawn.after(gate)(f, "a");
    auto b = spawn.after(gate)(f, "b");
    co_await yield();  // what is above has been looked at
    auto b2 = spawn.after(b)(f, "b2");
    spawn.after(a)(f, "a2");
    co_await yield();
    spawn.after(b2)(f, "b3");
  };
  run_program(program, longest_path());
  EXPECT_EQ(begins.trace, Trace({"b", "a", "b2", "a2", "b3"}));
}

}  // namespace longest_path_test
}  // namespace tiffany
