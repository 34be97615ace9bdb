// Checkpoints: the code begins anew there, live as after a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "durable/memory_test.hpp"
#include "tiffany/durable/inspect.hpp"

namespace tiffany {
namespace checkpoint_test {

using namespace std::chrono_literals;

class CheckpointTest : public MemoryTest {
 protected:
  Uuid id = Uuid::derived(Uuid(), "task");
};
TIFFANY_IN_EVERY_STORE(CheckpointTest);

// ---- The code begins anew at once ----

int behind = 0;  // code behind a checkpoint that ran
int made = 0;
int gone = 0;
struct Counted {
  Counted() { ++made; }
  ~Counted() { ++gone; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

Durable<void> save(Flow& flow, int round) {
  const Counted inner;
  const auto path = flow.enter("save");
  const auto shield = flow.shield();
  try {
    co_await flow.checkpoint(round + 1);
  } catch (...) {  // nothing is thrown here
    if (CrashTest::alive()) ++behind;
    throw;
  }
  if (CrashTest::alive()) ++behind;
}

Durable<std::string> forgets(Flow& flow) {
  const int round = flow.state(0);
  const Counted outer;
  int local = 0;  // what is not in the state is lost
  for (; round + local < 3; ++local) {
    co_await flow.step("work", [&](Attempt& attempt) {
      effects.push_back(std::to_string(round) + ":" + std::to_string(local));
      return attempt.key();
    });
    co_await save(flow, round);
  }
  co_return "round " + std::to_string(round) + ", local " + std::to_string(local);
}

TEST_P(CheckpointTest, TheCodeBeginsAnewAtOnceWithTheState) {
  only("body", forgets);
  behind = made = gone = 0;
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(id, "body");
    EXPECT_EQ(co_await host.result<std::string>(id), "round 3, local 0");
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"0:0", "1:0", "2:0"}));
  EXPECT_EQ(behind, 0);
  EXPECT_EQ(made, gone);
  EXPECT_EQ(made, 7);
}

TEST_P(CheckpointTest, LocalsAreTheSameWhereverItIsCutOff) {
  world.types = [] {
    Registry types;
    types.add("body", 1, forgets);
    return types;
  };
  world.crash_everywhere(
      [] {
        effects.clear();
        behind = 0;
      },
      [&](Host& host) -> Task<void> {
        co_await host.start_as(id, "body");
        EXPECT_EQ(co_await host.result<std::string>(id), "round 3, local 0");
      },
      [&] {
        effects.erase(std::unique(effects.begin(), effects.end()), effects.end());
        EXPECT_EQ(effects, (std::vector<std::string>{"0:0", "1:0", "2:0"}))
            << "crash after slice " << world.crashed_after;
        EXPECT_EQ(behind, 0);
      });
}

// Names, shields, paths and random numbers begin anew, and what outside is named after them
// differs.
Durable<std::string> draws(Flow& flow) {
  auto [round, seen] = flow.state(std::pair<int, std::string>(0, ""));
  seen += co_await flow.step("key", [](Attempt& attempt) {
    effects.push_back(attempt.key());
    return attempt.key();
  });
  seen += " " + std::to_string(flow.random().below(1000)) + ";";
  if (round == 3) co_return seen;
  const std::pair<int, std::string> next(round + 1, seen);
  co_await flow.checkpoint(next);
  co_return "not reached";
}

TEST_P(CheckpointTest, KeysDifferFromOneCheckpointToTheNextWhereverItIsCutOff) {
  std::string expected;
  only("body", draws);
  world.crash_everywhere([] { effects.clear(); },
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(id, "body");
                           const std::string got = co_await host.result<std::string>(id);
                           if (expected.empty()) expected = got;
                           EXPECT_EQ(got, expected) << world.crashed_after;
                         },
                         [&] {
                           std::sort(effects.begin(), effects.end());
                           const auto end = std::unique(effects.begin(), effects.end());
                           EXPECT_EQ(end - effects.begin(), 4) << world.crashed_after;
                         });
}

// ---- In the same moment ----

Durable<std::string> rounds(Flow& flow) {
  const int round = flow.state(0);
  if (round == 3) {
    std::string seen;
    for (int i = 0; i < 2; ++i) seen += std::to_string(co_await flow.signal<int>("s"));
    co_return seen;
  }
  co_await flow.step("work", [&] { effects.push_back(std::to_string(round)); });
  co_await flow.checkpoint(round + 1);
  co_return "not reached";
}

enum class Meanwhile { pause, kill, cancel, close, signal };

Task<void> meddle(Host* host, Uuid id, Meanwhile what) {
  try {
    if (what == Meanwhile::pause) co_await host->pause(id);
    if (what == Meanwhile::kill) co_await host->kill(id, "by the test");
    if (what == Meanwhile::cancel) co_await host->cancel(id, "by the test");
    if (what == Meanwhile::close) co_await host->close();
    if (what == Meanwhile::signal) co_await host->signal(id, "s", 7);
  } catch (const Error&) {  // it ended before
  }
}

TEST_P(CheckpointTest, PauseKillCancelCloseAndSignalsMayComeInAnyMomentOfIt) {
  only("body", rounds);
  for (const Meanwhile what : {Meanwhile::pause, Meanwhile::kill, Meanwhile::cancel,
                               Meanwhile::close, Meanwhile::signal}) {
    for (int yields = 0; yields < 60; ++yields) {
      world.disk = std::make_shared<MemoryDisk>();
      effects.clear();
      world.live([&](Host& host) -> Task<void> {
        co_await host.start_as(id, "body");
        for (int i = 0; i < yields; ++i) co_await yield();
        co_await meddle(&host, id, what);
      });
      world.live([&](Host& host) -> Task<void> {
        if (host.info(id)->status == DurableStatus::paused) co_await host.resume(id);
        if (what != Meanwhile::kill && what != Meanwhile::cancel) {
          if (what != Meanwhile::signal) co_await host.signal(id, "s", 7);
          co_await host.signal(id, "s", 8);
          EXPECT_EQ(co_await host.result<std::string>(id), "78") << yields;
          const auto end = std::unique(effects.begin(), effects.end());
          EXPECT_EQ(end - effects.begin(), 3) << yields;
        } else {
          EXPECT_EQ(co_await error_of(host.result<std::string>(id)), Errc::durable_cancelled);
        }
      });
    }
  }
}

// ---- Inspecting ----

Task<void> inspect_into(const Registry* types, wal::LogOptions log, Uuid id, Inspection* seen) {
  *seen = co_await inspect(*types, log, id);
}

TEST_P(CheckpointTest, InspectSaysThatACheckpointComesNext) {
  only("body", rounds);
  bool found = false;
  for (std::size_t slices = 1; !found && slices < 200; ++slices) {
    world.disk = std::make_shared<MemoryDisk>();
    world.live(
        [&](Host& host) -> Task<void> {
          co_await host.start_as(id, "body");
          co_await sleep(1min);
        },
        slices);
    if (world.lines(id).size() < 2) continue;
    found = true;
    const Registry types = world.types();
    Scheduler scheduler(Options().virtual_time());
    Inspection seen;
    scheduler.spawn(&inspect_into, &types, world.log_options(), id, &seen);
    scheduler.run();
    EXPECT_TRUE(seen.agrees) << seen.difference;
    EXPECT_EQ(seen.next, (std::vector<std::string>{"make a checkpoint, and begin anew"}));
  }
  EXPECT_TRUE(found);
}

// ---- More mail than a record can have ----

std::string letter(int number) { return std::string(40000, static_cast<char>('a' + number)); }
constexpr int kLetters = 30;  // 1.2 MB

Durable<std::string> reads_later(Flow& flow, bool catches) {
  const int round = flow.state(0);
  if (round == 0) {
    co_await flow.step("before", [](Attempt& attempt) { effects.push_back(attempt.key()); });
    co_await flow.sleep(1h);
    try {
      co_await flow.checkpoint(1);
    } catch (const Error&) {
      if (!catches) throw;
    }
  }
  co_await flow.step("before", [](Attempt& attempt) { effects.push_back(attempt.key()); });
  co_await flow.sleep(1h);
  std::string seen;
  for (int i = 0; i < kLetters; ++i) {
    const std::string text = co_await flow.signal<std::string>("s");
    seen += text == letter(i) ? text[0] : '?';
  }
  co_return seen;
}

TEST_P(CheckpointTest, MoreThanAMebibyteOfWaitingSignalsIsKept) {
  only("body", reads_later);
  for (const bool catches : {false, true}) {
    world.disk = std::make_shared<MemoryDisk>();
    effects.clear();
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_as(id, "body", catches);
      for (int i = 0; i < kLetters; ++i) co_await host.signal(id, "s", letter(i));
      co_await sleep(90min);
    });
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(co_await host.result<std::string>(id), "abcdefghijklmnopqrstuvwxyz{|}~")
          << host.info(id)->detail;
    });
    ASSERT_EQ(effects.size(), 2u);
    EXPECT_NE(effects[0], effects[1]) << "two steps with one key";
  }
}

Durable<std::string> keeps_references(Flow& flow) {
  const int round = flow.state(0);
  if (round == 0) {
    co_await flow.sleep(1h);
    co_await flow.checkpoint(1);
  }
  co_await flow.sleep(1h);
  const auto likely = co_await flow.signal<std::map<std::string, std::string>>("s");
  const std::string large = co_await flow.signal<std::string>("s");
  const std::string small = co_await flow.signal<std::string>("s");
  co_return likely.begin()->first + std::to_string(large.size()) + small;
}

TEST_P(CheckpointTest, WaitingSignalsThatLieBesideTheLogSurviveCompaction) {
  only("body", keeps_references);
  for (const int more : {0, 2}) {  // without and with more than a record takes
    world.disk = std::make_shared<MemoryDisk>();
    std::map<std::string, std::string> likely;  // it looks like a reference
    likely["$value"] = "mine";
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_as(id, "body");
      co_await host.signal(id, "s", likely);
      co_await host.signal(id, "s", std::string(70000, 'x'));
      co_await host.signal(id, "s", std::string("small"));
      for (int i = 0; i < more; ++i) co_await host.signal(id, "other", letter(i));
      co_await sleep(90min);
      co_await host.compact();
      co_await host.close();
    });
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(co_await host.result<std::string>(id), "$value70000small");
    });
  }
}

}  // namespace checkpoint_test
}  // namespace tiffany
