// Timers, promises, signals, gather, race and any.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace waits_test {

using namespace std::chrono_literals;

class WaitsTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(WaitsTest);

std::vector<Uuid> promises;

// ---- Timers ----

Durable<std::string> timers(Flow& flow) {
  auto late = co_await flow.timer(3h);
  auto early = co_await flow.timer(2h);
  {
    auto dropped = co_await flow.timer(1h);
  }
  const auto first = co_await flow.race(late, early);
  const WallTime then = flow.now();
  co_await late;
  std::string text = "timer " + std::to_string(first.index) + " after ";
  text += std::to_string((flow.now() - then) / 1s);
  co_await flow.sleep(0s);
  try {
    co_await flow.sleep(-1s);
  } catch (const Error& e) {
    text += e.code() == Errc::bad_argument ? " bad" : " ?";
  }
  co_return text;
}

TEST_P(WaitsTest, D3_TimersComeInTheirOrderAlsoWhenTheyAreDueWhileNobodyRuns) {
  only("timers", timers);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("timers");
    co_await sleep(1min);
  });
  world.live([](Host&) -> Task<void> { co_await sleep(149min); });
  world.live([&](Host& host) -> Task<void> {
    const Time start = now();
    EXPECT_EQ(co_await host.result<std::string>(id), "timer 1 after 3600 bad");
    EXPECT_LE(now() - start, 1h);
  });
}

// ---- Promises ----

Durable<std::string> approval(Flow& flow) {
  auto answer = co_await flow.promise<std::string>("answer");
  auto never = co_await flow.promise<int>("never");
  if (CrashTest::alive()) promises = {answer.id(), never.id()};
  std::string text;
  try {
    text = co_await answer;
  } catch (const Error& e) {
    text = std::string("refused: ") + e.what();
  }
  co_await flow.sleep(1h);
  co_return text;
}

TEST_P(WaitsTest, D3_APromiseIsKeptFromOutsideOnceAlsoAcrossCrashes) {
  only("approval", approval);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("approval");
    co_await sleep(1s);
  });
  const std::vector<Uuid> asked = promises;
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.complete(Uuid::derived(id, "x"), 1)), Errc::unknown_durable);
    EXPECT_EQ(co_await error_of(host.complete(id, 1)), Errc::unknown_durable);
    EXPECT_TRUE(co_await host.complete(asked[0], std::string("yes")));
    EXPECT_FALSE(co_await host.complete(asked[0], std::string("no")));
    co_await sleep(1s);
    EXPECT_FALSE(co_await host.complete(asked[0], std::string("no")));
  });
  EXPECT_EQ(promises, asked);
  world.live([&](Host& host) -> Task<void> {
    EXPECT_FALSE(co_await host.complete(asked[0], std::string("no")));
    EXPECT_EQ(co_await host.result<std::string>(id), "yes");
    EXPECT_EQ(co_await error_of(host.complete(asked[1], 1)), Errc::durable_stopped);
  });
}

TEST_P(WaitsTest, D3_APromiseCanBeBroken) {
  only("approval", approval);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("approval");
    co_await sleep(1s);
    EXPECT_TRUE(co_await host.complete_json(promises[0], "too dear", false));
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(id), "refused: too dear");
  });
}

TEST_P(WaitsTest, D3_WhatWasKeptIsOnTheDiskWhenItIsAcknowledgedWhereverTheProcessIsCutOff) {
  only("approval", approval);
  bool ended = false;
  for (std::size_t slices = 1; !ended; ++slices) {
    world.disk = std::make_shared<MemoryDisk>();
    const Uuid id = Uuid::derived(Uuid(), "task");
    bool acknowledged = false;
    ended = world.live(
        [&](Host& host) -> Task<void> {
          co_await host.start_json("approval", "[]", id);
          co_await sleep(1s);
          co_await host.complete(promises[0], std::string("yes"));
          if (CrashTest::alive()) acknowledged = true;
        },
        slices);
    if (world.lines(id).empty()) continue;
    world.live([&](Host& host) -> Task<void> {
      co_await sleep(1s);
      const bool first = co_await host.complete(promises[0], std::string("yes"));
      EXPECT_FALSE(first && acknowledged) << slices;
      EXPECT_EQ(co_await host.result<std::string>(id), "yes");
    });
  }
}

// ---- Signals ----

Durable<std::string> listens(Flow& flow, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i == 2) text += co_await flow.signal<std::string>("other");
    text += std::to_string(co_await flow.signal<int>("number"));
    if (i == 1) co_await flow.sleep(1h);
  }
  co_return text;
}

TEST_P(WaitsTest, D3_SignalsAreTakenInTheirOrderAlsoWhenTheyCameBeforeAnybodyAsked) {
  only("listens", listens);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("listens", 5);
    for (const int i : {1, 2, 3}) co_await host.signal(id, "number", i);
    co_await host.signal(id, "other", std::string("x"));
    co_await host.signal(id, "number", 4);
  });
  world.live([&](Host& host) -> Task<void> {
    co_await host.signal(id, "number", 5);
    EXPECT_EQ(co_await host.result<std::string>(id), "12x345");
    EXPECT_EQ(co_await error_of(host.signal(id, "number", 6)), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.signal(Uuid(), "number", 6)), Errc::unknown_durable);
  });
}

Task<void> sends(Host* host, Uuid id, int value) { co_await host->signal(id, "number", value); }

TEST_P(WaitsTest, D3_SignalsOfManySendersComeInTheOrderOfTheLog) {
  only("listens", listens);
  Uuid id;
  std::string live;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("listens", 2);
    Scheduler& scheduler = Scheduler::require("test");
    auto low = scheduler.spawn.with_priority(200)(sends, &host, id, 1);
    co_await yield();
    auto high = scheduler.spawn.with_priority(5)(sends, &host, id, 2);
    co_await std::move(low);
    co_await std::move(high);
    live = co_await host.result<std::string>(id);
  });
  std::string logged;
  for (const std::string& line : world.lines(id)) {
    const std::size_t at = line.find("\"value\":");
    if (at != std::string::npos) logged += line[at + 8];
  }
  EXPECT_EQ(live, logged);
}

// ---- Gather and race ----

Durable<std::string> collects(Flow& flow) {
  std::vector<DurableHandle<int>> all;
  for (int i = 0; i < 4; ++i) all.push_back(co_await flow.promise<int>("p"));
  if (CrashTest::alive()) {
    promises.clear();
    for (const auto& each : all) promises.push_back(each.id());
  }
  co_await flow.sleep(1h);
  std::string text;
  while (!all.empty()) {
    const auto first = co_await flow.race(all);
    text += std::to_string(first.value);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(first.index));
    co_await flow.step("note", [&] { effects.push_back(text); });
  }
  co_return text;
}

TEST_P(WaitsTest, D3_TheWinnerOfARaceIsTheSameAfterACrashAlthoughMoreHaveCome) {
  only("collects", collects);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("collects");
    co_await sleep(2h);
    co_await host.complete(promises[2], 2);  // while it waits
  });
  world.live([&](Host& host) -> Task<void> {
    co_await sleep(1s);
    co_await host.complete(promises[0], 0);
    co_await host.complete(promises[3], 3);
    co_await sleep(1s);
  });
  EXPECT_EQ(effects.back(), "203");
  const std::size_t before = effects.size();
  world.live([&](Host& host) -> Task<void> {
    co_await sleep(1s);
    co_await host.complete(promises[1], 1);
    EXPECT_EQ(co_await host.result<std::string>(id), "2031");
  });
  EXPECT_EQ(effects.size(), before + 1);
}

TEST_P(WaitsTest, D3_OfThoseThatHadComeBeforeTheRaceTheFirstInItWins) {
  only("collects", collects);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("collects");
    co_await sleep(1s);
    for (const std::size_t i : {3u, 1u, 2u, 0u}) {
      co_await host.complete(promises[i], static_cast<int>(i));
    }
    EXPECT_EQ(co_await host.result<std::string>(id), "0123");
  });
}

Durable<std::string> gathers(Flow& flow) {
  auto a = co_await flow.promise<int>("a");
  auto b = co_await flow.promise<std::string>("b");
  auto c = co_await flow.timer(1h);
  if (CrashTest::alive()) promises = {a.id(), b.id()};
  std::string text;
  try {
    auto [x, y, z] = co_await flow.gather(a, b, c);
    text = std::to_string(x) + y;
  } catch (const Error& e) {
    text = e.what();
  }
  co_await flow.gather();
  co_await c;
  co_return text;
}

TEST_P(WaitsTest, D3_GatherGivesAllInTheirOrder) {
  only("gathers", gathers);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("gathers");
    co_await sleep(1s);
    co_await host.complete(promises[1], std::string("b"));
  });
  world.live([&](Host& host) -> Task<void> {
    co_await host.complete(promises[0], 1);
    EXPECT_EQ(co_await host.result<std::string>(id), "1b");
  });
}

TEST_P(WaitsTest, D3_GatherFailsWithTheFirstFailure) {
  only("gathers", gathers);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("gathers");
    co_await sleep(1s);
    co_await host.complete_json(promises[1], "no b", false);
    EXPECT_EQ(co_await host.result<std::string>(id), "no b");
  });
}

Durable<std::string> empty_race(Flow& flow) {
  const std::vector<DurableHandle<int>> none;
  const DurableHandle<int> empty;
  std::string text;
  try {
    co_await flow.race(none);
  } catch (const Error& e) {
    text = e.code() == Errc::durable_misuse ? "misuse" : e.what();
  }
  try {
    co_await flow.gather(empty);
  } catch (const Error& e) {
    text += e.code() == Errc::durable_misuse ? " misuse" : e.what();
  }
  try {
    co_await empty;
  } catch (const Error& e) {
    text += e.code() == Errc::durable_misuse ? " misuse" : e.what();
  }
  co_return text;
}

Durable<std::string> takes_any(Flow& flow) {
  auto a = co_await flow.promise<int>("a");
  auto b = co_await flow.promise<int>("b");
  auto c = co_await flow.promise<int>("c");
  if (CrashTest::alive()) promises = {a.id(), b.id(), c.id()};
  std::string text;
  try {
    const auto first = co_await flow.any(a, b, c);
    text = std::to_string(first.index);
  } catch (const Error& e) {
    text = e.what();
  }
  co_await flow.step("tell", [&] { effects.push_back(text); });
  co_await flow.sleep(1h);
  co_return text;
}

TEST_P(WaitsTest, D3_AnyIsTheFirstThatSucceedsAlsoAfterACrashWhenMoreHaveCome) {
  only("takes_any", takes_any);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("takes_any");
    co_await sleep(1s);
    co_await host.complete_json(promises[0], "not this one", false);
    co_await sleep(1s);
    EXPECT_TRUE(effects.empty()) << "a failure does not count";
    co_await host.complete(promises[2], 2);
    co_await sleep(1s);
    co_await host.complete(promises[1], 1);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"2"}));
  world.live(
      [&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<std::string>(id), "2"); });
  EXPECT_EQ(effects.size(), 1u);
}

TEST_P(WaitsTest, D3_AnyFailsWhenAllHaveFailed) {
  only("takes_any", takes_any);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("takes_any");
    co_await sleep(1s);
    for (const std::size_t i : {2u, 0u, 1u}) {
      EXPECT_TRUE(effects.empty());
      co_await host.complete_json(promises[i], "no " + std::to_string(i), false);
    }
    EXPECT_EQ(co_await host.result<std::string>(id), "All 3 failed; the first: no 0");
  });
}

TEST_P(WaitsTest, D3_ARaceOfNothingAndAnEmptyHandleAreErrors) {
  only("empty_race", empty_race);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("empty_race");
    EXPECT_EQ(co_await host.result<std::string>(id), "misuse misuse misuse");
  });
}

}  // namespace waits_test
}  // namespace tiffany
