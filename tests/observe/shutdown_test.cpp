#include "tiffany/observe/shutdown.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tiffany/tiffany.hpp"

namespace tiffany::shutdown_test {

using namespace std::chrono_literals;
using observe::ShutdownOptions;
using observe::ShutdownReport;

Options silent() {
  return Options().virtual_time().log_to([](const LogLine&) {});
}

ShutdownOptions short_ones() {
  ShutdownOptions options;
  options.drain = 10s;
  options.unwind = 5s;
  options.reason = "enough";
  return options;
}

Task<void> sleeps(Duration time) { co_await sleep(time); }

// Runs what `begin` spawns, shuts it down after a second, and gives the report.
template <class Begin>
ShutdownReport shut_down_after_a_second(Begin begin, ShutdownOptions options = short_ones()) {
  Scheduler scheduler(silent());
  begin(scheduler);
  auto last = scheduler.spawn(
      [](ShutdownOptions how) -> Task<ShutdownReport> {
        co_await sleep(1s);
        co_return co_await observe::shut_down(std::move(how));
      },
      std::move(options));
  scheduler.run();
  EXPECT_EQ(last.state(), TaskState::completed);
  return last.value(false);
}

TEST(Shutdown, OfNothingIsOverAtOnce) {
  const ShutdownReport report = shut_down_after_a_second([](Scheduler&) {});
  EXPECT_EQ(report.there, 0u);
  EXPECT_TRUE(report.adds_up());
  EXPECT_EQ(report.took, Duration::zero());
}

TEST(Shutdown, ATaskThatFinishesInTimeIsNotCancelled) {
  const ShutdownReport report = shut_down_after_a_second([](Scheduler& s) { s.spawn(sleeps, 5s); });
  EXPECT_EQ(report.there, 1u);
  EXPECT_EQ(report.finished, 1u);
  EXPECT_EQ(report.cancelled, 0u);
  EXPECT_EQ(report.took, Duration(4s));
  EXPECT_TRUE(report.adds_up());
}

TEST(Shutdown, ATaskThatDoesNotIsCancelledAndItsPlaceIsTold) {
  const ShutdownReport report =
      shut_down_after_a_second([](Scheduler& s) { s.spawn(sleeps, 1h).named("sleeper"); });
  EXPECT_EQ(report.cancelled, 1u);
  EXPECT_EQ(report.took, Duration(10s));
  ASSERT_EQ(report.lines.size(), 1u);
  EXPECT_EQ(report.lines[0].state, TaskState::cancelled);
  EXPECT_NE(report.lines[0].place.find("shutdown_test.cpp:"), std::string::npos);
  EXPECT_NE(report.text().find("task #1 \"sleeper\", spawned at shutdown_test.cpp:"),
            std::string::npos)
      << report.text();
}

TEST(Shutdown, TheCancelSaysWhy) {
  std::string why;
  shut_down_after_a_second([&](Scheduler& s) {
    s.spawn(
        [](std::string* out) -> Task<void> {
          try {
            co_await sleep(1h);
          } catch (const Cancelled& cancelled) {
            *out = cancelled.reason().text();
            throw;
          }
        },
        &why);
  });
  EXPECT_NE(why.find("enough (shutdown)"), std::string::npos) << why;
}

TEST(Shutdown, WhatDoesNotEndIsAbandonedAndTheRunReturns) {
  const auto stays = []() -> Task<void> { co_await shield(sleeps(1h)); };
  const ShutdownReport report =
      shut_down_after_a_second([&](Scheduler& s) { s.spawn(stays).named("stubborn"); });
  EXPECT_EQ(report.abandoned, 1u);
  EXPECT_EQ(report.took, Duration(15s));
  EXPECT_TRUE(report.adds_up());
  EXPECT_NE(report.text().find("\"stubborn\""), std::string::npos);
  EXPECT_NE(report.text().find("abandoned; it was at "), std::string::npos) << report.text();
}

TEST(Shutdown, ATaskThatIgnoresEveryCancelIsAbandoned) {
  const auto ignores = []() -> Task<void> {
    for (;;) {
      try {
        co_await sleep(1h);
      } catch (const Cancelled&) {
      }
    }
  };
  const ShutdownReport report = shut_down_after_a_second([&](Scheduler& s) { s.spawn(ignores); });
  EXPECT_EQ(report.abandoned, 1u);
  EXPECT_TRUE(report.adds_up());
}

TEST(Shutdown, NewWorkIsRefusedWithASentenceAndWorkInAScopeGoesOn) {
  std::string refusal;
  bool child_ran = false;
  const ShutdownReport report = shut_down_after_a_second([&](Scheduler& s) {
    s.spawn(
        [](std::string* out, bool* ran) -> Task<void> {
          co_await sleep(2s);
          try {
            spawn(sleeps, 1s);
          } catch (const SpawnDenied& denied) {
            *out = denied.what();
          }
          co_await scope([ran](Scope& own) -> Task<void> {
            own.spawn(
                [](bool* r) -> Task<void> {
                  *r = true;
                  co_return;
                },
                ran);
            co_return;
          });
        },
        &refusal, &child_ran);
  });
  EXPECT_NE(refusal.find("is shutting down and takes no new work"), std::string::npos) << refusal;
  EXPECT_TRUE(child_ran);
  EXPECT_EQ(report.refused, 1u);
  EXPECT_EQ(report.spawned, 1u);
  EXPECT_EQ(report.finished, 2u);
  EXPECT_TRUE(report.adds_up());
}

TEST(Shutdown, DaemonsAreNotWaitedForAndAreCancelled) {
  const ShutdownReport report =
      shut_down_after_a_second([](Scheduler& s) { s.spawn(sleeps, 1h).daemon(); });
  EXPECT_EQ(report.took, Duration::zero());
  EXPECT_EQ(report.cancelled, 1u);
  EXPECT_TRUE(report.adds_up());
}

TEST(Shutdown, AFailureIsFinishedAndIsStillReportedToTheLog) {
  std::string logged;
  Scheduler scheduler(
      Options().virtual_time().log_to([&](const LogLine& line) { logged += line.message; }));
  scheduler.spawn([]() -> Task<void> {
    co_await sleep(2s);
    throw std::runtime_error("out of paper");
  });
  auto last = scheduler.spawn([]() -> Task<ShutdownReport> {
    co_await sleep(1s);
    co_return co_await observe::shut_down(short_ones());
  });
  scheduler.run();
  EXPECT_EQ(last.value(false).failed, 1u);
  EXPECT_EQ(last.value(false).finished, 1u);
  EXPECT_NE(logged.find("out of paper"), std::string::npos) << logged;
}

TEST(Shutdown, ThoseWhoseScopesItIsInAreSpared) {
  Scheduler scheduler(silent());
  auto main = scheduler.spawn([]() -> Task<ShutdownReport> {
    ShutdownReport report;
    co_await scope([&report](Scope& own) -> Task<void> {
      own.spawn(sleeps, 1h);
      auto last = own.spawn(
          []() -> Task<ShutdownReport> { co_return co_await observe::shut_down(short_ones()); });
      report = co_await last;
    });
    co_return report;
  });
  scheduler.run();
  EXPECT_EQ(main.value(false).there, 1u);
  EXPECT_EQ(main.value(false).cancelled, 1u);
  EXPECT_TRUE(main.value(false).adds_up());
}

TEST(Shutdown, AHurryEndsTheStepThatGoesOn) {
  Scheduler scheduler(silent());
  observe::Shutdown shutdown(short_ones());
  scheduler.spawn([]() -> Task<void> { co_await shield(sleeps(1h)); });
  auto last = scheduler.spawn(
      [](observe::Shutdown* s) -> Task<ShutdownReport> { co_return co_await s->run(); }, &shutdown);
  auto second = scheduler.spawn(
      [](observe::Shutdown* s) -> Task<void> {
        co_await sleep(2s);
        s->hurry();
        co_await sleep(1s);
        s->hurry();
      },
      &shutdown);
  shutdown.spare(second.id());
  scheduler.run();
  EXPECT_EQ(last.value(false).took, Duration(3s));
  EXPECT_EQ(last.value(false).abandoned, 1u);
}

TEST(Shutdown, TellsPalWhenItBeginsAndWhenItIsOver) {
  observe::Pal pal;
  observe::PalSubscription reader = pal.subscribe(observe::PalFilter());
  ShutdownOptions options = short_ones();
  options.pal = &pal;
  shut_down_after_a_second([](Scheduler& s) { s.spawn(sleeps, 5s); }, std::move(options));
  std::string text;
  while (const auto frame = reader.try_next()) text += *frame->text + "\n";
  EXPECT_NE(text.find("\"stage\":\"ShutdownBegin\",\"message\":\"enough\""), std::string::npos);
  EXPECT_NE(text.find("\"data\":{\"pending\":1,\"deadline_vt\":11000000000}"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\"data\":{\"drained\":1,\"aborted\":0,\"dur_ns\":4000000000}"),
            std::string::npos)
      << text;
}

TEST(Shutdown, BeginsWithASignalAndASecondOneHurries) {
  Scheduler scheduler(Options().log_to([](const LogLine&) {}));
  scheduler.spawn([]() -> Task<void> { co_await sleep(1h); });
  auto last = scheduler.spawn([]() -> Task<ShutdownReport> {
    co_return co_await observe::shut_down_on_signals(short_ones());
  });
  scheduler.spawn([]() -> Task<void> {
    co_await yield();
    std::raise(SIGTERM);
    while (!Scheduler::current()->refuses_new_tasks()) co_await sleep(1ms);
    std::raise(SIGINT);
  });
  scheduler.run();
  const ShutdownReport report = last.value(false);
  EXPECT_EQ(report.reason, "SIGTERM: enough");
  EXPECT_EQ(report.cancelled, 1u);
  EXPECT_LT(report.took, Duration(5s)) << "the drain of 10 s was cut short";
  EXPECT_TRUE(report.adds_up());
}

// ---- Tasks of many kinds ----

TEST(Shutdown, TheReportAddsUpWhateverTheTasksDo) {
  const char* const asked = std::getenv("TIFFANY_SHUTDOWN_SEEDS");
  const std::uint64_t seeds = asked != nullptr ? std::stoull(asked) : 20;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Scheduler scheduler(silent().seed(seed).order(seed % 2 == 0 ? nullptr : random_order(seed)));
    Random random(seed, "kinds");
    const std::uint64_t tasks = 1000;
    for (std::uint64_t i = 0; i < tasks; ++i) {
      const Duration time = std::chrono::milliseconds(random.below(30'000));
      switch (random.below(8)) {
        case 0:
        case 1:
          scheduler.spawn(sleeps, time);
          break;
        case 2:  // shielded
          scheduler.spawn([](Duration t) -> Task<void> { co_await shield(sleeps(t)); }, time);
          break;
        case 3:  // for what comes from outside, and never does
          scheduler.spawn([]() -> Task<void> {
            const ExternalPromise<int> promise;
            co_await promise.future();
          });
          break;
        case 4:  // spawns into a scope
          scheduler.spawn(
              [](Duration t) -> Task<void> {
                co_await scope([t](Scope& own) -> Task<void> {
                  own.spawn(sleeps, t / 2);
                  co_await sleep(t / 2);
                  own.spawn(sleeps, t);
                });
              },
              time);
          break;
        case 5:  // spawns into the root scope
          scheduler.spawn(
              [](Duration t) -> Task<void> {
                co_await sleep(t);
                spawn(sleeps, t);
              },
              time);
          break;
        case 6:  // needs a while to end
          scheduler.spawn(
              [](Duration t) -> Task<void> {
                try {
                  co_await sleep(1h);
                } catch (const Cancelled&) {
                }
                co_await shield(sleeps(t / 4));
              },
              time);
          break;
        default:  // fails, or does not listen
          scheduler.spawn(
              [](Duration t, bool deaf) -> Task<void> {
                try {
                  co_await sleep(t);
                } catch (const Cancelled&) {
                }
                while (deaf) co_await shield(sleeps(1h));
                throw std::runtime_error("no");
              },
              time, random.below(4) == 0);
      }
    }
    auto last = scheduler.spawn(
        [](Duration when) -> Task<ShutdownReport> {
          co_await sleep(when);
          co_return co_await observe::shut_down(short_ones());
        },
        std::chrono::milliseconds(random.below(20'000)));
    scheduler.run();
    const ShutdownReport report = last.value(false);
    EXPECT_TRUE(report.adds_up()) << "seed " << seed << "\n" << report.text();
    EXPECT_LE(report.took, Duration(15s)) << seed;
    EXPECT_EQ(report.abandoned, scheduler.live_tasks()) << seed;
    std::uint64_t not_ended = 0;
    for (const ShutdownReport::Line& line : report.lines) not_ended += is_final(line.state) ? 0 : 1;
    EXPECT_LE(not_ended, report.abandoned) << seed;
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace tiffany::shutdown_test
