// World: what a scheduler knows of outside, and that another world can stand in for it.
#include "tiffany/core/world.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "support/harness.hpp"

namespace tiffany {
namespace world_test {

using namespace test;

TEST(WorldOfScheduler, WithARealClockItIsTheOperatingSystem) {
  Scheduler scheduler;
  EXPECT_EQ(&scheduler.world(), &os_world());
  std::uint64_t drawn = 0;
  std::uint64_t again = 0;
  EXPECT_TRUE(scheduler.world().entropy(&drawn, sizeof drawn));
  EXPECT_TRUE(scheduler.world().entropy(&again, sizeof again));
  EXPECT_NE(drawn, again);
  EXPECT_GT(scheduler.world().wall_clock_us().value_or(0), 1'700'000'000'000'000);  // of 2023
}

TEST(WorldOfScheduler, WithAVirtualClockItHasNoWallClockAndNoEntropy) {
  Scheduler scheduler(Options().virtual_time());
  std::uint64_t drawn = 7;
  EXPECT_FALSE(scheduler.world().entropy(&drawn, sizeof drawn));
  EXPECT_EQ(drawn, 7u);
  EXPECT_EQ(scheduler.world().wall_clock_us(), std::nullopt);
}

TEST(WorldOfScheduler, IsTheCurrentOneInItsTasksOnly) {
  EXPECT_EQ(&World::current(), &os_world());
  run_program([]() -> Task<void> {
    EXPECT_EQ(&World::current(), &Scheduler::current()->world());
    EXPECT_EQ(&World::current(), &repeatable_world());
    co_return;
  });
  EXPECT_EQ(&World::current(), &os_world());
}

// Entropy that is known, and a clock that stands.
class KnownWorld final : public World {
 public:
  explicit KnownWorld(std::uint64_t drawn) : drawn_(drawn) {}
  std::optional<std::int64_t> wall_clock_us() noexcept override { return 42; }
  void pause(Duration) noexcept override {}
  bool entropy(void* memory, std::size_t size) override {
    std::memset(memory, static_cast<int>(drawn_), size);
    return true;
  }
  int process_id() noexcept override { return 7; }
  std::uint32_t user_id() noexcept override { return 1000; }
  WorldFiles& files() noexcept override { return os_world().files(); }
  WorldSockets& sockets() noexcept override { return os_world().sockets(); }
  WorldProcesses& processes() noexcept override { return os_world().processes(); }

 private:
  std::uint64_t drawn_;
};

class KnownReactor final : public Reactor {
 public:
  explicit KnownReactor(World& world) : world_(world) {}
  Time now() override { return now_; }
  bool virtual_time() const noexcept override { return true; }
  void advance_to(Time time) override { now_ = time; }
  void wait(std::optional<Time>, Wakeup&) override {}
  World& world() noexcept override { return world_; }

 private:
  World& world_;
  Time now_{};
};

std::uint64_t first_number(World& world) {
  Scheduler scheduler(Options().clock(std::make_unique<KnownReactor>(world)));
  return scheduler.random().next();
}

TEST(WorldOfScheduler, TheSeedOfASchedulerIsDrawnFromIt) {
  KnownWorld one(1);
  KnownWorld two(2);
  EXPECT_EQ(first_number(one), first_number(one));
  EXPECT_NE(first_number(one), first_number(two));
}

}  // namespace world_test
}  // namespace tiffany
