#include "tiffany/observe/lints.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiffany/tiffany.hpp"

namespace tiffany::lints_test {

using namespace std::chrono_literals;
using observe::Lint;
using observe::Linter;
using observe::LintKind;
using observe::LintOptions;
using observe::Recorder;
using observe::RecorderOptions;

Options silent() {
  return Options().virtual_time().log_to([](const LogLine&) {});
}

Task<void> serves() {
  for (int i = 0; i < 100; ++i) co_await sleep(1s);
}

Task<void> takes_both(Mutex* first, Mutex* second) {
  auto one = co_await first->lock();
  co_await yield();
  auto two = co_await second->lock();
}

TEST(Lints, TwoTasksThatWaitForOneAnotherAreFoundBesideAHealthyOne) {
  Scheduler scheduler(silent());
  Mutex a;
  Mutex b;
  auto server = scheduler.spawn(serves).named("server");
  auto left = scheduler.spawn(takes_both, &a, &b).named("left");
  auto right = scheduler.spawn(takes_both, &b, &a).named("right");
  auto waiter = scheduler.spawn([](Handle<void> of) -> Task<void> { co_await of; }, left);
  scheduler.run_until(Time(3s));
  Linter linter(scheduler);
  const std::vector<Lint> lints = linter.scan();
  ASSERT_EQ(lints.size(), 2u) << "the one that waits for the circle is not in it";
  for (const Lint& lint : lints) {
    EXPECT_EQ(lint.kind, LintKind::deadlock);
    EXPECT_NE(lint.text.find("lints_test.cpp:"), std::string::npos) << lint.text;
    EXPECT_NE(lint.text.find("\"left\""), std::string::npos) << lint.text;
    EXPECT_NE(lint.text.find("\"right\""), std::string::npos) << lint.text;
  }
  EXPECT_EQ(Linter::summary(lints), "2 tasks in trouble: 2 deadlock.");
  left.cancel();
  scheduler.run_until(Time(4s));
  EXPECT_TRUE(linter.scan().empty());
  EXPECT_EQ(Linter::summary({}), "");
}

TEST(Lints, ACircleThatATimeLimitWillOpenIsNone) {
  Scheduler scheduler(silent());
  Mutex a;
  Mutex b;
  scheduler.spawn(takes_both, &a, &b);
  scheduler.spawn(
      [](Mutex* first, Mutex* second) -> Task<void> {
        static_cast<void>(co_await within(10s, takes_both(first, second)));
      },
      &b, &a);
  scheduler.run_until(Time(3s));
  EXPECT_TRUE(Linter(scheduler).scan().empty());
  scheduler.run();
}

TEST(Lints, AChainOfManyWaitsIsWalkedWithoutRecursion) {
  Scheduler scheduler(silent());
  const auto joins = [](Handle<void> of) -> Task<void> { co_await of; };
  Handle<void> last = scheduler.spawn(serves);
  for (int i = 0; i < 20'000; ++i) last = scheduler.spawn(joins, last);
  scheduler.run_until(Time(1s));
  EXPECT_TRUE(Linter(scheduler).scan().empty());
}

TEST(Lints, ATaskThatWaitsLongWithALockThatOthersWantIsAHoarder) {
  Scheduler scheduler(silent());
  Mutex mutex;
  scheduler
      .spawn(
          [](Mutex* m) -> Task<void> {
            auto held = co_await m->lock();
            co_await sleep(1min);
          },
          &mutex)
      .named("miser");
  for (int i = 0; i < 2; ++i) {
    scheduler.spawn([](Mutex* m) -> Task<void> { auto held = co_await m->lock(); }, &mutex);
  }
  Linter linter(scheduler);
  scheduler.run_until(Time(10s));
  EXPECT_TRUE(linter.scan().empty());
  scheduler.run_until(Time(20s));
  const std::vector<Lint> lints = linter.scan();
  ASSERT_EQ(lints.size(), 1u);
  EXPECT_EQ(lints[0].kind, LintKind::hoarder);
  EXPECT_NE(lints[0].text.find("\"miser\""), std::string::npos);
  EXPECT_NE(lints[0].text.find("2 tasks wait"), std::string::npos) << lints[0].text;
  scheduler.run();
}

struct Clocked {
  std::int64_t time = 0;
  Scheduler scheduler{silent().turn(1)};
  Recorder recorder{scheduler, options()};
  RecorderOptions options() {
    RecorderOptions made;
    made.clock = [this] { return Duration(time); };
    return made;
  }
};

TEST(Lints, ASliceThatWasTooLongIsAStallAndThoseWhoWaitedForItAreStarved) {
  Clocked world;
  world.recorder.start();
  Linter linter(world.scheduler, &world.recorder);
  world.scheduler
      .spawn(
          [](std::int64_t* time) -> Task<void> {
            *time += 150'000'000;
            co_await sleep(1s);
          },
          &world.time)
      .named("loop");
  world.scheduler.spawn([]() -> Task<void> { co_return; }).named("patient");
  world.scheduler.step();
  const std::vector<Lint> lints = linter.scan();
  ASSERT_EQ(lints.size(), 2u);
  EXPECT_EQ(lints[0].kind, LintKind::starved);
  EXPECT_NE(lints[0].text.find("\"patient\""), std::string::npos) << lints[0].text;
  EXPECT_EQ(lints[1].kind, LintKind::stall);
  EXPECT_NE(lints[1].text.find("task #1 \"loop\", at lints_test.cpp:"), std::string::npos)
      << lints[1].text;
  world.scheduler.run();
  EXPECT_TRUE(linter.scan().empty()) << "each is told once";
}

TEST(Lints, ATaskThatYieldsAgainAndAgainIsBusy) {
  Clocked world;
  world.recorder.start();
  Linter linter(world.scheduler, &world.recorder);
  world.scheduler.spawn([]() -> Task<void> {
    for (int i = 0; i < 150; ++i) co_await yield();
    co_await sleep(1s);
  });
  world.scheduler.spawn([]() -> Task<void> {
    for (int i = 0; i < 150; ++i) co_await sleep(1ms);
  });
  world.scheduler.run_until(Time(500ms));
  const std::vector<Lint> lints = linter.scan();
  ASSERT_EQ(lints.size(), 1u);
  EXPECT_EQ(lints[0].kind, LintKind::busy_yield);
  EXPECT_EQ(lints[0].task.slot(), 1u);
}

TEST(Lints, AreToldOnceThroughPalAndCountedInMetrics) {
  Scheduler scheduler(silent());
  Mutex a;
  Mutex b;
  auto left = scheduler.spawn(takes_both, &a, &b);
  scheduler.spawn(takes_both, &b, &a);
  scheduler.spawn(serves);
  scheduler.run_until(Time(1s));
  observe::Pal pal;
  observe::Metrics metrics;
  Linter linter(scheduler);
  const auto guard = linter.collect(metrics);
  linter.tell(linter.scan(), pal);
  linter.tell(linter.scan(), pal);
  EXPECT_EQ(pal.counts().events[static_cast<std::size_t>(observe::PalKind::runtime)], 2u);
  EXPECT_NE(metrics.text_now().find("tiffany_lints_active{lint=\"deadlock\"} 2\n"),
            std::string::npos);
  left.cancel();
  scheduler.run();
  linter.tell(linter.scan(), pal);
  EXPECT_NE(metrics.text_now().find("tiffany_lints_active{lint=\"deadlock\"} 0\n"),
            std::string::npos);
}

}  // namespace tiffany::lints_test
