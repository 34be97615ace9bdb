// Attempts at steps: what a crash, a timeout and a pause between two of them mean.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durable/memory_test.hpp"

namespace tiffany {
namespace attempts_test {

using namespace std::chrono_literals;

class AttemptsTest : public MemoryTest {
 protected:
  Uuid id = Uuid::derived(Uuid(), "task");
  std::string result(std::size_t slices = CrashTest::kToTheEnd) {
    std::string text;
    world.live(
        [&](Host& host) -> Task<void> {
          co_await host.start_as(id, "body");
          try {
            text = co_await host.result<std::string>(id);
          } catch (const Error& e) {
            text = e.what();
          }
        },
        slices);
    return text;
  }
};
TIFFANY_IN_EVERY_STORE(AttemptsTest);

// ---- A step that nobody knows the outcome of ----

std::string code_of(const Error& e) {
  return e.code() == Errc::step_unknown  ? "unknown"
         : e.code() == Errc::step_failed ? "failed"
                                         : "?";
}

Durable<std::string> late(Flow& flow) {
  std::string seen;
  try {
    co_await flow.step("late", StepOptions().at_most_once().timeout(1s), []() -> Task<void> {
      effects.push_back("charged");
      co_await sleep(1h);
    });
  } catch (const Error& e) {
    seen += code_of(e) + " ";
  }
  try {
    co_await flow.step("silent", StepOptions().at_most_once().heartbeat(1s), []() -> Task<void> {
      effects.push_back("charged");
      co_await sleep(1h);
    });
  } catch (const Error& e) {
    seen += code_of(e) + " ";
  }
  try {
    co_await flow.step("fails", StepOptions().at_most_once().timeout(1s),
                       []() -> Task<void> { throw std::runtime_error("refused"); });
  } catch (const Error& e) {
    seen += code_of(e) + " ";
  }
  try {
    co_await flow.step("idempotent", StepOptions().timeout(1s),
                       []() -> Task<void> { co_await sleep(1h); });
  } catch (const Error& e) {
    seen += code_of(e);
  }
  co_await flow.sleep(1h);
  co_return seen;
}

TEST_P(AttemptsTest, AnAtMostOnceStepThatTakesTooLongIsUnknownAlsoAfterACrash) {
  only("body", late);
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(id, "body");
    co_await sleep(1min);
  });
  EXPECT_EQ(result(), "unknown unknown failed failed");
  EXPECT_EQ(effects, (std::vector<std::string>{"charged", "charged"}));
}

// ---- A step that the process does not survive ----

Durable<std::string> poison(Flow& flow) {
  try {
    co_await flow.step("poison", StepOptions().crashes(3), [](Attempt& attempt) -> Task<void> {
      effects.push_back(std::to_string(attempt.number()));
      co_await sleep(24h);  // the process dies meanwhile
    });
  } catch (const Error& e) {
    co_return code_of(e) + ": " + e.what();
  }
  co_return "survived";
}

TEST_P(AttemptsTest, AStepThatTheProcessDoesNotSurviveFailsInTheEnd) {
  only("body", poison);
  const auto die_in_it = [&](Host& host) -> Task<void> {
    co_await host.start_as(id, "body");
    co_await sleep(1min);
    if (host.info(id)->status == DurableStatus::running) co_await host.signal(id, "synced", 1);
  };
  for (int lives = 0; lives < 10; ++lives) world.live(die_in_it);
  EXPECT_EQ(effects, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(result(),
            "failed: Step \"poison#1\" was begun 3 times, and each time the process ended before "
            "the step did. It is not begun again.");
}

Durable<std::string> inline_poison(Flow& flow) {
  try {
    co_await flow.step("poison", StepOptions().crashes(3), [](Attempt& attempt) {
      effects.push_back(std::to_string(attempt.number()));
    });
  } catch (const Error& e) {
    co_return code_of(e);
  }
  co_return "survived";
}

// Each process is cut off right behind the effect, before anything of it is synced.
TEST_P(AttemptsTest, APlainFunctionThatTheProcessDoesNotSurviveFailsInTheEnd) {
  only("body", inline_poison);
  std::vector<std::size_t> cuts;  // after how many slices each process was cut off
  const auto live_all = [&] {
    world.disk = std::make_shared<MemoryDisk>();
    effects.clear();
    for (const std::size_t slices : cuts) result(slices);
    return effects.size();
  };
  std::string end;
  while (end.empty() && cuts.size() < 10) {
    const std::size_t before = live_all();
    for (std::size_t slices = 1; end.empty(); ++slices) {
      live_all();
      end = result(slices);
      if (effects.size() == before && end.empty()) continue;
      cuts.push_back(slices);
      break;
    }
  }
  EXPECT_EQ(end, "failed");
  EXPECT_LE(effects.size(), 4u);  // the first process left no word of its attempt
}

Durable<std::string> innocent(Flow& flow) {
  for (int i = 0; i < 5; ++i) {
    co_await flow.step("work", [](Attempt& attempt) -> Task<void> {
      co_await sleep(1h);
      effects.push_back(std::to_string(attempt.number()));
    });
  }
  co_return "done";
}

TEST_P(AttemptsTest, CrashesInDifferentStepsAreNotHeldAgainstOneOfThem) {
  only("body", innocent);
  for (int lives = 0; lives < 5; ++lives) {
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_as(id, "body");
      co_await sleep(90min);
    });
  }
  EXPECT_EQ(result(), "done");
  EXPECT_EQ(effects.size(), 5u);
}

// ---- Pauses ----

std::vector<std::string> times;

Durable<std::string> pauses(Flow& flow, bool suspends) {
  const auto fails = [](Attempt& attempt) {
    if (CrashTest::alive()) {
      times.push_back(std::to_string(attempt.number()) + " at " +
                      std::to_string(now().time_since_epoch() / 1min));
    }
    if (attempt.number() < 3) throw std::runtime_error("not yet");
  };
  const Retry retry(3, 1h, 1.0, 1h);
  if (suspends) {
    const auto later = [&fails](Attempt& attempt) -> Task<void> {
      co_await yield();
      fails(attempt);
    };
    co_await flow.step("try", StepOptions().retry(retry), later);
  } else {
    co_await flow.step("try", StepOptions().retry(retry), fails);
  }
  co_return "done";
}

TEST_P(AttemptsTest, ACrashInAPauseNeitherEndsThePauseNorBeginsItAnew) {
  only("body", pauses);
  for (const bool suspends : {false, true}) {
    world.disk = std::make_shared<MemoryDisk>();
    times.clear();
    const auto dies_after = [&](Duration much) {
      world.live([&](Host& host) -> Task<void> {
        co_await host.start_as(id, "body", suspends);
        co_await sleep(much);
        co_await host.signal(id, "the time goes on", 1);
      });
    };
    dies_after(20min);
    EXPECT_EQ(times, (std::vector<std::string>{"1 at 0"}));
    dies_after(30min);  // the clock of each life begins with the last record
    EXPECT_EQ(times, (std::vector<std::string>{"1 at 0"})) << suspends;
    world.live([&](Host& host) -> Task<void> {
      EXPECT_EQ(co_await host.result<std::string>(id), "done");
    });
    EXPECT_EQ(times, (std::vector<std::string>{"1 at 0", "2 at 10", "3 at 70"})) << suspends;
  }
}

}  // namespace attempts_test
}  // namespace tiffany
