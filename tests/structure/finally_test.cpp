#include "tiffany/structure/finally.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace finally_test {

using namespace test;

// A log that can be looked at.
class Lines {
 public:
  Options options() {
    return Options().virtual_time().log_to(
        [this](const LogLine& line) { lines_.push_back(std::string(line.message)); });
  }
  const std::vector<std::string>& all() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

TEST(Finally, TheCleanupRunsAfterTheBodyAndTheResultIsThatOfTheBody) {
  run_program([]() -> Task<void> {
    Trace trace;
    const auto text = co_await finally(
        [&]() -> Task<std::string> {
          co_await sleep(1ms);
          trace.push_back("body");
          co_return "a text that is too long to be kept inside of the string";
        },
        [&]() -> Task<void> {
          co_await sleep(1ms);
          trace.push_back("cleanup");
        });
    EXPECT_EQ(text, "a text that is too long to be kept inside of the string");
    EXPECT_EQ(trace, Trace({"body", "cleanup"}));
    EXPECT_EQ(now(), Time(2ms));
    auto box =
        co_await finally([]() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); },
                         []() -> Task<void> { co_return; });
    EXPECT_EQ(*box, 3) << "a result that can only be moved";
    co_await finally([]() -> Task<void> { co_return; }, []() -> Task<void> { co_return; });
  });
}

TEST(Finally, TheErrorOfTheBodyGoesOnWhenTheCleanupHasEnded) {
  run_program([]() -> Task<void> {
    Trace trace;
    const auto fail = [&]() -> Task<int> {
      co_return co_await finally(
          [&]() -> Task<int> {
            co_await yield();
            throw std::runtime_error("body");
          },
          [&]() -> Task<void> {
            co_await sleep(1ms);
            trace.push_back("cleanup");
          });
    };
    EXPECT_EQ(what_of(co_await error_of(fail())), "body");
    EXPECT_EQ(trace, Trace({"cleanup"}));
  });
}

TEST(Finally, TheErrorOfTheCleanupIsThrownWhenItIsTheOnlyOne) {
  const auto value = std::make_shared<int>(1);
  run_program([&]() -> Task<void> {
    const auto fail = [&]() -> Task<void> {
      static_cast<void>(co_await finally([&]() -> Task<std::shared_ptr<int>> { co_return value; },
                                         []() -> Task<void> {
                                           co_await yield();
                                           throw std::runtime_error("cleanup");
                                         }));
    };
    EXPECT_EQ(what_of(co_await error_of(fail())), "cleanup");
  });
  EXPECT_EQ(value.use_count(), 1);
}

TEST(Finally, OfTwoErrorsTheBodysIsThrownAndTheCleanupsIsReported) {
  Lines lines;
  Scheduler scheduler(lines.options());
  const auto program = []() -> Task<void> {
    const auto fail = []() -> Task<void> {
      co_await finally(
          []() -> Task<void> {
            co_await yield();
            throw std::runtime_error("body");
          },
          []() -> Task<void> {
            co_await yield();
            throw std::runtime_error("cleanup");
          });
    };
    EXPECT_EQ(what_of(co_await error_of(fail())), "body");
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(scheduler.counters().unseen_failures, 1u);
  ASSERT_EQ(lines.all().size(), 1u);
  EXPECT_NE(lines.all()[0].find("threw from the cleanup of a finally() whose body had thrown "
                                "already, so that this error cannot be thrown: cleanup"),
            std::string::npos)
      << lines.all()[0];
}

TEST(Finally, ACancelWhileTheBodyWaitsRunsTheWholeCleanup) {
  run_program([]() -> Task<void> {
    Trace trace;
    const auto work = [&]() -> Task<void> {
      co_await finally(
          [&]() -> Task<void> {
            co_await sleep(1h);
            trace.push_back("never");
          },
          [&]() -> Task<void> {
            co_await sleep(5ms);
            trace.push_back("cleanup");
          });
      trace.push_back("never");
    };
    auto handle = spawn(std::ref(work));
    co_await sleep(1ms);
    handle.cancel("enough");
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"cleanup"}));
    EXPECT_EQ(now(), Time(6ms));
  });
}

TEST(Finally, ACancelBeforeTheBodyStillRunsTheCleanup) {
  run_program([]() -> Task<void> {
    Trace trace;
    const auto work = [&]() -> Task<void> {
      this_task::cancel();
      co_await finally(
          [&]() -> Task<void> {
            trace.push_back("body");
            co_await sleep(1ms);
            trace.push_back("never");
          },
          [&]() -> Task<void> {
            co_await sleep(1ms);
            trace.push_back("cleanup");
          });
    };
    auto handle = spawn(std::ref(work));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"body", "cleanup"}));
  });
}

TEST(Finally, ACancelWhileTheCleanupWaitsIsHeldBackAndTheResultIsDeliveredFirst) {
  run_program([]() -> Task<void> {
    Trace trace;
    const auto work = [&]() -> Task<void> {
      const int value = co_await finally([]() -> Task<int> { co_return 7; },
                                         [&]() -> Task<void> {
                                           co_await sleep(5ms);
                                           trace.push_back("cleanup");
                                         });
      trace.push_back(std::to_string(value));
      co_await checkpoint();
      trace.push_back("never");
    };
    auto handle = spawn(std::ref(work));
    co_await sleep(1ms);
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"cleanup", "7"}));
    EXPECT_EQ(now(), Time(5ms));
  });
}

TEST(Finally, AnErrorOfTheCleanupOfACancelledBodyIsReportedAndTheCancelGoesOn) {
  Lines lines;
  Scheduler scheduler(lines.options());
  const auto program = []() -> Task<void> {
    const auto work = []() -> Task<void> {
      co_await finally([]() -> Task<void> { co_await sleep(1h); },
                       []() -> Task<void> {
                         co_await yield();
                         throw std::runtime_error("cleanup");
                       });
    };
    auto handle = spawn(std::ref(work));
    co_await sleep(1ms);
    handle.cancel();
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled());
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(scheduler.counters().unseen_failures, 1u);
  EXPECT_EQ(lines.all().size(), 1u);
}

TEST(Finally, WhatRunsOutOfTimeIsCleanedUpBeforeWithinReturns) {
  run_program([]() -> Task<void> {
    Trace trace;
    const auto timed = co_await within(1ms, finally([]() -> Task<void> { co_await sleep(1h); },
                                                    [&]() -> Task<void> {
                                                      co_await sleep(2ms);
                                                      trace.push_back("cleanup");
                                                    }));
    EXPECT_TRUE(timed.timed_out());
    EXPECT_EQ(trace, Trace({"cleanup"}));
    EXPECT_EQ(now(), Time(3ms));
  });
}

TEST(Finally, NestedCleanupsRunFromTheInnermostOutwards) {
  run_program([]() -> Task<void> {
    Trace trace;
    const auto cleanup = [&](std::string name) -> Task<void> {
      co_await yield();
      trace.push_back(name);
    };
    const auto work = [&]() -> Task<void> {
      co_await finally(
          [&]() -> Task<void> {
            co_await finally([]() -> Task<void> { co_await sleep(1h); },
                             [&]() -> Task<void> { co_await cleanup("inner"); });
          },
          [&]() -> Task<void> { co_await cleanup("outer"); });
    };
    auto handle = spawn(std::ref(work));
    co_await sleep(1ms);
    const auto outcome = co_await cancel_and_join(handle);
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_EQ(trace, Trace({"inner", "outer"}));
  });
}

TEST(Finally, BlocksWithCapturesOfTheirOwnAreKeptInVariables) {
  const auto value = std::make_shared<int>(5);
  run_program([&]() -> Task<void> {
    const auto body = [value]() -> Task<int> {
      co_await yield();
      co_return *value;
    };
    const auto cleanup = [value]() -> Task<void> {
      co_await yield();
      EXPECT_EQ(*value, 5);
    };
    EXPECT_EQ(co_await finally(body, cleanup), 5);
  });
  EXPECT_EQ(value.use_count(), 1);
}

TEST(Finally, WhenTheSchedulerEndsTheCleanupIsCutShortOnlyAfterItHadItsTime) {
  Trace trace;
  Lines lines;
  {
    Scheduler scheduler(lines.options());
    const auto work = [&](bool endless) -> Task<void> {
      co_await finally([]() -> Task<void> { co_await sleep(1h); },
                       [&, endless]() -> Task<void> {
                         co_await yield();
                         if (endless) co_await sleep(1h);
                         trace.push_back("cleanup");
                       });
    };
    scheduler.spawn(std::ref(work), false);
    scheduler.spawn(std::ref(work), true);
    scheduler.step_until_idle();
  }
  EXPECT_EQ(trace, Trace({"cleanup"})) << "virtual time does not go on while a scheduler ends";
  EXPECT_EQ(lines.all(), std::vector<std::string>()) << "a cancellation is no error";
}

TEST(Finally, ATaskThatIsDroppedByForceHasNoCleanup) {
  Trace trace;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto work = [&]() -> Task<void> {
      const AtExit unwound(trace, "dropped");
      co_await finally([]() -> Task<void> { co_await sleep(1h); },
                       [&]() -> Task<void> {
                         trace.push_back("cleanup");
                         co_return;
                       });
    };
    const auto hog = []() -> Task<void> {
      for (;;) {
        try {
          co_await yield();
        } catch (const Cancelled&) {
        }
      }
    };
    scheduler.spawn.with_priority(200)(std::ref(work));
    scheduler.step_until_idle();
    scheduler.spawn.with_priority(1)(std::ref(hog));
    scheduler.step();
  }
  EXPECT_EQ(trace, Trace({"dropped"}));
}

}  // namespace finally_test
}  // namespace tiffany
