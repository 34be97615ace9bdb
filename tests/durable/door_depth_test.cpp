// Values that nest too deep: refused at the door, and a log that has one is opened.
#include <gtest/gtest.h>

#include <string>

#include "durable/door.hpp"

namespace tiffany {
namespace door_depth_test {

using namespace door;
using namespace std::chrono_literals;

class DoorDepthTest : public door::DoorTest {};
TIFFANY_IN_EVERY_STORE(DoorDepthTest);

TEST_P(DoorDepthTest, AnArgumentThatNestsTooDeepIsRefusedAndTheHostOpensAgain) {
  world.live([&](Host& host) -> Task<void> {
    for (const std::size_t depth : {56u, 57u, 61u, 62u, 63u, 64u, 65u, 1000u}) {
      EXPECT_EQ(co_await error_of(host.start("echoes", RawText{nested(depth)})), Errc::bad_json)
          << depth;
    }
    const Uuid id = co_await host.start("echoes", RawText{nested(55)});
    EXPECT_EQ(co_await host.result<std::string>(id), nested(55));
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorDepthTest, ASignalAndAPromiseThatNestTooDeepAreRefusedAndTheTaskGoesOn) {
  Uuid hears_it;
  Uuid hopes_for_it;
  world.live([&](Host& host) -> Task<void> {
    hears_it = co_await host.start("hears");
    hopes_for_it = co_await host.start("hopes");
    co_await sleep(1s);
    for (const std::size_t depth : {57u, 64u, 65u, 5000u}) {
      EXPECT_EQ(co_await error_of(host.signal_json(hears_it, "word", nested(depth))),
                Errc::bad_json);
      EXPECT_EQ(co_await error_of(host.complete_json(promise_id, nested(depth), true)),
                Errc::bad_json);
    }
    co_await host.close();
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.resumed, 2u) << world.recovery.text();
    co_await host.signal_json(hears_it, "word", nested(56));
    EXPECT_EQ(co_await host.result<std::string>(hears_it), nested(56));
    EXPECT_TRUE(co_await host.complete_json(promise_id, nested(56), true));
    EXPECT_EQ(co_await host.result<std::string>(hopes_for_it), nested(56));
  });
}

TEST_P(DoorDepthTest, AResultOfATaskThatNestsTooDeepIsAFailureThatSaysSo) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("gives", 57);
    EXPECT_NE((co_await failure_of(&host, id)).find("56"), std::string::npos);
    const Uuid less = co_await host.start("gives", 56);
    EXPECT_EQ((co_await host.result<RawText>(less)).text, nested(56));
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorDepthTest, AResultOfAStepThatNestsTooDeepFailsTheStep) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("climbs", 57);
    EXPECT_NE((co_await failure_of(&host, id)).find("56"), std::string::npos);
    const Uuid less = co_await host.start("climbs", 56);
    EXPECT_EQ(co_await host.result<int>(less), 1);
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorDepthTest, ArgumentsOfAChildThatNestTooDeepFailTheCall) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("spawns", 56);
    EXPECT_NE((co_await failure_of(&host, id)).find("56"), std::string::npos);
    const Uuid less = co_await host.start("spawns", 55);
    EXPECT_EQ(co_await host.result<int>(less), 1);
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorDepthTest, AStateThatNestsTooDeepFailsTheCheckpoint) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("saves", 57);
    EXPECT_NE((co_await failure_of(&host, id)).find("56"), std::string::npos);
    const Uuid less = co_await host.start("saves", 56);
    EXPECT_EQ(co_await host.result<int>(less), 1);
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorDepthTest, ALogWithATaskThatCannotBeReadIsOpenedAndOnlyThatTaskIsQuarantined) {
  const Uuid bad = Uuid::derived(Uuid(), "bad");
  const Uuid worse = Uuid::derived(Uuid(), "worse");
  Uuid good;
  world.live([&](Host& host) -> Task<void> {
    good = co_await host.start("hopes");
    co_await sleep(1s);
    // As an older program wrote them.
    const auto spawn = [&](const Uuid& id, std::string rest) -> Task<void> {
      wal::StoredTask& log = host.store().add(id);
      const std::string text = id.text();
      wal::Synced synced;
      const std::string payload = R"("name":"echoes","version":1,"args":)" + rest;
      host.store().append(log, wal::Entry{wal::RecordType::Spawn, text, payload}, wal::Level::sync,
                          &synced);
      co_await synced.event.wait();
    };
    co_await spawn(bad, nested(70));
    co_await spawn(worse, "{oops");
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(world.recovery.quarantined, 2u) << world.recovery.text();
    EXPECT_EQ(world.recovery.resumed, 1u) << world.recovery.text();
    EXPECT_EQ(host.info(bad)->status, DurableStatus::quarantined);
    EXPECT_EQ(co_await error_of(host.signal(bad, "word", 1)), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.pause(bad)), Errc::durable_stopped);
    EXPECT_EQ(co_await error_of(host.result_json(bad)), Errc::durable_stopped);
    // What others ask for is not disturbed by it.
    EXPECT_EQ(co_await error_of(host.complete(Uuid::derived(Uuid(), "nobody's"), 1)),
              Errc::unknown_durable);
    EXPECT_TRUE(co_await host.complete_json(promise_id, "7", true));
    EXPECT_EQ(co_await host.result<std::string>(good), "7");
    co_await host.compact();
    co_await host.close();
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(worse)->status, DurableStatus::quarantined);
    co_await host.kill(worse, "it cannot be read");
    EXPECT_EQ(host.info(worse)->status, DurableStatus::cancelled);
    co_await host.close();
  });
}

}  // namespace door_depth_test
}  // namespace tiffany
