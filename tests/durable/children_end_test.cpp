// What becomes of children when their parent ends, and tasks that are nobody's children.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace children_end_test {

using namespace std::chrono_literals;

const Uuid kParent = Uuid::derived(Uuid(), "parent");

// Needs an hour to end when it is cancelled.
Durable<int> worker(Flow& flow, int number) {
  bool cancelled = false;
  try {
    co_await flow.sleep(24h);
  } catch (const DurableCancelled&) {
    cancelled = true;
  }
  if (cancelled) {
    const auto shield = flow.shield();
    co_await flow.sleep(1h);
    co_await flow.step("tidy", [&] { effects.push_back("tidied " + std::to_string(number)); });
    co_return -1;
  }
  co_await flow.step("work", [&] { effects.push_back("done " + std::to_string(number)); });
  co_return number;
}

Durable<Uuid> spawns(Flow& flow, int how, bool awaits) {
  auto child =
      co_await flow.spawn<int>(ChildOptions().at_end(static_cast<ParentEnd>(how)), "worker", how);
  co_await flow.sleep(1min);
  if (awaits) co_await child;
  co_return child.id();
}

// Ends before the letter is written.
Durable<Uuid> leaves_a_letter(Flow& flow) {
  const ChildOptions abandoned = ChildOptions().at_end(ParentEnd::abandon);
  auto letter = co_await flow.spawn<int>(abandoned, "worker", 9);
  co_return letter.id();
}

Durable<Uuid> starts(Flow& flow) {
  const DurableRef<int> ref = co_await flow.start(worker, 7);
  const Uuid other = co_await flow.start("worker", 8);
  if (other == ref.id()) throw std::runtime_error("two tasks have one id");
  co_return ref.id();
}
Durable<int> not_registered(Flow&) { co_return 0; }
Durable<std::string> starts_badly(Flow& flow, int how) {
  std::string text;
  try {
    if (how == 0) co_await flow.start("nothing", 1);
    if (how == 1) co_await flow.start("worker", "no number");
    if (how == 2) co_await flow.start(not_registered);
  } catch (const StepFailed& e) {
    text = "step " + std::to_string(static_cast<int>(*e.cause()));
  } catch (const Error& e) {
    text = std::to_string(static_cast<int>(e.code()));
  }
  co_return text;
}
// The names come again behind a checkpoint, and mean other tasks.
Durable<std::vector<Uuid>> starts_over_checkpoints(Flow& flow) {
  std::vector<Uuid> all = flow.state(std::vector<Uuid>());
  if (all.size() == 3) co_return all;
  all.push_back(co_await flow.start("worker", static_cast<int>(all.size())));
  co_await flow.checkpoint(all);
  co_return all;
}

class ChildrenEndTest : public MemoryTest {
 protected:
  ChildrenEndTest() {
    world.types = [] {
      Registry types;
      types.add("worker", 1, worker);
      types.add("spawns", 1, spawns);
      types.add("leaves_a_letter", 1, leaves_a_letter);
      types.add("starts", 1, starts);
      types.add("starts_badly", 1, starts_badly);
      types.add("starts_over_checkpoints", 1, starts_over_checkpoints);
      return types;
    };
  }
  // What the child does when its parent ends after a minute, with a crash at every slice.
  void expect_at_end(ParentEnd how, const std::vector<std::string>& expected, bool awaited) {
    world.crash_everywhere([] { effects.clear(); },
                           [&](Host& host) -> Task<void> {
                             co_await host.start_as(kParent, "spawns", static_cast<int>(how),
                                                    false);
                             const Uuid child = co_await host.result<Uuid>(kParent);
                             EXPECT_EQ(host.info(child)->status >= DurableStatus::completed ||
                                           world.crashed_after != CrashTest::kToTheEnd,
                                       awaited || world.crashed_after != CrashTest::kToTheEnd)
                                 << static_cast<int>(how);
                             co_await host.result<int>(child);
                           },
                           [&] {
                             std::vector<std::string> did = effects;
                             did.erase(std::unique(did.begin(), did.end()), did.end());
                             EXPECT_EQ(did, expected) << world.crashed_after;
                           });
  }
};
TIFFANY_IN_EVERY_STORE(ChildrenEndTest);

TEST_P(ChildrenEndTest, AChildIsCancelledAndAwaitedByDefault) {
  expect_at_end(ParentEnd::cancel, {"tidied 0"}, true);
}
TEST_P(ChildrenEndTest, AChildIsAskedToEndAndNotAwaited) {
  expect_at_end(ParentEnd::request_cancel, {"tidied 1"}, false);
}
TEST_P(ChildrenEndTest, AnAbandonedChildGoesOn) {
  expect_at_end(ParentEnd::abandon, {"done 2"}, false);
}

TEST_P(ChildrenEndTest, AnAbandonedChildOutlivesAParentThatIsCancelledOrKilledOrAsleep) {
  world.host_options.hot_tasks = 0;
  for (const bool kills : {false, true}) {
    world.disk = std::make_shared<wal::MemoryDisk>();
    effects.clear();
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_as(kParent, "spawns", static_cast<int>(ParentEnd::abandon), true);
      co_await sleep(2min);
    });
    world.live([&](Host& host) -> Task<void> {
      Uuid child;
      for (const DurableInfo& each : host.tasks()) {
        if (each.type == "worker") child = each.id;
      }
      co_await sleep(1min);
      kills ? co_await host.kill(kParent, "why not") : co_await host.cancel(kParent, "why not");
      EXPECT_EQ(co_await error_of(host.result<Uuid>(kParent)), Errc::durable_cancelled);
      EXPECT_EQ(co_await host.result<int>(child), 2);
    });
    EXPECT_EQ(effects.size(), 1u);
  }
}

TEST_P(ChildrenEndTest, AnAbandonedChildIsAwaitedByItsHandleAsEveryChild) {
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kParent, "spawns", static_cast<int>(ParentEnd::abandon), true);
    const Uuid child = co_await host.result<Uuid>(kParent);
    EXPECT_EQ(host.info(child)->status, DurableStatus::completed);
  });
}

TEST_P(ChildrenEndTest, AnAbandonedChildOfAParentThatEndsAtOnceIsStartedAndDoesItsWork) {
  world.crash_everywhere([] { effects.clear(); },
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(kParent, "leaves_a_letter");
                           const Uuid letter = co_await host.result<Uuid>(kParent);
                           EXPECT_EQ(co_await host.result<int>(letter), 9) << world.crashed_after;
                         },
                         [] {});
}

TEST_P(ChildrenEndTest, ADetachedTaskIsStartedOnceWhereverTheProcessIsCutOff) {
  world.crash_everywhere([] { effects.clear(); },
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(kParent, "starts");
                           const Uuid id = co_await host.result<Uuid>(kParent);
                           EXPECT_EQ(co_await host.result<int>(id), 7);
                           EXPECT_EQ(host.tasks().size(), 3u) << world.crashed_after;
                           for (const DurableInfo& each : host.tasks()) {
                             if (each.type == "worker") co_await host.result<int>(each.id);
                           }
                         },
                         [] {});
}

// A step that the process does not survive ten times fails; a start has no code that could be why.
TEST_P(ChildrenEndTest, AStartIsTriedAgainHoweverOftenTheProcessEnds) {
  const auto program = [&](Host& host) -> Task<void> {
    co_await host.start_as(kParent, "starts");
    const Uuid id = co_await host.result<Uuid>(kParent);
    EXPECT_TRUE(host.info(id).has_value());
  };
  constexpr int kLives = 14;
  for (std::size_t slices = 4; slices < 40; ++slices) {
    world.disk = std::make_shared<wal::MemoryDisk>();
    for (int lives = 0; lives < kLives; ++lives) world.live(program, slices);
    world.live(program);
  }
}

TEST_P(ChildrenEndTest, AStartThatIsRefusedSaysWhy) {
  world.live([&](Host& host) -> Task<void> {
    const char* const expected[] = {"step 310", "step 300", "310"};
    for (int how = 0; how < 3; ++how) {
      const Uuid id = co_await host.start("starts_badly", how);
      EXPECT_EQ(co_await host.result<std::string>(id), expected[how]);
    }
  });
}

TEST_P(ChildrenEndTest, StartsBehindACheckpointAreOtherTasks) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("starts_over_checkpoints");
    std::vector<Uuid> all = co_await host.result<std::vector<Uuid>>(id);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::unique(all.begin(), all.end()) - all.begin(), 3);
  });
}

}  // namespace children_end_test
}  // namespace tiffany
