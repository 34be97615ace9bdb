// Signals as handles, and waiting for a condition.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace signal_handles_test {

using namespace std::chrono_literals;

class SignalHandleTest : public MemoryTest {
 protected:
  // The same result with a crash at every slice, and every signal sent once.
  template <class Send>
  void expect_everywhere(const std::string& type, const std::string& result, Send send) {
    const Uuid id = Uuid::derived(Uuid(), type);
    int at = 0;
    world.crash_everywhere([&] { at = 0; },
                           [&](Host& host) -> Task<void> {
                             co_await host.start_as(id, type);
                             co_await send(host, id, at);
                             EXPECT_EQ(co_await host.result<std::string>(id), result)
                                 << world.crashed_after;
                           },
                           [] {});
  }
  // Signals with the numbers from `at` to `last`, one each hour.
  static Task<void> numbers(Host& host, Uuid id, int& at, int last) {
    while (at < last) {
      co_await sleep(1h);
      if (host.info(id)->status != DurableStatus::running) co_return;
      co_await host.signal(id, at % 2 == 0 ? "even" : "odd", at);
      if (CrashTest::alive()) ++at;
    }
  }
};
TIFFANY_IN_EVERY_STORE(SignalHandleTest);

// A sender whose process was cut off does not know what has come, and sends again: numbers that are
// known are passed over.
Durable<std::string> races_signals(Flow& flow) {
  std::string text;
  auto even = co_await flow.begin_signal<int>("even");
  auto odd = co_await flow.begin_signal<int>("odd");
  auto late = co_await flow.timer(1000h);
  for (int next = 0; next < 6;) {
    auto won = co_await flow.race(even, odd, late);
    const int number = won.index == 0 ? won.get<0>() : won.get<1>();
    if (number == next) text += std::to_string(won.index) + ":" + std::to_string(next++) + " ";
    if (won.index == 0) even = co_await flow.begin_signal<int>("even");
    if (won.index == 1) odd = co_await flow.begin_signal<int>("odd");
  }
  co_return text;
}

TEST_P(SignalHandleTest, SeveralSignalsRaceWithATimer) {
  only("races", races_signals);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("races");
    int at = 0;
    co_await numbers(host, id, at, 6);
    EXPECT_EQ(co_await host.result<std::string>(id), "0:0 1:1 0:2 1:3 0:4 1:5 ");
  });
}

Durable<std::string> drops(Flow& flow) {
  std::string text;
  {
    auto early = co_await flow.begin_signal<int>("s");  // dropped before one has come
  }
  {
    auto first = co_await flow.begin_signal<int>("s");
    auto second = co_await flow.begin_signal<int>("s");
    auto third = co_await flow.begin_signal<int>("s");
    co_await flow.wait_until([&] { return second.arrived(); });
    text += first.arrived() ? "first " : "? ";
    text += third.arrived() ? "? " : "not third ";
    text += std::to_string(co_await second) + " ";
  }  // the first signal goes back
  text += std::to_string(co_await flow.signal<int>("s")) + " ";
  {
    std::vector<DurableHandle<int>> all;
    for (int i = 0; i < 3; ++i) all.push_back(co_await flow.begin_signal<int>("s"));
    co_await flow.wait_until([&] { return all[2].arrived(); });
  }  // three go back in their order
  for (int i = 0; i < 3; ++i) text += std::to_string(co_await flow.signal<int>("s")) + " ";
  const auto none = co_await flow.signal_within<int>(1h, "s");
  co_return text + (none.timed_out() ? "none" : "?");
}

TEST_P(SignalHandleTest, AHandleThatIsDroppedLosesNoSignalAndKeepsTheirOrder) {
  only("drops", drops);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("drops");
    co_await sleep(1s);
    for (const int i : {1, 2, 3}) co_await host.signal(id, "s", i);
    co_await sleep(1s);
  });
  world.live([&](Host& host) -> Task<void> {
    co_await sleep(1s);
    for (const int i : {4, 5}) co_await host.signal(id, "s", i);
    EXPECT_EQ(co_await host.result<std::string>(id), "first not third 2 1 3 4 5 none");
  });
}

Durable<std::string> checkpoints_with_signal(Flow& flow) {
  if (flow.state(0) == 1) co_return "came " + std::to_string(co_await flow.signal<int>("s"));
  std::string text;
  {
    auto handle = co_await flow.begin_signal<int>("s");
    try {
      co_await flow.checkpoint(1);
    } catch (const Error& e) {
      text = e.what();
    }
    co_await flow.step("tell", [&] { effects.push_back(text); });
    co_await flow.wait_until([&] { return handle.arrived(); });
    try {
      co_await flow.checkpoint(1);
    } catch (const Error& e) {
      text = e.what();
    }
    co_await flow.step("tell", [&] { effects.push_back(text); });
  }
  co_await flow.checkpoint(1);
  co_return "?";
}

TEST_P(SignalHandleTest, ACheckpointIsRefusedWhileAHandleIsOpenAndKeepsWhatWentBack) {
  only("checkpoints", checkpoints_with_signal);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("checkpoints");
    co_await sleep(1s);
    co_await host.signal(id, "s", 7);
    EXPECT_EQ(co_await host.result<std::string>(id), "came 7");
  });
  ASSERT_EQ(effects.size(), 2u);
  EXPECT_NE(effects[0].find("is under way; await it, or drop its handle"), std::string::npos)
      << effects[0];
  EXPECT_NE(effects[1].find("has come and was not looked at"), std::string::npos) << effects[1];
}

Durable<std::string> cancelled_wait(Flow& flow) {
  auto handle = co_await flow.begin_signal<int>("s");
  bool never = false;
  try {
    co_await flow.wait_until([&] { return never; });
  } catch (const DurableCancelled&) {
    co_return handle.arrived() ? "with it" : "without";
  }
  co_return "?";
}

TEST_P(SignalHandleTest, ACancelEndsAWaitForACondition) {
  only("waits", cancelled_wait);
  const Uuid id = Uuid::derived(Uuid(), "waits");
  world.crash_everywhere([] {},
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(id, "waits");
                           co_await sleep(1h);
                           co_await host.cancel(id, "enough");
                           EXPECT_EQ(co_await host.result<std::string>(id), "without");
                         },
                         [] {});
}

TEST_P(SignalHandleTest, TheOrderOfSignalsIsTheSameWhereverTheProcessIsCutOff) {
  only("races", races_signals);
  expect_everywhere(
      "races", "0:0 1:1 0:2 1:3 0:4 1:5 ",
      [](Host& host, Uuid id, int& at) -> Task<void> { co_await numbers(host, id, at, 6); });
}

}  // namespace signal_handles_test
}  // namespace tiffany
