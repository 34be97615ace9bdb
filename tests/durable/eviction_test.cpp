// Tasks whose code is not in memory while they wait, and what brings it back.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace eviction_test {

using namespace std::chrono_literals;

int lives = 0;    // how often the code of a task began
int present = 0;  // tasks whose code is in memory
int most = 0;     // that were at a time
struct Here {
  Here() {
    ++lives;
    most = std::max(most, ++present);
  }
  ~Here() { --present; }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;
};

inline constexpr SignalName<int> go_on{"go on"};
inline constexpr QueryName<int> how_far{"how far"};

Durable<int> sleeps(Flow& flow) {
  const Here here;
  co_await flow.step("before", [] { effects.push_back("before"); });
  co_await flow.sleep(24h);
  co_await flow.step("after", [] { effects.push_back("after"); });
  co_return 1;
}
Durable<int> signalled(Flow& flow) {
  const Here here;
  int far = 0;
  const auto guard = flow.on_query(how_far, [&] { return far; });
  far = co_await flow.signal(go_on);
  far += co_await flow.signal(go_on);
  co_return far;
}
Durable<int> promised(Flow& flow) {
  const Here here;
  auto promise = co_await flow.promise<int>("answer");
  const auto guard = flow.on_query("promise", [&] { return promise.id().text(); });
  co_return co_await promise;
}
Durable<int> parent(Flow& flow) {
  const Here here;
  auto child = co_await flow.spawn<int>("sleeps");
  co_return co_await child + 1;
}

class EvictionTest : public MemoryTest {
 protected:
  EvictionTest() {
    lives = present = 0;
    world.host_options.hot_tasks = 0;
    world.types = [] {
      Registry types;
      types.add("sleeps", 1, sleeps);
      types.add("signalled", 1, signalled);
      types.add("promised", 1, promised);
      types.add("parent", 1, parent);
      return types;
    };
  }
  // Of the task, which is the only one.
  static Task<void> until_gone() {
    co_await sleep(1s);
    EXPECT_EQ(present, 0) << "it waits, and nothing of its code may be in memory";
    EXPECT_GE(lives, 1);
  }
};
TIFFANY_IN_EVERY_STORE(EvictionTest);

TEST_P(EvictionTest, ATimerBringsATaskBackAtItsTime) {
  world.live([&](Host& host) -> Task<void> {
    const Time start = now();
    const auto ref = co_await host.start(sleeps);
    co_await until_gone();
    EXPECT_EQ(ref.info()->status, DurableStatus::running);
    const int result = co_await ref.result();
    EXPECT_EQ(result, 1);
    EXPECT_EQ(now() - start, 24h);
    EXPECT_EQ(lives, 2);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"before", "after"}));
}

TEST_P(EvictionTest, ASignalBringsATaskBackAndIsNotLost) {
  world.live([&](Host& host) -> Task<void> {
    const auto ref = co_await host.start(signalled);
    co_await until_gone();
    co_await ref.signal(go_on, 3);
    co_await until_gone();
    EXPECT_EQ(lives, 2);
    co_await ref.signal(go_on, 4);
    const int result = co_await ref.result();
    EXPECT_EQ(result, 7);
    EXPECT_EQ(lives, 3);
  });
}

TEST_P(EvictionTest, AQueryBringsATaskBackAndAPlainOneIsRefusedWithASentence) {
  world.live([&](Host& host) -> Task<void> {
    const auto ref = co_await host.start(signalled);
    co_await ref.signal(go_on, 3);
    co_await until_gone();
    try {
      static_cast<void>(host.query(ref.id(), "how far"));
      ADD_FAILURE() << "its code is not there";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::durable_misuse);
      EXPECT_NE(std::string(e.what()).find("co_await Host::ask"), std::string::npos) << e.what();
    }
    EXPECT_EQ(co_await ref.ask(how_far), 3);
    co_await until_gone();
  });
}

TEST_P(EvictionTest, AKeptPromiseBringsATaskBackAndIsKeptOnce) {
  world.live([&](Host& host) -> Task<void> {
    const auto ref = co_await host.start(promised);
    co_await until_gone();
    const Uuid promise = *Uuid::parse(co_await host.ask_json(ref.id(), "promise"));
    co_await until_gone();
    EXPECT_TRUE(co_await host.complete(promise, 5));
    EXPECT_FALSE(co_await host.complete(promise, 6));
    const int result = co_await ref.result();
    EXPECT_EQ(result, 5);
    EXPECT_FALSE(co_await host.complete(promise, 7));
  });
}

TEST_P(EvictionTest, APromiseThatIsKeptWhileItsTaskComesBackIsKept) {
  world.live([&](Host& host) -> Task<void> {
    const auto ref = co_await host.start(promised);
    co_await until_gone();
    const Uuid promise = *Uuid::parse(co_await host.ask_json(ref.id(), "promise"));
    co_await until_gone();
    auto asked =
        spawn([](Host* of,
                 Uuid id) -> Task<std::string> { co_return co_await of->ask_json(id, "promise"); },
              &host, ref.id());
    co_await yield();
    EXPECT_TRUE(co_await host.complete(promise, 5));
    const std::string known = co_await asked;
    EXPECT_EQ(known, promise.text());
    const int result = co_await ref.result();
    EXPECT_EQ(result, 5);
  });
}

TEST_P(EvictionTest, TheEndOfAChildBringsItsParentBack) {
  world.live([&](Host& host) -> Task<void> {
    const auto ref = co_await host.start(parent);
    co_await until_gone();
    const int result = co_await ref.result();
    EXPECT_EQ(result, 2);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"before", "after"}));
}

TEST_P(EvictionTest, ACancelAKillAndAPauseReachATaskWhoseCodeIsNotThere) {
  world.live([&](Host& host) -> Task<void> {
    const auto cancelled = co_await host.start(parent);
    const auto killed = co_await host.start(parent);
    const auto paused = co_await host.start(sleeps);
    co_await until_gone();
    co_await cancelled.cancel("enough");
    EXPECT_EQ(co_await error_of(cancelled.result()), Errc::durable_cancelled);
    co_await host.kill(killed.id(), "enough");
    EXPECT_EQ(co_await error_of(killed.result()), Errc::durable_cancelled);
    co_await host.pause(paused.id());
    EXPECT_EQ(paused.info()->status, DurableStatus::paused);
    co_await sleep(48h);
    co_await host.resume(paused.id());
    co_await paused.result();
    for (const DurableInfo& each : host.tasks()) {
      EXPECT_TRUE(each.status == DurableStatus::cancelled ||
                  each.status == DurableStatus::completed);
    }
  });
}

TEST_P(EvictionTest, ATimeoutReachesATaskWhoseCodeIsNotThere) {
  world.live([&](Host& host) -> Task<void> {
    const auto ref = co_await host.start(StartOptions().timeout(1h), signalled);
    co_await until_gone();
    EXPECT_EQ(co_await error_of(ref.result()), Errc::durable_cancelled);
  });
}

TEST_P(EvictionTest, AsManyAsTheBudgetSaysStayAndThoseThatWaitedLongestGo) {
  world.host_options.hot_tasks = 2;
  world.live([&](Host& host) -> Task<void> {
    std::vector<DurableRef<int>> all;
    for (int i = 0; i < 5; ++i) {
      all.push_back(co_await host.start(signalled));
      co_await sleep(1s);
    }
    EXPECT_EQ(present, 2);
    EXPECT_EQ(host.query(all[4].id(), "how far"), "0");
    EXPECT_EQ(host.query(all[3].id(), "how far"), "0");
    EXPECT_EQ(co_await error_of(all[0].ask(QueryName<int>("nothing"))), Errc::unknown_durable);
    co_await sleep(1s);
    EXPECT_EQ(host.query(all[0].id(), "how far"), "0") << "it waited last";
    EXPECT_EQ(present, 2);
    co_await host.close();
    EXPECT_EQ(present, 0);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.resumed, 5u);
    co_await sleep(1s);
    EXPECT_EQ(present, 2);
    co_await host.close();
  });
}

Durable<int> waits_for_child(Flow& flow) {
  const Here here;
  const auto guard = flow.on_query(how_far, [] { return 0; });
  auto child = co_await flow.spawn<int>("signalled");
  co_return co_await child + 1;
}

TEST_P(EvictionTest, AChildThatEndsWhileItsParentIsBeingEvictedWakesIt) {
  world.types = [] {
    Registry types;
    types.add("signalled", 1, signalled);
    types.add("waits_for_child", 1, waits_for_child);
    return types;
  };
  for (int turns = 0; turns < 60; ++turns) {
    world.live([&](Host& host) -> Task<void> {
      const auto ref = co_await host.start(waits_for_child);
      co_await sleep(1s);
      Uuid child;
      for (const DurableInfo& each : host.tasks()) {
        if (each.parent == ref.id()) child = each.id;
      }
      co_await host.signal(child, go_on, 1);
      co_await sleep(1s);
      auto last = spawn([](Host* of, Uuid id) -> Task<void> { co_await of->signal(id, go_on, 2); },
                        &host, child);
      for (int i = 0; i < turns; ++i) co_await yield();
      co_await error_of(ref.ask(how_far));  // which brings the parent back, to be evicted again
      co_await last;
      const auto result = co_await within(1h, ref.result());
      EXPECT_TRUE(result.has_value()) << "nobody woke the parent after " << turns << " turns";
      if (!result.has_value()) co_await host.kill(ref.id(), "it waits for ever");
    });
  }
}

// The task is evicted as soon as it waits: the code may be gone again when somebody was woken.
TEST_P(EvictionTest, ManyWhoAskAtOnceAreAllAnswered) {
  world.live([&](Host& host) -> Task<void> {
    const auto ref = co_await host.start(signalled);
    co_await until_gone();
    const auto ask = [](DurableRef<int> of, int turns) -> Task<int> {
      for (int i = 0; i < turns; ++i) co_await yield();
      co_return co_await of.ask(how_far);
    };
    std::vector<Handle<int>> all;
    for (int turns = 0; turns < 60; ++turns) all.push_back(spawn(ask, ref, turns));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto answer = co_await within(1h, all[i].outcome());
      EXPECT_TRUE(answer.has_value() && answer->ok()) << "of the one after " << i << " turns";
    }
  });
}

Task<void> an_hour() { co_await sleep(1h); }
Durable<int> gives_up(Flow& flow) {
  {
    auto promise = co_await flow.promise<int>("first");
    co_await flow.sleep(1h);
  }
  co_await flow.step("an hour", an_hour);
  auto other = co_await flow.promise<int>("second");
  co_return co_await other;
}

TEST_P(EvictionTest, APromiseThatIsGivenUpByATaskThatCameBackIsNotOpen) {
  only("task", gives_up);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("task");
    co_await sleep(1s);
    const auto first = host.promises(10);
    EXPECT_EQ(first.size(), 1u);
    co_await sleep(90min);
    EXPECT_EQ(host.promises(10).size(), 0u);
    co_await sleep(1h);
    const auto second = host.promises(10);
    EXPECT_EQ(second.size(), 1u);
    EXPECT_EQ(second.at(0).name, "second#1");
    EXPECT_TRUE(co_await host.complete(second.at(0).id, 2));
    EXPECT_EQ(co_await host.result<int>(id), 2);
    EXPECT_EQ(host.promises(10).size(), 0u);
  });
}

// Nothing of a host may keep a scheduler waiting for those outside when the host is gone.
TEST_P(EvictionTest, AHostThatGoesWhileATaskIsBeingEvictedLeavesNothingBehind) {
  for (int turns = 0; turns < 60; ++turns) {
    const Registry types = world.types();
    Scheduler scheduler(Options().virtual_time().turn(1));
    scheduler.spawn(
        [](const Registry* known, LoggedCrashTest* of, int wait) -> Task<void> {
          Host host(*known, of->log_options(), of->host_options);
          co_await host.open();
          co_await host.start(sleeps);
          for (int i = 0; i < wait; ++i) co_await yield();
        },
        &types, &world, turns);
    scheduler.run_until(scheduler.now() + 1h);
    EXPECT_EQ(scheduler.live_tasks(), 0u) << "after " << turns << " turns";
    if (scheduler.live_tasks() != 0) break;
    world.disk = std::make_shared<wal::MemoryDisk>();
    if (world.provider != nullptr) world.provider = GetParam().provider();
  }
}

const Uuid kEvicted = Uuid::derived(Uuid(), "evicted");

TEST_P(EvictionTest, TasksThatAreEvictedAllTheTimeDoTheSameWhereverTheProcessDies) {
  const std::size_t crashes = world.crash_everywhere(
      [] { effects.clear(); },
      [&](Host& host) -> Task<void> {
        const auto ref = co_await host.start(StartOptions().id(kEvicted), parent);
        const Uuid other = Uuid::derived(kEvicted, "other");
        const auto second = co_await host.start(StartOptions().id(other), signalled);
        if (second.info()->status == DurableStatus::running) {
          co_await sleep(1h);
          // In an earlier life they may have been sent already: two more do no harm.
          for (int i = 0; i < 2; ++i) {
            const bool over = second.info()->status != DurableStatus::running;
            if (!over) co_await error_of(second.signal(go_on, 1));
          }
        }
        EXPECT_EQ(co_await second.result(), 2);
        EXPECT_EQ(co_await ref.result(), 2);
      },
      [&] {
        EXPECT_EQ(world.recovery.quarantined + world.recovery.diverged, 0u);
        EXPECT_GE(effects.size(), 2u) << "crash after slice " << world.crashed_after;
        EXPECT_EQ(effects.back(), "after");
      });
  EXPECT_GT(crashes, 30u);
}

TEST_P(EvictionTest, ALogIsOpenedWithoutAllOfItsTasksInMemoryAtATime) {
  world.host_options.hot_tasks = 10;
  world.host_options.replay_tasks = 5;
  world.live([&](Host& host) -> Task<void> {
    for (int i = 0; i < 200; ++i) co_await host.start("signalled");
    co_await sleep(1s);
    co_await host.close();
  });
  most = 0;
  world.live([&](Host& host) -> Task<void> {
    co_await sleep(1s);
    EXPECT_EQ(host.counts()[DurableStatus::running], 200u);
    EXPECT_EQ(present, 10);
    EXPECT_LE(most, 10 + 2 * 5 + 1) << "those that may stay, and two times those that are replayed";
    co_await host.close();
  });
}

}  // namespace eviction_test
}  // namespace tiffany
