// What a Flow gives besides waiting: time, random numbers, versions, checkpoints, queries; and its
// misuse.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace flow_test {

using namespace std::chrono_literals;

class FlowTest : public MemoryTest {
 protected:
  // The result of a task that is cut off after each slice, once; all of them must be the same.
  template <class R, class... As>
  void expect_the_same_wherever_it_is_cut_off(Durable<R> (*body)(Flow&, As...)) {
    only("body", body);
    const Uuid id = Uuid::derived(Uuid(), "task");
    std::string expected;
    std::vector<std::shared_ptr<MemoryDisk>> cut;
    bool ended = false;
    for (std::size_t slices = 1; !ended; ++slices) {
      world.disk = std::make_shared<MemoryDisk>();
      bool sent = false;
      ended = world.live(
          [&](Host& host) -> Task<void> {
            co_await host.start_json("body", "[]", id);
            for (const int i : {1, 2, 3, 4}) co_await host.signal(id, "s", i);
            if (CrashTest::alive()) sent = true;
            expected = co_await host.result<std::string>(id);
          },
          slices);
      if (sent) cut.push_back(world.disk);
    }
    EXPECT_GT(cut.size(), 5u);
    for (const auto& disk : cut) {
      world.disk = disk;
      world.live([&](Host& host) -> Task<void> {
        EXPECT_EQ(co_await host.result<std::string>(id), expected);
      });
    }
  }
};
TIFFANY_IN_EVERY_STORE(FlowTest);

// With a disk that can fail, which a database does not use.
class FlowOnDiskTest : public FlowTest {};
TIFFANY_IN_BOTH_LAYOUTS(FlowOnDiskTest);

// ---- The same after a crash ----

Durable<std::string> draws(Flow& flow) {
  std::string text = flow.id().text() + std::to_string(flow.now().time_since_epoch().count());
  text += " " + std::to_string(flow.random().below(1000000)) + flow.uuid().text();
  for (int i = 0; i < 4; ++i) {
    text += std::to_string(co_await flow.signal<int>("s"));
    text += " " + std::to_string(flow.random().below(1000000)) + flow.uuid().text();
  }
  co_await flow.sleep(1h);
  text += " " + std::to_string(flow.now().time_since_epoch() / 1h);
  co_await flow.step("s", []() -> Task<void> { co_await sleep(1h); });
  text += " " + std::to_string(flow.version("change", 1, 3));
  co_return text;
}

TEST_P(FlowTest, D3_TimeAndRandomNumbersAreTheSameAfterACrashAnywhere) {
  expect_the_same_wherever_it_is_cut_off(draws);
}

Durable<std::string> counts(Flow& flow) {
  auto [round, seen] = flow.state(std::pair<int, std::string>(0, ""));
  while (round < 4) {
    seen += " " + std::to_string(co_await flow.signal<int>("s"));
    seen += "/" + std::to_string(co_await flow.step("draw", [] { return 5; }));
    seen += "/" + std::to_string(flow.random().below(1000)) + flow.uuid().text().substr(0, 4);
    ++round;
    const std::pair<int, std::string> state(round, seen);
    co_await flow.checkpoint(state);
  }
  co_return seen;
}

Durable<std::string> waits_so_long(Flow& flow) {
  std::string seen = flow.state(std::string());
  const auto wait = [&](Timed<int> came) {
    seen += came ? std::to_string(*came) : std::string("-");
  };
  if (seen.empty()) {
    wait(co_await flow.signal_within<int>(1h, "s"));
    wait(co_await flow.signal_within<int>(1h, "nobody sends this"));
    wait(co_await flow.signal_within<int>(0s, "s"));  // it is there
    co_await flow.checkpoint(seen);
  }
  wait(co_await flow.signal_within<int>(1h, "s"));
  wait(co_await flow.signal_within<int>(1h, "s"));
  const auto none = co_await flow.signal_within<int>(2h, "s");
  wait(none);
  co_return seen;
}

TEST_P(FlowTest, D3_ASignalIsWaitedForSoLongAtMost) {
  only("body", waits_so_long);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("body");
    co_await sleep(30min);
    for (const int i : {1, 2, 3}) co_await host.signal(id, "s", i);
    co_await sleep(90min);
    co_await host.signal(id, "s", 4);
    EXPECT_EQ(co_await host.result<std::string>(id), "1-234-");
  });
}

Durable<std::string> three_waits(Flow& flow) {
  std::string seen;
  for (int i = 0; i < 6; ++i) {
    const auto came = co_await flow.signal_within<int>(1h, i % 2 == 0 ? "s" : "x");
    seen += came ? std::to_string(*came) : std::string("-");
    seen += std::to_string(flow.now().time_since_epoch() / 1h) + " ";
  }
  co_return seen;
}

TEST_P(FlowTest, D3_WhetherASignalCameInTimeIsTheSameWhereverItIsCutOff) {
  expect_the_same_wherever_it_is_cut_off(three_waits);
}

Durable<std::string> waits_then_waits(Flow& flow) {
  try {
    co_await flow.signal_within<int>(1h, "s");
    co_await flow.signal<int>("t");
    co_await flow.signal_within<int>(1h, "s");
  } catch (const DurableCancelled&) {
    co_return "cancelled";
  }
  co_return "done";
}

TEST_P(FlowTest, D3_TheTimerOfAWaitForASignalEndsWithIt) {
  only("body", waits_then_waits);
  world.live([&](Host& host) -> Task<void> {
    const auto timers = []() -> Task<std::size_t> {  // when the task has come as far as it can
      for (int i = 0; i < 20; ++i) co_await yield();
      co_return Scheduler::require("test").armed_timers();
    };
    const Uuid id = co_await host.start("body");
    EXPECT_EQ(co_await timers(), 1u);
    co_await host.signal(id, "s", 1);
    EXPECT_EQ(co_await timers(), 0u);
    co_await host.signal(id, "t", 1);
    EXPECT_EQ(co_await timers(), 1u);
    co_await host.cancel(id, "enough");
    EXPECT_EQ(co_await host.result<std::string>(id), "cancelled");
    EXPECT_EQ(co_await timers(), 0u);
  });
}

TEST_P(FlowTest, D3_ACheckpointKeepsStateAndMailboxAndWhatComesAfterIsTheSame) {
  expect_the_same_wherever_it_is_cut_off(counts);
}

TEST_P(FlowTest, D3_ACheckpointForgetsWhatWasBefore) {
  only("body", counts);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("body");
    for (const int i : {1, 2, 3}) co_await host.signal(id, "s", i);
    co_await sleep(1s);
    EXPECT_LE(world.lines(id).size(), 3u);
    co_await host.signal(id, "s", 4);
    co_await host.result<std::string>(id);
    EXPECT_LE(world.lines(id).size(), 3u);
  });
}

Durable<std::string> cancelled_at_checkpoint(Flow& flow) {
  const int round = flow.state(0);
  try {
    co_await flow.sleep(1s);
    if (round < 100) co_await flow.checkpoint(round + 1);
  } catch (const DurableCancelled&) {
    co_return "cancelled";
  }
  co_return "done";
}

TEST_P(FlowTest, D3_ACheckpointDoesNotForgetACancel) {
  only("body", cancelled_at_checkpoint);
  for (std::size_t slices = 20; slices < 80; ++slices) {
    world.disk = std::make_shared<MemoryDisk>();
    const Uuid id = Uuid::derived(Uuid(), "task");
    bool acknowledged = false;
    world.live(
        [&](Host& host) -> Task<void> {
          co_await host.start_json("body", "[]", id);
          co_await sleep(5s);
          co_await host.cancel(id, "by the test");
          if (CrashTest::alive()) acknowledged = true;
          co_await sleep(1h);
        },
        slices);
    if (!acknowledged) continue;
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(co_await host.result<std::string>(id), "cancelled") << slices;
    });
  }
}

// ---- Versions ----

bool changed = false;

Durable<std::string> versioned(Flow& flow) {
  co_await flow.step("first", [] {});
  const int way = changed ? flow.version("change", 1, 2) : 1;
  co_await flow.step(way == 1 ? "old" : "new", [] {});
  co_await flow.sleep(1h);
  const int again = changed ? flow.version("change", 1, 2) : 1;
  co_return std::to_string(way) + std::to_string(again);
}

TEST_P(FlowTest, D4_ATaskThatWasThereBeforeAChangeGoesTheOldWay) {
  only("body", versioned);
  changed = false;
  Uuid before;
  world.live([&](Host& host) -> Task<void> {
    before = co_await host.start("body");
    co_await sleep(1min);
  });
  changed = true;
  Uuid after;
  world.live([&](Host& host) -> Task<void> {
    after = co_await host.start("body");
    co_await sleep(1min);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.resumed, 2u) << world.recovery.text();
    EXPECT_EQ(co_await host.result<std::string>(before), "12");
    EXPECT_EQ(co_await host.result<std::string>(after), "22");
  });
}

// ---- Queries ----

Durable<void> answers(Flow& flow) {
  int done = 0;
  const auto query = flow.on_query("done", [&done] { return std::to_string(done); });
  for (; done < 3; ++done) co_await flow.sleep(1h);
}

TEST_P(FlowTest, D4_ATaskAnswersQueriesAlsoAfterACrash) {
  only("body", answers);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("body");
    co_await sleep(90min);
    EXPECT_EQ(host.query(id, "done"), "1");
    EXPECT_THROW(host.query(id, "what"), Error);
    EXPECT_THROW(host.query(Uuid(), "done"), Error);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.query(id, "done"), "1");
    co_await host.result<void>(id);
    EXPECT_THROW(host.query(id, "done"), Error);
  });
}

Durable<void> answers_inside(Flow& flow) {
  {
    std::string inner(100, 'x');
    const auto query = flow.on_query("inner", [&inner] { return inner; });
    co_await flow.sleep(1h);
    const auto younger = flow.on_query("inner", [] { return std::string("younger"); });
    co_await flow.sleep(1h);
  }
  co_await flow.sleep(1h);
}

TEST_P(FlowTest, AQueryIsAnsweredAsLongAsItsGuardIsThere) {
  only("body", answers_inside);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("body");
    co_await sleep(30min);
    EXPECT_EQ(host.query(id, "inner").size(), 100u);
    co_await sleep(1h);
    EXPECT_EQ(host.query(id, "inner"), "younger");
    co_await sleep(1h);
    std::string said;
    try {
      host.query(id, "inner");
    } catch (const Error& e) {
      said = e.what();
      EXPECT_EQ(e.code(), Errc::unknown_durable);
    }
    EXPECT_NE(said.find("any more"), std::string::npos) << said;
  });
}

// ---- Misuse ----

template <class F>
std::string sentence_of(F misuse) {
  try {
    misuse();
  } catch (const Error& e) {
    return e.code() == Errc::durable_misuse ? "misuse" : e.what();
  }
  return "fine";
}

Durable<std::string> misuses(Flow& flow) {
  std::string text = co_await flow.step("inline", [&] {
    return sentence_of([&] { flow.random(); }) + sentence_of([&] { flow.version("v", 1, 2); });
  });
  text += co_await flow.step("task", [&]() -> Task<std::string> {
    co_await yield();
    co_return sentence_of([&] { flow.uuid(); });
  });
  auto timer = co_await flow.timer(1h);
  try {
    co_await flow.checkpoint(1);
  } catch (const Error& e) {
    text += std::string("\n") + e.what();
  }
  try {
    flow.state(0);
  } catch (const Error& e) {
    text += e.code() == Errc::durable_misuse ? "\nstate" : e.what();
  }
  try {
    co_await flow.step("", [] {});
  } catch (const Error& e) {
    text += e.code() == Errc::bad_argument ? "\nname" : e.what();
  }
  co_return text;
}

TEST_P(FlowTest, D3_AFlowThatIsUsedWrongSaysSo) {
  only("body", misuses);
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.result<int>(Uuid())), Errc::unknown_durable);
    const Uuid id = co_await host.start("body");
    EXPECT_EQ(co_await host.result<std::string>(id),
              "misusemisusemisuse\nA checkpoint cannot be made while timer \"timer#1\" is under "
              "way; await it, or drop its handle.\nstate\nname");
  });
}

Durable<std::string> drops(Flow& flow) {
  if (flow.state(0) == 1) {
    auto other = co_await flow.timer(0s);  // of the same name as the first
    co_await other;
    co_return "fine";
  }
  {
    auto timer = co_await flow.timer(1h);
  }
  {
    auto promise = co_await flow.promise<int>("p");
  }
  auto held = co_await flow.timer(0s);
  co_await held;
  co_await flow.checkpoint(1);
  co_return "not reached";
}

TEST_P(FlowTest, D3_HandlesThatAreDroppedOrHaveArrivedDoNotHinderACheckpoint) {
  only("body", drops);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("body");
    EXPECT_EQ(co_await host.result<std::string>(id), "fine");
  });
}

TEST_P(FlowTest, D3_AHostThatIsNotOpenSaysSo) {
  Registry types;
  Host host(types, world.log_options());
  Scheduler scheduler(Options().virtual_time());
  auto error = scheduler.spawn(&FlowTest::error_of<Uuid>, host.start("x"));
  scheduler.run();
  EXPECT_EQ(outcome_of(error, false).value(), Errc::durable_misuse);
}

// ---- A log that fails, and a host that goes ----

Durable<std::string> goes_on(Flow& flow) {
  for (int i = 0; i < 100; ++i) {
    try {
      co_await flow.step("work", [i]() -> Task<void> {
        co_await sleep(1s);
        effects.push_back(std::to_string(i));
      });
      co_await flow.step("inline", [] {});
    } catch (const std::exception&) {
      effects.push_back("seen");
    }
  }
  co_return "done";
}

TEST_P(FlowOnDiskTest, D2_ALogThatFailsStopsTasksWithATypedErrorAndNothingIsReportedThatIsLost) {
  only("body", goes_on);
  Uuid id;
  std::size_t before = 0;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("body");
    co_await sleep(10500ms);
    world.disk->fail();
    before = effects.size();
    EXPECT_EQ(co_await error_of(host.result<std::string>(id)), Errc::log_sealed);
    EXPECT_EQ(co_await error_of(host.signal(id, "s", 1)), Errc::log_sealed);
    EXPECT_EQ(co_await error_of(host.start("body")), Errc::log_sealed);
    EXPECT_EQ(co_await error_of(host.close()), Errc::log_sealed);
    co_await sleep(1h);
  });
  EXPECT_LE(effects.size(), before + 1);
  EXPECT_EQ(std::count(effects.begin(), effects.end(), "seen"), 0);
  world.disk->mend();
  world.live(
      [&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<std::string>(id), "done"); });
}

TEST_P(FlowTest, D2_WhoWaitsForAResultIsToldThatTheHostWasClosed) {
  only("body", goes_on);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("body");
    auto waits = Scheduler::require("test").spawn(&FlowTest::error_of<std::string>,
                                                  host.result<std::string>(id));
    co_await yield();
    co_await host.close();
    co_await host.close();
    EXPECT_EQ(co_await std::move(waits), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.start("body")), Errc::durable_misuse);
  });
}

TEST_P(FlowTest, D2_AHostThatIsDestroyedWithoutCloseLeavesTheLogAsInACrash) {
  only("body", goes_on);
  const Registry types = world.types();
  Uuid id;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto program = [&]() -> Task<void> {
      {
        Host host(types, world.log_options());
        co_await host.open();
        id = co_await host.start("body");
        co_await sleep(10s);
      }
      co_await sleep(1h);
    };
    scheduler.spawn(std::cref(program));
    scheduler.run();
    EXPECT_LE(effects.size(), 11u);
  }
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.resumed, 1u) << world.recovery.text();
    EXPECT_EQ(co_await host.result<std::string>(id), "done");
  });
}

}  // namespace flow_test
}  // namespace tiffany
