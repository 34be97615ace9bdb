// JSON from outside: what a host accepts is written compact and can be read back, and what it
// refuses leaves no trace.
#include <gtest/gtest.h>

#include <string>

#include "durable/door.hpp"

namespace tiffany {
namespace door_json_test {

using namespace door;
using namespace std::chrono_literals;

class DoorJsonTest : public door::DoorTest {};
TIFFANY_IN_EVERY_STORE(DoorJsonTest);

TEST_P(DoorJsonTest, RawJsonIsWrittenCompactWhateverItLooksLike) {
  const std::string wide = " \r\n{ \"a\" :\t[ 1 ,\n2.50e1 ],\n\"b\\u0041\" : \"x\\n y\" }\n ";
  const std::string narrow = R"({"a":[1,2.50e1],"bA":"x\n y"})";
  Uuid hears_it;
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = Uuid::derived(Uuid(), "echo");
    co_await host.start_json("echoes", "\n[\n" + wide + "\n]\n", id);
    EXPECT_EQ(co_await host.result<std::string>(id), narrow);
    hears_it = co_await host.start("hears");
    co_await host.signal_json(hears_it, "word", wide);
    const Uuid hopes_for_it = co_await host.start("hopes");
    co_await sleep(1s);
    EXPECT_TRUE(co_await host.complete_json(promise_id, wide, true));
    EXPECT_EQ(co_await host.result<std::string>(hopes_for_it), narrow);
    co_await host.close();
  });
  expect_sound(0);
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(hears_it), narrow);
  });
}

TEST_P(DoorJsonTest, WhatIsNoJsonIsRefusedByEveryCallThatTakesIt) {
  const std::string bad[] = {"",
                             " ",
                             "nul",
                             "NaN",
                             "-Infinity",
                             "01",
                             "+1",
                             "1.",
                             "1e999",
                             "-1e999",
                             "1e-999",
                             "[1,]",
                             "{\"a\":1,}",
                             "{a:1}",
                             "'a'",
                             "1 2",
                             "{} x",
                             "\"a\nb\"",
                             "\"\\ud800\"",
                             "\"\\udc00\"",
                             "\"\\x41\"",
                             "\"\xff\"",
                             "\"\xed\xa0\x80\"",
                             "\xef\xbb\xbf"
                             "1",
                             std::string("1\0", 2),
                             "{\"a\":1,\"a\":2}",
                             "{\"a\":1,\"\\u0061\":2}",
                             "[{\"b\":{\"a\":1,\"c\":2,\"a\":3}}]",
                             "{\"v\":1}\n{\"v\":1}"};
  world.live([&](Host& host) -> Task<void> {
    const Uuid hears_it = co_await host.start("hears");
    co_await host.start("hopes");
    co_await sleep(1s);
    for (const std::string& text : bad) {
      const Uuid id = host.new_id();
      EXPECT_EQ(co_await error_of(host.start_json("echoes", "[" + text + "]", id)), Errc::bad_json)
          << text;
      EXPECT_FALSE(host.info(id)) << text;
      EXPECT_EQ(co_await error_of(host.signal_json(hears_it, "word", text)), Errc::bad_json)
          << text;
      EXPECT_EQ(co_await error_of(host.complete_json(promise_id, text, true)), Errc::bad_json)
          << text;
    }
    co_await host.close();
  });
  expect_sound(2);
}

TEST_P(DoorJsonTest, NumbersOfAnyLengthThatADoubleCanHoldAreKeptDigitForDigit) {
  const std::string numbers =
      "[123456789012345678901234567890,0.1000,-0,1E+2,18446744073709551615]";
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start_json("echoes", "[" + numbers + "]", host.new_id());
    EXPECT_EQ(co_await host.result<std::string>(id), numbers);
  });
}

TEST_P(DoorJsonTest, ArgumentsThatAreNoArrayOrDoNotFitTheTaskAreRefused) {
  const Uuid id = Uuid::derived(Uuid(), "x");
  world.live([&](Host& host) -> Task<void> {
    for (const char* const text : {"7", "null", "{}", "\"[7]\"", "[]", "[\"7\"]", "[7,8]"}) {
      EXPECT_EQ(co_await error_of(host.start_json("doubles", text, id)), Errc::bad_json) << text;
    }
    EXPECT_EQ(co_await error_of(host.start("doubles", "seven")), Errc::bad_json);
    EXPECT_EQ(co_await error_of(host.start("doubles")), Errc::bad_json);
    EXPECT_TRUE(host.tasks().empty());
    co_await host.start_json("doubles", "[7]", id);
    EXPECT_EQ(co_await host.result<int>(id), 14);
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorJsonTest, ACodecThatWritesALineBreakDoesNotReachTheLog) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("echoes", RawText{"{\n\"a\": 1 }"});
    EXPECT_EQ(co_await host.result<std::string>(id), R"({"a":1})");
    EXPECT_EQ(co_await error_of(host.start("echoes", RawText{"1],[2"})), Errc::bad_json);
    EXPECT_EQ(co_await error_of(host.start("echoes", RawText{""})), Errc::bad_json);
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorJsonTest, WhatAnEffectIsFoundToHaveGivenIsWrittenCompact) {
  world.live([&](Host& host) -> Task<void> {
    found = "{ \"paid\" :\n7 }";
    const Uuid id = co_await host.start("finds");
    EXPECT_EQ(co_await host.result<std::string>(id), R"({"paid":7})");
    found = "paid";
    const Uuid bad = co_await host.start("finds");
    EXPECT_NE((co_await failure_of(&host, bad)).find("JSON"), std::string::npos);
    co_await host.close();
  });
  expect_sound(0);
}

}  // namespace door_json_test
}  // namespace tiffany
