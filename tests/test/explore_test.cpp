// T20, S2: many orders, the failing one reduced, and run again.
#include "tiffany/test/explore.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "broken.hpp"
#include "support/harness.hpp"
#include "tiffany/test/gtest.hpp"

namespace tiffany::test {
namespace explore_test {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---- The three broken programs ----

TEST(Explore, S2_FindsAndReducesALostUpdate) {
  const auto result = explore(broken::lost_update, Seeds(1000));
  ASSERT_TRUE(result.failed);
  EXPECT_GT(result.runs, 1u) << "first in first out does not show it";
  EXPECT_TRUE(contains(result.error, "a deposit was lost")) << result.error;
  EXPECT_TRUE(contains(result.error, "broken.hpp:"));
  EXPECT_EQ(result.deviations.size(), 2u) << result.text();
  EXPECT_LT(result.deviations.size(), result.found.size());
  EXPECT_TRUE(result.minimal);
  EXPECT_TRUE(result.fewest);
  EXPECT_EQ(result.order.size(), 2u);
}

TEST(Explore, S2_FindsAndReducesAnOrderViolation) {
  const auto result = explore(broken::order_violation, Seeds(1000));
  ASSERT_TRUE(result.failed);
  EXPECT_GT(result.runs, 1u);
  EXPECT_TRUE(contains(result.error, "served before the configuration was loaded"));
  EXPECT_EQ(result.deviations.size(), 3u) << result.text();
  EXPECT_TRUE(result.fewest);
}

TEST(Explore, S2_FindsReducesAndExplainsADeadlockOfThree) {
  const auto result = explore(broken::deadlock_of_three, Seeds(1000));
  ASSERT_TRUE(result.failed);
  EXPECT_GT(result.runs, 1u);
  EXPECT_TRUE(contains(result.error,
                       "They wait in a circle: task #2 \"one\" -> task #3 \"two\" -> "
                       "task #4 \"three\" -> task #2 \"one\""))
      << result.error;
  EXPECT_TRUE(result.minimal);
  EXPECT_LT(result.deviations.size(), result.found.size());
}

TEST(Explore, S2_EveryStrategyFindsTheThreeWithinAThousandSeedsFromAnywhere) {
  Task<void> (*const programs[])() = {broken::lost_update, broken::order_violation,
                                      broken::deadlock_of_three};
  for (const auto program : programs) {
    for (const Strategy strategy :
         {Strategy::mixed, Strategy::walk, Strategy::priorities, Strategy::delays}) {
      for (const std::uint64_t first : {1u, 5'000u, 90'000u}) {
        const auto result = explore(program, Seeds(1000, first),
                                    ExploreOptions().strategy(strategy).max_shrink_runs(0));
        EXPECT_TRUE(result.failed) << name_of(strategy) << " from " << first;
      }
    }
  }
}

TEST(Explore, S2_ARepairedProgramPassesUnderAllSeeds) {
  const auto result = explore(broken::repaired_deadlock_of_three, Seeds(1000));
  EXPECT_TRUE(result) << result.text();
  EXPECT_EQ(result.runs, 1001u);
  EXPECT_EQ(result.text(), "No failure in 1001 runs.\n");
}

TEST(Explore, S2_TheResultIsTheSameEveryTime) {
  std::set<std::string> texts;
  for (int i = 0; i < 2; ++i) {
    texts.insert(explore(broken::deadlock_of_three, Seeds(1000)).text());
  }
  EXPECT_EQ(texts.size(), 1u);
}

TEST(Explore, S2_ASeedMeansTheSameWhicheverCameBeforeIt) {
  const auto many = explore(broken::deadlock_of_three, Seeds(1000));
  const auto one = explore(broken::deadlock_of_three, Seeds(1, many.seed));
  EXPECT_EQ(one.runs, 2u);
  EXPECT_EQ(one.found, many.found);
  EXPECT_EQ(one.deviations, many.deviations);
}

// ---- Again, in a fresh process ----

struct Ended {
  int code;
  std::string output;
};

Ended shell(const std::string& command) {
  Ended ended{-1, ""};
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  char buffer[4096];
  while (const std::size_t read = std::fread(buffer, 1, sizeof buffer, pipe)) {
    ended.output.append(buffer, read);
  }
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

// The line that begins with two spaces and the variable.
std::string command_in(const std::string& text) {
  const std::size_t begin = text.find("  TIFFANY_REPLAY=");
  if (begin == std::string::npos) return "";
  return text.substr(begin + 2, text.find('\n', begin) - begin - 2);
}

// From `begin` to the end of that line.
std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

void expect_the_command_repeats_it(const std::string& program, const std::string& error) {
  const Ended first = shell(program);
  EXPECT_EQ(first.code, 1) << first.output;
  EXPECT_TRUE(contains(first.output, error)) << first.output;
  const std::string command = command_in(first.output);
  ASSERT_NE(command, "") << first.output;
  const Ended again = shell(command);
  EXPECT_EQ(again.code, 1) << command << "\n" << again.output;
  EXPECT_TRUE(contains(again.output, "A failure, after 1 run:")) << again.output;
  EXPECT_EQ(line_with(again.output, error), line_with(first.output, error));
  EXPECT_TRUE(contains(again.output, "explore: one run, with the deviations"));
  EXPECT_EQ(command_in(again.output), command);
}

TEST(ExploreCommand, S2_RepeatsALostUpdateInAFreshProcess) {
  expect_the_command_repeats_it(BROKEN_PLAIN " lost_update", "a deposit was lost");
}
TEST(ExploreCommand, S2_RepeatsAnOrderViolationInAFreshProcess) {
  expect_the_command_repeats_it(BROKEN_PLAIN " order_violation", "served before");
}
TEST(ExploreCommand, S2_RepeatsADeadlockOfThreeInAFreshProcess) {
  expect_the_command_repeats_it(BROKEN_PLAIN " deadlock_of_three", "They wait in a circle");
}
TEST(ExploreCommand, S2_QuotesWhatAShellWouldTakeApart) {
  expect_the_command_repeats_it(BROKEN_PLAIN " lost_update \"it's a name\"", "a deposit was lost");
}

TEST(ExploreCommand, S2_RepeatsOneTestOfAGoogleTestProgram) {
  const Ended first = shell(BROKEN_GTEST " --gtest_filter='*' --gtest_color=no");
  EXPECT_EQ(first.code, 1);
  const std::size_t second_test = first.output.find("] Broken.OrderViolation");
  ASSERT_NE(second_test, std::string::npos) << first.output;
  const std::string command = command_in(first.output.substr(second_test));
  EXPECT_TRUE(contains(command, " --gtest_filter=Broken.OrderViolation")) << command;
  EXPECT_EQ(command.find("--gtest_filter"), command.rfind("--gtest_filter")) << command;
  EXPECT_TRUE(contains(command, " --gtest_color=no")) << command;
  const Ended again = shell(command);
  EXPECT_EQ(again.code, 1) << again.output;
  EXPECT_TRUE(contains(again.output, "Running 1 test ")) << again.output;
  EXPECT_TRUE(contains(again.output, "served before")) << again.output;
  EXPECT_FALSE(contains(again.output, "a deposit was lost"));
}

TEST(ExploreCommand, S2_ABodyOfAnotherNameIsSkippedWithANotice) {
  const Ended ended = shell("TIFFANY_REPLAY=somebody@3:1 " BROKEN_PLAIN " lost_update");
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(contains(ended.output, "explore: skipped, because TIFFANY_REPLAY is for somebody"));
  EXPECT_TRUE(contains(ended.output, "Not run: TIFFANY_REPLAY is for another body."));
}

// Sets the variable for as long as it lives.
class Replay {
 public:
  explicit Replay(const char* what) { setenv("TIFFANY_REPLAY", what, 1); }
  ~Replay() { unsetenv("TIFFANY_REPLAY"); }
};

TEST(Explore, S2_AReplayThatDoesNotFailSaysSo) {
  const Replay replay("fifo");
  const auto result = explore(broken::lost_update, Seeds(1000));
  EXPECT_TRUE(result.passed());
  EXPECT_TRUE(result.replayed);
  EXPECT_EQ(result.runs, 1u);
  EXPECT_EQ(result.command, "");
}

TEST(Explore, S2_AReplayThatIsNoListIsAnError) {
  const Replay replay("nonsense");
  EXPECT_EQ(code_of(thrown_by([] { explore(broken::lost_update, Seeds(1)); })), Errc::bad_argument);
}

// ---- What counts as a failure ----

TEST(Explore, T20_AnExceptionOfTheBodyIsAFailureInTheFirstRun) {
  const auto body = []() -> Task<void> {
    co_await yield();
    throw std::runtime_error("always");
  };
  const auto result = explore(body, Seeds(10));
  EXPECT_TRUE(result.failed);
  EXPECT_EQ(result.runs, 1u);
  EXPECT_EQ(result.seed, 0u);
  EXPECT_EQ(result.error, "always");
  EXPECT_TRUE(result.deviations.empty());
  EXPECT_TRUE(result.fewest);
  EXPECT_TRUE(contains(result.text(), "The order was first in first out.\n"));
  EXPECT_TRUE(contains(result.command, "TIFFANY_REPLAY=fifo ")) << result.command;
}

TEST(Explore, T20_AnErrorThatNobodyLooksAtIsAFailure) {
  const auto fails = []() -> Task<void> {
    co_await yield();
    throw std::runtime_error("in a task");
  };
  const auto body = [&]() -> Task<void> {
    spawn(std::ref(fails));
    co_return;
  };
  EXPECT_EQ(explore(body, Seeds(10)).error, "in a task");
}

TEST(Explore, T20_AnErrorThatLedToADeadlockIsNamedInsteadOfIt) {
  std::optional<Promise<void>> never;
  const auto fails = [&]() -> Task<void> {
    co_await yield();
    throw std::runtime_error("did not complete the promise");
  };
  const auto body = [&]() -> Task<void> {
    Promise<void> promise;
    spawn(std::ref(fails));
    co_await promise.future();
  };
  EXPECT_EQ(explore(body, Seeds(10)).error, "did not complete the promise");
  // The body fails, and leaves somebody behind who waits for ever.
  const auto waits = [](Future<void> future) -> Task<void> { co_await future; };
  const auto kept = [&]() -> Task<void> {
    never.emplace();
    spawn(std::ref(waits), never->future());
    co_await yield();
    throw std::runtime_error("the body itself");
  };
  EXPECT_EQ(explore(kept, Seeds(10)).error, "the body itself");
  never.reset();
}

TEST(Explore, T20_AFailedCheckCountsAlsoWhenSomebodyCatchesIt) {
  const auto body = []() -> Task<void> {
    try {
      check(false, "first");
    } catch (const std::exception&) {
    }
    try {
      check(false, "second");
    } catch (const CheckFailed& failed) {
      EXPECT_EQ(failed.code(), Errc::check_failed);
    }
    check(true, "fine");
    co_return;
  };
  const auto result = explore(body, Seeds(10));
  EXPECT_TRUE(result.failed);
  EXPECT_TRUE(contains(result.error, ": first")) << result.error;
}

TEST(Explore, T20_ACheckOutsideOfExploreJustThrows) {
  EXPECT_NO_THROW(check(true));
  const auto error = thrown_by([] { check(false); });
  EXPECT_TRUE(what_of(error).starts_with("A check did not hold at explore_test.cpp:"));
  EXPECT_EQ(code_of(error), Errc::check_failed);
}

TEST(Explore, T20_AProgramThatDoesNotEndIsAFailure) {
  const auto body = []() -> Task<void> {
    for (;;) co_await yield();
  };
  const auto result = explore(body, Seeds(10), ExploreOptions().max_picks(50).max_shrink_runs(10));
  EXPECT_TRUE(result.failed);
  EXPECT_TRUE(contains(result.error, "still running after 50 picks")) << result.error;
}

TEST(Explore, T20_WhatIsNoStdExceptionAndACancelledBodyAreFailures) {
  const auto odd = []() -> Task<void> {
    co_await yield();
    throw 7;
  };
  EXPECT_EQ(explore(odd, Seeds(1)).error, "An exception that is not a std::exception");
  const auto cancelled = []() -> Task<void> {
    this_task::cancel("on purpose");
    co_await yield();
  };
  EXPECT_TRUE(contains(explore(cancelled, Seeds(1)).error, "on purpose"));
  const auto stray = [](TestScheduler& test) {
    throw Cancelled(
        test.scheduler().reason(CancelCause::requested, "astray", std::source_location::current()));
  };
  EXPECT_TRUE(contains(explore(stray, Seeds(1)).error, "astray"));
}

// ---- Bodies ----

TEST(Explore, T20_ABodyMayTakeTheSchedulerAsACoroutineOrAsAFunction) {
  const auto coroutine = [](TestScheduler& test) -> Task<void> {
    test.at(1ms, [] {});
    co_await sleep(2ms);
    check(test.now() == 2ms);
  };
  EXPECT_TRUE(explore(coroutine, Seeds(20)));
  int runs = 0;
  const auto function = [&](TestScheduler& test) {
    ++runs;
    auto task = test.spawn([]() -> Task<int> {
      co_await sleep(5ms);
      co_return 3;
    });
    test.advance(5ms);
    check(test.task_state(task) == TaskState::completed);
    check(test.result(task) == 3);
  };
  const auto result = explore(function, Seeds(20));
  EXPECT_TRUE(result) << result.text();
  EXPECT_EQ(runs, 21);
}

TEST(Explore, T20_AllAwaitsArePlacesWhereOthersMayRun) {
  // With the usual quantum a checkpoint would never let the other one in.
  const auto add = [](int& value) -> Task<void> {
    const int seen = value;
    co_await checkpoint();
    value = seen + 1;
  };
  const auto body = [&]() -> Task<void> {
    int value = 0;
    auto a = spawn(add, std::ref(value));
    auto b = spawn(add, std::ref(value));
    co_await gather(a, b);
    check(value == 2, "an update was lost");
  };
  EXPECT_TRUE(explore(body, Seeds(100)).failed);
}

// ---- Reducing ----

TEST(Explore, S2_IndicesAreLowered) {
  // Fails when anybody but the first comes first.
  const auto body = []() -> Task<void> {
    std::vector<int> came;
    const auto come = [&](int who) -> Task<void> {
      came.push_back(who);
      co_return;
    };
    std::vector<Handle<void>> all;
    for (int i = 0; i < 8; ++i) all.push_back(spawn(std::ref(come), i));
    co_await gather(all);
    check(came.front() == 0);
  };
  const auto result = explore(body, Seeds(100));
  EXPECT_TRUE(result.failed);
  EXPECT_EQ(result.deviations, (Deviations{{0, 1}})) << text_of(result.found);
}

TEST(Explore, S2_NothingThatIsLeftCanBeTakenAwayOrLowered) {
  Task<void> (*const programs[])() = {broken::order_violation, broken::deadlock_of_three};
  for (const auto program : programs) {
    const auto fails_with = [program](Deviations deviations) {
      TestScheduler test(TestOptions().schedule(Schedule::with(std::move(deviations))).quantum(1));
      auto main = test.spawn(program);
      return thrown_by([&] { test.result(main); }) != nullptr;
    };
    for (std::uint64_t first = 1; first <= 10; ++first) {
      // Not enough runs to come upon a short order among those of other seeds.
      const auto result =
          explore(program, Seeds(1000, 100 * first), ExploreOptions().max_shrink_runs(300));
      EXPECT_TRUE(result.minimal);
      EXPECT_TRUE(fails_with(result.deviations));
      for (std::size_t i = 0; i < result.deviations.size(); ++i) {
        Deviations fewer = result.deviations;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_FALSE(fails_with(fewer)) << text_of(fewer);
        for (std::size_t index = 1; index < result.deviations[i].index; ++index) {
          Deviations lower = result.deviations;
          lower[i].index = index;
          EXPECT_FALSE(fails_with(lower)) << text_of(lower);
        }
      }
    }
  }
}

TEST(Explore, S2_ReducingStopsAtItsLimitAndSaysSo) {
  const auto result =
      explore(broken::deadlock_of_three, Seeds(1000), ExploreOptions().max_shrink_runs(3));
  EXPECT_TRUE(result.failed);
  EXPECT_EQ(result.shrink_runs, 3u);
  EXPECT_FALSE(result.minimal);
  EXPECT_FALSE(result.fewest);
  EXPECT_TRUE(contains(result.text(), "fewer may do"));
  EXPECT_TRUE(contains(result.error, "They wait in a circle"));
}

TEST(Explore, S2_AShorterOrderThatTakingAwayDoesNotLeadToIsFound) {
  // Fails for either of two orders; the one that needs more deviations is far easier to hit, and
  // none of its parts fails.
  const auto body = []() -> Task<void> {
    std::string came;
    const auto come = [&](char who) -> Task<void> {
      came += who;
      co_return;
    };
    std::vector<Handle<void>> all;
    for (const char who : {'a', 'b', 'c', 'd'}) all.push_back(spawn(std::ref(come), who));
    co_await gather(all);
    check(came != "dcba" && came != "abdc", "one of two orders");
  };
  std::size_t shortened = 0;
  for (std::uint64_t first = 1; first < 2000; first += 100) {
    const auto result = explore(body, Seeds(100, first));
    if (!result.failed) continue;
    EXPECT_EQ(result.deviations, (Deviations{{2, 1}})) << text_of(result.found);
    EXPECT_TRUE(result.fewest);
    if (result.found == Deviations{{0, 3}, {1, 2}, {2, 1}}) ++shortened;
  }
  EXPECT_GT(shortened, 0u);
}

TEST(Explore, S2_ABodyThatIsNotDeterministicIsCalledUnstable) {
  int calls = 0;
  const auto body = [&]() -> Task<void> {
    check(++calls != 5, "the fifth time");
    co_return;
  };
  const auto result = explore(body, Seeds(100));
  EXPECT_TRUE(result.failed);
  EXPECT_TRUE(result.unstable);
  EXPECT_TRUE(contains(result.text(), "check_deterministic() says where")) << result.text();
  EXPECT_TRUE(contains(result.text(), "the fifth time"));
}

TEST(Explore, S2_OneThatIsUnstableAtTheVeryEndIsCalledUnstableToo) {
  int calls = 0;
  const auto body = [&]() -> Task<void> {
    check(++calls > 4, "the first four times");
    co_return;
  };
  // The first run, one to confirm it, one without deviations, one by the limit; then it is over.
  const auto result = explore(body, Seeds(100));
  EXPECT_TRUE(result.failed);
  EXPECT_EQ(calls, 4) << "this test depends on how many runs a reduction of nothing takes";
  calls = 1;
  const auto again = explore(body, Seeds(100));
  EXPECT_TRUE(again.failed);
  EXPECT_TRUE(again.unstable);
}

// ---- The same twice ----

TEST(CheckDeterministic, S2_AProgramThatOnlyDependsOnItsOrderPasses) {
  for (const std::uint64_t seed : {0u, 1u, 2u, 3u, 4u}) {
    const auto result = check_deterministic(broken::deadlock_of_three, seed);
    EXPECT_TRUE(result) << result.text;
    EXPECT_GT(result.picks, 10u);
  }
}

TEST(CheckDeterministic, S2_SaysWhoseCallsDiffered) {
  int run = 0;
  const auto nothing = []() -> Task<void> { co_return; };
  const auto body = [&]() -> Task<void> {
    if (++run == 2) co_await checkpoint();  // alone, so it goes on at once
    auto child = spawn(std::ref(nothing));
    co_await child;
  };
  const auto result = check_deterministic(body, 0);
  EXPECT_FALSE(result);
  EXPECT_TRUE(contains(result.text,
                       "After pick 1, of task #1 \"main\", not started, the two runs "
                       "made different system calls."))
      << result.text;
}

TEST(CheckDeterministic, S2_SaysWhoWasPickedInEach) {
  int run = 0;
  const auto nothing = []() -> Task<void> { co_return; };
  const auto body = [&]() -> Task<void> {
    ++run;
    auto a = spawn(std::ref(nothing)).named(run == 1 ? "left" : "right");
    co_await a;
  };
  const auto result = check_deterministic(body, 0);
  EXPECT_FALSE(result);
  EXPECT_TRUE(contains(result.text,
                       "the first run picked task #2 \"left\", not started, the second "
                       "picked task #2 \"right\", not started."))
      << result.text;
}

TEST(CheckDeterministic, S2_SaysThatOneWasOverAndHowTheyEnded) {
  int run = 0;
  const auto body = [&]() -> Task<void> {
    auto nothing = []() -> Task<void> { co_return; };
    auto a = spawn(std::ref(nothing));
    co_await a;
    if (++run == 1) throw std::runtime_error("only once");
    auto b = spawn(std::ref(nothing));
    co_await b;
  };
  const auto result = check_deterministic(body, 0);
  EXPECT_FALSE(result);
  EXPECT_TRUE(contains(result.text, "The first ended with: only once. The second: no error."))
      << result.text;
  EXPECT_TRUE(contains(result.text, "the first run was over")) << result.text;
}

TEST(CheckDeterministic, S2_TwoDifferentStartsAreSaidToBeSo) {
  int run = 0;
  const auto nothing = []() -> Task<void> { co_return; };
  const auto body = [&](TestScheduler& test) {
    if (++run == 2) test.spawn(std::ref(nothing));
    test.run();
  };
  const auto result = check_deterministic(body, 0);
  EXPECT_TRUE(
      contains(result.text, "At the start the first run was over, the second picked task #1"))
      << result.text;
}

TEST(CheckDeterministic, S2_TheSamePicksWithOtherCallsAtTheEndDiffer) {
  int run = 0;
  const auto body = [&]() -> Task<void> {
    if (++run == 2) co_await checkpoint();
    co_return;
  };
  EXPECT_FALSE(check_deterministic(body, 0));
}

}  // namespace explore_test
}  // namespace tiffany::test
