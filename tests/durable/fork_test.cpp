// Host::fork: another task with the history of one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace fork_test {

using namespace std::chrono_literals;

class ForkTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(ForkTest);

int price = 0;
std::vector<Uuid> promises;

Durable<std::string> buys(Flow& flow, std::string what) {
  const Uuid drawn = flow.uuid();
  auto ok = co_await flow.promise<bool>("ok");
  if (CrashTest::alive()) promises.push_back(ok.id());
  const int number = co_await flow.step("number", StepOptions().arguments(drawn.text()), [] {
    effects.push_back("number");
    return 7;
  });
  co_await ok;
  const WallTime then = flow.now();
  co_await flow.sleep(1h);
  const int cost = co_await flow.step("price", [](Attempt& attempt) {
    effects.push_back("price " + attempt.key().substr(0, 36));
    return price;
  });
  co_return what + " " + std::to_string(number) + " for " + std::to_string(cost) + " after " +
      std::to_string((flow.now() - then) / 1s);
}

Task<Uuid> bought(Host& host) {
  const Uuid id = co_await host.start("buys", "tea");
  co_await sleep(1s);
  co_await host.complete(promises.back(), true);
  EXPECT_EQ(co_await host.result<std::string>(id), "tea 7 for 3 after 3600");
  co_return id;
}

TEST_P(ForkTest, D4_AForkHasTheHistoryUpToTheStepAndDoesTheRestAnewAsAnotherTask) {
  only("buys", buys);
  price = 3;
  Uuid id;
  Uuid fork;
  world.live([&](Host& host) -> Task<void> {
    id = co_await bought(host);
    price = 4;
    fork = co_await host.fork(id, "price#1");
    EXPECT_NE(fork, id);
    EXPECT_EQ(co_await host.result<std::string>(fork), "tea 7 for 4 after 3600");
    EXPECT_EQ(co_await host.result<std::string>(id), "tea 7 for 3 after 3600");
  });
  const Effects expected = effects;
  EXPECT_EQ(expected,
            (std::vector<std::string>{"number", "price " + id.text(), "price " + fork.text()}));
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.finished, 2u);
    EXPECT_EQ(co_await host.result<std::string>(fork), "tea 7 for 4 after 3600");
    const Uuid third = co_await host.fork(fork, "price#1");
    EXPECT_EQ(co_await host.result<std::string>(third), "tea 7 for 4 after 3600");
  });
}

TEST_P(ForkTest, D4_AForkFromBeforeAPromiseWaitsForOneOfItsOwn) {
  only("buys", buys);
  price = 3;
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await bought(host);
    const Uuid fork = co_await host.fork(id, "ok#1");
    co_await sleep(1s);
    EXPECT_NE(promises.back(), promises.front());
    co_await host.complete(promises.back(), true);
    EXPECT_EQ(co_await host.result<std::string>(fork), "tea 7 for 3 after 3600");
  });
}

TEST_P(ForkTest, D4_ATaskIsForkedOnlyFromAStepThatItHasAndNotBehindAnOpenPromise) {
  only("buys", buys);
  price = 3;
  world.live([&](Host& host) -> Task<void> {
    const Uuid running = co_await host.start("buys", "tea");
    co_await sleep(1s);
    EXPECT_EQ(co_await error_of(host.fork(running, "number#1")), Errc::durable_misuse);
    const Uuid id = co_await bought(host);
    EXPECT_EQ(co_await error_of(host.fork(id, "number#2")), Errc::unknown_durable);
    EXPECT_EQ(co_await error_of(host.fork(Uuid(), "number#1")), Errc::unknown_durable);
    EXPECT_EQ(host.tasks().size(), 2u) << "nothing has come to be";
  });
}

Durable<std::string> gives_up(Flow& flow) {
  auto ok = co_await flow.promise<bool>("ok");
  co_await flow.step("ask", [] { effects.push_back("ask"); });
  auto late = co_await flow.timer(1h);
  const auto first = co_await flow.race(ok, late);
  co_return first.index == 0 ? "ok" : "too late";
}

TEST_P(ForkTest, D4_TwoTasksNeverWaitForOnePromise) {
  only("gives_up", gives_up);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("gives_up");
    EXPECT_EQ(co_await host.result<std::string>(id), "too late");
    EXPECT_EQ(co_await error_of(host.fork(id, "ask#1")), Errc::durable_misuse);
    const Uuid fork = co_await host.fork(id, "ok#1");
    EXPECT_EQ(co_await host.result<std::string>(fork), "too late");
  });
}

Durable<std::string> two_steps(Flow& flow) {
  co_await flow.step("one", [] { effects.push_back("one"); });
  co_await flow.sleep(1h);
  co_await flow.step("two", [] { effects.push_back("two"); });
  co_return "done";
}

TEST_P(ForkTest, D4_ATaskThatGoesOnIsForkedAndBothEnd) {
  only("two_steps", two_steps);
  Uuid id;
  Uuid fork;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("two_steps");
    co_await sleep(1s);
    fork = co_await host.fork(id, "timer#1");
    EXPECT_EQ(co_await error_of(host.fork(id, "two#1")), Errc::unknown_durable) << "not yet";
    co_await sleep(1s);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(id), "done");
    EXPECT_EQ(co_await host.result<std::string>(fork), "done");
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"one", "two", "two"}));
}

Task<int> slowly(Attempt&) {
  co_await sleep(1h);
  effects.push_back("slow");
  co_return 1;
}
Durable<std::string> under_way(Flow& flow) {
  const auto slow = co_await flow.begin_step("slow", StepOptions().at_most_once(), &slowly);
  co_await flow.step("quick", [] { effects.push_back("quick"); });
  const auto child = co_await flow.spawn<std::string>("two_steps");
  co_await flow.step("last", [] { effects.push_back("last"); });
  co_await slow;
  co_return co_await child;
}

// The fork would begin a step again that is under way, and take the child from its parent.
TEST_P(ForkTest, D4_ATaskThatGoesOnIsNotForkedBehindWhatIsUnderWay) {
  world.types = [] {
    Registry types;
    types.add("under_way", 1, under_way);
    types.add("two_steps", 1, two_steps);
    return types;
  };
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("under_way");
    co_await sleep(1s);
    EXPECT_EQ(co_await error_of(host.fork(id, "quick#1")), Errc::durable_misuse);
    EXPECT_EQ(co_await error_of(host.fork(id, "last#1")), Errc::durable_misuse);
    EXPECT_EQ(host.tasks().size(), 2u) << "it and its child";
    EXPECT_EQ(co_await host.result<std::string>(id), "done");
    const Uuid fork = co_await host.fork(id, "last#1");
    EXPECT_EQ(co_await host.result<std::string>(fork), "done");
  });
  EXPECT_EQ(std::count(effects.begin(), effects.end(), "slow"), 1);
  EXPECT_EQ(std::count(effects.begin(), effects.end(), "last"), 2);
}

std::vector<Uuid> writers;
Durable<int> writes(Flow& flow) {
  writers.clear();
  for (int i = 0; i < 3; ++i) {
    writers.push_back(flow.written_by());
    co_await flow.step("step", [] {});
  }
  writers.push_back(flow.written_by());
  co_return 0;
}

TEST_P(ForkTest, D4_AForkKnowsWhoseWordsItRepeats) {
  only("writes", writes);
  Uuid a, b, c;
  world.live([&](Host& host) -> Task<void> {
    a = co_await host.start("writes");
    co_await host.result<int>(a);
    EXPECT_EQ(writers, (std::vector<Uuid>{a, a, a, a}));
    b = co_await host.fork(a, "step#2");
    co_await host.result<int>(b);
    EXPECT_EQ(writers, (std::vector<Uuid>{a, b, b, b}));
    c = co_await host.fork(b, "step#3");
    co_await host.result<int>(c);
    EXPECT_EQ(writers, (std::vector<Uuid>{a, b, c, c}));
    const Uuid d = co_await host.fork(c, "step#1");
    co_await host.result<int>(d);
    EXPECT_EQ(writers, (std::vector<Uuid>{d, d, d, d}));
  });
}

TEST_P(ForkTest, D4_AForkOfATaskThatWasKilledWhileItWasPausedRunsAlsoAfterACrash) {
  only("two_steps", two_steps);
  Uuid fork;
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("two_steps");
    co_await sleep(1s);
    co_await host.pause(id);
    co_await host.kill(id, "enough");
    fork = co_await host.fork(id, "timer#1");
    co_await sleep(1s);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.resumed, 1u) << world.recovery.text();
    EXPECT_EQ(co_await host.result<std::string>(fork), "done");
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"one", "two"}));
}

TEST_P(ForkTest, D4_AForkIsThereWhollyOrNotAtAllWhereverTheProcessIsCutOff) {
  only("buys", buys);
  std::size_t partial = 0;
  bool ended = false;
  for (std::size_t slices = 1; !ended; ++slices) {
    world.disk = std::make_shared<MemoryDisk>();
    price = 3;
    Uuid id;
    world.live([&](Host& host) -> Task<void> {
      id = co_await bought(host);
      co_await host.close();
    });
    price = 4;
    Uuid fork;
    ended = world.live(
        [&](Host& host) -> Task<void> {
          const Uuid made = co_await host.fork(id, "price#1");
          if (CrashTest::alive()) fork = made;
        },
        slices);
    world.live([&](Host& host) -> Task<void> {
      EXPECT_TRUE(host.tasks().size() == 2 || fork.nil()) << slices;
      for (const DurableInfo& task : host.tasks()) {
        EXPECT_EQ(co_await host.result<std::string>(task.id),
                  task.id == id ? "tea 7 for 3 after 3600" : "tea 7 for 4 after 3600")
            << slices;
      }
      if (host.tasks().size() == 1) ++partial;
    });
  }
  EXPECT_GT(partial, 0u);
}

TEST_P(ForkTest, D4_ACopyWithoutItsLastRecordHasNotComeToBe) {
  only("buys", buys);
  price = 3;
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await bought(host);
    co_await host.close();
  });
  std::vector<std::string> lines = world.lines(id);
  const Uuid half = Uuid::derived(id, "half");
  world.live([&](Host& host) -> Task<void> {
    wal::StoredTask& copy = host.store().add(half);
    for (std::string& line : lines) {
      const std::string with =
          host.store().count(copy) == 0
              ? half.text() + "\",\"forked_at\":1000,\"fork_of\":\"" + id.text()
              : half.text();
      line.replace(line.find(id.text()), 36, with);
      host.store().append_copy(copy, line);
    }
    co_await host.store().flush();
  });
  EXPECT_EQ(world.lines(half).size(), lines.size()) << "it is in the log";
  effects.clear();
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.tasks().size(), 1u);
    EXPECT_TRUE(world.recovery.notes.empty()) << world.recovery.text();
    co_await sleep(24h);
  });
  EXPECT_TRUE(effects.empty());
}

int rounds = 0;

Durable<int> counts(Flow& flow) {
  int n = flow.state<int>(0);
  for (; n < 3; ++n) {
    co_await flow.step("round", [] { ++rounds; });
    co_await flow.checkpoint(n + 1);
  }
  const int drawn = static_cast<int>(flow.random().below(1000));
  co_return co_await flow.step("last", StepOptions().arguments(drawn), [&] { return drawn; });
}

TEST_P(ForkTest, D4_AForkBehindACheckpointGoesOnFromIt) {
  only("counts", counts);
  rounds = 0;
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("counts");
    const int first = co_await host.result<int>(id);
    const Uuid fork = co_await host.fork(id, "last#1");
    EXPECT_EQ(co_await host.result<int>(fork), first) << "the same numbers are drawn";
  });
  EXPECT_EQ(rounds, 3);
}

}  // namespace fork_test
}  // namespace tiffany
