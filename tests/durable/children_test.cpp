// Children of durable tasks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace children_test {

using namespace std::chrono_literals;

Durable<int> child(Flow& flow, int n) {
  co_await flow.step("work", [&] { effects.push_back("work " + std::to_string(n)); });
  if (n < 0) throw std::runtime_error("a negative child");
  bool cancelled = false;
  try {
    co_await flow.sleep(std::chrono::hours(n));
  } catch (const DurableCancelled&) {
    cancelled = true;
  }
  if (cancelled) co_await flow.step("never", [] { effects.push_back("never"); });
  co_return n * 10;
}

Durable<std::string> parent(Flow& flow, std::string how) {
  auto a = co_await flow.spawn<int>("child", 1);
  auto b = co_await flow.spawn<int>("child", how == "fails" ? -2 : 2);
  if (how == "ends") co_return "ended";
  if (how == "throws") throw std::runtime_error("the parent fails");
  if (how == "unknown") {
    try {
      auto c = co_await flow.spawn<int>("nobody");
      co_await c;
    } catch (const Error& e) {
      co_return e.what();
    }
  }
  try {
    auto [x, y] = co_await flow.gather(a, b);
    co_return std::to_string(x + y);
  } catch (const Error& e) {
    co_return e.what();
  }
}

class ChildrenTest : public MemoryTest {
 protected:
  ChildrenTest() {
    world.types = [] {
      Registry types;
      types.add("child", 1, child);
      types.add("parent", 1, parent);
      return types;
    };
  }
  static std::size_t unfinished(Host& host) {
    std::size_t count = 0;
    for (const DurableInfo& info : host.tasks()) {
      count += info.status == DurableStatus::running ? 1u : 0u;
    }
    return count;
  }
};
TIFFANY_IN_EVERY_STORE(ChildrenTest);

TEST_P(ChildrenTest, D4_ChildrenGiveTheirResultsAlsoAcrossACrash) {
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("parent", "waits");
    co_await sleep(90min);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(id), "30");
    EXPECT_EQ(host.tasks().size(), 3u);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"work 1", "work 2"}));
}

TEST_P(ChildrenTest, D4_AChildThatFailsFailsWhereItIsAwaitedAndTheOthersAreCancelled) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("parent", "fails");
    EXPECT_EQ(co_await host.result<std::string>(id), "a negative child");
    EXPECT_EQ(unfinished(host), 0u);
  });
}

TEST_P(ChildrenTest, D4_ChildrenAreCancelledWhenTheirParentEndsHoweverItEnds) {
  for (const char* how : {"ends", "throws", "killed", "cancelled"}) {
    effects.clear();
    world.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start("parent", how);
      co_await sleep(1s);
      if (std::string(how) == "killed") co_await host.kill(id, "enough");
      if (std::string(how) == "cancelled") co_await host.cancel(id, "enough");
      co_await error_of(host.result<std::string>(id));
      EXPECT_EQ(unfinished(host), 0u) << how;
      for (const DurableInfo& info : host.tasks()) {
        EXPECT_TRUE(info.type != "child" || info.status == DurableStatus::cancelled) << how;
      }
    });
    EXPECT_EQ(std::count(effects.begin(), effects.end(), "never"), 0) << how;
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(unfinished(host), 0u) << how;
      co_return;
    });
  }
}

TEST_P(ChildrenTest, D4_AChildOfNoKnownTypeFails) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("parent", "unknown");
    EXPECT_EQ(co_await host.result<std::string>(id),
              "No durable task is registered as \"nobody\".");
  });
}

// Between the parent's command and the child's first record, among other places.
TEST_P(ChildrenTest, D4_WhereverTheProcessIsCutOffThereAreTwoChildrenInTheEnd) {
  bool ended = false;
  std::size_t cut = 0;
  for (std::size_t slices = 1; !ended; ++slices) {
    world.disk = std::make_shared<MemoryDisk>();
    const Uuid id = Uuid::derived(Uuid(), "task");
    ended = world.live(
        [&](Host& host) -> Task<void> {
          co_await host.start_json("parent", R"(["waits"])", id);
          co_await host.result<std::string>(id);
        },
        slices);
    if (world.lines(id).empty()) continue;
    ++cut;
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(co_await host.result<std::string>(id), "30") << slices;
      EXPECT_EQ(host.tasks().size(), 3u) << slices;
      EXPECT_EQ(unfinished(host), 0u) << slices;
    });
    EXPECT_TRUE(world.recovery.notes.empty()) << slices << ": " << world.recovery.text();
  }
  EXPECT_GT(cut, 10u);
}

TEST_P(ChildrenTest, D4_ManyParentsAreResumedBeforeTheirChildrenAreLookedAt) {
  std::vector<Uuid> ids;
  world.live([&](Host& host) -> Task<void> {
    for (int i = 0; i < 40; ++i) ids.push_back(co_await host.start("parent", "waits"));
    co_await sleep(90min);
  });
  world.host_options.replay_tasks = 2;
  world.live([&](Host& host) -> Task<void> {
    for (const Uuid& id : ids) EXPECT_EQ(co_await host.result<std::string>(id), "30");
  });
  EXPECT_EQ(world.recovery.finished, 40u);
  EXPECT_EQ(world.recovery.resumed, 80u);
}

}  // namespace children_test
}  // namespace tiffany
