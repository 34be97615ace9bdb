// Daemon tasks: they do not keep a run alive.
#include <gtest/gtest.h>

#include <string>

#include "support/tasks.hpp"

namespace tiffany {
namespace daemon_test {

using namespace test;

Task<void> ticks(Trace& trace) {
  const AtExit exit(trace, "daemon gone");
  for (;;) {
    co_await sleep(2ms);
    trace.push_back("tick");
  }
}

TEST(Daemon, ARunEndsWhenOnlyDaemonsAreLeftAndTheyAreCancelledAndJoined) {
  Trace trace;
  Scheduler scheduler(Options().virtual_time());
  auto daemon = scheduler.spawn(ticks, std::ref(trace)).daemon();
  scheduler.spawn(gives, std::ref(trace), 5, "work");
  scheduler.run();
  EXPECT_EQ(trace, Trace({"tick", "tick", "work", "work gone", "daemon gone"}));
  EXPECT_EQ(daemon.state(), TaskState::cancelled);
  daemon = {};
  expect_nothing_left(scheduler);
}

TEST(Daemon, EveryOtherTaskKeepsTheRunAliveAlsoOneThatWaitsForADaemon) {
  Trace trace;
  Scheduler scheduler(Options().virtual_time());
  const auto joins = [&]() -> Task<void> {
    const auto three = [&]() -> Task<int> {
      co_await sleep(3ms);
      co_return 3;
    };
    auto daemon = spawn(std::ref(three)).daemon();
    trace.push_back(std::to_string(co_await daemon));
  };
  scheduler.spawn(std::ref(joins));
  scheduler.run();
  EXPECT_EQ(trace, Trace({"3"}));
  expect_nothing_left(scheduler);
}

TEST(Daemon, WhatADaemonSpawnsIsADaemonAlsoWhileItEnds) {
  Trace trace;
  Scheduler scheduler(Options().virtual_time());
  const auto outer = [&]() -> Task<void> {
    spawn(ticks, std::ref(trace));
    try {
      co_await sleep(1h);
    } catch (const Cancelled&) {
      spawn(ticks, std::ref(trace));
      throw;
    }
  };
  scheduler.spawn(std::ref(outer)).daemon();
  scheduler.spawn(gives, std::ref(trace), 1, "work");
  scheduler.run();
  EXPECT_EQ(scheduler.now(), Time(1ms));
  EXPECT_EQ(trace, Trace({"work", "work gone", "daemon gone", "daemon gone"}));
  expect_nothing_left(scheduler);
}

TEST(Daemon, OneThatTakesItsTimeToEndIsWaitedFor) {
  Trace trace;
  Scheduler scheduler(Options().virtual_time());
  const auto says_goodbye = [&]() -> Task<void> {
    try {
      co_await sleep(1h);
    } catch (const Cancelled& cancelled) {
      EXPECT_EQ(cancelled.reason().cause, CancelCause::shutdown);
    }
    const auto goodbye = [&]() -> Task<void> {
      co_await sleep(7ms);
      trace.push_back("goodbye");
    };
    co_await shield(goodbye());
  };
  scheduler.spawn(std::ref(says_goodbye)).daemon();
  scheduler.spawn(gives, std::ref(trace), 1, "work");
  scheduler.run();
  EXPECT_EQ(trace, Trace({"work", "work gone", "goodbye"}));
  EXPECT_EQ(scheduler.now(), Time(8ms));
  expect_nothing_left(scheduler);
}

TEST(Daemon, ToBecomeOneAfterTheEndChangesNothing) {
  Trace trace;
  Scheduler scheduler(Options().virtual_time());
  auto ended = scheduler.spawn(gives, std::ref(trace), 0, "a");
  scheduler.run();
  ended.daemon().daemon();
  scheduler.spawn(gives, std::ref(trace), 1, "b");
  scheduler.run();
  EXPECT_EQ(trace, Trace({"a", "a gone", "b", "b gone"}));
}

}  // namespace daemon_test
}  // namespace tiffany
