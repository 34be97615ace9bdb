// Recorded values that the code of today reads as another type.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"
#include "tiffany/durable/inspect.hpp"

namespace tiffany {
namespace schema_test {

using namespace std::chrono_literals;

bool changed = false;  // the program after the change
bool caught = false;   // code of the task saw an exception of any kind but those of Tiffany

// Reads a value as the type of before or of after the change, and compensates what failed.
template <class Read>
Durable<std::string> with_refund(Flow& flow, Read read) {
  bool failed = false;
  std::string got;
  try {
    got = co_await read(flow);
  } catch (const std::exception&) {
    failed = true;
    caught = true;
  }
  if (failed) {
    co_await flow.step("refund", [] { effects.push_back("refund"); });
    co_return "refunded";
  }
  co_await flow.sleep(1h);
  co_await flow.step("last", [] { effects.push_back("last"); });
  co_return got;
}

Durable<std::string> text_of_step(Flow& flow) {
  co_return co_await flow.step("charge", [] {
    effects.push_back("charge");
    return std::string("paid\x01");
  });
}
Durable<std::string> number_of_step(Flow& flow) {
  co_return std::to_string(co_await flow.step("charge", [] {
    effects.push_back("charge");
    return 7;
  }));
}
Durable<std::string> step_value(Flow& flow) {
  return with_refund(flow, changed ? number_of_step : text_of_step);
}

template <class T>
Durable<std::string> one_signal(Flow& flow) {
  co_return to_json(co_await flow.signal<T>("s"));
}
Durable<std::string> signal_value(Flow& flow) {
  return with_refund(flow, changed ? one_signal<int> : one_signal<std::string>);
}

Uuid promised;
template <class T>
Durable<std::string> one_promise(Flow& flow) {
  auto promise = co_await flow.promise<T>("p");
  promised = promise.id();
  co_return to_json(co_await promise);
}
Durable<std::string> promise_value(Flow& flow) {
  return with_refund(flow, changed ? one_promise<int> : one_promise<std::string>);
}

Durable<std::string> child(Flow&) { co_return "of the child"; }
template <class T>
Durable<std::string> one_child(Flow& flow) {
  auto handle = co_await flow.spawn<T>("child");
  auto [value] = co_await flow.gather(handle);
  co_return to_json(value);
}
Durable<std::string> child_value(Flow& flow) {
  return with_refund(flow, changed ? one_child<int> : one_child<std::string>);
}

template <class T>
Durable<std::string> one_state(Flow& flow) {
  const std::optional<T> state = flow.state(std::optional<T>());
  if (state) co_return to_json(*state);
  co_await flow.checkpoint(std::optional<std::string>("saved"));
  co_return "not reached";
}
Durable<std::string> state_value(Flow& flow) {
  return with_refund(flow, changed ? one_state<int> : one_state<std::string>);
}

Durable<std::string> nothing_to_read(Flow&) { co_return "nothing"; }
Durable<std::string> text_argument(Flow& flow, std::string) {
  return with_refund(flow, nothing_to_read);
}
Durable<std::string> number_argument(Flow& flow, int) { return with_refund(flow, nothing_to_read); }

class SchemaTest : public MemoryTest {
 protected:
  SchemaTest() { changed = caught = false; }

  static Task<void> check_into(const Registry* types, wal::LogOptions log, UpgradeCheck* result) {
    *result = co_await check_upgrade(*types, log);
  }
  UpgradeCheck check() {
    const Registry types = world.types();
    Scheduler scheduler(Options().virtual_time());
    UpgradeCheck result;
    auto task = scheduler.spawn(&SchemaTest::check_into, &types, world.log_options(), &result);
    scheduler.run();
    const auto outcome = outcome_of(task, false);
    if (!outcome.ok()) std::rethrow_exception(outcome.error());
    return result;
  }
  // The first life: up to the sleep.
  template <class Send>
  void begin(Send send) {
    world.live([&](Host& host) -> Task<void> {
      id = co_await host.start_json("body", arguments, Uuid::derived(Uuid(), "task"));
      co_await sleep(1s);
      co_await send(host);
      co_await sleep(1min);
      EXPECT_EQ(host.info(id)->status, DurableStatus::running) << host.info(id)->detail;
    });
  }
  void expect_divergence(const std::vector<std::string>& parts) {
    effects.clear();
    const std::vector<std::string> before = world.lines(id);
    const UpgradeCheck foreseen = check();
    EXPECT_EQ(foreseen.diverge, 1u) << foreseen.text();
    std::string detail;
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(host.info(id)->status, DurableStatus::diverged);
      co_await sleep(24h);
      detail = host.info(id)->detail;
      co_await host.close();
    });
    for (const std::string& part : parts) {
      EXPECT_NE(detail.find(part), std::string::npos) << part << "\n  is not in\n" << detail;
    }
    EXPECT_EQ(world.lines(id), before);
    EXPECT_EQ(effects, (std::vector<std::string>{}));
    EXPECT_FALSE(caught);
  }
  void expect_the_old_code_to_end_with(const std::string& result) {
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(co_await host.result<std::string>(id), result);
    });
    EXPECT_EQ(effects, (std::vector<std::string>{"last"}));
  }
  template <class Send>
  void expect_paused(Durable<std::string> (*body)(Flow&), Send send,
                     const std::vector<std::string>& parts, const std::string& result) {
    world.types = [body] {
      Registry types;
      types.add("body", 1, body);
      types.add("child", 1, child);
      return types;
    };
    changed = false;
    begin(send);
    changed = true;
    expect_divergence(parts);
    changed = false;
    EXPECT_EQ(check().agree, 1u);
    expect_the_old_code_to_end_with(result);
  }
  Uuid id;
  std::string arguments = "[]";
};
TIFFANY_IN_EVERY_STORE(SchemaTest);

Task<void> nothing(Host&) { co_return; }

TEST_P(SchemaTest, AResultOfAStepThatNoLongerDecodesIsADivergence) {
  expect_paused(step_value, nothing, {"step \"charge#1\"", "int", "a string", "paid\\u0001"},
                "paid\x01");
}
TEST_P(SchemaTest, ASignalThatNoLongerDecodesIsADivergence) {
  const auto send = [this](Host& host) -> Task<void> {
    co_await host.signal(id, "s", std::string("word"));
  };
  expect_paused(signal_value, send, {"signal", "int", "string"}, "\"word\"");
}
TEST_P(SchemaTest, AValueOfAPromiseThatNoLongerDecodesIsADivergence) {
  const auto send = [](Host& host) -> Task<void> {
    co_await host.complete(promised, std::string("word"));
  };
  expect_paused(promise_value, send, {"promise \"p#1\"", "int", "string"}, "\"word\"");
}
TEST_P(SchemaTest, AResultOfAChildThatNoLongerDecodesIsADivergence) {
  expect_paused(child_value, nothing, {"\"child#1\"", "int", "string"}, "\"of the child\"");
}
TEST_P(SchemaTest, AStateOfACheckpointThatNoLongerDecodesIsADivergence) {
  expect_paused(state_value, nothing, {"checkpoint", "int", "a string", "saved"}, "\"saved\"");
}
TEST_P(SchemaTest, ArgumentsThatNoLongerDecodeAreADivergence) {
  arguments = R"(["Ada"])";
  world.types = [] {
    Registry types;
    changed ? types.add("body", 1, number_argument) : types.add("body", 1, text_argument);
    return types;
  };
  begin(nothing);
  changed = true;
  expect_divergence({"arguments", "int", "Ada"});
  changed = false;
  expect_the_old_code_to_end_with("nothing");
}

// The value is in the log, and the code has not come to it: it must not do anything new before.
template <class T>
Durable<std::string> busy_with(Flow& flow) {
  auto promise = co_await flow.promise<T>("p");
  promised = promise.id();
  co_await flow.step("slow", []() -> Task<void> {
    co_await sleep(1h);
    effects.push_back("slow");
  });
  co_return to_json(co_await promise);
}
Durable<std::string> busy(Flow& flow) {
  return changed ? busy_with<int>(flow) : busy_with<std::string>(flow);
}
TEST_P(SchemaTest, AValueThatTheCodeHasNotAskedForYetIsReadBeforeAnythingNewIsDone) {
  only("body", busy);
  begin([](Host& host) -> Task<void> { co_await host.complete(promised, std::string("word")); });
  changed = true;
  expect_divergence({"promise \"p#1\"", "int", "string"});
}

// ---- What may change ----

namespace before {
struct Order {
  int id = 0;
  std::string note;
};
TIFFANY_JSON(Order, id, note)
}  // namespace before
namespace after {
struct Order {
  long id = 0;                          // wider
  std::string currency = "EUR";         // added, with a default
  std::optional<std::string> coupon{};  // added
};
TIFFANY_JSON(Order, id, currency, coupon)
TIFFANY_JSON_ADDED(Order, currency)
}  // namespace after

Durable<std::string> old_order(Flow& flow, before::Order order) {
  const before::Order got = co_await flow.step("a", [&] { return order; });
  co_await flow.sleep(1h);
  co_return got.note;
}
Durable<std::string> new_order(Flow& flow, after::Order order) {
  const after::Order got = co_await flow.step("a", [&] { return order; });
  co_await flow.sleep(1h);
  co_return std::to_string(got.id) + got.currency + order.currency + (got.coupon ? "!" : "");
}
TEST_P(SchemaTest, AddedMembersWithDefaultsAndWiderNumbersDecode) {
  world.types = [] {
    Registry types;
    changed ? types.add("body", 1, new_order) : types.add("body", 1, old_order);
    return types;
  };
  arguments = R"([{"id":7,"note":"n"}])";
  begin(nothing);
  changed = true;
  EXPECT_EQ(check().agree, 1u);
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(id), "7EUREUR");
  });
}
TEST(Codec, AMemberThatWasAddedWithADefaultMayBeMissingAndOthersMayNot) {
  EXPECT_EQ(from_json<after::Order>(R"({"id":1})").currency, "EUR");
  EXPECT_EQ(from_json<after::Order>(R"({"id":1,"currency":"CHF"})").currency, "CHF");
  EXPECT_THROW(from_json<after::Order>(R"({"currency":"CHF"})"), Error);
}

// ---- At the door ----

Durable<std::string> starts_wrong_child(Flow& flow) {
  auto handle = co_await flow.spawn<std::string>("number", std::string("no number"));
  try {
    co_return co_await handle;
  } catch (const Error& e) {
    co_return "failed";
  }
}
TEST_P(SchemaTest, ArgumentsThatTheTypeCannotReadAreRefusedWhereTheTaskIsStarted) {
  world.types = [] {
    Registry types;
    types.add("body", 1, starts_wrong_child);
    types.add("number", 1, number_argument);
    return types;
  };
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.start("number", std::string("Ada"))), Errc::bad_json);
    EXPECT_EQ(co_await error_of(host.start("number")), Errc::bad_json);
    EXPECT_EQ(host.tasks().size(), 0u);
    const Uuid parent = co_await host.start("body");
    EXPECT_EQ(co_await host.result<std::string>(parent), "failed");
    EXPECT_EQ(host.tasks().size(), 1u);
  });
}

}  // namespace schema_test
}  // namespace tiffany
