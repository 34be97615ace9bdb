#include "tiffany/core/dependency.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/tasks.hpp"

namespace tiffany {
namespace dependency_test {

using namespace test;

Task<int> breaks(int ms) {
  co_await sleep(std::chrono::milliseconds(ms));
  throw std::runtime_error("broke");
}
Options silent() {
  return Options().virtual_time().log_to([](const LogLine&) {});
}

// ---- Order ----

TEST(After, T19_ATaskBeginsWhenAllItComesAfterHaveEnded) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto a = spawn(step, std::ref(trace), "a", 10);
    auto b = spawn(step, std::ref(trace), "b", 20);
    auto c = spawn.after(a, b)(step, std::ref(trace), "c", 5);
    auto d = spawn.after(c)(step, std::ref(trace), "d", 1);
    EXPECT_EQ(c.state(), TaskState::pending);
    EXPECT_EQ(Scheduler::current()->ready_len(), 2u) << "those that wait are in no queue";
    EXPECT_EQ(co_await d, 1);
    EXPECT_EQ(now(), Time(26ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+a", "+b", "-a", "-b", "+c", "-c", "+d", "-d"}));
}

TEST(After, T19_WhatHasEndedAlreadyIsSatisfiedAtOnce) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto a = spawn(step, std::ref(trace), "a", 1);
    co_await a;
    auto b = spawn.after(a)(step, std::ref(trace), "b", 1);
    EXPECT_EQ(Scheduler::current()->ready_len(), 1u);
    auto c = spawn.after()(step, std::ref(trace), "c", 1);
    co_await gather(b, c);
    auto live = spawn(step, std::ref(trace), "live", 1);
    co_await spawn.after(a, live, b)(step, std::ref(trace), "mixed", 1);
  };
  run_program(program);
  EXPECT_EQ(trace,
            Trace({"+a", "-a", "+b", "+c", "-b", "-c", "+live", "-live", "+mixed", "-mixed"}));
}

TEST(After, T19_TheSameTaskTwiceCountsAsOne) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto a = spawn(step, std::ref(trace), "a", 1);
    co_await spawn.after(a, a, a)(step, std::ref(trace), "b", 1);
    auto failing = spawn(breaks, 1);
    auto skipped = spawn.after(failing, failing)(step, std::ref(trace), "c", 1);
    EXPECT_TRUE((co_await skipped.outcome()).cancelled());
    EXPECT_TRUE((co_await failing.outcome()).failed());
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+a", "-a", "+b", "-b"}));
}

TEST(After, T19_HandlesFuturesRangesAndIdsCanBeMixed) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    Promise<int> promise;
    std::vector<Handle<int>> range{spawn(step, std::ref(trace), "a", 1),
                                   spawn(step, std::ref(trace), "b", 3)};
    auto c = spawn(step, std::ref(trace), "c", 2);
    auto last = spawn.with_priority(3)
                    .after(range, promise.future())
                    .after(c.id())(step, std::ref(trace), "last", 1);
    co_await sleep(5ms);
    EXPECT_FALSE(last.done());
    promise.complete(1);
    co_await last;
    EXPECT_EQ(now(), Time(6ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+a", "+b", "+c", "-a", "-c", "-b", "+last", "-last"}));
}

TEST(After, T19_ASpawnerCanBeKeptAndUsedAgain) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto a = spawn(step, std::ref(trace), "a", 1);
    co_await scope([&](Scope& s) -> Task<void> {
      const auto later = s.spawn.after(a);
      later(step, std::ref(trace), "b", 1);
      later(step, std::ref(trace), "c", 1);
      EXPECT_EQ(s.live(), 2u);
      co_return;
    });
    trace.push_back("scope over");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+a", "-a", "+b", "+c", "-b", "-c", "scope over"}));
}

TEST(After, T19_EverySeedOfTheOrderKeepsTheDependencies) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed, "graph");
    std::vector<bool> ended(40, false);
    const auto check = [&](std::size_t i, std::vector<std::size_t> above) -> Task<void> {
      for (std::size_t one : above) EXPECT_TRUE(ended[one]) << i << " began before " << one;
      for (std::uint64_t turns = i % 3; turns > 0; --turns) co_await yield();
      ended[i] = true;
    };
    const auto program = [&]() -> Task<void> {
      std::vector<Handle<void>> handles;
      for (std::size_t i = 0; i < ended.size(); ++i) {
        std::vector<std::size_t> above;
        std::vector<Handle<void>> after;
        for (std::size_t before = 0; before < i; ++before) {
          if (random.below(8) != 0) continue;
          above.push_back(before);
          after.push_back(handles[before]);
        }
        handles.push_back(spawn.after(after)(std::ref(check), i, above));
      }
      co_return;
    };
    run_program(program, Options().virtual_time().order(random_order(seed)));
    for (std::size_t i = 0; i < ended.size(); ++i) EXPECT_TRUE(ended[i]) << i;
  }
}

// Random graphs with random failures and policies, against what the words say.
TEST(After, T19_EndsAsTheModelSaysForEveryShapeSeedAndOrder) {
  constexpr std::size_t kTasks = 30;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, "graph");
    std::vector<TaskState> expected;
    std::vector<bool> began(kTasks, false);
    std::vector<bool> should_begin;
    const auto body = [&](std::size_t i, std::uint64_t turns, bool fails) -> Task<void> {
      began[i] = true;
      for (; turns > 0; --turns) co_await sleep(Duration(turns % 2));
      if (fails) throw std::runtime_error("broke");
    };
    const auto program = [&]() -> Task<void> {
      std::vector<Handle<void>> handles;
      for (std::size_t i = 0; i < kTasks; ++i) {
        const auto policy = static_cast<IfFailed>(random.below(3));
        const bool fails = random.below(6) == 0;
        std::vector<Handle<void>> after;
        bool all_completed = true;
        for (std::size_t before = 0; before < i; ++before) {
          if (random.below(10) != 0) continue;
          after.push_back(handles[before]);
          all_completed = all_completed && expected[before] == TaskState::completed;
        }
        should_begin.push_back(all_completed || policy == IfFailed::run);
        const TaskState end = fails ? TaskState::failed : TaskState::completed;
        const TaskState unbegun =
            policy == IfFailed::skip ? TaskState::cancelled : TaskState::failed;
        expected.push_back(should_begin.back() ? end : unbegun);
        handles.push_back(
            spawn.after(after).if_failed(policy)(std::ref(body), i, random.below(4), fails));
        if (random.below(5) == 0) co_await sleep(1ns);
      }
      const auto ends = co_await all_settled(handles);
      for (std::size_t i = 0; i < kTasks; ++i) {
        EXPECT_EQ(handles[i].state(), expected[i]) << "task " << i << " of seed " << seed;
        EXPECT_EQ(began[i], should_begin[i]) << "task " << i << " of seed " << seed;
      }
    };
    if (seed % 3 == 0) run_program(program, silent());
    if (seed % 3 == 1) run_program(program, silent().order(random_order(seed)));
    if (seed % 3 == 2) run_program(program, silent().order(longest_path_order()));
  }
}

// ---- Ids ----

TEST(After, T19_AnIdThatNoTaskEverHadIsAnErrorAtTheCall) {
  const auto program = []() -> Task<void> {
    const auto f = []() -> Task<void> { co_return; };
    const auto after = [&](TaskId id) { return thrown_by([&] { spawn.after(id)(f); }); };
    const auto error = after(TaskId(7, 1));
    EXPECT_EQ(code_of(error), Errc::unknown_task);
    EXPECT_EQ(
        what_of(error),
        "A task was to begin after task #7, but this scheduler never had a task with that id. "
        "Spawn what others come after first.");
    EXPECT_EQ(code_of(after(TaskId())), Errc::unknown_task);
    EXPECT_EQ(code_of(after(TaskId(1, 0))), Errc::unknown_task);
    EXPECT_EQ(code_of(after(TaskId(1, 2))), Errc::unknown_task) << "not yet";
    EXPECT_EQ(code_of(after(TaskId(100000, 1))), Errc::unknown_task);
    EXPECT_EQ(Scheduler::current()->live_tasks(), 1u);
    co_return;
  };
  run_program(program);
}

TEST(After, T19_AnIdOfATaskThatIsForgottenIsAnErrorThatSaysSo) {
  const auto program = []() -> Task<void> {
    const auto f = []() -> Task<void> { co_return; };
    const TaskId first = spawn(f).id();
    const TaskId second = spawn(f).id();
    co_await sleep(1ms);
    auto reuses = spawn(f);
    EXPECT_EQ(reuses.id().slot(), second.slot());
    for (const TaskId gone : {first, second}) {
      const auto error = thrown_by([&] { spawn.after(gone)(f); });
      EXPECT_EQ(code_of(error), Errc::stale_handle);
      EXPECT_NE(what_of(error).find("which has ended and is forgotten"), std::string::npos);
    }
    auto kept = spawn(f);
    const TaskId id = kept.id();
    co_await kept;
    co_await spawn.after(id)(f);  // its handle keeps it known
  };
  run_program(program);
}

TEST(After, T19_AnEmptyHandleIsAnErrorAtTheCall) {
  const auto program = []() -> Task<void> {
    const auto error = thrown_by([] { static_cast<void>(spawn.after(Handle<int>())); });
    EXPECT_EQ(code_of(error), Errc::stale_handle);
    co_return;
  };
  run_program(program);
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(spawn.after(TaskId(1, 1))); })),
            Errc::no_task);
}

// ---- Failure ----

TEST(After, T19_ByDefaultTheDependantsOfAFailedTaskAreSkippedWithTheReason) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto bad = spawn(breaks, 5).named("bad");
    auto slow = spawn(step, std::ref(trace), "slow", 50);
    auto skipped = spawn.after(slow, bad)(step, std::ref(trace), "skipped", 1).named("next");
    auto in_turn = spawn.after(skipped)(step, std::ref(trace), "in turn", 1);
    const auto end = co_await skipped.outcome();
    EXPECT_EQ(now(), Time(5ms)) << "it need not wait for the other one";
    EXPECT_TRUE(end.cancelled());
    EXPECT_NE(
        what_of(end.error()).find("it comes after task #2 \"bad\", which failed (dependency)"),
        std::string::npos)
        << what_of(end.error());
    const auto next = co_await in_turn.outcome();
    EXPECT_NE(what_of(next.error()).find("it comes after task #4 \"next\", which was cancelled"),
              std::string::npos)
        << what_of(next.error());
    EXPECT_TRUE((co_await bad.outcome()).failed());
    // What is known to have failed is not waited for either.
    auto late = spawn.after(slow, bad)(step, std::ref(trace), "late", 1);
    EXPECT_TRUE((co_await late.outcome()).cancelled());
    EXPECT_EQ(now(), Time(5ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+slow", "-slow"}));
}

TEST(After, T19_DependantsCanRunHoweverTheOthersEnd) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto bad = spawn(breaks, 5);
    auto stopped = spawn(step, std::ref(trace), "stopped", 50);
    auto clean =
        spawn.after(bad, stopped).if_failed(IfFailed::run)(step, std::ref(trace), "clean up", 1);
    co_await sleep(10ms);
    stopped.cancel();
    EXPECT_EQ(co_await clean, 1);
    EXPECT_EQ(now(), Time(11ms));
    EXPECT_EQ(what_of(co_await error_of(bad)), "broke");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+stopped", "+clean up", "-clean up"}));
}

TEST(After, T19_DependantsCanFailWithTheError) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto bad = spawn(breaks, 5).named("bad");
    auto next =
        spawn.after(bad).if_failed(IfFailed::fail)(step, std::ref(trace), "next", 1).named("next");
    const auto end = co_await next.outcome();
    EXPECT_TRUE(end.failed());
    EXPECT_EQ(what_of(end.error()),
              "The task #3 \"next\" was not begun, because task #2 \"bad\", which it comes after, "
              "did not complete: broke");
    try {
      std::rethrow_exception(end.error());
    } catch (const DependencyFailed& failed) {
      EXPECT_EQ(failed.code(), Errc::dependency_failed);
      EXPECT_EQ(what_of(failed.cause()), "broke");
    }
  };
  run_program(program);
  EXPECT_EQ(trace, Trace());
}

TEST(After, T19_AFailedDependencyThatNobodyLookedAtIsStillReported) {
  Trace lines;
  Trace trace;
  const auto program = [&]() -> Task<void> {
    spawn.after(spawn(breaks, 5))(step, std::ref(trace), "never", 1);
    co_return;
  };
  run_program(program, Options().virtual_time().log_to(
                           [&](const LogLine& line) { lines.emplace_back(line.message); }));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("broke"), std::string::npos);
}

TEST(After, T19_ALongChainOfSkipsUsesNoStack) {
  constexpr int kTasks = 200000;
  EXPECT_SURVIVES([] {
    Scheduler scheduler(silent());
    {
      Handle<int> last = scheduler.spawn(breaks, 1);
      Trace trace;
      for (int i = 0; i < kTasks; ++i)
        last = scheduler.spawn.after(last)(step, std::ref(trace), "x", 1);
      scheduler.run();
      EXPECT_EQ(last.state(), TaskState::cancelled);
      EXPECT_EQ(trace, Trace());
    }
    expect_nothing_left(scheduler);
  });
}

// ---- Cancel ----

TEST(After, T19_CancelledWhileItWaitsItNeverBegins) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto a = spawn(step, std::ref(trace), "a", 10);
    auto argument = std::make_shared<int>(1);
    const auto holds = [](std::shared_ptr<int>) -> Task<void> { co_return; };
    auto b = spawn.after(a)(holds, argument);
    auto c = spawn.after(b).if_failed(IfFailed::run)(step, std::ref(trace), "c", 1);
    EXPECT_EQ(argument.use_count(), 2);
    b.cancel("not needed");
    EXPECT_EQ(b.state(), TaskState::cancelled);
    EXPECT_EQ(argument.use_count(), 1) << "its arguments are gone";
    co_await c;
    EXPECT_EQ(now(), Time(1ms));
    EXPECT_FALSE(a.done()) << "what it waited for goes on";
    b.cancel("twice");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+a", "+c", "-c", "-a"}));
}

TEST(After, T19_CancelledWhenItMayBeginItNeverBegins) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    for (const IfFailed policy : {IfFailed::skip, IfFailed::run, IfFailed::fail}) {
      for (const bool works : {true, false}) {
        Promise<int> promise;
        auto b = spawn.after(promise.future()).if_failed(policy)(step, std::ref(trace), "b", 1);
        if (works) promise.complete(1);
        if (!works) promise.fail(std::make_exception_ptr(std::runtime_error("broke")));
        EXPECT_EQ(b.state(), TaskState::pending);
        b.cancel("too late");
        const auto end = co_await b.outcome();
        EXPECT_TRUE(end.cancelled());
      }
    }
  };
  run_program(program);
  EXPECT_EQ(trace, Trace());
}

TEST(After, T19_CancelledAfterItBeganItIsATaskLikeAnyOther) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto a = spawn(step, std::ref(trace), "a", 1);
    auto b = spawn.after(a)(step, std::ref(trace), "b", 10);
    co_await sleep(5ms);
    EXPECT_TRUE((co_await cancel_and_join(b)).cancelled());
    auto c = spawn.after(a)(step, std::ref(trace), "c", 1);
    co_await c;
    c.cancel();
    EXPECT_EQ(co_await c, 1);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+a", "-a", "+b", "+c", "-c"}));
}

TEST(After, T19_AScopeThatIsCancelledTakesThoseThatWaitAlong) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto outside = spawn(step, std::ref(trace), "outside", 20);
    Handle<int> late;
    const auto block = [&]() -> Task<void> {
      co_await scope([&](Scope& s) -> Task<void> {
        s.spawn.after(outside)(step, std::ref(trace), "a", 1);
        auto b = s.spawn(step, std::ref(trace), "b", 30);
        s.spawn.after(b)(step, std::ref(trace), "c", 1);
        s.set_timeout(5ms);
        co_await sleep(10ms);
      });
    };
    EXPECT_EQ(code_of(co_await error_of(block())), Errc::scope_cancelled);
    EXPECT_EQ(now(), Time(5ms));
    const auto closed = [&]() -> Task<void> {
      co_await scope([&](Scope& s) -> Task<void> {
        s.cancel("over");
        late = s.spawn.after(outside)(step, std::ref(trace), "late", 1);
        co_return;
      });
    };
    co_await closed();
    EXPECT_EQ(late.state(), TaskState::cancelled);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"+outside", "+b", "-outside"}));
}

TEST(After, T19_ASchedulerThatGoesTakesThoseThatWaitAlong) {
  Trace trace;
  const auto hides = [&]() -> Task<void> {
    const auto forever = [&]() -> Task<void> {
      co_await scope([&](Scope& s) -> Task<void> {
        Promise<int> never;
        s.spawn.after(never.future())(step, std::ref(trace), "inner", 1);
        co_await never.future();
      });
    };
    for (;;) {
      try {
        co_await shield(forever());
      } catch (const Cancelled&) {
      }
    }
  };
  EXPECT_SURVIVES([&] {
    Handle<int> kept;
    {
      Scheduler scheduler(silent());
      auto a = scheduler.spawn(step, std::ref(trace), "a", 10);
      kept = scheduler.spawn.after(a)(step, std::ref(trace), "b", 1);
      scheduler.spawn.after(kept).if_failed(IfFailed::fail)(step, std::ref(trace), "c", 1);
      scheduler.spawn(hides);
      scheduler.run_until(Time(1ms));
    }
    EXPECT_EQ(kept.state(), TaskState::cancelled);
    EXPECT_EQ(trace, Trace({"+a"}));
  });
}

// ---- Reports ----

TEST(After, W8_ADeadlockReportShowsWhatATaskWaitsForBeforeItBegins) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  const auto stuck = []() -> Task<int> {
    Promise<int> never;
    co_return co_await never.future();
  };
  auto a = scheduler.spawn(stuck).named("stuck");
  auto b = scheduler.spawn.after(a)(step, std::ref(trace), "b", 1).named("next");
  auto c = scheduler.spawn.after(a, b)(step, std::ref(trace), "c", 1);
  const std::string report = what_of(thrown_by([&] { scheduler.run(); }));
  EXPECT_NE(report.find("the 3 tasks that are left"), std::string::npos) << report;
  EXPECT_NE(report.find("task #2 \"next\" waits for task #1 \"stuck\", before it begins\n      "
                        "spawned at dependency_test.cpp:"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("task #3 waits for task #1 \"stuck\" and task #2 \"next\", before it"),
            std::string::npos)
      << report;
}

TEST(After, W8_ALongListIsCutInReports) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  std::vector<Handle<int>> many;
  for (int i = 0; i < 10; ++i) many.push_back(scheduler.spawn(step, std::ref(trace), "x", 1));
  auto last = scheduler.spawn.after(many)(step, std::ref(trace), "last", 1);
  const std::string report = scheduler.wait_report();
  EXPECT_NE(report.find("task #8 and 2 more, before it begins"), std::string::npos) << report;
  scheduler.run();
}

TEST(After, W8_ATaskThatWaitsForItsOwnDependantIsACircle) {
  Scheduler scheduler(Options().virtual_time());
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto child = spawn.after(this_task::id())(step, std::ref(trace), "child", 1);
    co_await child;
  };
  scheduler.spawn(std::ref(program));
  const std::string report = what_of(thrown_by([&] { scheduler.run(); }));
  EXPECT_NE(report.find("They wait in a circle: task #1 -> task #2 -> task #1"), std::string::npos)
      << report;
}

// ---- Values ----

TEST(From, T19_HandsOverTheValuesBeforeTheOtherArguments) {
  const auto program = []() -> Task<void> {
    const auto number = []() -> Task<int> { co_return 20; };
    const auto text = []() -> Task<std::string> { co_return std::string("a text that is long"); };
    const auto join = [](int n, const std::string& s, const std::string& end,
                         int m) -> Task<std::string> {
      co_await sleep(1ms);  // the references stay good
      co_return std::to_string(n + m) + s + end;
    };
    auto a = spawn(number);
    auto b = spawn(text);
    auto c = spawn.from(a, b)(join, "!", 1);
    auto d = spawn.from(c)([](auto value) -> Task<std::size_t> { co_return value.size(); });
    EXPECT_EQ(co_await c, "21a text that is long!");
    EXPECT_EQ(co_await d, 22u);
    EXPECT_EQ(co_await b, "a text that is long") << "its handle still has it";
  };
  run_program(program);
}

TEST(From, T19_AConvertedArgumentIsKept) {
  const auto program = []() -> Task<void> {
    const auto number = []() -> Task<const char*> { co_return "from a literal"; };
    const auto takes = [](const std::string& value, const std::string& more) -> Task<std::string> {
      co_await sleep(1ms);
      co_return value + more;
    };
    char buffer[] = " and a buffer";
    auto a = spawn(number);
    auto b = spawn.from(a)(takes, static_cast<const char*>(buffer));
    buffer[1] = '?';
    EXPECT_EQ(co_await b, "from a literal and a buffer");
  };
  run_program(program);
}

TEST(From, T19_AValueThatCanOnlyBeMovedIsTaken) {
  const auto program = []() -> Task<void> {
    const auto makes = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
    const auto takes = [](std::unique_ptr<int> box) -> Task<int> { co_return *box; };
    auto box = spawn(makes);
    EXPECT_EQ(co_await spawn.from(box)(takes), 7);
    EXPECT_EQ(code_of(co_await error_of(std::move(box))), Errc::value_taken);
  };
  run_program(program);
}

TEST(From, T19_WithoutTheValueThereIsNothingToBegin) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto takes = [&](int) -> Task<void> {
      trace.push_back("began");
      co_return;
    };
    auto bad = spawn(breaks, 1);
    auto skipped = spawn.from(bad)(takes);
    auto failed = spawn.from(bad).if_failed(IfFailed::fail)(takes);
    auto ran = spawn.from(bad).if_failed(IfFailed::run)(takes);
    EXPECT_TRUE((co_await skipped.outcome()).cancelled());
    EXPECT_EQ(code_of(co_await error_of(failed)), Errc::dependency_failed);
    EXPECT_EQ(what_of(co_await error_of(ran)), "broke");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace());
}

TEST(From, T19_ComesAfterOthersToo) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto a = spawn(step, std::ref(trace), "a", 5);
    auto b = spawn(step, std::ref(trace), "b", 10);
    const auto takes = [&](int value) -> Task<int> { co_return value + 1; };
    auto c = spawn.from(a).after(b)(takes);
    EXPECT_EQ(co_await c, 6);
    EXPECT_EQ(now(), Time(10ms));
  };
  run_program(program);
}

}  // namespace dependency_test
}  // namespace tiffany
