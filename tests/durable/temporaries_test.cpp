// The forms of the awaited functions of module durable that are right with every compiler, each
// with an aggregate and a lambda that own something (docs/compilers.md). tests/misuse has the wrong
// forms.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "durable/memory_test.hpp"
#include "support/owner.hpp"

namespace tiffany {

template <>
struct Codec<test::Owner> {
  static void write(JsonWriter& out, const test::Owner& owner) { out.value(owner.number); }
  static test::Owner read(JsonReader& in) { return test::Owner(read_json<int>(in)); }
};

namespace test {
TIFFANY_JSON(Aggregate, kind, owner)
}

namespace durable_temporaries_test {

using test::Aggregate;
using test::alive_owners;
using test::Owner;

class DurableTemporaries : public MemoryTest {
 protected:
  void SetUp() override { alive_owners = 0; }
  void TearDown() override {
    EXPECT_EQ(alive_owners, 0) << "something was destroyed twice, or not at all";
  }
};
TIFFANY_IN_BOTH_LAYOUTS(DurableTemporaries);

Durable<int> number_of(Flow&, Aggregate message) { co_return message.owner.number; }

TEST_P(DurableTemporaries, AStartTakesAVariableAndAMovedOne) {
  only("number", number_of);
  world.live([&](Host& host) -> Task<void> {
    Aggregate one{1, Owner(10)};
    const Uuid first = co_await host.start("number", one);
    const Uuid second = co_await host.start("number", moved(one));
    const Uuid third = co_await host.start_as(host.new_id(), "number", one);
    const Uuid fourth = co_await host.start_as(host.new_id(), "number", moved(one));
    int sum = 0;
    for (const Uuid& each : {first, second, third, fourth}) {
      sum += co_await host.result<int>(each);
    }
    EXPECT_EQ(sum, 40);
  });
}

Durable<int> waits_for_messages(Flow& flow) {
  const Aggregate signalled = co_await flow.signal<Aggregate>("message");
  const Timed<Aggregate> second =
      co_await flow.signal_within<Aggregate>(std::chrono::hours(1), "message");
  auto promise = co_await flow.promise<Aggregate>("answer");
  const auto guard = flow.on_query("promise", [&] { return promise.id().text(); });
  const Aggregate answered = co_await promise;
  co_return signalled.owner.number + second->owner.number + answered.owner.number;
}

TEST_P(DurableTemporaries, SignalsAndCompletionsTakeAVariableAndAMovedOne) {
  only("waits", waits_for_messages);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("waits");
    Aggregate one{1, Owner(1)};
    co_await host.signal(id, "message", one);
    co_await host.signal(id, "message", moved(one));
    co_await sleep(std::chrono::seconds(1));
    const std::optional<Uuid> promise = Uuid::parse(host.query(id, "promise"));
    Aggregate answer{2, Owner(20)};
    EXPECT_TRUE(co_await host.complete(*promise, answer));
    EXPECT_FALSE(co_await host.complete(*promise, moved(answer)));
    EXPECT_EQ(co_await host.result<int>(id), 22);
  });
}

Durable<int> steps_of_owning_lambdas(Flow& flow) {
  const Owner owner(3);
  const auto plain = [owner] { return owner.number; };
  const auto task = [owner]() -> Task<Aggregate> {
    co_await yield();
    co_return Aggregate{1, owner};
  };
  const auto find = [owner](const std::string&) -> std::optional<std::string> {
    return std::to_string(owner.number);
  };
  auto moved_find = find;
  int sum = co_await flow.step("plain", plain);
  const Aggregate message = co_await flow.step("task", task);
  sum += message.owner.number;
  sum += co_await flow.step("found", StepOptions().transactional(find), plain);
  sum += co_await flow.step("moved", StepOptions().transactional(moved(moved_find)), plain);
  co_return sum;
}

TEST_P(DurableTemporaries, StepsTakeLambdasThatOwnFromVariables) {
  only("steps", steps_of_owning_lambdas);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("steps");
    EXPECT_EQ(co_await host.result<int>(id), 12);
  });
}

Durable<int> spawns_and_begins_anew(Flow& flow) {
  Aggregate state = flow.state(Aggregate{0, Owner(0)});
  if (state.kind == 2) co_return state.owner.number;
  Aggregate argument{1, Owner(7)};
  auto one = co_await flow.spawn<int>("number", argument);
  auto two = co_await flow.spawn<int>("number", moved(argument));
  const int first = co_await one;
  const int second = co_await two;
  Aggregate next{state.kind + 1, Owner(state.owner.number + first + second)};
  if (next.kind == 1) co_await flow.checkpoint(next);
  co_await flow.checkpoint(moved(next));
  co_return -1;
}

TEST_P(DurableTemporaries, ChildrenAndCheckpointsTakeAVariableAndAMovedOne) {
  world.types = [] {
    Registry types;
    types.add("number", 1, number_of);
    types.add("anew", 1, spawns_and_begins_anew);
    return types;
  };
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("anew");
    EXPECT_EQ(co_await host.result<int>(id), 28);
  });
}

#if !TIFFANY_DESTROYS_TWICE
TEST_P(DurableTemporaries, OtherCompilersTakeThemWhereverTheyAreMade) {
  only("number", number_of);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("number", Aggregate{1, Owner(4)});
    EXPECT_EQ(co_await host.result<int>(id), 4);
  });
}
#endif

}  // namespace durable_temporaries_test
}  // namespace tiffany
