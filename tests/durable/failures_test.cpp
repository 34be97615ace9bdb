// What failed steps and tasks throw, and what says whether a step is tried again.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"
#include "tiffany/durable/rejected.hpp"

namespace tiffany {
namespace failures_test {

using namespace std::chrono_literals;

struct Declined : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class FailuresTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(FailuresTest);

std::string told(const StepFailed& e) {
  return e.type() + "/" + (e.cause() ? std::to_string(static_cast<int>(*e.cause())) : "-") + "/" +
         e.what() + " ";
}

Durable<std::string> fails(Flow& flow) {
  std::string text;
  try {
    co_await flow.step("declined", StepOptions().retry(Retry(3, 1s)),
                       [] { throw Declined("no money"); });
  } catch (const StepFailed& e) {
    text += told(e);
  }
  co_await flow.sleep(1h);
  try {
    co_await flow.step("error", []() -> Task<int> {
      co_await sleep(1s);
      throw Error(Errc::bad_address, "no such host");
    });
  } catch (const StepFailed& e) {
    text += told(e);
  }
  try {
    co_await flow.step("late", StepOptions().at_most_once().timeout(1s),
                       []() -> Task<void> { co_await sleep(1h); });
  } catch (const StepUnknown& e) {
    text += e.code() == Errc::step_unknown ? "unknown " : "? ";
  }
  co_await flow.sleep(1h);
  co_return text;
}

TEST_P(FailuresTest, AStepThatFailedSaysWithWhatAlsoAfterACrashAnywhere) {
  only("fails", fails);
  const Uuid id = Uuid::derived(Uuid(), "fails");
  world.crash_everywhere([] {},
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(id, "fails");
                           EXPECT_EQ(co_await host.result<std::string>(id),
                                     "tiffany::failures_test::Declined/-/no money "
                                     "tiffany::Error/203/no such host unknown ")
                               << world.crashed_after;
                         },
                         [] {});
}

// ---- Through tasks ----

Durable<int> child(Flow& flow) {
  co_await flow.step("host", [] { throw Error(Errc::bad_address, "no such host"); });
  co_return 1;
}
Durable<int> parent(Flow& flow) {
  auto handle = co_await flow.spawn<int>("child");
  co_return co_await handle;
}

TEST_P(FailuresTest, TypeAndCodeComeThroughStepsAndChildrenToTheResult) {
  world.types = [] {
    Registry types;
    types.add("child", 1, child);
    types.add("parent", 1, parent);
    return types;
  };
  const Uuid id = Uuid::derived(Uuid(), "parent");
  const auto expect = [&](Host& host) -> Task<void> {
    try {
      co_await host.result<int>(id);
      ADD_FAILURE() << world.crashed_after;
    } catch (const DurableFailed& e) {
      EXPECT_EQ(e.code(), Errc::durable_failed);
      EXPECT_EQ(e.type(), "tiffany::Error") << world.crashed_after;
      EXPECT_EQ(e.cause(), Errc::bad_address) << world.crashed_after;
      EXPECT_STREQ(e.what(), "no such host");
    }
  };
  world.crash_everywhere([] {},
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(id, "parent");
                           co_await expect(host);
                         },
                         [] {});
  world.live([&](Host& host) -> Task<void> { co_await expect(host); });  // from the log
}

Uuid asked_for;
Durable<int> asks(Flow& flow) {
  auto answer = co_await flow.promise<int>("answer");
  asked_for = answer.id();
  co_return co_await answer;
}

// Whether its code is here or at rest when somebody breaks the promise.
TEST_P(FailuresTest, ATaskWhosePromiseWasBrokenWasRejectedByTypeAndNotByAWord) {
  only("asks", asks);
  for (const bool at_rest : {false, true}) {
    const Uuid id = Uuid::derived(Uuid(), at_rest ? "at rest" : "here");
    std::string type;
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_as(id, "asks");
      co_await sleep(1s);
      if (at_rest) co_await host.pause(id);
      co_await host.complete_json(asked_for, "too dear", false);
      if (at_rest) co_await host.resume(id);
    });
    world.live([&](Host& host) -> Task<void> {
      try {
        co_await host.result<int>(id);
      } catch (const DurableFailed& e) {
        type = e.type();
        EXPECT_STREQ(e.what(), "too dear");
      }
    });
    EXPECT_EQ(type, kRejectedType) << at_rest;
  }
}

// ---- Trying again ----

std::vector<std::string> attempts;
Time began;

void attempted(const char* what) {
  attempts.push_back(std::string(what) + "@" + std::to_string((now() - began) / 1s));
}

Durable<std::string> decides(Flow& flow) {
  std::string text;
  const auto fail = [&](const StepFailed& e) { text += std::to_string(e.attempts()) + " "; };
  try {
    co_await flow.step("never", StepOptions().retry(Retry(9, 1s)), [] {
      attempted("never");
      throw NotRetryable("do not");
    });
  } catch (const StepFailed& e) {
    fail(e);
  }
  try {
    co_await flow.step("except", StepOptions().retry(Retry(9, 1s).except<Declined>()), [] {
      attempted("except");
      throw Declined("no");
    });
  } catch (const StepFailed& e) {
    fail(e);
  }
  try {
    co_await flow.step("after", StepOptions().retry(Retry(3, 1s)), [] {
      attempted("after");
      throw RetryAfter(1min, "busy");
    });
  } catch (const StepFailed& e) {
    fail(e);
  }
  try {
    co_await flow.step("deadline", StepOptions().retry(Retry(100, 10s, 1.0)).deadline(35s), [] {
      attempted("deadline");
      throw Declined("no");
    });
  } catch (const StepFailed& e) {
    fail(e);
  }
  try {
    co_await flow.step("hangs", StepOptions().retry(Retry(100, 10s, 1.0)).deadline(35s),
                       []() -> Task<void> {
                         attempted("hangs");
                         co_await sleep(1h);
                       });
  } catch (const StepFailed& e) {
    fail(e);
    text += e.what();
  }
  co_return text;
}

TEST_P(FailuresTest, WhatIsThrownAndTheDeadlineDecideWhetherAndWhenAStepIsTriedAgain) {
  only("decides", decides);
  attempts.clear();
  world.live([&](Host& host) -> Task<void> {
    began = now();
    const Uuid id = co_await host.start("decides");
    EXPECT_EQ(co_await host.result<std::string>(id),
              "1 1 3 4 1 Step \"hangs#1\" took longer than it may.");
  });
  EXPECT_EQ(attempts, (std::vector<std::string>{"never@0", "except@0", "after@0", "after@60",
                                                "after@120", "deadline@120", "deadline@130",
                                                "deadline@140", "deadline@150", "hangs@150"}));
}

Durable<int> keeps_deadline(Flow& flow) {
  co_await flow.step("slow", StepOptions().retry(Retry(100, 10s, 1.0)).deadline(1h),
                     []() -> Task<void> {
                       co_await sleep(1s);
                       throw Declined("no");
                     });
  co_return 1;
}

TEST_P(FailuresTest, TheDeadlineOfAStepGoesOnWhileNoProcessRuns) {
  only("keeps", keeps_deadline);
  Uuid id;
  world.live([&](Host& host) -> Task<void> {
    id = co_await host.start("keeps");
    co_await sleep(50min);
  });
  world.live([&](Host& host) -> Task<void> {
    const Time start = now();
    EXPECT_EQ(co_await error_of(host.result<int>(id)), Errc::durable_failed);
    EXPECT_LE(now() - start, 10min + 12s);
  });
}

TEST(RetryTest, JitterShortensAPauseByAPartThatDependsOnKeyAndAttemptOnly) {
  const Retry plain(10, 1s, 1.0);
  const Retry spread = plain.jitter(0.5);
  EXPECT_EQ(plain.pause_after(3, 7), 1s);
  EXPECT_EQ(spread.pause_after(3, 7), spread.pause_after(3, 7));
  Duration least = 1s, most = 0s;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    const Duration pause = spread.pause_after(1, hash_name(std::to_string(key)));
    least = std::min(least, pause);
    most = std::max(most, pause);
  }
  EXPECT_GE(least, 500ms);
  EXPECT_LT(least, 520ms);
  EXPECT_LE(most, 1s);
  EXPECT_GT(most, 980ms);
  EXPECT_NE(spread.pause_after(1, 7), spread.pause_after(2, 7));
  EXPECT_EQ(Retry(3, Duration::max(), 2.0, Duration::max()).jitter(0).pause_after(2),
            Duration::max());
}

TEST(RetryTest, AJitterOrADeadlineThatCannotBeIsRefused) {
  EXPECT_THROW(StepOptions().retry(Retry(2).jitter(1.5)), Error);
  EXPECT_THROW(StepOptions().retry(Retry(2).jitter(-0.1)), Error);
  EXPECT_THROW(StepOptions().deadline(0s), Error);
}

}  // namespace failures_test
}  // namespace tiffany
