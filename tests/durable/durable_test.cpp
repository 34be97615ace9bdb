#include "tiffany/durable/durable.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/durable_world.hpp"

namespace tiffany {
namespace durable_test {

using namespace std::chrono_literals;

class DurableTest : public DurableWorld {};
TIFFANY_ON_EVERY_LAYOUT(DurableTest);

std::vector<std::string> effects;

Durable<int> adds(Flow& flow, int a, int b) {
  const int sum = co_await flow.step("add", [&] {
    effects.push_back("add");
    return a + b;
  });
  co_return co_await flow.step("double", [&]() -> Task<int> {
    co_await sleep(1ms);
    effects.push_back("double");
    co_return sum * 2;
  });
}

TEST_P(DurableTest, D3_ATaskRunsItsStepsAndGivesItsResult) {
  effects.clear();
  types_ = [] {
    Registry types;
    types.add("adds", 1, adds);
    return types;
  };
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("adds", 3, 4);
    EXPECT_EQ(co_await host.result<int>(id), 14);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"add", "double"}));
  live([&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<int>(id), 14); });
  EXPECT_EQ(recovery.finished, 1u);
  EXPECT_EQ(effects.size(), 2u);
}

// ---- Coming back ----

Durable<std::string> sleeps(Flow& flow) {
  co_await flow.step("first", [&] { effects.push_back("first"); });
  co_await flow.sleep(24h);
  co_await flow.step("second", [&] { effects.push_back("second"); });
  co_return "slept";
}

TEST_P(DurableTest, D3_ATaskThatIsKilledWhileItSleepsGoesOnSleepingAndThenGoesOn) {
  effects.clear();
  types_ = [] {
    Registry types;
    types.add("sleeps", 1, sleeps);
    return types;
  };
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("sleeps");
    co_await sleep(1h);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"first"}));
  live([&](Host& host) -> Task<void> {
    const Time start = now();
    EXPECT_EQ(co_await host.result<std::string>(id), "slept");
    EXPECT_EQ(now() - start, 23h);
    co_await host.close();
  });
  EXPECT_EQ(recovery.resumed, 1u);
  EXPECT_EQ(effects, (std::vector<std::string>{"first", "second"}));
}

}  // namespace durable_test
}  // namespace tiffany
