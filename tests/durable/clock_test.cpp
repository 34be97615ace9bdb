// The clock of the wall, and times that are longer than any clock.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "durable/durable_world.hpp"

namespace tiffany {
namespace clock_test {

using namespace std::chrono_literals;

constexpr std::int64_t kHour = 3'600'000'000;  // microseconds
std::vector<std::int64_t> times;

class ClockTest : public DurableWorld {
 protected:
  static Durable<std::string> sleeps(Flow& flow, std::chrono::nanoseconds how_long) {
    co_await flow.sleep(how_long);
    co_return "awake";
  }
  static Durable<int> looks(Flow& flow, int most) {
    int n = 0;
    for (; n < most; ++n) {
      times.push_back(flow.now().time_since_epoch().count());
      co_await flow.signal<int>("look");
    }
    times.push_back(flow.now().time_since_epoch().count());
    co_return n;
  }
  static Durable<int> waits(Flow& flow) {
    const auto word = co_await flow.signal_within<int>(Duration::max(), "word");
    co_return word ? *word : -1;
  }
  static Durable<int> works(Flow& flow) {
    co_return co_await flow.step("work",
                                 StepOptions()
                                     .timeout(Duration::max())
                                     .heartbeat(Duration::max())
                                     .retry(Retry(3, Duration::max(), 2.0, Duration::max())),
                                 []() -> Task<int> {
                                   co_await sleep(1s);
                                   co_return 1;
                                 });
  }
  ClockTest() {
    times.clear();
    wall_ = 1'800'000'000'000'000;  // 2027
    types_ = [] {
      Registry types;
      types.add("sleeps", 1, sleeps);
      types.add("looks", 1, looks);
      types.add("waits", 1, waits);
      types.add("works", 1, works);
      return types;
    };
  }
  bool noted(const std::string& words) const {
    for (const std::string& note : recovery.notes) {
      if (note.find(words) != std::string::npos) return true;
    }
    return false;
  }
};
TIFFANY_ON_EVERY_LAYOUT(ClockTest);

TEST_P(ClockTest, ASleepOfAnyLengthIsNotOverSooner) {
  std::vector<Uuid> ids;
  const auto look = [&](Host& host) -> Task<void> {
    for (const Uuid& id : ids) EXPECT_EQ(host.info(id)->status, DurableStatus::running);
    co_await sleep(24h * 365 * 100);
    for (const Uuid& id : ids) EXPECT_EQ(host.info(id)->status, DurableStatus::running);
    co_await host.close();
  };
  live([&](Host& host) -> Task<void> {
    for (const Duration each : {Duration::max(), Duration::max() - 1ns, Duration::max() - 999ns}) {
      ids.push_back(co_await host.start("sleeps", each));
    }
    ids.push_back(co_await host.start("waits"));
    co_await sleep(1s);
    co_await host.close();
  });
  live(look);
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(recovery.resumed, ids.size()) << recovery.text();
    co_await host.signal(ids.back(), "word", 7);
    EXPECT_EQ(co_await host.result<int>(ids.back()), 7);
  });
}

TEST_P(ClockTest, LimitsOfAStepThatAreLongerThanAnyClockAreNoLimits) {
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<int>(co_await host.start("works")), 1);
  });
}

TEST(RetryPause, GrowsToTheLongestAndNoFurther) {
  const Retry endless(std::numeric_limits<int>::max(), 1s, 2.0, Duration::max());
  EXPECT_EQ(endless.pause_after(1), 1s);
  EXPECT_EQ(endless.pause_after(4), 8s);
  EXPECT_EQ(endless.pause_after(1000), Duration::max());
  EXPECT_EQ(endless.pause_after(std::numeric_limits<int>::max()), Duration::max());
  EXPECT_EQ(Retry(5, 0s, 2.0, 1min).pause_after(std::numeric_limits<int>::max()), 0s);
  EXPECT_EQ(Retry(5, 2min, 2.0, 1min).pause_after(1), 1min);
}

TEST_P(ClockTest, AClockThatWasSetBackIsSaidAndASleepTakesNoLonger) {
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("sleeps", std::chrono::nanoseconds(10h));
    co_await sleep(4h);
    co_await host.close();
  });
  wall_ -= 1000 * kHour;
  live([&](Host& host) -> Task<void> {
    EXPECT_TRUE(noted("clock")) << recovery.text();
    const Time began = Scheduler::current()->now();
    EXPECT_EQ(co_await host.result<std::string>(id), "awake");
    EXPECT_LE(Scheduler::current()->now() - began, 6h + 1s);
    EXPECT_GE(Scheduler::current()->now() - began, 6h - 1s);
    co_await host.close();
  });
  live([&](Host& host) -> Task<void> { co_await host.close(); });
  EXPECT_TRUE(noted("clock")) << recovery.text();
  wall_ += 2000 * kHour;
  live([&](Host& host) -> Task<void> { co_await host.close(); });
  EXPECT_FALSE(noted("clock")) << recovery.text();
}

TEST_P(ClockTest, TheTimeOfATaskDoesNotGoBackWithTheClock) {
  Uuid id;
  for (int life = 0; life < 4; ++life) {
    times.clear();
    live([&](Host& host) -> Task<void> {
      if (life == 0) id = co_await host.start("looks", 4);
      co_await sleep(1h);
      co_await host.signal(id, "look", 1);
      co_await sleep(1h);
      if (life == 3) {
        EXPECT_EQ(co_await host.result<int>(id), 4);
      }
    });
    wall_ -= 5 * kHour;
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i], times[i - 1]) << life;
  }
  EXPECT_EQ(times.size(), 5u);
  EXPECT_GT(times.back(), times.front());
}

TEST_P(ClockTest, ARetentionOfAnyAgeKeepsWhatIsYounger) {
  live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("sleeps", std::chrono::nanoseconds(1));
    co_await host.result<std::string>(id);
    Retention keep;
    keep.age = std::chrono::seconds::max();
    EXPECT_EQ((co_await host.compact(keep)).removed, 0u);
    EXPECT_EQ(co_await host.result<std::string>(id), "awake");
    keep.age = std::chrono::seconds(-1);
    bool refused = false;
    try {
      co_await host.compact(keep);
    } catch (const Error& e) {
      refused = e.code() == Errc::bad_argument;
    }
    EXPECT_TRUE(refused);
  });
}

}  // namespace clock_test
}  // namespace tiffany
