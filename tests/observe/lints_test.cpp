#include "tiffany/observe/lints.hpp"

#include <gtest/gtest.h>

#include <array>
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

TEST(Lints, ATaskThatRanForLongFromItsBeginningOnHasNeverYielded) {
  Clocked world;
  world.recorder.start();
  Linter linter(world.scheduler, &world.recorder);
  const auto works = [](std::int64_t* time, bool first) -> Task<void> {
    if (!first) co_await yield();
    *time += 1'200'000'000;
    co_await sleep(1s);
  };
  world.scheduler.spawn(works, &world.time, true).named("greedy");
  world.scheduler.run_until(Time(500ms));
  std::vector<Lint> lints = linter.scan();
  ASSERT_EQ(lints.size(), 1u) << "it is no stall as well";
  EXPECT_EQ(lints[0].kind, LintKind::never_yielded);
  EXPECT_NE(lints[0].text.find("\"greedy\""), std::string::npos) << lints[0].text;
  EXPECT_NE(lints[0].text.find("ran for 1.2 s from its beginning"), std::string::npos)
      << lints[0].text;
  world.scheduler.spawn(works, &world.time, false);
  world.scheduler.run_until(Time(600ms));
  lints = linter.scan();
  ASSERT_EQ(lints.size(), 1u);
  EXPECT_EQ(lints[0].kind, LintKind::stall) << "this one has yielded before";
}

// Calls of a program that forget to wake their task.
class ForgetfulJoin final : public SystemCall {
 public:
  static constexpr CallName call_name{"forgetful join"};
  static constexpr WaitKind wait_kind() noexcept { return WaitKind::join; }
  explicit ForgetfulJoin(Handle<void> of) : of_(std::move(of)) {}
  Answer start(Scheduler&, TaskRecord&) noexcept { return Answer::parked; }
  void withdraw(TaskRecord&) noexcept override {}
  void finish() {}
  std::string describe() const override { return of_.waitable().describe(); }
  void visit_waits(WaitVisitor& visitor) const override { visitor.on_waitable(of_.waitable()); }

 private:
  Handle<void> of_;
};
class ForgetfulSleep final : public SystemCall {
 public:
  static constexpr CallName call_name{"forgetful sleep"};
  static constexpr WaitKind wait_kind() noexcept { return WaitKind::sleep; }
  ForgetfulSleep() = default;
  Answer start(Scheduler&, TaskRecord&) noexcept { return Answer::parked; }
  void withdraw(TaskRecord&) noexcept override {}
  void finish() {}
  std::string describe() const override { return "tomorrow"; }
  bool waits_for_time() const noexcept override { return true; }
};

TEST(Lints, AWakeThatDoesNotComeIsLostWhenASecondScanFindsTheSame) {
  Scheduler scheduler(silent());
  auto server = scheduler.spawn(serves);
  auto quick = scheduler.spawn([]() -> Task<void> { co_await sleep(1ms); });
  auto waits = scheduler.spawn(
      [](Handle<void> of) -> Task<void> { co_await ForgetfulJoin(std::move(of)); }, quick);
  Linter linter(scheduler);
  scheduler.step_until_idle();
  EXPECT_TRUE(linter.scan().empty());
  EXPECT_TRUE(linter.scan().empty()) << "what it waits for has not come";
  scheduler.run_until(Time(2s));
  EXPECT_TRUE(linter.scan().empty()) << "once is not enough";
  const std::vector<Lint> lints = linter.scan();
  ASSERT_EQ(lints.size(), 1u);
  EXPECT_EQ(lints[0].kind, LintKind::lost_wake);
  EXPECT_EQ(lints[0].task, waits.id());
  EXPECT_NE(lints[0].text.find("What it waits for has come"), std::string::npos) << lints[0].text;
  EXPECT_EQ(Linter::summary(lints), "1 task in trouble: 1 lost-wake.");
  waits.cancel();
  scheduler.run();
}

TEST(Lints, TasksThatNothingCanWakeAreLostThoughATaskThatLooksForThemLives) {
  Scheduler scheduler(silent());
  static std::vector<std::string> found;
  found.clear();
  ManualResetEvent event;
  auto forgotten =
      scheduler.spawn([](ManualResetEvent* of) -> Task<void> { co_await of->wait(); }, &event);
  auto timeless = scheduler.spawn([]() -> Task<void> { co_await ForgetfulSleep(); });
  scheduler.spawn(
      [](Scheduler* of) -> Task<void> {
        Linter linter(*of);
        for (int i = 0; i < 3; ++i) {
          co_await sleep(1s);
          for (const Lint& lint : linter.scan()) found.push_back(lint.text);
        }
      },
      &scheduler);
  scheduler.run_until(Time(10s));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_NE(found[0].find("No task is ready"), std::string::npos) << found[0];
  EXPECT_NE(found[1].find("No timer is armed that"), std::string::npos) << found[1];
  forgotten.cancel();
  timeless.cancel();
  scheduler.run();
}

Task<void> with_array(std::size_t* sum) {
  std::array<char, 9000> large{};
  co_await sleep(1s);
  for (const char each : large) *sum += static_cast<std::size_t>(each);
}

TEST(Lints, AFrameThatIsLargerThanAPageIsFatWhileItsTaskLives) {
  Scheduler scheduler(silent());
  std::size_t sum = 0;
  scheduler.spawn(with_array, &sum).named("large");
  scheduler.spawn(
      [](std::size_t* into) -> Task<void> {
        co_await with_array(into);
        co_await sleep(1s);
      },
      &sum);
  scheduler.spawn(serves);
  scheduler.run_until(Time(500ms));
  Linter linter(scheduler);
  const std::vector<Lint> lints = linter.scan();
  ASSERT_EQ(lints.size(), 2u);
  EXPECT_EQ(lints[0].kind, LintKind::fat_frame);
  EXPECT_NE(lints[0].text.find("\"large\""), std::string::npos) << lints[0].text;
  EXPECT_NE(lints[0].text.find("a coroutine frame of 9"), std::string::npos) << lints[0].text;
  scheduler.run();
  EXPECT_TRUE(linter.scan().empty());
}

}  // namespace tiffany::lints_test
