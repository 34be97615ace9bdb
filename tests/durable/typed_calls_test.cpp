// Calls from outside that know the types: starts by the function, signals and queries by constants,
// and what a start may say besides.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace typed_calls_test {

using namespace std::chrono_literals;

class TypedCallsTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(TypedCallsTest);

inline constexpr SignalName<int> more{"more"};
inline constexpr SignalName<std::string> enough{"enough"};
inline constexpr QueryName<int> total{"total"};

// Sums up what it is sent until it is told that it is enough.
Durable<int> sums(Flow& flow, std::string name, int most) {
  int sum = 0;
  const auto guard = flow.on_query(total, [&] { return sum; });
  for (int i = 0; i < most; ++i) sum += co_await flow.signal(more);
  const auto last = co_await flow.signal_within(24h, enough);
  co_await flow.step("note", [&] { effects.push_back(name + " " + (last ? *last : "nobody")); });
  co_return sum;
}
Durable<void> waits(Flow& flow) { co_await flow.sleep(24h); }
Durable<void> unknown(Flow& flow) { co_await flow.sleep(24h); }

Registry typed() {
  Registry types;
  types.add("sums", 1, sums);
  types.add("waits", 1, waits);
  return types;
}

const Uuid kId = Uuid::derived(Uuid(), "typed calls");

TEST_P(TypedCallsTest, ATaskIsStartedByItsFunctionAndItsResultHasItsType) {
  world.types = typed;
  DurableRef<int> ref;
  world.live([&](Host& host) -> Task<void> {
    ref = co_await host.start(sums, "Ada", 2);  // a literal for a std::string
    co_await ref.signal(more, 3);
    co_await host.signal(ref.id(), more, 4);
    while (co_await ref.ask(total) != 7) co_await yield();
    EXPECT_EQ(co_await host.ask(ref.id(), total), 7);
    co_await ref.signal(enough, "that is it");
    const int sum = co_await ref.result();
    EXPECT_EQ(sum, 7);
    EXPECT_EQ(ref.info()->type, "sums");
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"Ada that is it"}));
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.attach(sums, ref.id()).result(), 7) << "from the log of before";
  });
}

TEST_P(TypedCallsTest, ATypedStartAndItsSignalsGoOnWhereverTheProcessDies) {
  world.types = typed;
  world.crash_everywhere([] { effects.clear(); },
                         [&](Host& host) -> Task<void> {
                           const auto ref =
                               co_await host.start(StartOptions().id(kId), sums, "Ada", 0);
                           const int sum = co_await ref.result();
                           EXPECT_EQ(sum, 0);
                         },
                         [&] {
                           EXPECT_GE(effects.size(), 1u);
                           EXPECT_EQ(effects[0], "Ada nobody");
                         });
}

TEST_P(TypedCallsTest, AFunctionThatIsNotRegisteredOrRegisteredTwiceIsRefusedWithASentence) {
  world.types = [] {
    Registry types = typed();
    types.add("sums again", 1, sums);
    return types;
  };
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.start(sums, "Ada", 1)), Errc::bad_argument);
    try {
      co_await host.start(unknown);
      ADD_FAILURE() << "it is not registered";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::unknown_type);
      EXPECT_NE(std::string(e.what()).find("types.add(name, version, function)"), std::string::npos)
          << e.what();
    }
    co_return;
  });
}

TEST_P(TypedCallsTest, ATaskOfAnotherTypeIsNotAttachedTo) {
  world.types = typed;
  world.live([&](Host& host) -> Task<void> {
    const auto ref = co_await host.start(waits);
    try {
      static_cast<void>(host.attach(sums, ref.id()));
      ADD_FAILURE() << "it waits, and does not sum up";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::start_conflict);
    }
    EXPECT_EQ(co_await error_of(host.attach(sums, kId).result()), Errc::unknown_durable);
    EXPECT_EQ(co_await error_of(DurableRef<int>().cancel("no")), Errc::durable_misuse);
  });
}

// ---- What a start may say ----

TEST_P(TypedCallsTest, ATaskWithATimeoutIsCancelledWhenItsTimeIsOver) {
  world.types = typed;
  world.live([&](Host& host) -> Task<void> {
    const Time start = now();
    const auto ref = co_await host.start(StartOptions().timeout(1h), waits);
    const auto quick = co_await host.start(StartOptions().timeout(25h), waits);
    EXPECT_EQ(co_await error_of(ref.result()), Errc::durable_cancelled);
    EXPECT_EQ(now() - start, 1h);
    EXPECT_NE(ref.info()->detail.find("its time"), std::string::npos) << ref.info()->detail;
    co_await quick.result();
    EXPECT_EQ(quick.info()->status, DurableStatus::completed);
  });
}

TEST_P(TypedCallsTest, ATimeoutIsKeptWhereverTheProcessDies) {
  world.types = typed;
  world.crash_everywhere([] {},
                         [&](Host& host) -> Task<void> {
                           const auto ref = co_await host.start(
                               StartOptions().id(kId).timeout(1h).key("Ada"), waits);
                           EXPECT_EQ(co_await error_of(ref.result()), Errc::durable_cancelled);
                           EXPECT_EQ(ref.info()->key, "Ada");
                         },
                         [] {});
}

TEST_P(TypedCallsTest, OptionsThatCannotBeAreRefusedAndNothingIsRecorded) {
  world.types = typed;
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.start(StartOptions().timeout(0s), waits)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.start(StartOptions().timeout(-1s), waits)),
              Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.start(StartOptions().key(""), waits)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.start(StartOptions().key(std::string(201, 'k')), waits)),
              Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.start(StartOptions().id(Uuid()), waits)), Errc::bad_argument);
    EXPECT_TRUE(host.tasks().empty());
  });
}

TEST_P(TypedCallsTest, WhatAStartSaidIsInItsFirstRecordAndNothingElseIs) {
  world.types = typed;
  const Uuid plain = Uuid::derived(Uuid(), "plain");
  world.live([&](Host& host) -> Task<void> {
    auto options = StartOptions().id(kId).key("Ada").priority(3).timeout(1h);
    co_await host.start(std::move(options).attribute("a", 1).attribute("b", "c"), waits);
    co_await host.start(StartOptions().id(plain), waits);
  });
  const std::string first = world.lines(kId).at(0);
  EXPECT_NE(first.find(R"("args":[],"key":"Ada","priority":3,"until":")"), std::string::npos);
  EXPECT_NE(first.find(R"(Z","attributes":{"a":1,"b":"c"},"seq":1,)"), std::string::npos) << first;
  EXPECT_NE(world.lines(plain).at(0).find(R"("rules":1,"args":[],"seq":1,)"), std::string::npos)
      << "as older programs write it";
}

std::vector<std::string> order;  // in which the code of tasks began
Durable<void> begins(Flow& flow, std::string what) {
  order.push_back(what);
  co_await flow.sleep(24h);
}

TEST_P(TypedCallsTest, ThePriorityOfAStartCountsAlsoWhenItsTaskComesBack) {
  world.types = [] {
    Registry types;
    types.add("begins", 1, begins, TypeOptions().priority(20));
    return types;
  };
  order.clear();
  world.live([&](Host& host) -> Task<void> {
    co_await host.start(begins, "of its type");
    co_await host.start(StartOptions().priority(9), begins, "9");
    co_await host.start(StartOptions().priority(8), begins, "8");
    co_await sleep(1s);
  });
  EXPECT_EQ(order.size(), 3u);
  order.clear();
  world.live([&](Host&) -> Task<void> { co_return; });
  EXPECT_EQ(order, (std::vector<std::string>{"8", "9", "of its type"}));
}

}  // namespace typed_calls_test
}  // namespace tiffany
