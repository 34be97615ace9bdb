// Calls to a host from the step of a task that the call is about: what would wait for itself is
// refused.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace own_step_test {

using namespace std::chrono_literals;

Host* the_host = nullptr;
std::function<Task<void>(Uuid)> the_call;

Task<std::string> say_of(Task<void> call) {
  try {
    co_await std::move(call);
  } catch (const Error& e) {
    co_return std::to_string(static_cast<int>(e.code())) + ": " + e.what();
  }
  co_return "done";
}

class OwnStepTest : public MemoryTest {
 protected:
  static Durable<std::string> calls(Flow& flow) {
    const Uuid self = flow.id();
    co_return co_await flow.step(
        "call", [&]() -> Task<std::string> { co_return co_await say_of(the_call(self)); });
  }
  // In a task of a scope that the step has opened.
  static Durable<std::string> calls_below(Flow& flow) {
    const Uuid self = flow.id();
    co_return co_await flow.step("call", [&]() -> Task<std::string> {
      std::string said;
      co_await scope([&](Scope& all) -> Task<void> {
        all.spawn([&]() -> Task<void> { said = co_await say_of(the_call(self)); });
        co_return;
      });
      co_return said;
    });
  }
  static Durable<std::string> parent(Flow& flow) {
    auto child = co_await flow.spawn<std::string>("child", flow.id());
    co_return co_await child;
  }
  static Durable<std::string> child(Flow& flow, Uuid about) {
    co_return co_await flow.step(
        "call", [&]() -> Task<std::string> { co_return co_await say_of(the_call(about)); });
  }
  // Waits for a word, and then calls for another task.
  static Durable<std::string> calls_for(Flow& flow, Uuid other) {
    co_return co_await flow.step("call", [&]() -> Task<std::string> {
      co_await sleep(1s);
      co_return co_await say_of(the_call(other));
    });
  }

  OwnStepTest() {
    world.types = [] {
      Registry types;
      types.add("calls", 1, calls);
      types.add("calls_below", 1, calls_below);
      types.add("parent", 1, parent);
      types.add("child", 1, child);
      types.add("calls_for", 1, calls_for);
      return types;
    };
  }
  // What the task heard when its step called `call`.
  std::string heard(const std::string& type, std::function<Task<void>(Uuid)> call) {
    std::string said;
    the_call = std::move(call);
    world.live([&](Host& host) -> Task<void> {
      the_host = &host;
      const Uuid id = co_await host.start(type);
      try {
        said = co_await host.result<std::string>(id);
      } catch (const Error& e) {
        said = std::string("failed: ") + e.what();
      }
    });
    return said;
  }
  static Task<void> kill(Uuid id) { co_await the_host->kill(id, "by its step"); }
  static Task<void> pause(Uuid id) { co_await the_host->pause(id); }
  static Task<void> resume(Uuid id) { co_await the_host->resume(id); }
  static Task<void> cancel(Uuid id) { co_await the_host->cancel(id, "by its step"); }
  static Task<void> close(Uuid) { co_await the_host->close(); }
  static Task<void> compact(Uuid) { co_await the_host->compact(); }
  static Task<void> result(Uuid id) { co_await the_host->result<std::string>(id); }
  static Task<void> retry(Uuid id) { co_await the_host->retry(id, "call#1"); }
  static Task<void> fork(Uuid id) { co_await the_host->fork(id, "call#1"); }
  static Task<void> signal(Uuid id) { co_await the_host->signal(id, "word", 1); }
  static Task<void> within_a_limit(Uuid id) {
    co_await within(1h, the_host->kill(id, "by its step"));
  }
};
TIFFANY_IN_EVERY_STORE(OwnStepTest);

TEST_P(OwnStepTest, WhatWouldWaitForItselfIsRefusedWithASentence) {
  for (const char* const type : {"calls", "calls_below"}) {
    EXPECT_TRUE(heard(type, kill).starts_with("117: Host::kill")) << heard(type, kill);
    EXPECT_TRUE(heard(type, pause).starts_with("117: Host::pause")) << heard(type, pause);
    EXPECT_TRUE(heard(type, close).starts_with("117: Host::close")) << heard(type, close);
    EXPECT_TRUE(heard(type, result).starts_with("117: Host::result")) << heard(type, result);
    EXPECT_TRUE(heard(type, within_a_limit).starts_with("117: Host::kill"));
  }
}

TEST_P(OwnStepTest, WhatDoesNotWaitForTheTaskWorksFromItsStep) {
  for (const char* const type : {"calls", "calls_below"}) {
    EXPECT_EQ(heard(type, resume), "done");  // it runs
    EXPECT_EQ(heard(type, signal), "done");
    EXPECT_EQ(heard(type, compact), "done");
    EXPECT_TRUE(heard(type, retry).starts_with("317: Only a task that failed"))
        << heard(type, retry);
    EXPECT_TRUE(heard(type, fork).find("cannot be forked by a step of its own") !=
                std::string::npos);
  }
}

TEST_P(OwnStepTest, AStepThatCancelsItsTaskEndsIt) {
  const std::string said = heard("calls", cancel);
  EXPECT_NE(said.find("by its step"), std::string::npos) << said;
  EXPECT_TRUE(said.starts_with("failed: ")) << said;
}

TEST_P(OwnStepTest, AChildCannotKillItsParentFromAStepAndCanPauseIt) {
  EXPECT_TRUE(heard("parent", kill).starts_with("117: Host::kill")) << heard("parent", kill);
  the_call = pause;
  world.live([&](Host& host) -> Task<void> {
    the_host = &host;
    const Uuid id = co_await host.start("parent");
    while (host.info(id)->status == DurableStatus::running) co_await sleep(1s);
    EXPECT_EQ(host.info(id)->status, DurableStatus::paused);
    co_await host.resume(id);
    EXPECT_EQ(co_await host.result<std::string>(id), "done");
  });
}

TEST_P(OwnStepTest, TwoTasksWhoseStepsStopEachOtherDoNotHang) {
  for (const auto& call : {kill, pause}) {
    the_call = call;
    const Uuid one = Uuid::derived(Uuid(), "one");
    const Uuid other = Uuid::derived(Uuid(), "other");
    world.disk = std::make_shared<wal::MemoryDisk>();
    world.live([&](Host& host) -> Task<void> {
      the_host = &host;
      co_await host.start_as(one, "calls_for", other);
      co_await host.start_as(other, "calls_for", one);
      co_await sleep(1h);
      // One was stopped by the other, which heard that it cannot be stopped itself, or was done.
      const bool first = host.info(one)->status == DurableStatus::completed;
      const bool second = host.info(other)->status == DurableStatus::completed;
      EXPECT_NE(first, second) << host.info(one)->detail << " / " << host.info(other)->detail;
      co_await host.close();
    });
  }
}

TEST_P(OwnStepTest, ATaskThatAStepLeavesBehindMayStopTheTask) {
  the_call = [](Uuid id) -> Task<void> {
    Scheduler& scheduler = *Scheduler::current();
    scheduler.root().spawn(&OwnStepTest::kill, id);
    co_await sleep(1h);
  };
  world.live([&](Host& host) -> Task<void> {
    the_host = &host;
    const Uuid id = co_await host.start("calls");
    EXPECT_EQ(co_await error_of(host.result_json(id)), Errc::durable_cancelled);
    EXPECT_EQ(host.info(id)->detail, "by its step");
  });
}

}  // namespace own_step_test
}  // namespace tiffany
