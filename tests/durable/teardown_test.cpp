// A scheduler that is destroyed while the step of a task does not stop: everything is dropped by
// force then, and what refers to something goes before it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace teardown_test {

using namespace std::chrono_literals;

std::vector<std::string> gone;
struct SaysGone {
  const char* what;
  ~SaysGone() { gone.push_back(what); }
};

// Does not stop, whatever it is told.
Task<int> stubborn(std::string* of_the_code) {
  const SaysGone at_the_end{"step"};
  for (;;) {
    try {
      co_await yield();
    } catch (const Cancelled&) {
      *of_the_code += "!";
      if (of_the_code->size() > 3) of_the_code->clear();
    }
  }
}
Task<int> stubborn_alone() {
  const SaysGone at_the_end{"step"};
  for (;;) {
    try {
      co_await yield();
    } catch (const Cancelled&) {
    }
  }
}

Task<int> some_turns() {
  for (int i = 0; i < 10; ++i) co_await yield();
  co_return 0;
}

Durable<int> waits_for_it(Flow& flow) {
  const SaysGone at_the_end{"code"};
  std::string text;
  co_return co_await flow.step("stubborn", [&] { return stubborn(&text); });
}
Durable<int> leaves_it_behind(Flow& flow) {
  const SaysGone at_the_end{"code"};
  auto handle = co_await flow.begin_step("stubborn", stubborn_alone);
  co_await flow.sleep(1000h);
  co_return co_await handle;
}
// Its code has returned, and waits for the step.
Durable<int> leaves_it_and_returns(Flow& flow) {
  const SaysGone at_the_end{"code"};
  auto handle = co_await flow.begin_step("stubborn", stubborn_alone);
  co_return co_await flow.step("a while", some_turns);
}

class TeardownTest : public MemoryTest {
 protected:
  std::vector<std::string> torn_down(Durable<int> (*body)(Flow&)) {
    gone.clear();
    only("task", body);
    world.live([&](Host& host) -> Task<void> {
      co_await host.start("task");
      for (int i = 0; i < 100; ++i) co_await yield();
    });
    return gone;
  }
};
TIFFANY_IN_EVERY_STORE(TeardownTest);

TEST_P(TeardownTest, AStepGoesBeforeTheFrameThatWaitsForIt) {
  EXPECT_EQ(torn_down(waits_for_it), (std::vector<std::string>{"step", "code"}));
}
TEST_P(TeardownTest, AStepThatWasBegunBehindTheCodeGoesBeforeTheTask) {
  EXPECT_EQ(torn_down(leaves_it_behind), (std::vector<std::string>{"code", "step"}));
}
TEST_P(TeardownTest, AStepThatTheEndOfTheCodeAwaitsGoesBeforeTheTask) {
  EXPECT_EQ(torn_down(leaves_it_and_returns), (std::vector<std::string>{"code", "step"}));
}

}  // namespace teardown_test
}  // namespace tiffany
