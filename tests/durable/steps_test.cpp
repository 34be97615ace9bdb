// Steps: values, failures, retries, timeouts, heartbeats, and what becomes of them in a crash.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace steps_test {

using namespace std::chrono_literals;

struct Point {
  int x = 0;
  std::vector<std::string> names;
  std::optional<double> weight;
};
TIFFANY_JSON(Point, x, names, weight)

class StepsTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(StepsTest);

// ---- Values ----

Durable<std::string> values(Flow& flow) {
  const Point point =
      co_await flow.step("point", [] { return Point{7, {"a\n\"b\"", "\xC3\xA9"}, 0.5}; });
  co_await flow.step("void", [] { effects.push_back("void"); });
  co_await flow.step("void task", []() -> Task<void> { co_await sleep(1ms); });
  const std::string empty = co_await flow.step("empty", [] { return std::string(); });
  const auto none = co_await flow.step("none", [] { return std::optional<int>(); });
  const bool truth = co_await flow.step("truth", []() -> Task<bool> { co_return true; });
  const std::string large = co_await flow.step("large", [] { return std::string(50000, 'x'); });
  co_await flow.sleep(1h);
  co_return std::to_string(point.x) + point.names[0] + point.names[1] +
      (point.weight == 0.5 ? "w" : "") + empty + (none ? "some" : "none") + (truth ? "t" : "f") +
      std::to_string(large.size());
}

TEST_P(StepsTest, D3_ValuesOfAllKindsAreTheSameAfterACrash) {
  only("values", values);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("values");
    co_await sleep(1min);
  });
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(id), "7a\n\"b\"\xC3\xA9wnonet50000");
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"void"}));
}

// ---- Ends under other names ----

Durable<int> named_ends(Flow& flow) {
  using Type = wal::RecordType;
  int sum = co_await flow.step("here", StepOptions().recorded_as(Type::LLMPlan), [] { return 1; });
  sum += co_await flow.step("later", StepOptions().recorded_as(Type::ToolResult).at_most_once(),
                            []() -> Task<int> {
                              co_await sleep(1ms);
                              effects.push_back("later");
                              co_return 2;
                            });
  try {
    co_await flow.step("fails", StepOptions().recorded_as(Type::Commit),
                       []() -> int { throw std::runtime_error("no"); });
  } catch (const StepFailed&) {
    sum += 4;
  }
  co_await flow.sleep(1h);
  co_return sum;
}

TEST_P(StepsTest, AnEndUnderAnotherNameIsTheSameEndAfterACrash) {
  only("named ends", named_ends);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("named ends");
    co_await sleep(1min);
  });
  world.live([&](Host& host) -> Task<void> {
    std::string types;
    for (const std::string& line : host.records(id, 0, 100)) {
      if (wal::ends_step(wal::view_of(line).type)) {
        types += std::string(wal::view_of(line).type_name) + " ";
      }
    }
    EXPECT_EQ(types, "LLMPlan ToolResult Commit ");
    EXPECT_EQ(co_await host.result<int>(id), 7);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"later"}));
}

TEST(StepOptionsTest, AStepDoesNotEndAsARecordThatSaysSomethingElse) {
  EXPECT_THROW(StepOptions().recorded_as(wal::RecordType::Spawn), Error);
}

// ---- Failing ----

Durable<std::string> fails(Flow& flow) {
  std::string seen;
  try {
    co_await flow.step("std", []() -> int { throw std::runtime_error("no money"); });
  } catch (const Error& e) {
    seen += std::string(e.what()) + (e.code() == Errc::step_failed ? "!" : "?");
  }
  try {
    co_await flow.step("number", []() -> Task<int> {
      co_await sleep(1ms);
      throw 42;
    });
  } catch (const Error& e) {
    seen += e.what();
  }
  try {
    co_await flow.step("inline number", []() -> int { throw 42; });
  } catch (const Error& e) {
    seen += e.what();
  }
  try {
    co_await flow.step("silent", []() -> int { throw std::runtime_error(""); });
  } catch (const Error& e) {
    seen += std::string(" ") + e.what();
  }
  co_await flow.sleep(1h);
  co_return seen;
}

TEST_P(StepsTest, D3_AFailureIsTheSameAfterACrash) {
  only("fails", fails);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("fails");
    co_await sleep(1min);
  });
  world.live([&](Host& host) -> Task<void> {
    const std::string thrown = "something that is no std::exception was thrown";
    EXPECT_EQ(co_await host.result<std::string>(id),
              "no money!" + thrown + thrown + " a failure without a sentence");
  });
}

Durable<void> too_large(Flow& flow) {
  co_await flow.step("large", [] { return std::string(std::size_t{2} << 20, 'x'); });
}

TEST_P(StepsTest, D3_AValueThatIsTooLargeForTheLogFailsItsStepOrIsKept) {
  only("too_large", too_large);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("too_large");
    const Errc error = co_await error_of(host.result<void>(id));
    EXPECT_TRUE(error == Errc::durable_failed || error == Errc{});
  });
}

// ---- Again ----

std::vector<Duration> times;

Durable<int> retries(Flow& flow, bool suspends) {
  const Retry often(5, 1s, 3.0, 10s);
  times.clear();
  const auto attempt = [](Attempt& a) {
    times.push_back(now().time_since_epoch());
    effects.push_back(std::to_string(a.number()));
    if (a.number() < 5) throw std::runtime_error("not yet");
    return a.number();
  };
  if (!suspends) co_return co_await flow.step("try", StepOptions().retry(often), attempt);
  const auto later = [&attempt](Attempt& a) -> Task<int> {
    co_await yield();
    co_return attempt(a);
  };
  co_return co_await flow.step("try", StepOptions().retry(often), later);
}

TEST_P(StepsTest, D3_AStepIsTriedAgainAfterPausesThatGrow) {
  only("retries", retries);
  for (const bool suspends : {false, true}) {
    effects.clear();
    world.live([&](Host& host) -> Task<void> {
      const Uuid id = co_await host.start("retries", suspends);
      EXPECT_EQ(co_await host.result<int>(id), 5);
    });
    EXPECT_EQ(effects, (std::vector<std::string>{"1", "2", "3", "4", "5"}));
    std::vector<Duration> pauses;
    for (std::size_t i = 1; i < times.size(); ++i) pauses.push_back(times[i] - times[i - 1]);
    EXPECT_EQ(pauses, (std::vector<Duration>{1s, 3s, 9s, 10s})) << suspends;
  }
}

TEST_P(StepsTest, D3_AttemptsAreCountedAcrossACrash) {
  only("retries", retries);
  for (const bool suspends : {false, true}) {
    effects.clear();
    Uuid id;
    world.live([&](Host& host) -> Task<void> {
      id = co_await host.start("retries", suspends);
      co_await sleep(2s);  // in the second pause
    });
    EXPECT_EQ(effects, (std::vector<std::string>{"1", "2"}));
    effects.clear();
    world.live([&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<int>(id), 5); });
    EXPECT_EQ(effects, (std::vector<std::string>{"3", "4", "5"})) << suspends;
  }
}

Durable<std::string> slow(Flow& flow) {
  try {
    co_await flow.step("slow", StepOptions().timeout(1s).retry(Retry(2, 1s)),
                       [](Attempt& a) -> Task<void> {
                         effects.push_back("begins " + std::to_string(a.number()));
                         co_await sleep(1h);
                         effects.push_back("ends");
                       });
  } catch (const Error& e) {
    co_return e.what();
  }
  co_return "in time";
}

TEST_P(StepsTest, D3_AnAttemptThatTakesTooLongIsCancelledAndTriedAgain) {
  only("slow", slow);
  world.live([&](Host& host) -> Task<void> {
    const Time start = now();
    const Uuid id = co_await host.start("slow");
    EXPECT_EQ(co_await host.result<std::string>(id), "Step \"slow#1\" took longer than it may.");
    EXPECT_EQ(now() - start, 3s);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"begins 1", "begins 2"}));
}

// ---- Heartbeats ----

Durable<std::string> copies(Flow& flow) {
  co_return co_await flow.step("copy", StepOptions().retry(Retry(3, 1s)),
                               [](Attempt& attempt) -> Task<std::string> {
                                 std::string done = attempt.details();
                                 while (done.size() < 6) {
                                   done += static_cast<char>('a' + static_cast<int>(done.size()));
                                   effects.push_back(done);
                                   attempt.heartbeat(done);
                                   if (done.size() == 2 && attempt.number() == 1)
                                     throw std::runtime_error("tripped");
                                   co_await sleep(1min);
                                 }
                                 co_return done;
                               });
}

TEST_P(StepsTest, D3_TheLastHeartbeatIsKeptForTheNextAttemptAndAcrossACrash) {
  only("copies", copies);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("copies");
    co_await sleep(90s);
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"a", "ab", "abc"}));
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.result<std::string>(id), "abcdef");
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"a", "ab", "abc", "abcd", "abcde", "abcdef"}));
}

Durable<std::string> falls_silent(Flow& flow) {
  try {
    co_return co_await flow.step("work",
                                 StepOptions().heartbeat(10s).timeout(1h).retry(Retry(2, 1s)),
                                 [](Attempt& attempt) -> Task<std::string> {
                                   for (int i = 0; i < 5; ++i) {
                                     attempt.heartbeat(std::to_string(i));
                                     co_await sleep(attempt.number() == 1 && i == 3 ? 11s : 9s);
                                   }
                                   co_return "attempt " + std::to_string(attempt.number());
                                 });
  } catch (const Error& e) {
    co_return e.what();
  }
}

TEST_P(StepsTest, D3_AnAttemptThatIsSilentForTooLongIsCancelledAndTriedAgain) {
  only("body", falls_silent);
  world.live([&](Host& host) -> Task<void> {
    const Time start = now();
    const Uuid id = co_await host.start("body");
    EXPECT_EQ(co_await host.result<std::string>(id), "attempt 2");
    EXPECT_EQ(now() - start, 27s + 10s + 1s + 45s);
  });
}

Durable<std::string> silent(Flow& flow) {
  try {
    co_await flow.step("work", StepOptions().heartbeat(10s),
                       []() -> Task<void> { co_await sleep(1h); });
  } catch (const Error& e) {
    co_return e.what();
  }
  co_return "?";
}

TEST_P(StepsTest, D3_AStepThatGivesNoSignOfLifeFailsWithASentence) {
  only("body", silent);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("body");
    EXPECT_EQ(co_await host.result<std::string>(id),
              "Step \"work#1\" gave no sign of life for too long.");
  });
}

// ---- Effects in a crash ----

std::map<std::string, std::string> ledger;  // by key

Durable<std::string> effect(Flow& flow, std::string kind, bool suspends) {
  StepOptions options;
  options.about = "[1]";
  if (kind == "at_most_once") options.effect = StepEffect::at_most_once;
  if (kind == "transactional") {
    options.effect = StepEffect::transactional;
    options.find = [](const std::string& key) -> std::optional<std::string> {
      const auto found = ledger.find(key);
      if (found == ledger.end()) return std::nullopt;
      return found->second;
    };
  }
  const auto charge = [](Attempt& attempt) {
    effects.push_back(attempt.key());
    if (CrashTest::alive()) ledger[attempt.key()] = "\"charged\"";
    return std::string("charged");
  };
  const auto slow_charge = [&charge](Attempt& attempt) -> Task<std::string> {
    std::string result = charge(attempt);
    co_await sleep(1h);
    co_return result;
  };
  std::string result;
  try {
    if (suspends) {
      result = co_await flow.step("charge", options, slow_charge);
    } else {
      result = co_await flow.step("charge", options, charge);
    }
  } catch (const Error& e) {
    co_return e.code() == Errc::step_unknown ? "unknown" : e.what();
  }
  co_return result;
}

class EffectsTest : public StepsTest {
 protected:
  // Runs until the effect has taken place, and cuts the life off there.
  Uuid crash_in_the_middle(std::string kind, bool suspends) {
    only("effect", effect);
    effects.clear();
    ledger.clear();
    Uuid id;
    const auto program = [&](Host& host) -> Task<void> {
      const Uuid started = co_await host.start("effect", kind, suspends);
      if (CrashTest::alive()) id = started;
      co_await sleep(1min);  // the record of its beginning is there by now, if there is one
      co_await host.signal(id, "unheard", 1);
    };
    if (suspends || kind == "at_most_once") {
      world.live(program);
    } else {
      for (std::size_t slices = 1; effects.empty(); ++slices) {
        world.disk = std::make_shared<MemoryDisk>();
        world.live(program, slices);
      }
    }
    EXPECT_EQ(effects.size(), 1u);
    return id;
  }
  std::string finish(const Uuid& id) {
    std::string result;
    world.live([&](Host& host) -> Task<void> { result = co_await host.result<std::string>(id); });
    return result;
  }
};
TIFFANY_IN_EVERY_STORE(EffectsTest);

TEST_P(EffectsTest, D3_AnIdempotentStepRunsAgainWithTheSameKey) {
  for (const bool suspends : {false, true}) {
    EXPECT_EQ(finish(crash_in_the_middle("idempotent", suspends)), "charged");
    ASSERT_EQ(effects.size(), 2u);
    EXPECT_EQ(effects[0], effects[1]);
  }
}

TEST_P(EffectsTest, D3_AnAtMostOnceStepIsUnknownAndNeverRunsAgain) {
  const Uuid id = crash_in_the_middle("at_most_once", true);
  EXPECT_EQ(finish(id), "unknown");
  EXPECT_EQ(finish(id), "unknown");
  EXPECT_EQ(effects.size(), 1u);
}

TEST_P(EffectsTest, D3_AnAtMostOnceStepNeverRunsTwiceWhereverItIsCutOff) {
  only("effect", effect);
  for (const bool suspends : {false, true}) {
    bool ended = false;
    for (std::size_t slices = 1; !ended; ++slices) {
      world.disk = std::make_shared<MemoryDisk>();
      effects.clear();
      const Uuid id = Uuid::derived(Uuid(), "task");
      std::string result;
      ended = world.live(
          [&](Host& host) -> Task<void> {
            const std::string arguments = detail::arguments_json("at_most_once", suspends);
            co_await host.start_json("effect", arguments, id);
            result = co_await host.result<std::string>(id);
          },
          slices);
      if (ended || world.lines(id).empty()) continue;
      const std::size_t before = effects.size();
      result = finish(id);
      EXPECT_LE(effects.size(), 1u) << slices;
      EXPECT_TRUE(result == "charged" || result == "unknown") << slices;
      EXPECT_TRUE(effects.size() == before || result == "charged") << slices;
    }
    EXPECT_EQ(effects.size(), 1u);
  }
}

TEST_P(EffectsTest, D3_ATransactionalStepAsksWhetherItHadItsEffect) {
  for (const bool suspends : {false, true}) {
    EXPECT_EQ(finish(crash_in_the_middle("transactional", suspends)), "charged");
    EXPECT_EQ(effects.size(), 1u) << suspends;
    const Uuid id = crash_in_the_middle("transactional", suspends);
    ledger.clear();  // it had not
    EXPECT_EQ(finish(id), "charged");
    EXPECT_EQ(effects.size(), 2u) << suspends;
  }
}

}  // namespace steps_test
}  // namespace tiffany
