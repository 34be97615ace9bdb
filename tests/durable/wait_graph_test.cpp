// Durable tasks that wait for one another: what is known of it is found, though others live.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/memory_test.hpp"
#include "tiffany/observe/lints.hpp"

namespace tiffany {
namespace wait_graph_test {

using namespace std::chrono_literals;
using observe::Lint;
using observe::Linter;
using observe::LintKind;

Host* the_host = nullptr;
const Uuid kLeft = Uuid::derived(Uuid(), "left");
const Uuid kRight = Uuid::derived(Uuid(), "right");

// Waits for the result of another task, in a step.
Durable<int> asks_for(Flow& flow, Uuid other) {
  co_return co_await flow.step(
      "ask", [&]() -> Task<int> { co_return co_await the_host->result<int>(other) + 1; });
}
Durable<int> asks_with_limit(Flow& flow, Uuid other) {
  co_return co_await flow.step("ask", [&]() -> Task<int> {
    const auto timed = co_await within(1h, the_host->result<int>(other));
    co_return timed.timed_out() ? -1 : 1;
  });
}
Durable<int> asks_in_scope(Flow& flow, Uuid other) {
  const auto scope = co_await flow.scope(1h);
  co_return co_await flow.step(
      "ask", [&]() -> Task<int> { co_return co_await the_host->result<int>(other); });
}
Durable<int> parent(Flow& flow) {
  auto child = co_await flow.spawn<int>("asks_for", flow.id());
  co_return co_await child;
}
Durable<int> parent_of_two(Flow& flow) {
  auto busy = co_await flow.spawn<int>("sleeps");
  auto child = co_await flow.spawn<int>("asks_for", flow.id());
  auto both = co_await flow.gather(busy, child);
  co_return both.get<0>() + both.get<1>();
}
Durable<int> sleeps(Flow& flow) {
  co_await flow.sleep(5h);
  co_return 1;
}
Durable<int> waits_for_signal(Flow& flow) { co_return co_await flow.signal<int>("go"); }

// Its handler asks another task for an update of its own, and says so to that task.
constexpr UpdateName<Uuid, int> pass{"pass"};
Durable<int> passes_on(Flow& flow) {
  const auto passes = flow.on_update(pass, [&](Uuid other) -> Durable<int> {
    if (other.nil()) co_return 1;
    const Uuid self = flow.id();
    co_return co_await flow.step("pass on", [&]() -> Task<int> {
      co_return co_await the_host->update(other, pass, self, Uuid::derived(other, "pass")) + 1;
    });
  });
  co_await flow.serve([] { return false; });
  co_return 0;
}

Task<void> serves() {
  for (;;) co_await sleep(100ms);
}

class WaitGraphTest : public MemoryTest {
 protected:
  WaitGraphTest() {
    world.types = [] {
      Registry types;
      types.add("asks_for", 1, asks_for);
      types.add("asks_with_limit", 1, asks_with_limit);
      types.add("asks_in_scope", 1, asks_in_scope);
      types.add("parent", 1, parent);
      types.add("parent_of_two", 1, parent_of_two);
      types.add("passes_on", 1, passes_on);
      types.add("sleeps", 1, sleeps);
      types.add("waits_for_signal", 1, waits_for_signal);
      return types;
    };
  }
  static std::vector<Lint> deadlocks() {
    std::vector<Lint> found = Linter(*Scheduler::current()).scan();
    std::erase_if(found, [](const Lint& lint) { return lint.kind != LintKind::deadlock; });
    return found;
  }
  static bool says(const std::vector<Lint>& lints, const std::string& text) {
    for (const Lint& lint : lints) {
      if (lint.text.find(text) != std::string::npos) return true;
    }
    return false;
  }
};
TIFFANY_IN_EVERY_STORE(WaitGraphTest);

TEST_P(WaitGraphTest, TwoTasksThatWaitForEachOthersResultAreFoundBesideAHealthyServer) {
  world.live([&](Host& host) -> Task<void> {
    the_host = &host;
    auto server = spawn(serves).daemon();
    co_await host.start(StartOptions().id(kLeft), asks_for, kRight);
    co_await host.start(StartOptions().id(kRight), asks_for, kLeft);
    co_await host.start("sleeps");
    co_await sleep(1s);
    const std::vector<Lint> found = deadlocks();
    EXPECT_EQ(found.size(), 4u) << "two tasks and the steps that they wait for";
    EXPECT_TRUE(says(found, "\"asks_for\"")) << found.front().text;
    EXPECT_TRUE(says(found, "the result of durable task " + kLeft.text()));
    EXPECT_TRUE(says(found, "the result of durable task " + kRight.text()));
    EXPECT_EQ(Scheduler::current()->counters().circles, 1u) << "and it is reported by itself";
    co_await host.cancel(kLeft, "to open the circle");
    EXPECT_EQ(co_await error_of(host.result<int>(kRight)), Errc::durable_failed);
    EXPECT_TRUE(deadlocks().empty());
  });
}

TEST_P(WaitGraphTest, TwoTasksWhoseUpdateHandlersUpdateEachOtherAreFoundAndNamed) {
  world.live([&](Host& host) -> Task<void> {
    the_host = &host;
    auto server = spawn(serves).daemon();
    co_await host.start(StartOptions().id(kLeft), passes_on);
    co_await host.start(StartOptions().id(kRight), passes_on);
    const auto ask = [](Host* to) -> Task<Errc> {
      co_return co_await error_of(to->update(kLeft, pass, kRight));
    };
    auto asked = spawn(ask, &host);
    co_await sleep(1s);
    const std::vector<Lint> found = deadlocks();
    EXPECT_EQ(found.size(), 4u) << "two tasks and the steps that they wait for";
    EXPECT_TRUE(says(found, "the answer of durable task " + kLeft.text() +
                                " \"passes_on\" to the update \"pass\""));
    EXPECT_TRUE(says(found, "the answer of durable task " + kRight.text()));
    EXPECT_EQ(Scheduler::current()->counters().circles, 1u) << "and it is reported by itself";
    co_await host.cancel(kLeft, "to open the circle");
    EXPECT_NE(co_await asked, Errc{});
    EXPECT_TRUE(deadlocks().empty());
    co_await host.cancel(kRight, "enough");
  });
}

TEST_P(WaitGraphTest, AnUpdateThatAnotherTaskWillAnswerIsNoCircle) {
  world.live([&](Host& host) -> Task<void> {
    the_host = &host;
    co_await host.start(StartOptions().id(kLeft), passes_on);
    co_await host.start(StartOptions().id(kRight), waits_for_signal);
    const auto ask = [](Host* to) -> Task<Errc> {
      co_return co_await error_of(to->update(kLeft, pass, kRight));
    };
    EXPECT_EQ(co_await ask(&host), Errc::durable_failed) << "the other one has no such update";
    EXPECT_EQ(co_await host.update(kLeft, pass, Uuid()), 1);
    EXPECT_TRUE(deadlocks().empty());
    EXPECT_EQ(Scheduler::current()->counters().circles, 0u);
    co_await host.cancel(kLeft, "enough");
    co_await host.cancel(kRight, "enough");
  });
}

// In its handler, with the id of the update that the handler answers: the answer is the step's own.
TEST_P(WaitGraphTest, ATaskThatAsksItselfForAnUpdateOfAHandlerThatWaitsIsRefusedWithASentence) {
  world.live([&](Host& host) -> Task<void> {
    the_host = &host;
    co_await host.start(StartOptions().id(kLeft), passes_on);
    for (const Uuid& id : {Uuid(), Uuid::derived(kLeft, "pass")}) {
      std::string why;
      try {
        co_await host.update(kLeft, pass, kLeft, id);
      } catch (const Error& e) {
        why = e.what();
      }
      EXPECT_NE(why.find("in one of its own steps"), std::string::npos) << why;
    }
    co_await host.cancel(kLeft, "enough");
  });
}

TEST_P(WaitGraphTest, AChildThatWaitsForItsParentIsFound) {
  for (const char* const type : {"parent", "parent_of_two"}) {
    world.live([&](Host& host) -> Task<void> {
      the_host = &host;
      const Uuid id = co_await host.start(type);
      co_await sleep(1s);
      if (std::string_view(type) == "parent_of_two") {
        EXPECT_TRUE(deadlocks().empty()) << "the other child may fail, and end the wait";
        co_await sleep(6h);
      }
      const std::vector<Lint> found = deadlocks();
      EXPECT_EQ(found.size(), 3u) << "parent, child and its step";
      EXPECT_TRUE(says(found, "\"" + std::string(type) + "\""));
      co_await host.cancel(id, "to open the circle");
      EXPECT_NE(co_await error_of(host.result<int>(id)), Errc{});
    });
  }
}

TEST_P(WaitGraphTest, ACircleThatALimitWillOpenIsNone) {
  for (int how = 0; how < 3; ++how) {
    world.live([&](Host& host) -> Task<void> {
      the_host = &host;
      const Uuid left = Uuid::derived(kLeft, std::to_string(how));
      const Uuid right = Uuid::derived(kRight, std::to_string(how));
      if (how == 0) co_await host.start(StartOptions().id(left), asks_with_limit, right);
      if (how == 1) co_await host.start(StartOptions().id(left), asks_in_scope, right);
      if (how == 2) co_await host.start(StartOptions().id(left).timeout(1h), asks_for, right);
      co_await host.start(StartOptions().id(right), asks_for, left);
      co_await sleep(1s);
      EXPECT_TRUE(deadlocks().empty()) << how;
      EXPECT_EQ(Scheduler::current()->counters().circles, 0u) << how;
      static_cast<void>(co_await error_of(host.result<int>(right)));
    });
  }
}

TEST_P(WaitGraphTest, ATaskThatWaitsForASignalMayBeSentOneByAnybody) {
  world.live([&](Host& host) -> Task<void> {
    the_host = &host;
    co_await host.start(StartOptions().id(kLeft), waits_for_signal);
    co_await host.start(StartOptions().id(kRight), asks_for, kLeft);
    co_await sleep(1s);
    EXPECT_TRUE(deadlocks().empty());
    co_await host.signal(kLeft, "go", 4);
    EXPECT_EQ(co_await host.result<int>(kRight), 5);
  });
}

}  // namespace wait_graph_test
}  // namespace tiffany
