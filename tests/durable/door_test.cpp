// What a host takes in from outside: everything that it accepts can be read back, and what it
// refuses leaves no trace.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {

// Any JSON, as its text.
struct RawText {
  RawText() = default;
  explicit RawText(std::string json) : text(std::move(json)) {}
  std::string text;
};
template <>
struct Codec<RawText> {
  static void write(JsonWriter& out, const RawText& value) { out.raw_value(value.text); }
  static RawText read(JsonReader& in) { return RawText(std::string(in.raw())); }
};

// A struct that holds others of its kind.
struct Tree {
  Tree() = default;
  std::vector<Tree> below;
};
template <>
struct Codec<Tree> {
  static void write(JsonWriter& out, const Tree& tree) {
    out.begin_array();
    for (const Tree& each : tree.below) write(out, each);
    out.end_array();
  }
  static Tree read(JsonReader& in) {
    Tree tree;
    in.begin_array();
    while (in.next_element()) tree.below.push_back(read(in));
    return tree;
  }
};

namespace door_test {

using namespace std::chrono_literals;

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }
Tree tree_of(std::size_t depth) {
  Tree tree;
  for (std::size_t i = 1; i < depth; ++i) {
    Tree above;
    above.below.push_back(std::move(tree));
    tree = std::move(above);
  }
  return tree;
}

class DoorTest : public MemoryTest {
 protected:
  static Durable<std::string> echoes(Flow&, RawText what) { co_return what.text; }
  static Durable<int> doubles(Flow&, int n) { co_return 2 * n; }
  static Durable<std::string> hears(Flow& flow) {
    const RawText heard = co_await flow.signal<RawText>("word");
    co_return heard.text;
  }
  static Durable<std::string> hopes(Flow& flow) {
    auto promise = co_await flow.promise<RawText>("hope");
    promise_id = promise.id();
    const RawText got = co_await promise;
    co_return got.text;
  }
  static Durable<RawText> gives(Flow&, int depth) {
    co_return RawText{nested(static_cast<std::size_t>(depth))};
  }
  static Durable<int> climbs(Flow& flow, int depth) {
    const Tree tree =
        co_await flow.step("grow", [&] { return tree_of(static_cast<std::size_t>(depth)); });
    co_return static_cast<int>(tree.below.size());
  }
  static Durable<int> spawns(Flow& flow, int depth) {
    auto child = co_await flow.spawn<std::string>("echoes",
                                                  RawText{nested(static_cast<std::size_t>(depth))});
    co_await child;
    co_return 1;
  }
  static Durable<int> saves(Flow& flow, int depth) {
    if (!flow.state<RawText>(RawText{}).text.empty()) co_return 1;
    co_await flow.checkpoint(RawText{nested(static_cast<std::size_t>(depth))});
    co_return 1;
  }
  static Durable<std::string> finds(Flow& flow) {
    const auto ask = [](const std::string&) { return std::optional<std::string>(found); };
    const RawText got = co_await flow.step(
        "pay", StepOptions().transactional(ask).retry(Retry(2, 1ms)), [&]() -> Task<RawText> {
          effects.push_back("paid");
          throw std::runtime_error("the answer was lost");
          co_return RawText{};
        });
    co_return got.text;
  }
  static inline Uuid promise_id;
  static inline std::string found;

  DoorTest() {
    world.types = [] {
      Registry types;
      types.add("echoes", 1, echoes);
      types.add("doubles", 1, doubles);
      types.add("hears", 1, hears);
      types.add("hopes", 1, hopes);
      types.add("gives", 1, gives);
      types.add("climbs", 1, climbs);
      types.add("spawns", 1, spawns);
      types.add("saves", 1, saves);
      types.add("finds", 1, finds);
      return types;
    };
  }
  // The host opens, and nothing in its log is wrong.
  void expect_sound(std::size_t resumed) {
    world.live([&](Host& host) -> Task<void> { co_await host.close(); });
    EXPECT_EQ(world.recovery.resumed, resumed) << world.recovery.text();
    EXPECT_EQ(world.recovery.quarantined, 0u) << world.recovery.text();
    EXPECT_TRUE(world.recovery.notes.empty()) << world.recovery.text();
  }
  // What a task failed with.
  static Task<std::string> failure_of(Host* host, Uuid id) {
    try {
      co_await host->result_json(id);
    } catch (const Error& e) {
      co_return e.what();
    }
    co_return "";
  }
};
TIFFANY_IN_EVERY_STORE(DoorTest);

// ---- Depth ----

TEST_P(DoorTest, AnArgumentThatNestsTooDeepIsRefusedAndTheHostOpensAgain) {
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

TEST_P(DoorTest, ASignalAndAPromiseThatNestTooDeepAreRefusedAndTheTaskGoesOn) {
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

TEST_P(DoorTest, AResultOfATaskThatNestsTooDeepIsAFailureThatSaysSo) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("gives", 57);
    EXPECT_NE((co_await failure_of(&host, id)).find("56"), std::string::npos);
    const Uuid less = co_await host.start("gives", 56);
    EXPECT_EQ((co_await host.result<RawText>(less)).text, nested(56));
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorTest, AResultOfAStepThatNestsTooDeepFailsTheStep) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("climbs", 57);
    EXPECT_NE((co_await failure_of(&host, id)).find("56"), std::string::npos);
    const Uuid less = co_await host.start("climbs", 56);
    EXPECT_EQ(co_await host.result<int>(less), 1);
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorTest, ArgumentsOfAChildThatNestTooDeepFailTheCall) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("spawns", 56);
    EXPECT_NE((co_await failure_of(&host, id)).find("56"), std::string::npos);
    const Uuid less = co_await host.start("spawns", 55);
    EXPECT_EQ(co_await host.result<int>(less), 1);
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorTest, AStateThatNestsTooDeepFailsTheCheckpoint) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("saves", 57);
    EXPECT_NE((co_await failure_of(&host, id)).find("56"), std::string::npos);
    const Uuid less = co_await host.start("saves", 56);
    EXPECT_EQ(co_await host.result<int>(less), 1);
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorTest, ALogWithATaskThatCannotBeReadIsOpenedAndOnlyThatTaskIsQuarantined) {
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

// ---- Raw JSON ----

TEST_P(DoorTest, RawJsonIsWrittenCompactWhateverItLooksLike) {
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

TEST_P(DoorTest, WhatIsNoJsonIsRefusedByEveryCallThatTakesIt) {
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

TEST_P(DoorTest, NumbersOfAnyLengthThatADoubleCanHoldAreKeptDigitForDigit) {
  const std::string numbers =
      "[123456789012345678901234567890,0.1000,-0,1E+2,18446744073709551615]";
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start_json("echoes", "[" + numbers + "]", host.new_id());
    EXPECT_EQ(co_await host.result<std::string>(id), numbers);
  });
}

TEST_P(DoorTest, ArgumentsThatAreNoArrayOrDoNotFitTheTaskAreRefused) {
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

TEST_P(DoorTest, ACodecThatWritesALineBreakDoesNotReachTheLog) {
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("echoes", RawText{"{\n\"a\": 1 }"});
    EXPECT_EQ(co_await host.result<std::string>(id), R"({"a":1})");
    EXPECT_EQ(co_await error_of(host.start("echoes", RawText{"1],[2"})), Errc::bad_json);
    EXPECT_EQ(co_await error_of(host.start("echoes", RawText{""})), Errc::bad_json);
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorTest, WhatAnEffectIsFoundToHaveGivenIsWrittenCompact) {
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

// ---- Ids ----

TEST_P(DoorTest, ANilIdIsRefused) {
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.start_as(Uuid(), "doubles", 1)), Errc::bad_argument);
    EXPECT_EQ(co_await error_of(host.start_json("doubles", "[1]", Uuid())), Errc::bad_argument);
    EXPECT_TRUE(host.tasks().empty());
    co_await host.close();
  });
  expect_sound(0);
}

TEST_P(DoorTest, AnIdThatIsTakenIsRefusedForAnotherTypeOrOtherArguments) {
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

TEST_P(DoorTest, TwoStartsOfOneIdAtTheSameTimeAreComparedToo) {
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

TEST_P(DoorTest, NamesAndReasonsThatAreTooLongOrNoUtf8AreRefusedAtTheCall) {
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

TEST_P(DoorTest, ATypeWithABadNameOrVersionIsNotRegistered) {
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

TEST_P(DoorTest, WhatATaskAsksForIsRefusedWhenItsNameOrNumbersCannotBe) {
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

TEST_P(DoorTest, APathOfStepsThatIsTooLongIsRefusedAndStaysAsItWas) {
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

TEST_P(DoorTest, AHeartbeatThatIsTooLongOrNoUtf8FailsItsStep) {
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

TEST_P(DoorTest, TheSentenceOfAFailureIsTheSameBeforeAndAfterACrash) {
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

}  // namespace door_test
}  // namespace tiffany
