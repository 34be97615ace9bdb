// Steps that go on behind the statement that began them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"
#include "tiffany/durable/inspect.hpp"

namespace tiffany {
namespace begin_step_test {

using namespace std::chrono_literals;

class BeginStepTest : public MemoryTest {
 protected:
  BeginStepTest();
};
TIFFANY_IN_EVERY_STORE(BeginStepTest);

std::map<std::string, int> sent;  // by the key of the step
int under_way = 0;
int most_at_once = 0;

BeginStepTest::BeginStepTest() {
  sent.clear();
  under_way = 0;
  most_at_once = 0;
}

// Counts those that are in between, also when they are cancelled there.
struct Between {
  Between() { most_at_once = std::max(most_at_once, ++under_way); }
  ~Between() { --under_way; }
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;
};

Task<std::string> send(Attempt& attempt, std::string what, int hours) {
  const Between between;
  co_await sleep(std::chrono::hours(hours));
  if (CrashTest::alive()) ++sent[attempt.key()];
  co_return what;
}
int twice(int number) { return 2 * number; }
Task<void> refused(std::string why) {
  co_await sleep(1h);
  throw std::runtime_error(why);
}

Durable<std::string> three(Flow& flow) {
  auto a = co_await flow.begin_step("send", send, "a", 3);
  auto b = co_await flow.begin_step("send", send, "b", 1);
  auto c = co_await flow.begin_step("twice", twice, 21);
  auto [x, y, z] = co_await flow.gather(a, b, c);
  co_return x + y + std::to_string(z);
}

TEST_P(BeginStepTest, StepsThatWereBegunRunAtTheSameTime) {
  only("three", three);
  world.live([&](Host& host) -> Task<void> {
    const Time start = now();
    const Uuid id = co_await host.start("three");
    EXPECT_EQ(co_await host.result<std::string>(id), "ab42");
    EXPECT_EQ(now() - start, 3h);
  });
  EXPECT_EQ(most_at_once, 2);
}

Durable<std::string> races(Flow& flow) {
  auto slow = co_await flow.begin_step("send", send, "slow", 5);
  auto patience = co_await flow.timer(2h);
  auto first = co_await flow.race(slow, patience);
  std::string text = std::to_string(first.index);
  std::vector<DurableHandle<std::string>> all;
  for (const int hours : {4, 2, 3}) {
    all.push_back(co_await flow.begin_step("send", send, std::to_string(hours), hours));
  }
  while (!all.empty()) {
    const auto next = co_await flow.race(all);
    text += next.value;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(next.index));
  }
  text += co_await slow;
  auto last = co_await flow.begin_step("send", StepOptions().at_most_once(), send, "once", 1);
  auto bad = co_await flow.begin_step("refused", StepOptions().retry(Retry(2, 1min)), refused,
                                      "out of order");
  try {
    auto won = co_await flow.any(bad, last);
    text += std::to_string(won.index) + won.get<1>();
    co_await bad;
  } catch (const Error& e) {
    text += e.code() == Errc::step_failed ? e.what() : "unknown";
  }
  co_return text;
}

TEST_P(BeginStepTest, StepsRaceWithTimersAndWithEachOther) {
  only("races", races);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("races");
    EXPECT_EQ(co_await host.result<std::string>(id), "1234slow1onceout of order");
  });
}

TEST_P(BeginStepTest, TheResultIsTheSameWhereverTheProcessIsCutOff) {
  only("three", three);
  const Uuid id = Uuid::derived(Uuid(), "three");
  world.crash_everywhere([] { sent.clear(); },
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(id, "three");
                           EXPECT_EQ(co_await host.result<std::string>(id), "ab42");
                         },
                         [&] {
                           EXPECT_EQ(sent.size(), 2u) << world.crashed_after;
                           EXPECT_EQ(under_way, 0) << world.crashed_after;
                         });
}

TEST_P(BeginStepTest, RacesOfStepsComeBackFromEveryPoint) {
  only("races", races);
  const Uuid id = Uuid::derived(Uuid(), "races");
  world.crash_everywhere(
      [] { sent.clear(); },
      [&](Host& host) -> Task<void> {
        co_await host.start_as(id, "races");
        const std::string text = co_await host.result<std::string>(id);
        // An at-most-once step that a crash met is not known to have ended.
        EXPECT_TRUE(text == "1234slow1onceout of order" || text == "1234slowunknown")
            << text << world.crashed_after;
      },
      [&] { EXPECT_EQ(under_way, 0) << world.crashed_after; });
}

Durable<std::string> leaves(Flow& flow) {
  {
    auto dropped = co_await flow.begin_step("send", send, "dropped", 1);
  }
  co_await flow.sleep(2h);
  auto left = co_await flow.begin_step("send", send, "left", 1000);
  co_await flow.sleep(1h);
  co_return "done";
}

TEST_P(BeginStepTest, ADroppedStepGoesOnAndTheEndOfTheCodeCancelsWhatIsLeft) {
  only("leaves", leaves);
  const Uuid id = Uuid::derived(Uuid(), "leaves");
  world.crash_everywhere([] { sent.clear(); },
                         [&](Host& host) -> Task<void> {
                           const Time start = now();
                           co_await host.start_as(id, "leaves");
                           EXPECT_EQ(co_await host.result<std::string>(id), "done");
                           EXPECT_LE(now() - start, 3h);
                           EXPECT_EQ(under_way, 0);
                           const Inspection seen =
                               co_await inspect(world.types(), world.log_options(), id);
                           EXPECT_TRUE(seen.agrees) << seen.text();
                         },
                         [&] { EXPECT_EQ(sent.size(), 1u) << world.crashed_after; });
}

TEST_P(BeginStepTest, PauseCancelKillAndCloseJoinEveryStep) {
  only("three", three);
  world.live([&](Host& host) -> Task<void> {
    const Uuid paused = co_await host.start("three");
    co_await sleep(30min);
    EXPECT_EQ(under_way, 2);
    co_await host.pause(paused);
    EXPECT_EQ(under_way, 0);
    co_await host.resume(paused);
    EXPECT_EQ(co_await host.result<std::string>(paused), "ab42");
    const Uuid cancelled = co_await host.start("three");
    co_await sleep(30min);
    co_await host.cancel(cancelled, "enough");
    EXPECT_EQ(co_await error_of(host.result<std::string>(cancelled)), Errc::durable_cancelled);
    EXPECT_EQ(under_way, 0);
    const Uuid killed = co_await host.start("three");
    co_await sleep(30min);
    co_await host.kill(killed, "now");
    EXPECT_EQ(under_way, 0);
    co_await host.start("three");
    co_await sleep(30min);
    EXPECT_EQ(under_way, 2);
    co_await host.close();
    EXPECT_EQ(under_way, 0);
  });
}

// A cancel ends the waits and not what was begun: the code may still want the result.
Durable<std::string> tidies(Flow& flow) {
  auto sending = co_await flow.begin_step("send", send, "sent", 2);
  try {
    co_await sending;
  } catch (const DurableCancelled&) {
  }
  const auto shield = flow.shield();
  co_return co_await sending;
}

TEST_P(BeginStepTest, UnderAShieldTheCodeGetsTheResultOfAStepThatItBeganBeforeACancel) {
  only("tidies", tidies);
  const Uuid id = Uuid::derived(Uuid(), "tidies");
  world.crash_everywhere([] { sent.clear(); },
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(id, "tidies");
                           co_await sleep(1h);
                           co_await host.cancel(id, "enough");
                           EXPECT_EQ(co_await host.result<std::string>(id), "sent");
                         },
                         [&] { EXPECT_EQ(sent.size(), 1u) << world.crashed_after; });
}

Durable<void> checkpoints(Flow& flow) {
  auto sending = co_await flow.begin_step("send", send, "sent", 2);
  co_await flow.checkpoint(1);
}

TEST_P(BeginStepTest, ACheckpointIsRefusedWhileAStepIsUnderWay) {
  only("checkpoints", checkpoints);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("checkpoints");
    try {
      co_await host.result<void>(id);
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()),
                "A checkpoint cannot be made while step \"send#1\" is under way; await it.");
    }
    EXPECT_EQ(under_way, 0);
  });
}

int answer = 7;
Durable<int> keyed(Flow& flow) {
  auto sending = co_await flow.begin_step("twice", twice, answer);
  co_await flow.sleep(1h);
  co_return co_await sending;
}

TEST_P(BeginStepTest, OtherArgumentsThanThoseOfTheLogAreADivergence) {
  only("keyed", keyed);
  Uuid id;
  answer = 7;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("keyed");
    co_await sleep(1min);
  });
  answer = 8;
  world.live([&](Host& host) -> Task<void> {
    co_await sleep(1min);
    EXPECT_EQ(host.info(id)->status, DurableStatus::diverged);
  });
  answer = 7;
  world.live([&](Host& host) -> Task<void> { EXPECT_EQ(co_await host.result<int>(id), 14); });
}

}  // namespace begin_step_test
}  // namespace tiffany
