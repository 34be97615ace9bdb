// Ids, names, reasons and versions from outside: refused at the call when they cannot be.
#include <gtest/gtest.h>

#include <string>

#include "durable/door.hpp"

namespace tiffany {
namespace door_names_test {

using namespace door;
using namespace std::chrono_literals;

class DoorNamesTest : public door::DoorTest {};
TIFFANY_IN_EVERY_STORE(DoorNamesTest);

// ---- Ids ----

TEST_P(DoorNamesTest, ANilIdIsRefused) {
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.start_as(Uuid(), "doubles", 1)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.start_json("doubles", "[1]", Uuid())), Errc::bad_argument);
    EXPECT_TRUE(host.tasks().empty());
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorNamesTest, AnIdThatIsTakenIsRefusedForAnotherTypeOrOtherArguments) {
  const Uuid id = Uuid::derived(Uuid(), "order 7");
  const std::string much(100'000, 'x');
  const Uuid long_one = Uuid::derived(Uuid(), "order 8");
  const auto ask = [&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.start_as(id, "doubles", 7), id);
    EXPECT_EQ(co_await host.start_json("doubles", " [ 7 ] ", id), id);
    EXPECT_EQ(co_await error_of(host.start_as(id, "doubles", 8)), Errc::start_conflict);
    EXPECT_EQ(co_await error_of(host.start_as(id, "gives", 7)), Errc::start_conflict);
    EXPECT_EQ(co_await host.start_as(long_one, "echoes", RawText{"\"" + much + "\""}), long_one);
    EXPECT_EQ(co_await error_of(host.start_as(long_one, "echoes", RawText{"\"" + much + "y\""})),
              Errc::start_conflict);
    EXPECT_EQ(co_await host.result<int>(id), 14);
  };
  world.live([&](Host& host) -> Task<void> {
    co_await ask(host);
    co_await ask(host);
  });
  world.live(ask);
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ((co_await host.compact()).archived, 2u);
    co_await ask(host);
    EXPECT_TRUE(host.tasks().empty());
  });
  world.live(ask);
}

TEST_P(DoorNamesTest, TwoStartsOfOneIdAtTheSameTimeAreComparedToo) {
  const Uuid id = Uuid::derived(Uuid(), "order 7");
  world.live([&](Host& host) -> Task<void> {
    Errc same{};
    Errc other{};
    co_await scope([&](Scope& all) -> Task<void> {
      all.spawn([&]() -> Task<void> { co_await host.start_as(id, "doubles", 7); });
      all.spawn([&]() -> Task<void> { same = co_await error_of(host.start_as(id, "doubles", 7)); });
      all.spawn(
          [&]() -> Task<void> { other = co_await error_of(host.start_as(id, "doubles", 8)); });
      co_return;
    });
    EXPECT_EQ(same, Errc{});
    EXPECT_EQ(other, Errc::start_conflict);
    EXPECT_EQ(co_await host.result<int>(id), 14);
  });
}

// ---- Names, reasons, numbers ----

TEST_P(DoorNamesTest, NamesAndReasonsThatAreTooLongOrNoUtf8AreRefusedAtTheCall) {
  const std::string long_name(201, 'n');
  const std::string long_reason((std::size_t{16} << 10) + 1, 'r');
  const std::string broken = "\xc3(";
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("hears");
    co_await host.start("hopes");
    co_await sleep(1s);
    EXPECT_EQ(co_await error_of(host.signal(id, long_name, 1)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.signal(id, "", 1)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.signal(id, broken, 1)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.cancel(id, long_reason)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.cancel(id, broken)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.kill(id, long_reason)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.kill(id, broken)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.complete_json(promise_id, long_reason, false)),
              Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.complete_json(promise_id, broken, false)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.retry(id, std::string(5000, 's'))), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.fork(id, std::string(5000, 's'))), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.start(std::string(5000, 't'), 1)), Errc::bad_argument);
    co_await host.close();
  });
  expect_sound(2);
}

TEST_P(DoorNamesTest, ATypeWithABadNameOrVersionIsNotRegistered) {
  Registry types;
  const auto refused = [&](const std::string& name, int version, int accepts) {
    try {
      types.add(name, version, doubles,
                accepts == 0 ? TypeOptions() : TypeOptions().accepts_from(accepts));
    } catch (const Error& e) {
      return e.code() == Errc::bad_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused("", 1, 0));
  EXPECT_TRUE(refused(std::string(201, 'x'), 1, 0));
  EXPECT_TRUE(refused("\xff", 1, 0));
  EXPECT_TRUE(refused("doubles", 0, 0));
  EXPECT_TRUE(refused("doubles", -1, 0));
  EXPECT_TRUE(refused("doubles", 2, 3));
  EXPECT_TRUE(refused("doubles", 2, -1));
  EXPECT_FALSE(refused("doubles", 2, 1));
}

}  // namespace door_names_test
}  // namespace tiffany
