#include "tiffany/core/task_log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany::test {
namespace task_log_test {

class TaskLogTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(arena_->live_blocks(), 0u) << "a link or log is left";
    arena_->retire();
  }
  void tell(Ref<TaskLog>& log, TaskId who, const std::string& text) {
    TaskLog& mine = TaskLog::writable(*arena_, log, who);
    mine.set_told(Ref<LogLink>::adopt(make_in<LogLink>(*arena_, mine.told(), text)));
  }
  void append(Ref<TaskLog>& log, TaskId who, const Ref<LogLink>& words) {
    TaskLog& mine = TaskLog::writable(*arena_, log, who);
    mine.set_told(Ref<LogLink>::adopt(make_in<LogLink>(*arena_, mine.told(), words)));
  }
  Arena* arena_ = Arena::create();
  const TaskId one_{1, 1};
  const TaskId two_{2, 1};
};

TEST_F(TaskLogTest, W5_ALogIsWhatWasInheritedThenWhatWasTold) {
  Ref<TaskLog> mine;
  tell(mine, one_, "a");
  tell(mine, one_, "b");
  Ref<TaskLog> theirs = mine;
  tell(theirs, two_, "c");
  tell(mine, one_, "d");
  EXPECT_EQ(mine->entries(), (Trace{"a", "b", "d"}));
  EXPECT_EQ(theirs->entries(), (Trace{"a", "b", "c"}));
  EXPECT_EQ(LogLink::size_of(theirs->told().get()), 1u);
  EXPECT_EQ(LogLink::size_of(mine->told().get()), 3u);
}

TEST_F(TaskLogTest, W5_ALogThatWasInheritedAloneIsNotTakenForOnesOwn) {
  Ref<TaskLog> log;
  tell(log, one_, "a");
  tell(log, two_, "b");  // the first owner has let go of it
  EXPECT_EQ(log->entries(), (Trace{"a", "b"}));
  EXPECT_EQ(LogLink::size_of(log->told().get()), 1u);
}

TEST_F(TaskLogTest, W5_WhatAnotherToldIsAppendedWithOneLinkAndInOrder) {
  Ref<TaskLog> theirs;
  for (int i = 0; i < 1000; ++i) tell(theirs, two_, std::to_string(i));
  Ref<TaskLog> mine;
  tell(mine, one_, "before");
  const std::size_t blocks = arena_->live_blocks();
  append(mine, one_, theirs->told());
  EXPECT_EQ(arena_->live_blocks(), blocks + 1);
  append(mine, one_, theirs->told());
  tell(mine, one_, "after");
  const std::vector<std::string> all = mine->entries();
  ASSERT_EQ(all.size(), 2002u);
  EXPECT_EQ(all[0], "before");
  EXPECT_EQ(all[1], "0");
  EXPECT_EQ(all[1000], "999");
  EXPECT_EQ(all[1001], "0");
  EXPECT_EQ(all[2001], "after");
}

TEST_F(TaskLogTest, W5_ChainsOfAMillionAreReadAndDestroyedOnAConstantStack) {
  constexpr int kMillion = 1'000'000;
  Ref<TaskLog> flat;
  Ref<TaskLog> nested;
  Ref<TaskLog> inherited;
  tell(nested, one_, "0");
  for (int i = 0; i < kMillion; ++i) {
    tell(flat, one_, "x");
    Ref<TaskLog> outer;
    append(outer, one_, nested->told());
    nested = outer;
    tell(inherited, i % 2 == 0 ? one_ : two_, "x");
  }
  EXPECT_EQ(flat->entries().size(), std::size_t{kMillion});
  EXPECT_EQ(nested->entries(), (Trace{"0"}));
  EXPECT_EQ(inherited->entries().size(), std::size_t{kMillion});
}

}  // namespace task_log_test
}  // namespace tiffany::test
