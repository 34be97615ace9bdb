// Programs that use everything, cut off after every slice of an undisturbed life, and then once
// more in the life that follows: results and effects must be those of the undisturbed one.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace crash_points_test {

using namespace std::chrono_literals;

std::set<std::string> applied;  // effects, by key
std::map<std::string, Uuid> asked;

void apply(Attempt& attempt) {
  if (CrashTest::alive()) applied.insert(attempt.key());
}
void publish(const std::string& name, const Uuid& id) {
  if (CrashTest::alive()) asked[name] = id;
}

Durable<int> ship(Flow& flow, std::string what, int parcels) {
  int sent = 0;
  for (int i = 0; i < parcels; ++i) {
    sent += co_await flow.step("send", StepOptions().arguments(what, i), [](Attempt& attempt) {
      apply(attempt);
      return 1;
    });
    co_await flow.sleep(1min);
  }
  co_return sent;
}

// Reserve, charge with retries, ship by two children, refund when the approval does not come.
Durable<std::string> order(Flow& flow, std::string what) {
  co_await flow.step("reserve", apply);
  const int charged = co_await flow.step("charge", StepOptions().retry(Retry(3, 1s)),
                                         [](Attempt& attempt) -> Task<int> {
                                           co_await sleep(10ms);
                                           apply(attempt);
                                           if (attempt.number() < 2)
                                             throw std::runtime_error("busy");
                                           co_return 42;
                                         });
  auto approval = co_await flow.promise<bool>("approval");
  publish("approval of " + what, approval.id());
  auto deadline = co_await flow.timer(72h);
  const auto first = co_await flow.race(approval, deadline);
  if (first.index == 1 || !co_await approval) {
    const auto path = flow.enter("undo");
    co_await flow.step("refund", apply);
    co_return "refunded " + flow.uuid().text();
  }
  auto a = co_await flow.spawn<int>("ship", what + " a", 2);
  auto b = co_await flow.spawn<int>("ship", what + " b", 3);
  auto [x, y] = co_await flow.gather(a, b);
  co_return std::to_string(charged + x + y) + std::to_string(flow.random().below(1000)) +
      std::to_string(flow.version("v", 1, 2));
}

// Rounds with checkpoints; every one asks for something from outside.
Durable<std::string> rounds(Flow& flow) {
  auto [round, seen] = flow.state(std::pair<int, std::string>(0, ""));
  while (round < 3) {
    const std::string name = "p" + std::to_string(round);
    auto promise = co_await flow.promise<int>(name);
    publish(name, promise.id());
    seen += std::to_string(co_await promise) + " ";
    co_await flow.step("note " + name, apply);
    seen += std::to_string(flow.random().below(100)) + " ";
    auto child = co_await flow.spawn<int>("ship", name, 1);
    seen += std::to_string(co_await child) + " ";
    ++round;
    const std::pair<int, std::string> state(round, seen);
    co_await flow.checkpoint(state);
  }
  co_return seen;
}

// Something fails, and what was done is undone.
Durable<std::string> saga(Flow& flow) {
  std::string text;
  try {
    co_await flow.step("one", apply);
    co_await flow.step("two", StepOptions().timeout(1s), [](Attempt& attempt) -> Task<void> {
      apply(attempt);
      co_await sleep(1h);
    });
  } catch (const Error& e) {
    text = e.what();
  }
  auto left = co_await flow.timer(10s);
  auto right = co_await flow.timer(5s);
  const auto first = co_await flow.race(left, right);
  text += std::to_string(first.index);
  co_await flow.step("undo one", apply);
  co_await left;
  throw std::runtime_error(text);
}

class CrashPointsTest : public MemoryTest {
 protected:
  struct Life {
    std::string result;
    std::set<std::string> effects;
    bool operator==(const Life&) const = default;
  };

  CrashPointsTest() {
    world.types = [] {
      Registry types;
      types.add("ship", 1, ship);
      types.add("order", 1, order);
      types.add("rounds", 1, rounds);
      types.add("saga", 1, saga);
      return types;
    };
  }

  // What is asked for comes when it is asked for; again and again, as those outside cannot know
  // what arrived.
  static Task<void> answer(Host* host) {
    for (;;) {
      const std::map<std::string, Uuid> all = asked;
      for (const auto& [name, id] : all) {
        try {
          if (name.starts_with("approval")) {
            co_await host->complete(id, name != "approval of nothing");
          } else {
            co_await host->complete(id, static_cast<int>(name.size()));
          }
        } catch (const Error&) {  // not now
        }
      }
      co_await sleep(1min);
    }
  }
  bool live(const std::string& type, const std::string& arguments, Life& life,
            std::size_t slices = LoggedCrashTest::kToTheEnd) {
    const Uuid id = Uuid::derived(Uuid(), "task");
    const bool ended = world.live(
        [&](Host& host) -> Task<void> {
          co_await host.start_json(type, arguments, id);
          auto answers = Scheduler::require("test").spawn(&CrashPointsTest::answer, &host);
          try {
            life.result = co_await host.result_json(id);
          } catch (const Error& e) {
            life.result = e.what();
          }
          answers.cancel("the task has ended");
        },
        slices);
    life.effects = applied;
    return ended;
  }
  void begin() {
    world.disk = std::make_shared<MemoryDisk>();
    applied.clear();
    asked.clear();
  }
  void expect_the_same_from_every_point(const std::string& type, const std::string& arguments) {
    begin();
    Life undisturbed;
    live(type, arguments, undisturbed);
    const std::size_t all = world.slices;
    for (std::size_t slices = 1; slices < all; ++slices) {
      begin();
      Life life;
      live(type, arguments, life, slices);
      live(type, arguments, life, 1 + slices * 7 % all);  // and somewhere in the second
      live(type, arguments, life);
      EXPECT_EQ(life.result, undisturbed.result) << slices << " of " << all;
      EXPECT_EQ(life.effects, undisturbed.effects) << slices << " of " << all;
      EXPECT_TRUE(world.recovery.notes.empty()) << world.recovery.text();
    }
    EXPECT_GT(all, 20u);
  }
};
TIFFANY_IN_EVERY_STORE(CrashPointsTest);

TEST_P(CrashPointsTest, D3_AnOrderComesBackFromEveryPoint) {
  expect_the_same_from_every_point("order", R"(["a book"])");
}
TEST_P(CrashPointsTest, D3_AnOrderThatIsNotApprovedComesBackFromEveryPoint) {
  expect_the_same_from_every_point("order", R"(["nothing"])");
}
TEST_P(CrashPointsTest, D3_RoundsWithCheckpointsComeBackFromEveryPoint) {
  expect_the_same_from_every_point("rounds", "[]");
}
TEST_P(CrashPointsTest, D3_ASagaComesBackFromEveryPoint) {
  expect_the_same_from_every_point("saga", "[]");
}

}  // namespace crash_points_test
}  // namespace tiffany
