// Cancels of durable tasks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace cancel_test {

using namespace std::chrono_literals;

class DurableCancelTest : public MemoryTest {
 protected:
  // Cancels after some time; the result, and the same once more after a crash at that very moment.
  template <class R, class... As>
  std::string cancelled_after(Duration when, Durable<R> (*body)(Flow&, As...)) {
    only("body", body);
    std::string results;
    for (const bool crash : {false, true}) {
      world.disk = std::make_shared<MemoryDisk>();
      effects.clear();
      Uuid id;
      std::string text;
      const auto finish = [&](Host& host) -> Task<void> {
        try {
          text = co_await host.result<std::string>(id);
        } catch (const Error& e) {
          text = e.code() == Errc::durable_cancelled ? "cancelled" : e.what();
        }
      };
      world.live([&](Host& host) -> Task<void> {
        id = co_await host.start("body");
        if (when > 0s) co_await sleep(when);
        co_await host.cancel(id, "by the test");
        if (!crash) co_await finish(host);
      });
      if (crash) world.live(finish);
      EXPECT_TRUE(results.empty() || results == text) << text;
      results = text;
    }
    return results;
  }
};
TIFFANY_IN_EVERY_STORE(DurableCancelTest);

Durable<std::string> in_a_sleep(Flow& flow) {
  co_await flow.step("before", [] { effects.push_back("before"); });
  co_await flow.sleep(1h);
  co_await flow.step("after", [] { effects.push_back("after"); });
  co_return "done";
}

TEST_P(DurableCancelTest, D4_ACancelEndsASleep) {
  EXPECT_EQ(cancelled_after(1min, in_a_sleep), "cancelled");
  EXPECT_EQ(effects, (std::vector<std::string>{"before"}));
}

TEST_P(DurableCancelTest, D4_NothingRunsInATaskThatIsCancelledBeforeItStarts) {
  only("body", in_a_sleep);
  Uuid id;
  world.host_options.start_paused = true;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("body");
    co_await host.pause(id);
    co_await host.cancel(id, "by the test");
  });
  effects.clear();
  world.live([&](Host& host) -> Task<void> {
    co_await host.resume(id);
    EXPECT_EQ(co_await error_of(host.result<std::string>(id)), Errc::durable_cancelled);
    EXPECT_EQ(host.info(id)->status, DurableStatus::cancelled);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{}));
}

Durable<std::string> in_a_step(Flow& flow) {
  std::string text;
  try {
    co_await flow.step("work", []() -> Task<void> {
      effects.push_back("begins");
      co_await sleep(1h);
      effects.push_back("ends");
    });
  } catch (const DurableCancelled& e) {
    text = "caught";
  }
  bool again = false;
  try {  // level-triggered: every wait throws
    co_await flow.sleep(1s);
  } catch (const DurableCancelled&) {
    again = true;
  }
  try {
    co_await flow.step("more", [] { effects.push_back("more"); });
  } catch (const DurableCancelled&) {
    text += again ? " again and again" : "";
  }
  {
    const auto shield = flow.shield();
    co_await flow.step("undo", [] { effects.push_back("undo"); });
    co_await flow.sleep(1min);
    co_await flow.step("undo", []() -> Task<void> {
      co_await sleep(1min);
      effects.push_back("undo more");
    });
  }
  co_return text;
}

TEST_P(DurableCancelTest, D4_ACancelEndsAStepAndEveryLaterWaitButNotWhatIsShielded) {
  EXPECT_EQ(cancelled_after(1min, in_a_step), "caught again and again");
  EXPECT_EQ(effects, (std::vector<std::string>{"begins", "undo", "undo more"}));
}

Durable<std::string> in_a_pause(Flow& flow) {
  co_await flow.step("work", StepOptions().retry(Retry(10, 1h, 2.0, 24h)), [] {
    effects.push_back("tries");
    throw std::runtime_error("no");
  });
  co_return "done";
}

TEST_P(DurableCancelTest, D4_ACancelEndsThePauseBetweenAttempts) {
  EXPECT_EQ(cancelled_after(1min, in_a_pause), "cancelled");
  EXPECT_EQ(effects, (std::vector<std::string>{"tries"}));
  EXPECT_EQ(cancelled_after(0s, in_a_pause), "cancelled");
}

Durable<std::string> shielded(Flow& flow) {
  {
    const auto shield = flow.shield();
    co_await flow.sleep(2h);
    co_await flow.step("kept", [] { effects.push_back("kept"); });
  }
  co_await flow.step("lost", [] { effects.push_back("lost"); });
  co_return "done";
}

TEST_P(DurableCancelTest, D4_AShieldHoldsACancelBackUntilItEnds) {
  EXPECT_EQ(cancelled_after(1h, shielded), "cancelled");
  EXPECT_EQ(effects, (std::vector<std::string>{"kept"}));
}

Durable<std::string> result_wins(Flow& flow) {
  const int got = co_await flow.signal<int>("s");
  try {
    co_await flow.signal<int>("s");
  } catch (const DurableCancelled&) {
    co_return std::to_string(got) + " and cancelled";
  }
  co_return "?";
}

TEST_P(DurableCancelTest, D4_WhatHadComeBeforeTheCancelIsNotLostToIt) {
  only("body", result_wins);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("body");
    co_await host.signal(id, "s", 7);
    co_await host.cancel(id, "by the test");
    EXPECT_EQ(co_await host.result<std::string>(id), "7 and cancelled");
    co_await host.cancel(id, "once more");  // of no effect
    EXPECT_EQ(host.info(id)->status, DurableStatus::completed);
  });
}

std::vector<Uuid> promises;

Durable<std::string> races(Flow& flow) {
  std::vector<DurableHandle<int>> all;
  for (int i = 0; i < 3; ++i) all.push_back(co_await flow.promise<int>("p"));
  if (CrashTest::alive()) promises = {all[0].id(), all[1].id(), all[2].id()};
  std::string text;
  try {
    for (;;) {
      const auto first = co_await flow.race(all);
      text += std::to_string(first.value);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(first.index));
    }
  } catch (const DurableCancelled&) {
    text += " cancelled";
  }
  const auto shield = flow.shield();
  co_await flow.step("undo", [] {});
  co_await flow.sleep(1h);
  co_return text;
}

TEST_P(DurableCancelTest, D5_WinnersBeforeACancelAreTheSameAfterACrashBehindIt) {
  only("body", races);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("body");
    co_await sleep(1s);
    co_await host.complete(promises[2], 2);
    co_await host.complete(promises[0], 0);
    co_await host.cancel(id, "by the test");
    co_await sleep(1s);  // what is undone is in the log too
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(id), "20 cancelled") << world.recovery.text();
  });
}

// ---- At the same moment as something else ----

Durable<std::string> timer_or_cancel(Flow& flow) {
  try {
    co_await flow.sleep(1h);
    co_await flow.step("went on", [] { effects.push_back("went on"); });
    co_await flow.sleep(1h);
  } catch (const DurableCancelled&) {
    co_return "cancelled";
  }
  co_return "done";
}

Task<void> cancels_at(Host* host, Uuid id, Duration when) {
  co_await sleep(when);
  co_await host->cancel(id, "by the test");
}

TEST_P(DurableCancelTest, D4_ACancelAndATimerOfTheSameMomentComeInTheOrderOfTheLog) {
  only("body", timer_or_cancel);
  for (const Duration when : {Duration(1h - 1us), Duration(1h), Duration(1h + 1us)}) {
    world.disk = std::make_shared<MemoryDisk>();
    Uuid id;
    world.live([&](Host& host) -> Task<void> {
      id = co_await host.start("body");
      Scheduler::require("test").spawn.with_priority(250)(cancels_at, &host, id, when);
      EXPECT_EQ(co_await host.result<std::string>(id), "cancelled");
    });
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(world.recovery.finished, 1u);
      EXPECT_EQ(co_await host.result<std::string>(id), "cancelled");
    });
  }
}

}  // namespace cancel_test
}  // namespace tiffany
