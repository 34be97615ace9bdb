// Everything waits for something from outside, longer than a limit.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/core/options.hpp"

namespace tiffany {
namespace quiet_test {

using namespace test;

// A clock that runs by itself, as the scheduler sees it: a wait takes exactly as long as it was
// asked for, and one without an end gives `outside` the word.
struct Outside {
  Time now{};
  std::vector<Duration> waits;
  std::function<void()> speak = [] {};
};

class ScriptedClock final : public Reactor {
 public:
  explicit ScriptedClock(Outside& outside) : outside_(outside) {}
  Time now() override { return outside_.now; }
  bool virtual_time() const noexcept override { return false; }
  void advance_to(Time) override {}
  void wait(std::optional<Time> until, Wakeup&) override {
    if (until) {
      outside_.waits.push_back(*until - outside_.now);
      outside_.now = *until;
    } else {
      outside_.speak();
    }
  }

 private:
  Outside& outside_;
};

struct Log {
  std::vector<std::string> lines;
  Options to(Options options) {
    return std::move(options).log_to(
        [this](const LogLine& line) { lines.emplace_back(line.message); });
  }
};

TEST(Quiet, AfterTheLimitThoseWhoWaitForOutsideAreNamedOnce) {
  Outside outside;
  Log log;
  std::optional<ExternalPromise<int>> answer;
  Scheduler scheduler(
      log.to(Options().clock(std::make_unique<ScriptedClock>(outside)).quiet_limit(10s)));
  const auto program = [&]() -> Task<void> {
    answer.emplace();
    static_cast<void>(co_await answer->future());
  };
  outside.speak = [&] { answer->complete(1); };
  scheduler.spawn(std::ref(program)).named("asks");
  scheduler.run();
  EXPECT_EQ(outside.waits, std::vector<Duration>({10s}));
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(
      log.lines[0].find("No task has run for 10 s: nothing is ready, no timer is armed, and 1 "
                        "task waits for something from outside to come."),
      0u)
      << log.lines[0];
  EXPECT_NE(log.lines[0].find("\n  task #1 \"asks\" waits for an external promise\n      at "
                              "quiet_test.cpp:"),
            std::string::npos)
      << log.lines[0];
  EXPECT_EQ(scheduler.counters().quiet_spells, 1u);
}

TEST(Quiet, ItIsSaidAgainOnlyAfterATaskHasRun) {
  Outside outside;
  Log log;
  std::optional<ExternalPromise<int>> answer;
  Scheduler scheduler(
      log.to(Options().clock(std::make_unique<ScriptedClock>(outside)).quiet_limit(3s)));
  const auto program = [&]() -> Task<void> {
    for (int i = 0; i < 2; ++i) {
      answer.emplace();
      static_cast<void>(co_await answer->future());
    }
  };
  int asked = 0;
  outside.speak = [&] {
    outside.now += 1h;
    if (++asked % 5 == 0) answer->complete(1);  // four wake-ups for nothing before
  };
  scheduler.spawn(std::ref(program));
  scheduler.run();
  EXPECT_EQ(asked, 10);
  EXPECT_EQ(log.lines.size(), 2u);
  EXPECT_EQ(outside.waits, std::vector<Duration>({3s, 3s}));
}

TEST(Quiet, AnAnswerThatComesInTimeIsNotWorthALine) {
  Outside outside;
  Log log;
  std::optional<ExternalPromise<int>> answer;
  class Prompt final : public Reactor {
   public:
    Prompt(Outside& outside, std::optional<ExternalPromise<int>>& answer)
        : outside_(outside), answer_(answer) {}
    Time now() override { return outside_.now; }
    bool virtual_time() const noexcept override { return false; }
    void advance_to(Time) override {}
    void wait(std::optional<Time>, Wakeup&) override {
      outside_.now += 9s;
      answer_->complete(1);
    }

   private:
    Outside& outside_;
    std::optional<ExternalPromise<int>>& answer_;
  };
  Scheduler scheduler(
      log.to(Options().clock(std::make_unique<Prompt>(outside, answer)).quiet_limit(10s)));
  const auto program = [&]() -> Task<void> {
    for (int i = 0; i < 4; ++i) {
      answer.emplace();
      static_cast<void>(co_await answer->future());
    }
  };
  scheduler.spawn(std::ref(program));
  scheduler.run();
  EXPECT_EQ(log.lines, std::vector<std::string>());
}

TEST(Quiet, ASleeperIsNotWaitingForOutside) {
  Outside outside;
  Log log;
  std::optional<ExternalPromise<int>> answer;
  Scheduler scheduler(
      log.to(Options().clock(std::make_unique<ScriptedClock>(outside)).quiet_limit(10s)));
  const auto asks = [&]() -> Task<void> {
    answer.emplace();
    static_cast<void>(co_await answer->future());
  };
  const auto sleeps = [&]() -> Task<void> {
    co_await sleep(1h);
    answer->complete(1);
  };
  scheduler.spawn(std::ref(asks));
  scheduler.spawn(std::ref(sleeps));
  scheduler.run();
  EXPECT_EQ(log.lines, std::vector<std::string>());
}

TEST(Quiet, AtMostTenAreNamedAndTheRestCounted) {
  Outside outside;
  Log log;
  std::optional<ExternalPromise<int>> answer;
  Scheduler scheduler(
      log.to(Options().clock(std::make_unique<ScriptedClock>(outside)).quiet_limit(10s)));
  const auto asks = [&]() -> Task<void> {
    if (!answer) answer.emplace();
    static_cast<void>(co_await answer->future());
  };
  outside.speak = [&] { answer->complete(1); };
  for (int i = 0; i < 13; ++i) scheduler.spawn(std::ref(asks));
  scheduler.run();
  ASSERT_EQ(log.lines.size(), 1u);
  const std::string& line = log.lines[0];
  EXPECT_NE(line.find("13 tasks wait"), std::string::npos) << line;
  EXPECT_NE(line.find("task #10 waits for"), std::string::npos) << line;
  EXPECT_EQ(line.find("task #11 waits for"), std::string::npos) << line;
  EXPECT_EQ(line.substr(line.size() - 13), "\n  and 3 more") << line;
}

TEST(Quiet, AnIdleServerWritesNothingUnlessALimitIsSet) {
  for (const bool real : {true, false}) {
    Outside outside;
    Log log;
    std::optional<ExternalPromise<int>> answer;
    Scheduler scheduler(log.to(real ? Options().clock(std::make_unique<ScriptedClock>(outside))
                                    : Options().virtual_time()));
    const auto asks = [&]() -> Task<void> {
      answer.emplace();
      static_cast<void>(co_await answer->future());
    };
    scheduler.spawn(std::ref(asks));
    scheduler.run_until(Time(1h));
    EXPECT_EQ(log.lines, std::vector<std::string>());
    EXPECT_EQ(scheduler.counters().quiet_spells, 0u);
    answer->complete(1);
    scheduler.run();
  }
}

TEST(Quiet, PollWaitsUntilItsDeadlineThoughAReportIsDueBefore) {
  Outside outside;
  Log log;
  std::optional<ExternalPromise<int>> answer;
  Scheduler scheduler(
      log.to(Options().clock(std::make_unique<ScriptedClock>(outside)).quiet_limit(3s)));
  const auto asks = [&]() -> Task<void> {
    answer.emplace();
    static_cast<void>(co_await answer->future());
  };
  scheduler.spawn(std::ref(asks));
  scheduler.step();
  EXPECT_FALSE(scheduler.poll(Time(10s)));
  EXPECT_EQ(outside.now, Time(10s));
  EXPECT_EQ(outside.waits, std::vector<Duration>({3s, 7s}));
  EXPECT_EQ(log.lines.size(), 1u);
  answer->complete(1);
  EXPECT_TRUE(scheduler.poll(Time(20s)));
  EXPECT_EQ(outside.now, Time(10s));
}

TEST(Quiet, PollWithoutADeadlineEndsWhenThereIsNothingToWaitFor) {
  Outside outside;
  Scheduler scheduler(Options().clock(std::make_unique<ScriptedClock>(outside)));
  outside.speak = [] { ADD_FAILURE() << "waits for nothing"; };
  EXPECT_FALSE(scheduler.poll(kEndOfTime));
}

TEST(Quiet, OnAVirtualClockTheTimeOfRunUntilCounts) {
  Log log;
  std::optional<ExternalPromise<int>> answer;
  Scheduler scheduler(log.to(Options().virtual_time().quiet_limit(3s)));
  const auto asks = [&]() -> Task<void> {
    answer.emplace();
    static_cast<void>(co_await answer->future());
  };
  scheduler.spawn(std::ref(asks));
  scheduler.run_until(Time(2s));
  EXPECT_EQ(log.lines.size(), 0u);
  scheduler.run_until(Time(9s));
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(log.lines[0].find("No task has run for 3 s:"), 0u) << log.lines[0];
  EXPECT_EQ(scheduler.now(), Time(9s));
  answer->complete(1);
  scheduler.run();
}

TEST(Quiet, ASinkThatSpawnsATaskDoesNotWaitForOutsideToRunIt) {
  Outside outside;
  std::optional<ExternalPromise<int>> answer;
  Scheduler* self = nullptr;
  const auto answers = [&]() -> Task<void> {
    answer->complete(1);
    co_return;
  };
  Scheduler scheduler(Options()
                          .clock(std::make_unique<ScriptedClock>(outside))
                          .quiet_limit(10s)
                          .log_to([&](const LogLine&) { self->spawn(std::ref(answers)); }));
  self = &scheduler;
  const auto asks = [&]() -> Task<void> {
    answer.emplace();
    static_cast<void>(co_await answer->future());
  };
  outside.speak = [&] {
    ADD_FAILURE() << "waits with a task ready";
    answer->complete(1);
  };
  scheduler.spawn(std::ref(asks));
  scheduler.run();
  EXPECT_EQ(scheduler.counters().quiet_spells, 1u);
}

TEST(Quiet, ADeadlockStaysADeadlock) {
  Outside outside;
  Log log;
  Scheduler scheduler(
      log.to(Options().clock(std::make_unique<ScriptedClock>(outside)).quiet_limit(10s)));
  const auto stuck = []() -> Task<void> {
    Promise<int> never;
    static_cast<void>(co_await never.future());
  };
  scheduler.spawn(stuck);
  EXPECT_THROW(scheduler.run(), Deadlock);
  EXPECT_EQ(log.lines, std::vector<std::string>());
  scheduler.shutdown();
}

}  // namespace quiet_test
}  // namespace tiffany
