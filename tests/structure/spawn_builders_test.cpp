// T19, I2: what can be said of a spawn before it is called, together and in any order.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/harness.hpp"
#include "tiffany/core/spawner.hpp"

namespace tiffany {
namespace spawn_builders_test {

using namespace test;

inline constexpr ContextKey<std::string> kUser{"user"};
inline constexpr ContextKey<int> kDepth{"depth"};
inline constexpr ContextKey<std::shared_ptr<int>> kShared{"shared"};
struct Question {
  using result = int;
};

std::string view() {
  const std::string* user = lookup(kUser);
  const int* depth = lookup(kDepth);
  return (user != nullptr ? *user : "-") + " " + (depth != nullptr ? std::to_string(*depth) : "-") +
         " at " + std::to_string(now().time_since_epoch() / 1ms);
}
Task<std::string> see() { co_return view(); }
Task<std::string> see_value(int value, int other) {
  co_return view() + ": " + std::to_string(value + other);
}
Task<int> works(int ms) {
  co_await sleep(std::chrono::milliseconds(ms));
  co_return ms;
}
Task<int> breaks() {
  co_await sleep(1ms);
  throw std::runtime_error("broke");
}

class Sees final : public AgentTask<std::string> {
  Poll<std::string> poll(PollContext& context) override {
    if (left_-- == 0) return Poll<std::string>::ready(view());
    context.wake_after(1ms);
    return Poll<std::string>::pending();
  }
  int left_ = 1;
};

TEST(SpawnBuilders, T19_I2_ATaskThatComesAfterAnotherIsGivenValuesInEitherOrder) {
  run_program([]() -> Task<void> {
    auto first = spawn(works, 5);
    auto a = spawn.with(kUser, "ann").after(first)(see);
    auto b = spawn.after(first).with(kUser, "bob")(see);
    auto c = spawn.with(kUser, "cid").after(first).with(kDepth, 3)(see);
    auto d = spawn.after(first).with(kUser, "nobody").with(kUser, "dan").after(a)(see);
    EXPECT_EQ(a.state(), TaskState::pending);
    EXPECT_EQ(b.state(), TaskState::pending);
    EXPECT_EQ(co_await a, "ann - at 5");
    EXPECT_EQ(co_await b, "bob - at 5");
    EXPECT_EQ(co_await c, "cid 3 at 5");
    EXPECT_EQ(co_await d, "dan - at 5");
    EXPECT_EQ(co_await spawn.after(first)(see), "- - at 5");
    EXPECT_EQ(view(), "- - at 5");
  });
}

TEST(SpawnBuilders, T19_I2_ValuesOfOtherTasksAndOfTheContextGoTogether) {
  run_program([]() -> Task<void> {
    auto first = spawn(works, 5);
    auto a = spawn.with(kUser, "ann").from(first)(see_value, 100);
    auto b = spawn.from(first).with(kUser, "bob")(see_value, 200);
    EXPECT_EQ(co_await a, "ann - at 5: 105");
    EXPECT_EQ(co_await b, "bob - at 5: 205");
  });
}

TEST(SpawnBuilders, T19_I2_TheContextIsThatOfWhereTheValueWasGiven) {
  run_program([]() -> Task<void> {
    auto first = spawn(works, 5);
    Handle<std::string> a;
    Handle<std::string> b;
    co_await with(kDepth, 7, [&]() -> Task<void> {
      a = spawn.after(first).with(kUser, "ann")(see);
      b = spawn.with(kUser, "bob").after(first)(see);
      co_return;
    });
    EXPECT_EQ(co_await a, "ann 7 at 5");
    EXPECT_EQ(co_await b, "bob 7 at 5");
  });
}

TEST(SpawnBuilders, T19_I2_HandlersAreGivenInEitherOrderToo) {
  run_program([]() -> Task<void> {
    const auto asks = []() -> Task<int> { co_return co_await perform<Question>(); };
    const auto answers = [](int answer) { return [answer](const Question&) { return answer; }; };
    auto first = spawn(works, 5);
    auto a = spawn.with_handler<Question>(answers(1)).after(first)(asks);
    auto b = spawn.after(first).with_handler<Question>(answers(2))(asks);
    EXPECT_EQ(co_await a, 1);
    EXPECT_EQ(co_await b, 2);
  });
}

TEST(SpawnBuilders, T19_T6_APriorityIsGivenInEitherOrder) {
  Trace trace;
  run_program([&]() -> Task<void> {
    const auto says = [&](std::string text) -> Task<void> {
      trace.push_back(std::move(text));
      co_return;
    };
    auto first = spawn(works, 5);
    auto a = spawn.after(first)(says, "default");
    auto b = spawn.after(first).with_priority(200)(says, "patient");
    auto c = spawn.with_priority(3).after(first).with(kDepth, 1)(says, "urgent");
    auto d = spawn.after(first).with(kDepth, 1).system()(says, "system");
    auto e = spawn.with(kDepth, 1).system().after(first)(says, "another");
    co_await all_settled(a, b, c, d, e);
  });
  EXPECT_EQ(trace, (Trace{"system", "another", "urgent", "default", "patient"}));
}

TEST(SpawnBuilders, T19_I2_WhatBecomesOfATaskAfterAFailureIsSaidAnywhereInTheChain) {
  run_program([]() -> Task<void> {
    auto value = std::make_shared<int>(1);
    auto broken = spawn(breaks);
    auto runs = spawn.with(kUser, "ann").after(broken).if_failed(IfFailed::run).cost(2)(see);
    auto too = spawn.after(broken).if_failed(IfFailed::run).with(kUser, "bob")(see);
    auto skipped = spawn.after(broken).with(kShared, value)(see);
    auto fails = spawn.with(kShared, value).after(broken).if_failed(IfFailed::fail)(see);
    EXPECT_EQ(value.use_count(), 3);
    EXPECT_EQ(co_await runs, "ann - at 1");
    EXPECT_EQ(co_await too, "bob - at 1");
    EXPECT_EQ(code_of(co_await error_of(skipped)), Errc::task_cancelled);
    EXPECT_EQ(code_of(co_await error_of(fails)), Errc::dependency_failed);
    EXPECT_EQ(value.use_count(), 1) << "who never began has given it back";
  });
}

TEST(SpawnBuilders, T19_I2_ASpawnerThatIsKeptSpawnsAsOftenAsItIsCalled) {
  run_program([]() -> Task<void> {
    auto first = spawn(works, 5);
    const auto later = spawn.with(kUser, "ann").after(first);
    const auto deeper = later.with(kDepth, 2);
    auto a = later(see);
    auto b = deeper(see);
    auto c = later(see);
    EXPECT_EQ(co_await a, "ann - at 5");
    EXPECT_EQ(co_await b, "ann 2 at 5");
    EXPECT_EQ(co_await c, "ann - at 5");
  });
}

TEST(SpawnBuilders, T19_I2_ScopesAndSchedulersHaveTheSame) {
  Scheduler scheduler(Options().virtual_time());
  {
    auto first = scheduler.spawn(works, 5);
    auto a = scheduler.spawn.with(kUser, "ann").after(first)(see);
    auto b = scheduler.spawn.after(first.id()).with(kUser, "bob")(see);
    scheduler.run();
    EXPECT_EQ(detail::result_now(a), "ann - at 5");
    EXPECT_EQ(detail::result_now(b), "bob - at 5");
  }
  expect_nothing_left(scheduler);
  run_program([]() -> Task<void> {
    auto first = spawn(works, 5);
    Handle<std::string> a;
    Handle<std::string> b;
    co_await scope([&](Scope& s) -> Task<void> {
      a = s.spawn.with(kUser, "ann").after(first)(see);
      b = s.spawn.from(first).with(kUser, "bob").with_priority(3)(see_value, 1);
      EXPECT_EQ(s.live(), 2u);
      co_return;
    });
    EXPECT_TRUE(a.done());
    EXPECT_TRUE(b.done());
    auto value = std::make_shared<int>(1);
    co_await scope([&](Scope& s) -> Task<void> {
      s.cancel("test");
      auto never = s.spawn.after(first).with(kShared, value)(see);
      EXPECT_TRUE(never.done());
      never = s.spawn.with(kShared, value).after(first)(see);
      EXPECT_EQ(value.use_count(), 1);
      co_return;
    });
  });
}

TEST(SpawnBuilders, T19_I2_FibersHaveTheSame) {
  run_program([]() -> Task<void> {
    const auto sees = [](int value) { return view() + ": " + std::to_string(value); };
    auto first = spawn(works, 5);
    auto a = spawn_fiber.with(kUser, "ann").after(first)(sees, 1);
    auto b = spawn_fiber.from(first).with(kUser, "bob")(sees);
    EXPECT_EQ(co_await a, "ann - at 5: 1");
    EXPECT_EQ(co_await b, "bob - at 5: 5");
  });
}

TEST(SpawnBuilders, T17_AgentsHaveTheSame) {
  run_program([]() -> Task<void> {
    auto first = spawn(works, 5);
    auto a = spawn_agent.with(kUser, "ann").after(first)(std::make_unique<Sees>());
    auto b = spawn_agent.after(first).with(kUser, "bob")(std::make_unique<Sees>());
    auto c = spawn_agent.with(kDepth, 2)(std::make_unique<Sees>());
    auto d = spawn_agent.with_priority(3)(std::make_unique<Sees>());
    EXPECT_EQ(Scheduler::current()->find(d.id())->priority(), 3);
    EXPECT_EQ(co_await a, "ann - at 6");
    EXPECT_EQ(co_await b, "bob - at 6");
    EXPECT_EQ(co_await c, "- 2 at 1");
    co_await d;
    co_await scope([&](Scope& s) -> Task<void> {
      auto plain = s.spawn_agent(std::make_unique<Sees>());
      auto given = s.spawn_agent.after(first).with(kUser, "cid")(std::make_unique<Sees>());
      auto older = spawn_agent(s, std::make_unique<Sees>());
      EXPECT_EQ(s.live(), 3u);
      EXPECT_EQ(co_await plain, "- - at 7");
      EXPECT_EQ(co_await given, "cid - at 7");
      EXPECT_EQ(co_await older, "- - at 7");
    });
  });
  Scheduler scheduler(Options().virtual_time());
  auto agent = scheduler.spawn_agent.with(kUser, "root")(std::make_unique<Sees>());
  scheduler.run();
  EXPECT_EQ(detail::result_now(agent), "root - at 1");
}

TEST(SpawnBuilders, T17_AnAgentThatIsSpawnedOutsideOfATaskIsAnErrorThatNamesTheCall) {
  const std::exception_ptr error =
      thrown_by([] { static_cast<void>(spawn_agent(std::make_unique<Sees>())); });
  EXPECT_EQ(code_of(error), Errc::no_task);
  EXPECT_EQ(what_of(error).find("spawn_agent() needs a running task"), 0u) << what_of(error);
}

}  // namespace spawn_builders_test
}  // namespace tiffany
