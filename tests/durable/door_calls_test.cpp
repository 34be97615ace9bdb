// What the code of a task asks for, and says: refused when it cannot be read back.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "durable/door.hpp"

namespace tiffany {
namespace door_calls_test {

using namespace door;
using namespace std::chrono_literals;

class DoorCallsTest : public door::DoorTest {};
TIFFANY_IN_EVERY_STORE(DoorCallsTest);

// ---- What the code of a task asks for ----

// Runs one task that counts how many of its calls were refused.
template <class F>
int refusals(F call) {
  try {
    call();
  } catch (const Error& e) {
    return e.code() == Errc::bad_argument ? 1 : 100;
  }
  return 0;
}

Durable<int> asks_badly(Flow& flow) {
  int refused = 0;
  refused += refusals([&] { (void)flow.enter(""); });
  refused += refusals([&] { (void)flow.enter("\xff"); });
  refused += refusals([&] { (void)flow.enter(std::string(201, 'p')); });
  refused += refusals([&] { (void)flow.on_query(std::string(201, 'q'), [] { return ""; }); });
  refused += refusals([&] { (void)StepOptions().retry(Retry(0)); });
  refused += refusals([&] { (void)StepOptions().retry(Retry(-3)); });
  refused += refusals([&] { (void)StepOptions().retry(Retry(2, -1s)); });
  refused += refusals([&] { (void)StepOptions().retry(Retry(2, 1s, -2.0)); });
  refused += refusals([&] { (void)StepOptions().retry(Retry(2, 1s, std::nan(""))); });
  refused += refusals([&] { (void)StepOptions().retry(Retry(2, 1s, 2.0, -1s)); });
  refused += refusals([&] { (void)StepOptions().timeout(-1s); });
  refused += refusals([&] { (void)StepOptions().heartbeat(0s); });
  for (const std::string& name : {std::string(), std::string(201, 'x'), std::string("\xff")}) {
    bool failed = false;
    try {
      co_await flow.step(name, [] { return 1; });
    } catch (const Error& e) {
      failed = e.code() == Errc::bad_argument;
    }
    if (failed) ++refused;
    failed = false;
    try {
      co_await flow.signal_within<int>(1s, name);
    } catch (const Error& e) {
      failed = e.code() == Errc::bad_argument;
    }
    if (failed) ++refused;
    failed = false;
    try {
      co_await flow.promise<int>(name);
    } catch (const Error& e) {
      failed = e.code() == Errc::bad_argument;
    }
    if (failed) ++refused;
  }
  co_return refused;
}

TEST_P(DoorCallsTest, WhatATaskAsksForIsRefusedWhenItsNameOrNumbersCannotBe) {
  only("asks_badly", asks_badly);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("asks_badly");
    EXPECT_EQ(co_await host.result<int>(id), 21);
  });
}

Durable<int> digs(Flow& flow, int levels) {
  std::vector<std::unique_ptr<Flow::Path>> paths;
  int reached = 0;
  try {
    for (; reached < levels; ++reached) {
      paths.emplace_back(new Flow::Path(flow.enter(std::string(100, 'd'))));
    }
  } catch (const Error& e) {
    if (e.code() != Errc::bad_argument) throw;
  }
  co_await flow.step("deep", [] {});
  while (!paths.empty()) paths.pop_back();
  co_await flow.step("out", [] {});
  co_return reached;
}

TEST_P(DoorCallsTest, APathOfStepsThatIsTooLongIsRefusedAndStaysAsItWas) {
  only("digs", digs);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("digs", 50);
    EXPECT_EQ(co_await host.result<int>(id), 10);
    for (const std::string& line : world.lines(id)) EXPECT_LT(line.size(), 3000u);
  });
}

std::string beat;
Durable<std::string> beats(Flow& flow) {
  co_return co_await flow.step("work", [](Attempt& attempt) -> Task<std::string> {
    attempt.heartbeat(beat);
    co_await sleep(1s);
    co_return attempt.details();
  });
}

TEST_P(DoorCallsTest, AHeartbeatThatIsTooLongOrNoUtf8FailsItsStep) {
  only("beats", beats);
  world.live([&](Host& host) -> Task<void> {
    for (const std::string& each : {std::string((std::size_t{16} << 10) + 1, 'h'),
                                    std::string("\xff"), std::string(2'000'000, 'h')}) {
      beat = each;
      const Uuid id = co_await host.start("beats");
      EXPECT_NE((co_await failure_of(&host, id)).find("heartbeat"), std::string::npos);
    }
    beat = std::string(std::size_t{16} << 10, 'h');
    const Uuid id = co_await host.start("beats");
    EXPECT_EQ(co_await host.result<std::string>(id), beat);
  });
}

Durable<std::string> fails_loudly(Flow& flow) {
  std::string told;
  try {
    co_await flow.step("work", [] {
      throw std::runtime_error(std::string((std::size_t{16} << 10) - 1, 'e') + "\xc3\xa9" + "\xff");
    });
  } catch (const Error& e) {
    told = e.what();
  }
  co_await flow.signal<int>("go on");
  co_return told;
}

TEST_P(DoorCallsTest, TheSentenceOfAFailureIsTheSameBeforeAndAfterACrash) {
  only("fails_loudly", fails_loudly);
  std::string before;
  const Uuid id = Uuid::derived(Uuid(), "loud");
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(id, "fails_loudly");
    co_await host.signal(id, "go on", 1);
    before = co_await host.result<std::string>(id);
  });
  world.disk = std::make_shared<wal::MemoryDisk>();
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(id, "fails_loudly");
    co_await sleep(1s);
  });
  world.live([&](Host& host) -> Task<void> {
    co_await host.signal(id, "go on", 1);
    EXPECT_EQ(co_await host.result<std::string>(id), before);
  });
}

}  // namespace door_calls_test
}  // namespace tiffany
