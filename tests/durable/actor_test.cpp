// Who asked something of a task from outside, and why, is in its log.
#include "tiffany/durable/actor.hpp"

#include <gtest/gtest.h>

#include <string>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace actor_test {

using namespace std::chrono_literals;

class ActorTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(ActorTest);

Durable<int> asks(Flow& flow) {
  co_await flow.step("one", [] {});
  auto promise = co_await flow.promise<int>("answer");
  const int got = co_await flow.signal<int>("go");
  co_return co_await promise + got;
}

TEST_P(ActorTest, WhatIsAskedOfARunningTaskIsRecordedWithWhoAndWhy) {
  only("asks", asks);
  Uuid id;
  const Actor ann("ann", "it is \"late\"");
  const std::string members = R"("by":"ann","why":"it is \"late\"")";
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start_json("asks", "[]", StartOptions().by(ann));
    co_await sleep(1s);
    co_await host.pause(id, ann);
    co_await host.resume(id, ann);
    co_await sleep(1s);
    co_await host.signal_json(id, "go", "1", ann);
    const Uuid promise = host.promises().at(0).id;
    EXPECT_TRUE(co_await host.complete_json(promise, "2", true, ann));
    EXPECT_EQ(co_await host.result<int>(id), 3);
  });
  std::string said;
  for (const std::string& line : world.lines(id)) {
    if (line.find(members) == std::string::npos) continue;
    for (const char* const what :
         {"\"Spawn\"", "\"pause\"", "\"resume\"", "\"signal\":\"go\"", "\"Approval\""}) {
      if (line.find(what) != std::string::npos) said += what;
    }
  }
  EXPECT_EQ(said, "\"Spawn\"\"pause\"\"resume\"\"signal\":\"go\"\"Approval\"");
}

TEST_P(ActorTest, SoIsWhatIsAskedOfOneWhoseCodeIsNotThereAndOfOneThatEnds) {
  only("asks", asks);
  Uuid killed;
  Uuid cancelled;
  const Actor bob("bob");
  world.live([&](Host& host) -> Task<void> {
    killed = co_await host.start("asks");
    cancelled = co_await host.start("asks");
    co_await sleep(1s);
    co_await host.pause(killed);
    co_await host.pause(cancelled);
    co_await host.signal_json(killed, "go", "1", bob);
    const Uuid promise =
        host.promises().at(0).task == killed ? host.promises().at(0).id : host.promises().at(1).id;
    EXPECT_TRUE(co_await host.complete_json(promise, "2", true, bob));
    co_await host.kill(killed, "enough", bob);
    co_await host.cancel(cancelled, "enough", bob);
    co_await host.resume(cancelled);
    EXPECT_EQ(co_await error_of(host.result<int>(cancelled)), Errc::durable_cancelled);
    co_await host.retry(cancelled, "one#1", Actor("eve", "again"));
  });
  const auto has = [&](const Uuid& task, const std::string& one, const std::string& other) {
    for (const std::string& line : world.lines(task)) {
      if (line.find(one) != std::string::npos && line.find(other) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(has(killed, "\"signal\":\"go\"", "\"by\":\"bob\""));
  EXPECT_TRUE(has(killed, "\"Approval\"", "\"by\":\"bob\""));
  EXPECT_TRUE(has(killed, "\"killed\"", "\"by\":\"bob\""));
  EXPECT_TRUE(has(cancelled, "\"cancel\":\"enough\"", "\"by\":\"bob\""));
  EXPECT_TRUE(has(cancelled, "\"retry\"", R"("by":"eve","why":"again")"));
}

TEST_P(ActorTest, ANameThatIsNoTextOrTooLongIsRefusedAndNothingIsRecorded) {
  only("asks", asks);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("asks");
    co_await sleep(1s);
    const std::size_t before = world.lines(id).size();
    const Actor broken("\xff");
    const Actor endless(std::string(10'000, 'x'));
    EXPECT_EQ(co_await error_of(host.pause(id, broken)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.kill(id, "why", endless)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.cancel(id, "why", endless)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.start_json("asks", "[]", StartOptions().by(broken))),
              Errc::bad_argument);
    EXPECT_EQ(world.lines(id).size(), before);
    EXPECT_EQ(host.tasks().size(), 1u);
  });
}

}  // namespace actor_test
}  // namespace tiffany
