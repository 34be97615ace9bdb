#include "tiffany/observe/system_tasks.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tiffany/observe/log.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::system_tasks_test {

using namespace std::chrono_literals;
using observe::SystemTasks;

class SystemTasksTest : public ::testing::Test {
 protected:
  SystemTasksTest() : nowhere_(::open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    observe::log::Settings settings;
    settings.descriptor = nowhere_;
    observe::log::configure(settings);
  }
  ~SystemTasksTest() override {
    observe::log::configure(observe::log::Settings());
    ::close(nowhere_);
  }
  Scheduler scheduler{Options().virtual_time().log_to([](const LogLine&) {})};

 private:
  int nowhere_;
};

TEST_F(SystemTasksTest, WorksAreDoneAtIntervalsWhileOthersRunAndAreNotWaitedFor) {
  int sweeps = 0;
  int priority = -1;
  SystemTasks tasks;
  tasks.every("sweeper", 1s, [&]() -> Task<void> {
    ++sweeps;
    priority = Scheduler::current()->running()->priority();
    co_return;
  });
  const Handle<void> system = tasks.start(scheduler);
  scheduler.spawn([]() -> Task<void> { co_await sleep(10'500ms); });
  scheduler.run();
  EXPECT_EQ(sweeps, 10);
  EXPECT_EQ(priority, kSystemPriority);
  EXPECT_EQ(system.state(), TaskState::cancelled);
  EXPECT_EQ(scheduler.now(), Time(10'500ms));
}

TEST_F(SystemTasksTest, OneThatFailsIsBegunAgainLaterEachTimeAndDisturbsNobody) {
  std::vector<std::int64_t> begun;
  int healthy = 0;
  SystemTasks tasks;
  tasks.always("flusher", [&]() -> Task<void> {
    begun.push_back(now().time_since_epoch() / 1ms);
    throw std::runtime_error("the disk is full");
    co_return;
  });
  tasks.every("healthy", 1s, [&]() -> Task<void> {
    ++healthy;
    co_return;
  });
  const Handle<void> system = tasks.start(scheduler);
  scheduler.spawn([]() -> Task<void> { co_await sleep(1h); });
  scheduler.run_until(Time(1s));
  EXPECT_EQ(begun, (std::vector<std::int64_t>{0, 100, 300, 700}));
  scheduler.run_until(Time(30min));
  EXPECT_EQ(healthy, 1800);
  EXPECT_GT(tasks.failures(), 60u) << "it is never given up";
  EXPECT_LT(tasks.failures(), 80u) << "and every 30 s at most";
  EXPECT_FALSE(system.done());
  scheduler.run();
}

TEST_F(SystemTasksTest, OneThatReturnsIsBegunAgain) {
  int times = 0;
  SystemTasks tasks;
  tasks.always("short", [&]() -> Task<void> {
    ++times;
    co_await sleep(1s);
  });
  const Handle<void> system = tasks.start(scheduler);
  scheduler.spawn([]() -> Task<void> { co_await sleep(1min); });
  scheduler.run();
  EXPECT_GT(times, 3);
}

TEST_F(SystemTasksTest, InAScopeTheyEndWithItAndRunAtTheSamePriority) {
  int priority = -1;
  int ended = 0;
  scheduler.spawn([&]() -> Task<void> {
    co_await scope([&](Scope& all) -> Task<void> {
      SystemTasks tasks;
      tasks.always("waits", [&]() -> Task<void> {
        priority = Scheduler::current()->running()->priority();
        try {
          co_await sleep(24h);
        } catch (const Cancelled&) {
          ++ended;
          throw;
        }
      });
      EXPECT_EQ(tasks.start(all).name(), "system");
      co_await sleep(1s);
      all.cancel("the end");
    });
  });
  scheduler.run();
  EXPECT_EQ(priority, kSystemPriority);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(scheduler.now(), Time(1s));
  EXPECT_EQ(scheduler.live_tasks(), 0u);
}

TEST_F(SystemTasksTest, MisuseIsRefused) {
  SystemTasks tasks;
  EXPECT_THROW(tasks.every("never", 0s, []() -> Task<void> { co_return; }), Error);
  const Handle<void> system = tasks.start(scheduler);
  EXPECT_THROW(tasks.start(scheduler), Error);
  EXPECT_THROW(tasks.always("late", []() -> Task<void> { co_return; }), Error);
  scheduler.run();
}

}  // namespace tiffany::system_tasks_test
