// What is done to durable tasks from outside: start, kill, pause, resume, retry; and types and
// versions.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace lifecycle_test {

using namespace std::chrono_literals;

class LifecycleTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(LifecycleTest);

Durable<std::string> works(Flow& flow) {
  co_await flow.step("one", [] { effects.push_back("one"); });
  co_await flow.sleep(1h);
  co_await flow.step("two", []() -> Task<void> {
    effects.push_back("two begins");
    co_await sleep(1h);
    effects.push_back("two");
  });
  const int got = co_await flow.signal<int>("s");
  co_return "done " + std::to_string(got);
}

Task<void> starts(Host* host, Uuid id, int* count) {
  co_await host->start_json("works", "[]", id);
  ++*count;
}

TEST_P(LifecycleTest, D4_AStartWithTheSameIdTwiceIsOneTaskAlsoAtTheSameTimeAndAfterACrash) {
  only("works", works);
  const Uuid id = Uuid::derived(Uuid(), "task");
  world.live([&](Host& host) -> Task<void> {
    int count = 0;
    Scheduler& scheduler = Scheduler::require("test");
    auto a = scheduler.spawn(starts, &host, id, &count);
    auto b = scheduler.spawn(starts, &host, id, &count);
    co_await a;
    co_await b;
    EXPECT_EQ(count, 2);
    EXPECT_EQ(host.tasks().size(), 1u);
    EXPECT_FALSE(world.lines(id).empty());
    co_await sleep(1s);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.start_json("works", "[]", id), id);
    EXPECT_EQ(host.tasks().size(), 1u);
    EXPECT_EQ(co_await error_of(host.start("nobody")), Errc::unknown_type);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"one"}));
}

TEST_P(LifecycleTest, D4_AKilledTaskRunsNoMoreCodeAndStaysEnded) {
  only("works", works);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("works");
    co_await sleep(90min);
    co_await host.kill(id, "enough");
    EXPECT_EQ(co_await error_of(host.result<std::string>(id)), Errc::durable_cancelled);
    co_await host.kill(id, "once more");
    co_await sleep(24h);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"one", "two begins"}));
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.finished, 1u);
    EXPECT_EQ(host.info(id)->detail, "enough");
    EXPECT_EQ(co_await error_of(host.pause(id)), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.kill(Uuid(), "x")), Errc::unknown_durable);
  });
}

TEST_P(LifecycleTest, D4_APausedTaskWaitsAcrossARestartUntilItIsResumed) {
  only("works", works);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("works");
    co_await sleep(90min);  // in step two
    co_await host.pause(id);
    EXPECT_EQ(host.info(id)->status, DurableStatus::paused);
    co_await sleep(24h);
    co_await host.signal(id, "s", 7);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"one", "two begins"}));
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.paused, 1u);
    co_await sleep(24h);
    EXPECT_EQ(host.info(id)->status, DurableStatus::paused);
    co_await host.resume(id);
    co_await host.resume(id);  // of no effect
    EXPECT_EQ(co_await host.result<std::string>(id), "done 7");
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"one", "two begins", "two begins", "two"}));
}

TEST_P(LifecycleTest, D4_SignalsThatComeWhileATaskIsPausedOrResumedAreNotLost) {
  only("works", works);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("works");
    Scheduler& scheduler = Scheduler::require("test");
    const auto pauses = [&host, id]() -> Task<void> {
      co_await host.pause(id);
      co_await host.resume(id);
    };
    const auto signals = [&host, id]() -> Task<void> { co_await host.signal(id, "s", 7); };
    auto a = scheduler.spawn(std::cref(pauses));
    for (int i = 0; i < 20; ++i) {
      co_await yield();
      co_await scheduler.spawn(std::cref(signals));
    }
    co_await a;
    EXPECT_EQ(co_await host.result<std::string>(id), "done 7");
  });
}

TEST_P(LifecycleTest, D4_WhatIsAskedForWhileTheHostIsClosedIsDoneOrRefused) {
  only("works", works);
  for (int wait = 0; wait < 12; ++wait) {
    world.disk = std::make_shared<MemoryDisk>();
    world.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start("works");
      const Uuid other = co_await host.start("works");
      Scheduler& scheduler = Scheduler::require("test");
      const auto pauses = [&]() -> Task<Errc> { co_return co_await error_of(host.pause(id)); };
      const auto signals = [&]() -> Task<Errc> {
        co_return co_await error_of(host.signal(id, "s", 7));
      };
      const auto starts = [&]() -> Task<Errc> { co_return co_await error_of(host.start("works")); };
      const auto kills = [&]() -> Task<Errc> { co_return co_await error_of(host.kill(other, "")); };
      auto a = scheduler.spawn(std::cref(pauses));
      auto b = scheduler.spawn(std::cref(signals));
      auto c = scheduler.spawn(std::cref(starts));
      auto d = scheduler.spawn(std::cref(kills));
      for (int i = 0; i < wait; ++i) co_await yield();
      co_await host.close();
      const Errc codes[] = {co_await a, co_await b, co_await c, co_await d};
      EXPECT_EQ(scheduler.live_tasks(), 1) << wait << ": something of the host still runs";
      EXPECT_EQ(co_await error_of(host.open()), Errc::durable_misuse);
      for (const Errc code : codes) {
        EXPECT_TRUE(code == Errc{} || code == Errc::durable_misuse ||
                    code == Errc::durable_stopped || code == Errc::log_sealed)
            << wait << ": " << static_cast<int>(code);
      }
    });
    world.live([&](Host&) -> Task<void> {
      EXPECT_TRUE(world.recovery.text().find("diverged 0, quarantined 0") != std::string::npos)
          << world.recovery.text();
      co_return;
    });
  }
}

Durable<int> ends_at_once(Flow& flow) { co_return co_await flow.signal<int>("s"); }

TEST_P(LifecycleTest, D4_ASignalThatComesWhileTheEndIsRecordedIsRefusedAndNotLost) {
  only("body", ends_at_once);
  for (int wait = 0; wait < 12; ++wait) {
    Uuid id;
    bool taken = false;
    world.live([&](Host& host) -> Task<void> {
      id = co_await host.start("body");
      co_await host.signal(id, "s", 1);
      for (int i = 0; i < wait; ++i) co_await yield();
      taken = co_await error_of(host.signal(id, "s", 2)) == Errc{};
      EXPECT_EQ(co_await host.result<int>(id), 1);
    });
    const std::string last = world.lines(id).back();
    EXPECT_NE(last.find("TaskExit"), std::string::npos)
        << wait << (taken ? " taken " : " ") << last;
  }
}

Durable<std::string> catches_everything(Flow& flow) {
  try {
    co_await flow.sleep(1h);
  } catch (...) {
  }
  co_return "swallowed";
}

TEST_P(LifecycleTest, D4_CodeThatSwallowsItsPauseHasNotEnded) {
  only("body", catches_everything);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("body");
    co_await host.pause(id);
    EXPECT_EQ(host.info(id)->status, DurableStatus::paused);
    co_await host.resume(id);
    co_await host.close();
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(id)->status, DurableStatus::running);
    const Time start = now();
    EXPECT_EQ(co_await host.result<std::string>(id), "swallowed");
    EXPECT_GT(now() - start, 30min);
  });
}

TEST_P(LifecycleTest, D4_WhatHappensBetweenPauseAndCrashIsRightWhereverItIsCutOff) {
  only("works", works);
  bool ended = false;
  for (std::size_t slices = 1; !ended; ++slices) {
    world.disk = std::make_shared<MemoryDisk>();
    const Uuid id = Uuid::derived(Uuid(), "task");
    bool paused = false;
    bool resumed = false;
    ended = world.live(
        [&](Host& host) -> Task<void> {
          co_await host.start_json("works", "[]", id);
          co_await host.pause(id);
          if (CrashTest::alive()) paused = true;
          co_await host.resume(id);
          if (CrashTest::alive()) resumed = true;
          co_await host.signal(id, "s", 7);
        },
        slices);
    if (world.lines(id).empty()) continue;
    world.live([&](Host& host) -> Task<void> {
      const DurableStatus status = host.info(id)->status;
      EXPECT_TRUE(!resumed || status == DurableStatus::running) << slices;
      if (status == DurableStatus::paused) co_await host.resume(id);
      co_await host.signal(id, "s", 7);
      EXPECT_EQ(co_await host.result<std::string>(id), "done 7") << slices;
    });
    EXPECT_TRUE(paused || !ended);
  }
}

// ---- Retry ----

int failures = 0;

Durable<std::string> fails_in_two(Flow& flow) {
  auto early = co_await flow.promise<int>("early");
  if (CrashTest::alive()) effects.push_back(early.id().text());
  co_await flow.step("one", [] { effects.push_back("one"); });
  const int base = co_await early;
  const int two = co_await flow.step("two", [] {
    effects.push_back("two");
    if (failures > 0) throw std::runtime_error("two fails");
    return 2;
  });
  co_return std::to_string(base + two);
}

TEST_P(LifecycleTest, D4_ATaskThatFailedIsRetriedFromAStep) {
  only("body", fails_in_two);
  failures = 1;
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("body");
    EXPECT_EQ(co_await error_of(host.retry(id, "two#1")), Errc::durable_misuse);
    co_await sleep(1s);
    co_await host.complete(Uuid::parse(effects[0]).value(), 40);
    EXPECT_EQ(co_await error_of(host.result<std::string>(id)), Errc::durable_failed);
    EXPECT_EQ(co_await error_of(host.retry(id, "three#1")), Errc::unknown_durable);
    EXPECT_EQ(host.info(id)->status, DurableStatus::failed);
  });
  failures = 0;
  effects.clear();
  world.live([&](Host& host) -> Task<void> {
    co_await host.retry(
        id, "two#1");  // what was kept before it, and came after it was asked for, stays
    EXPECT_EQ(co_await host.result<std::string>(id), "42");
  });
  EXPECT_EQ(std::count(effects.begin(), effects.end(), "one"), 0);
  world.live(
      [&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<std::string>(id), "42"); });
}

Durable<int> failing_child(Flow& flow) {
  co_return co_await flow.step("work", [] {
    effects.push_back("child works");
    if (failures > 0) throw std::runtime_error("the child fails");
    return 5;
  });
}
Durable<int> parent_of_failing(Flow& flow) {
  auto child = co_await flow.spawn<int>("child");
  co_return co_await child;
}

TEST_P(LifecycleTest, D4_ARetryFromAChildMakesANewChild) {
  world.types = [] {
    Registry types;
    types.add("child", 1, failing_child);
    types.add("parent", 1, parent_of_failing);
    return types;
  };
  failures = 1;
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("parent");
    EXPECT_EQ(co_await error_of(host.result<int>(id)), Errc::durable_failed);
    failures = 0;
    co_await host.retry(id, "child#1");
    EXPECT_EQ(co_await host.result<int>(id), 5);
  });
  world.live([&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<int>(id), 5); });
}

// ---- Types and versions ----

TEST_P(LifecycleTest, D4_ATaskOfAnUnknownTypeIsPausedAndSaysWhy) {
  only("works", works);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("works");
    co_await sleep(1s);
  });
  only("other", works);
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.paused, 1u);
    EXPECT_EQ(host.info(id)->detail, "no durable task is registered as \"works\"");
    EXPECT_EQ(co_await error_of(host.resume(id)), Errc::unknown_type);
  });
  only("works", works);
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.resumed, 1u);
    co_await host.signal(id, "s", 1);
    EXPECT_EQ(co_await host.result<std::string>(id), "done 1");
  });
}

TEST_P(LifecycleTest, D4_AnOlderVersionIsPausedUnlessTheCodeAcceptsIt) {
  only("works", works);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("works");
    co_await sleep(1s);
  });
  const auto version = [&](int now, int accepts) {
    world.types = [now, accepts] {
      Registry types;
      types.add("works", now, works, TypeOptions().accepts_from(accepts));
      return types;
    };
    world.live([](Host&) -> Task<void> { co_return; });
    return world.recovery;
  };
  EXPECT_EQ(version(2, 2).paused, 1u);
  EXPECT_EQ(version(3, 2).paused, 1u);
  EXPECT_EQ(version(3, 1).resumed, 1u);
  EXPECT_EQ(version(1, 1).resumed, 1u);
}

Durable<void> tells(Flow& flow, std::string name) {
  if (CrashTest::alive()) effects.push_back(name);
  co_await flow.sleep(1h);
}

TEST_P(LifecycleTest, D4_TasksOfAnUrgentTypeAreResumedFirst) {
  world.types = [] {
    Registry types;
    types.add("slow", 1, tells).priority = 20;
    types.add("plain", 1, tells);
    types.add("urgent", 1, tells).priority = 5;
    return types;
  };
  world.host_options.replay_tasks = 1;
  world.live([&](Host& host) -> Task<void> {
    for (const char* type : {"slow", "plain", "urgent", "slow", "plain", "urgent"}) {
      co_await host.start(type, type);
    }
    co_await sleep(1s);
  });
  effects.clear();
  world.live([](Host&) -> Task<void> { co_await sleep(1s); });
  EXPECT_EQ(effects,
            (std::vector<std::string>{"urgent", "urgent", "plain", "plain", "slow", "slow"}));
}

TEST_P(LifecycleTest, D4_NothingIsResumedByItselfWhenEverythingStartsPaused) {
  only("works", works);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("works");
    co_await sleep(1s);
  });
  world.host_options.start_paused = true;
  world.live([&](Host& host) -> Task<void> {
    co_await sleep(24h);
    EXPECT_EQ(host.info(id)->status, DurableStatus::paused);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"one"}));
  world.live([&](Host& host) -> Task<void> {
    co_await host.resume(id);
    co_await host.signal(id, "s", 1);
    EXPECT_EQ(co_await host.result<std::string>(id), "done 1");
  });
}

}  // namespace lifecycle_test
}  // namespace tiffany
