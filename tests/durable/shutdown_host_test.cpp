// observe::shut_down while a host is open: the host is closed first, and nothing is lost.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "tiffany/durable/host.hpp"
#include "tiffany/observe/shutdown.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/memory_disk.hpp"

namespace tiffany {
namespace shutdown_host_test {

using namespace std::chrono_literals;

// Waits, in a step, for a day; what `stubborn` says does not end when it is cancelled.
Task<int> works(bool stubborn) {
  if (stubborn) {
    co_await shield(sleep(24h));
  } else {
    co_await sleep(24h);
  }
  co_return 1;
}
Durable<int> in_a_step(Flow& flow, bool stubborn) {
  const int before = co_await flow.step("first", [] { return 1; });
  co_return before + co_await flow.step("second", [stubborn] { return works(stubborn); });
}
Durable<int> waits_for_tomorrow(Flow& flow) {
  co_await flow.sleep(24h);
  co_return 7;
}

Registry all_types() {
  Registry types;
  types.add("in_a_step", 1, in_a_step);
  types.add("waits", 1, waits_for_tomorrow);
  return types;
}

class ShutdownWithAHost : public testing::Test {
 protected:
  wal::LogOptions log() const {
    wal::LogOptions options("wal");
    options.disk = disk_;
    return options;
  }
  Task<void> start_and_shut_down(Host* host, bool stubborn) {
    co_await host->open();
    for (int i = 0; i < 10; ++i) {
      co_await host->start_as(Uuid::derived(Uuid(), std::to_string(i)), "waits");
    }
    co_await host->start_as(kStep, "in_a_step", stubborn);
    co_await sleep(1s);
    report_ = co_await observe::shut_down();
  }
  // Until the shutdown is over; a task that is stubborn goes with its scheduler.
  void first_life(bool stubborn) {
    const Registry types = all_types();
    Host host(types, log());
    Scheduler scheduler(Options().virtual_time());
    scheduler.spawn(&ShutdownWithAHost::start_and_shut_down, this, &host, stubborn);
    scheduler.run();
  }
  Task<void> look_and_end(Host* host) {
    recovery_ = co_await host->open();
    closed_ = host->store().found().shut_down;
    int sum = 0;
    for (int i = 0; i < 10; ++i) {
      sum += co_await host->result<int>(Uuid::derived(Uuid(), std::to_string(i)));
    }
    EXPECT_EQ(sum, 70);
    const int two = co_await host->result<int>(kStep);
    EXPECT_EQ(two, 2);
    co_await host->close();
  }
  void second_life() {
    const Registry types = all_types();
    Host host(types, log());
    Scheduler scheduler(Options().virtual_time());
    scheduler.spawn(&ShutdownWithAHost::look_and_end, this, &host);
    scheduler.run();
  }

  static inline const Uuid kStep = Uuid::derived(Uuid(), "step");
  std::shared_ptr<wal::MemoryDisk> disk_ = std::make_shared<wal::MemoryDisk>();
  std::optional<observe::ShutdownReport> report_;
  Recovery recovery_;
  bool closed_ = false;
};

TEST_F(ShutdownWithAHost, TheHostIsClosedFirstAndItsTasksGoOnInTheNext) {
  first_life(false);
  ASSERT_TRUE(report_.has_value());
  EXPECT_TRUE(report_->adds_up()) << report_->text();
  EXPECT_EQ(report_->failed, 0u) << report_->text();
  EXPECT_EQ(report_->abandoned, 0u) << report_->text();
  second_life();
  EXPECT_TRUE(closed_);
  EXPECT_EQ(recovery_.resumed, 11u);
}

TEST_F(ShutdownWithAHost, AStepThatIgnoresItsCancelHoldsTheShutdownUpNoLongerThanTheDeadline) {
  first_life(true);
  ASSERT_TRUE(report_.has_value());
  EXPECT_TRUE(report_->adds_up()) << report_->text();
  EXPECT_GT(report_->abandoned, 0u) << report_->text();
  EXPECT_LE(report_->took, 35s) << report_->text();
  second_life();
  EXPECT_FALSE(closed_);
  EXPECT_EQ(recovery_.resumed, 11u);
}

Task<void> open_and_go(Host* host) { co_await host->open(); }

TEST_F(ShutdownWithAHost, AHostThatIsGoneOrOutlivesItsSchedulerIsNotClosed) {
  const Registry types = all_types();
  Host outlives(types, log());
  {
    Scheduler scheduler(Options().virtual_time());
    scheduler.spawn(open_and_go, &outlives);
    scheduler.run();
    EXPECT_NE(scheduler.close_first().first(), nullptr);
  }
  disk_ = std::make_shared<wal::MemoryDisk>();
  Scheduler scheduler(Options().virtual_time());
  {
    Host goes(types, log());
    scheduler.spawn(open_and_go, &goes);
    scheduler.run();
  }
  EXPECT_EQ(scheduler.close_first().first(), nullptr);
}

}  // namespace shutdown_host_test
}  // namespace tiffany
