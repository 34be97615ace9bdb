#include "tiffany/core/ready_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany {
namespace ready_queue_test {

Task<void> nothing() { co_return; }

// The tasks are real, and never run: they only stand in the queue under test.
class ReadyQueueTest : public ::testing::Test {
 protected:
  TaskRecord& task(int priority = kDefaultPriority) {
    const auto handle =
        scheduler_.spawn.with_priority(static_cast<std::uint8_t>(priority))(nothing);
    return *scheduler_.find(handle.id());
  }

 private:
  Scheduler scheduler_{Options().virtual_time()};
};

using Slots = std::vector<std::uint32_t>;

Slots drain(ReadyPolicy& policy) {
  Slots order;
  while (policy.size() > 0) order.push_back(policy.pop().id().slot());
  return order;
}

TEST_F(ReadyQueueTest, T6_PriorityOrderIsFirstInFirstOutWithinAPriority) {
  const auto policy = priority_order();
  EXPECT_EQ(policy->size(), 0u);
  for (int priority : {10, 255, 0, 10, 9, 0, 255, 10}) policy->push(task(priority));
  EXPECT_EQ(policy->size(), 8u);
  EXPECT_EQ(drain(*policy), Slots({3, 6, 5, 1, 4, 8, 2, 7}));
}

TEST_F(ReadyQueueTest, T6_AMoreUrgentTaskThatComesLaterIsNextAllTheSame) {
  const auto policy = priority_order();
  policy->push(task(200));
  policy->push(task(200));
  EXPECT_EQ(policy->pop().id().slot(), 1u);
  policy->push(task(3));
  EXPECT_EQ(policy->pop().id().slot(), 3u);
  policy->push(task(100));
  EXPECT_EQ(drain(*policy), Slots({4, 2}));
}

TEST_F(ReadyQueueTest, T6_RandomPrioritiesComeOutStablySorted) {
  Random random(4);
  const auto policy = priority_order();
  std::vector<TaskRecord*> model;
  for (int i = 0; i < 3000; ++i) {
    model.push_back(&task(static_cast<int>(random.below(256))));
    policy->push(*model.back());
  }
  // Stable by hand: libstdc++'s own uses what newer compilers call deprecated.
  std::map<std::uint8_t, std::vector<TaskRecord*>> by_priority;
  for (TaskRecord* task : model) by_priority[task->priority()].push_back(task);
  model.clear();
  for (const auto& entry : by_priority) {
    model.insert(model.end(), entry.second.begin(), entry.second.end());
  }
  for (TaskRecord* expected : model) ASSERT_EQ(&policy->pop(), expected);
}

// The scheduler's own queue, which is another one than priority_order(), under the same traffic.
TEST_F(ReadyQueueTest, T2_TheBuiltInQueueAndPriorityOrderPickTheSameTasks) {
  const auto traffic = [](Options options) {
    Scheduler scheduler(std::move(options).virtual_time().turn(7));
    std::vector<std::uint64_t> order;
    const auto worker = [&](std::uint64_t number, std::uint64_t rounds) -> Task<void> {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        order.push_back(number);
        co_await yield();
      }
    };
    const auto program = [&]() -> Task<void> {
      Random random(11);
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const auto priority = static_cast<std::uint8_t>(random.below(4) * 60);
        spawn.with_priority(priority)(std::ref(worker), i, random.below(6));
        if (random.below(3) == 0) co_await yield();
      }
    };
    test::run_on_scheduler(scheduler, program);
    return order;
  };
  const auto built_in = traffic(Options());
  EXPECT_EQ(built_in, traffic(Options().order(priority_order())));
  EXPECT_GT(built_in.size(), 3000u);
}

TEST_F(ReadyQueueTest, ARecordingOrderNotesWhatAnotherOnePicked) {
  std::vector<TaskId> picks;
  RecordingOrder recording(depth_first_order(), picks);
  for (int i = 0; i < 3; ++i) recording.push(task());
  EXPECT_EQ(recording.size(), 3u);
  EXPECT_EQ(drain(recording), Slots({3, 2, 1}));
  EXPECT_EQ(picks, std::vector<TaskId>({TaskId(3, 1), TaskId(2, 1), TaskId(1, 1)}));
}

TEST_F(ReadyQueueTest, FifoIgnoresPriorities) {
  const auto policy = fifo_order();
  for (int priority : {10, 255, 0, 10}) policy->push(task(priority));
  EXPECT_EQ(policy->size(), 4u);
  EXPECT_EQ(drain(*policy), Slots({1, 2, 3, 4}));
}

TEST_F(ReadyQueueTest, DepthFirstTakesTheNewestOfTheMostUrgentPriority) {
  const auto policy = depth_first_order();
  for (int priority : {10, 10, 5, 20, 5}) policy->push(task(priority));
  EXPECT_EQ(policy->pop().id().slot(), 5u);
  EXPECT_EQ(policy->pop().id().slot(), 3u);
  policy->push(task(10));
  EXPECT_EQ(drain(*policy), Slots({6, 2, 1, 4}));
}

TEST_F(ReadyQueueTest, RandomOrderIsDecidedByItsSeed) {
  std::vector<TaskRecord*> tasks;
  for (int i = 0; i < 50; ++i) tasks.push_back(&task());
  const auto order = [&](std::uint64_t seed) {
    const auto policy = random_order(seed);
    for (TaskRecord* t : tasks) policy->push(*t);
    return drain(*policy);
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
  Slots sorted = order(3);
  EXPECT_FALSE(std::is_sorted(sorted.begin(), sorted.end()));
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(sorted[i], i + 1) << "each exactly once";
}

TEST_F(ReadyQueueTest, T6_RandomOrderKeepsToPriorities) {
  const auto policy = random_order(9);
  for (int i = 0; i < 20; ++i) policy->push(task(i % 2 == 0 ? 10 : 3));
  std::vector<std::uint8_t> priorities;
  while (policy->size() > 0) priorities.push_back(policy->pop().priority());
  EXPECT_TRUE(std::is_sorted(priorities.begin(), priorities.end()));
}

TEST_F(ReadyQueueTest, ARecordedOrderIsFollowedAcrossPriorities) {
  const auto policy = recorded_order({TaskId(3, 1), TaskId(1, 1), TaskId(4, 1)});
  for (int priority : {10, 0, 255, 10, 5}) policy->push(task(priority));
  EXPECT_EQ(policy->pop().id().slot(), 3u);
  EXPECT_EQ(policy->pop().id().slot(), 1u);
  EXPECT_EQ(policy->pop().id().slot(), 4u);
  EXPECT_EQ(drain(*policy), Slots({2, 5})) << "after the last pick it goes on by priority";
}

TEST_F(ReadyQueueTest, ARecordedTaskThatIsNotReadyIsAnErrorThatNamesBothSides) {
  const auto policy = recorded_order({TaskId(1, 1), TaskId(7, 2)});
  policy->push(task());
  policy->push(task());
  EXPECT_EQ(policy->pop().id().slot(), 1u);
  const auto error = test::thrown_by([&] { policy->pop(); });
  EXPECT_EQ(test::code_of(error), Errc::diverged);
  const std::string what = test::what_of(error);
  EXPECT_NE(what.find("#7.2"), std::string::npos) << what;
  EXPECT_NE(what.find("#2"), std::string::npos) << what;
  EXPECT_NE(what.find("pick 1"), std::string::npos) << what;
  EXPECT_EQ(policy->size(), 1u) << "nothing was taken";
}

TEST_F(ReadyQueueTest, ARecordedIdOfAnEarlierGenerationIsNotMistakenForTheTaskInItsSlot) {
  const auto policy = recorded_order({TaskId(1, 2)});
  policy->push(task());
  EXPECT_EQ(test::code_of(test::thrown_by([&] { policy->pop(); })), Errc::diverged);
}

}  // namespace ready_queue_test
}  // namespace tiffany
