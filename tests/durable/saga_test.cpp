#include "tiffany/durable/saga.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace saga_test {

using namespace std::chrono_literals;

class SagaTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(SagaTest);

// What is booked. Undoing what is not booked does nothing.
std::vector<std::string> booked;

void book(const std::string& what) {
  if (CrashTest::alive()) {
    std::erase(booked, what);
    booked.push_back(what);
  }
}
void unbook(std::string what) {
  effects.push_back("undo " + what);
  if (CrashTest::alive()) std::erase(booked, what);
}
Task<void> unbook_slowly(std::string what) {
  co_await sleep(1h);
  unbook(what);
}
void cannot(std::string what) { throw std::runtime_error(what + " stays"); }

Durable<std::string> trip_body(Flow& flow, Saga& saga, std::string problem) {
  saga.undo("no hotel", unbook, "hotel");
  co_await flow.step("hotel", [] { book("hotel"); });
  saga.undo("no flight", unbook_slowly, "flight");
  co_await flow.step("flight", [] { book("flight"); });
  if (problem == "undo") saga.undo("cannot", StepOptions(), cannot, "the car");
  if (problem == "waits") co_await flow.sleep(24h);
  if (problem != "none") {
    co_await flow.step("car", [&] { throw std::runtime_error("no car"); });
  }
  co_return "booked";
}
Durable<std::string> trip(Flow& flow, std::string problem) {
  co_return co_await run_saga(flow, trip_body, problem);
}

TEST_P(SagaTest, WhatWasDoneIsUndoneInReverseWhereverTheProcessIsCutOff) {
  only("trip", trip);
  const Uuid id = Uuid::derived(Uuid(), "trip");
  world.crash_everywhere([] { booked.clear(); },
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(id, "trip", "car");
                           try {
                             co_await host.result<std::string>(id);
                             ADD_FAILURE() << world.crashed_after;
                           } catch (const Error& e) {
                             EXPECT_STREQ(e.what(), "no car") << world.crashed_after;
                           }
                         },
                         [&] { EXPECT_TRUE(booked.empty()) << world.crashed_after; });
  effects.clear();
  world.disk = std::make_shared<MemoryDisk>();
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(id, "trip", "car");
    EXPECT_EQ(co_await error_of(host.result<std::string>(id)), Errc::durable_failed);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"undo flight", "undo hotel"}));
}

TEST_P(SagaTest, ASagaThatEndsWellUndoesNothing) {
  only("trip", trip);
  booked.clear();
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("trip", "none");
    EXPECT_EQ(co_await host.result<std::string>(id), "booked");
  });
  EXPECT_EQ(booked, (std::vector<std::string>{"hotel", "flight"}));
  EXPECT_TRUE(effects.empty());
}

TEST_P(SagaTest, ACancelUndoesAndASecondOneDoesNotStopThatWhereverTheProcessIsCutOff) {
  only("trip", trip);
  const Uuid id = Uuid::derived(Uuid(), "trip");
  world.crash_everywhere([] { booked.clear(); },
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(id, "trip", "waits");
                           co_await sleep(1h);
                           co_await host.cancel(id, "enough");
                           co_await sleep(30min);
                           co_await host.cancel(id, "once more");
                           EXPECT_EQ(co_await error_of(host.result<std::string>(id)),
                                     Errc::durable_cancelled);
                         },
                         [&] { EXPECT_TRUE(booked.empty()) << world.crashed_after; });
}

TEST_P(SagaTest, AnEntryThatCannotBeUndoneIsSaidAndDoesNotStopTheOthers) {
  only("trip", trip);
  booked.clear();
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("trip", "undo");
    try {
      co_await host.result<std::string>(id);
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_STREQ(e.what(),
                   "What was done could not all be undone: \"cannot\" failed: the car stays");
    }
  });
  EXPECT_TRUE(booked.empty());
}

}  // namespace saga_test
}  // namespace tiffany
