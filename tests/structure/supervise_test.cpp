#include "tiffany/structure/supervise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace supervise_test {

using namespace test;

// What the children do and what the supervisor says, in one list.
class Stage {
 public:
  Trace trace;
  Trace said;

  Options options() {
    return Options().virtual_time().log_to(
        [this](const LogLine& line) { said.emplace_back(line.message); });
  }
  void note(const std::string& what) {
    trace.push_back(std::to_string(now().time_since_epoch() / 1ms) + " " + what);
  }
  int starts(const std::string& name) { return starts_[name]; }

  // Takes its time to stop.
  Task<void> slow(std::string name, int stops_in_ms) {
    note("+" + name);
    bool cancelled = false;
    try {
      co_await sleep(1h);
    } catch (const Cancelled& why) {
      EXPECT_EQ(why.reason().cause, CancelCause::supervisor);
      cancelled = true;
    }
    if (cancelled) co_await shield(pause(stops_in_ms));
    note("-" + name);
    co_await checkpoint();
  }
  static Task<void> pause(int ms) { co_await sleep(std::chrono::milliseconds(ms)); }

  // Runs for so long in each life; then it fails, unless it has had all of them.
  Task<void> worker(std::string name, std::vector<int> lives_ms) {
    const std::size_t life = static_cast<std::size_t>(starts_[name]++);
    note("+" + name);
    const Gone gone(*this, name);
    if (life >= lives_ms.size()) co_await sleep(1h);
    co_await sleep(std::chrono::milliseconds(lives_ms[life]));
    throw std::runtime_error(name + " broke");
  }

 private:
  class Gone {
   public:
    Gone(Stage& stage, std::string name) : stage_(stage), name_(std::move(name)) {}
    Gone(const Gone&) = delete;
    Gone& operator=(const Gone&) = delete;
    ~Gone() { stage_.note("-" + name_); }

   private:
    Stage& stage_;
    std::string name_;
  };

  std::map<std::string, int> starts_;
};

// Three children of which the one in the middle fails at 10 ms; the whole is cancelled at 50 ms.
Trace three_children(RestartStrategy strategy) {
  Stage stage;
  const auto tree = [&]() -> Task<void> {
    co_await supervise(Supervision(strategy), [&](Supervisor& s) {
      s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{});
      s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{10});
      s.permanent("c", &Stage::worker, &stage, "c", std::vector<int>{});
    });
  };
  const auto program = [&]() -> Task<void> {
    const Timed<void> timed = co_await within(50ms, tree());
    EXPECT_TRUE(timed.timed_out());
    stage.note("over");
  };
  run_program(program, stage.options());
  return stage.trace;
}

// ---- Strategies ----

TEST(Supervise, T11_OneForOneRestartsTheChildThatFailed) {
  EXPECT_EQ(
      three_children(RestartStrategy::one_for_one),
      Trace({"0 +a", "0 +b", "0 +c", "10 -b", "10 +b", "50 -c", "50 -b", "50 -a", "50 over"}));
}

TEST(Supervise, T11_OneForAllStopsTheOthersLastFirstAndStartsAllFirstFirst) {
  EXPECT_EQ(three_children(RestartStrategy::one_for_all),
            Trace({"0 +a", "0 +b", "0 +c", "10 -b", "10 -c", "10 -a", "10 +a", "10 +b", "10 +c",
                   "50 -c", "50 -b", "50 -a", "50 over"}));
}

TEST(Supervise, T11_RestForOneRestartsThoseAddedAfterTheOneThatFailed) {
  EXPECT_EQ(three_children(RestartStrategy::rest_for_one),
            Trace({"0 +a", "0 +b", "0 +c", "10 -b", "10 -c", "10 +b", "10 +c", "50 -c", "50 -b",
                   "50 -a", "50 over"}));
}

TEST(Supervise, T11_SiblingsAreStoppedOneAfterTheOther) {
  Stage stage;
  const auto tree = [&]() -> Task<void> {
    co_await supervise(Supervision(RestartStrategy::one_for_all), [&](Supervisor& s) {
      s.permanent("a", &Stage::slow, &stage, "a", 2);
      s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{10});
      s.permanent("c", &Stage::slow, &stage, "c", 3);
    });
  };
  const auto program = [&]() -> Task<void> { co_await within(20ms, tree()); };
  run_program(program, stage.options());
  EXPECT_EQ(stage.trace, Trace({"0 +a", "0 +b", "0 +c", "10 -b", "13 -c", "15 -a", "15 +a", "15 +b",
                                "15 +c", "23 -c", "23 -b", "25 -a"}));
}

// ---- Kinds of children ----

TEST(Supervise, T11_EndsWhenAllChildrenHaveEndedForGood) {
  Stage stage;
  Trace runs;
  const auto returns = [&](std::string name) -> Task<int> {
    runs.push_back(name);
    co_await sleep(1ms);
    co_return 7;
  };
  const auto fails_once = [&](std::string name) -> Task<void> {
    runs.push_back(name);
    co_await sleep(2ms);
    if (std::count(runs.begin(), runs.end(), name) == 1) throw std::runtime_error("first time");
  };
  const auto program = [&]() -> Task<void> {
    co_await supervise(Supervision(RestartStrategy::one_for_one), [&](Supervisor& s) {
      s.transient("returns", returns, "returns");
      s.transient("fails once", fails_once, "fails once");
      s.temporary("temporary", fails_once, "temporary");
    });
    EXPECT_EQ(now(), Time(4ms));
    co_await supervise(Supervision(RestartStrategy::one_for_all), [](Supervisor&) {});
    EXPECT_EQ(now(), Time(4ms));
  };
  run_program(program, stage.options());
  EXPECT_EQ(runs, Trace({"returns", "fails once", "temporary", "fails once"}));
  EXPECT_EQ(stage.said,
            Trace({"child \"fails once\" failed: first time. Restart 1 of 1 within 5 s: \"fails "
                   "once\" at once.",
                   "child \"temporary\" failed: first time. It is temporary, and not started "
                   "again."}));
}

TEST(Supervise, T11_APermanentChildThatReturnsIsRestartedAndThatCounts) {
  Stage stage;
  int runs = 0;
  const auto returns = [&]() -> Task<void> {
    ++runs;
    co_await sleep(1ms);
  };
  const auto program = [&]() -> Task<void> {
    std::exception_ptr error;
    try {
      co_await supervise(Supervision(RestartStrategy::one_for_one).intensity(3, 1s),
                         [&](Supervisor& s) { s.permanent("short", returns); });
    } catch (const SupervisionFailed& failed) {
      error = std::current_exception();
      EXPECT_EQ(failed.history().size(), 4u);
      EXPECT_EQ(failed.history().back().error, nullptr);
      EXPECT_NE(std::string(failed.what()).find("4 ms: child \"short\" returned (number 4)"),
                std::string::npos);
    }
    EXPECT_EQ(code_of(error), Errc::supervision_failed);
    EXPECT_EQ(now(), Time(4ms));
  };
  run_program(program, stage.options());
  EXPECT_EQ(runs, 4);
}

TEST(Supervise, T11_AChildThatIsCancelledByOthersComesBackOnlyIfItIsPermanent) {
  Stage stage;
  std::vector<TaskId> ids;
  const auto waits = [&]() -> Task<void> {
    ids.push_back(this_task::id());
    co_await sleep(10ms);
    if (ids.size() > 2) throw std::runtime_error("enough");
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_one), [&](Supervisor& s) {
        s.permanent("permanent", waits);
        s.transient("transient", waits);
      });
    };
    auto supervisor = spawn(tree);
    co_await sleep(1ms);
    EXPECT_TRUE(Scheduler::current()->cancel(ids.at(0), "stop"));
    EXPECT_TRUE(Scheduler::current()->cancel(ids.at(1), "stop"));
    const auto error = co_await error_of(supervisor);
    EXPECT_EQ(code_of(error), Errc::supervision_failed);
  };
  run_program(program, stage.options());
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(stage.said.size(), 1u);
}

TEST(Supervise, T11_WhoHasEndedForGoodIsNotBroughtBackByTheRestartOfOthers) {
  Stage stage;
  Trace runs;
  const auto returns = [&](std::string name) -> Task<void> {
    runs.push_back(name);
    co_await sleep(name == "stopped" ? 20ms : 1ms);
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_all), [&](Supervisor& s) {
        s.transient("done", returns, "done");
        s.temporary("stopped", returns, "stopped");
        s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{5});
      });
    };
    co_await within(30ms, tree());
  };
  run_program(program, stage.options());
  EXPECT_EQ(runs, Trace({"done", "stopped"}));
  EXPECT_EQ(stage.trace, Trace({"0 +b", "5 -b", "5 +b", "30 -b"}));
}

TEST(Supervise, T11_WhoReturnsAtTheMomentAnotherFailsHasEndedForGood) {
  Stage stage;
  int runs = 0;
  const auto returns = [&]() -> Task<void> {
    ++runs;
    co_await sleep(5ms);
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_all), [&](Supervisor& s) {
        s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{5});
        s.transient("returns", returns);
      });
    };
    co_await within(30ms, tree());
  };
  run_program(program, stage.options());
  EXPECT_EQ(runs, 1);
}

TEST(Supervise, T11_ASiblingThatAnswersTheCancelByReturningIsStillRestarted) {
  Stage stage;
  int runs = 0;
  const auto polite = [&]() -> Task<void> {
    ++runs;
    try {
      co_await sleep(1h);
    } catch (const Cancelled&) {
    }
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_all), [&](Supervisor& s) {
        s.transient("polite", polite);
        s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{5});
      });
    };
    co_await within(30ms, tree());
  };
  run_program(program, stage.options());
  EXPECT_EQ(runs, 2);
}

// ---- Arguments ----

TEST(Supervise, T11_EveryStartGetsAFreshCopyOfTheArguments) {
  Stage stage;
  Trace seen;
  const auto eats = [&](std::string text, std::vector<int>& numbers) -> Task<void> {
    seen.push_back(text + std::to_string(numbers.size()));
    text += "!";
    numbers.push_back(1);
    co_await yield();
    throw std::runtime_error("again");
  };
  const auto take_ref = [&](std::string text, std::vector<int>&& numbers) -> Task<void> {
    return eats(std::move(text), numbers);
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(
          Supervision(RestartStrategy::one_for_one).intensity(2, 1s),
          [&](Supervisor& s) { s.permanent("eats", take_ref, "text", std::vector<int>{7, 8}); });
    };
    const auto error = co_await error_of(tree());
    EXPECT_EQ(code_of(error), Errc::supervision_failed);
  };
  run_program(program, stage.options());
  EXPECT_EQ(seen, Trace({"text2", "text2", "text2"}));
}

TEST(Supervise, T11_ArgumentsThatCannotBeCopiedAreAFailureOfTheChild) {
  struct Fragile {
    Fragile() = default;
    Fragile(const Fragile& other) : copies(other.copies) {
      if (--*copies < 0) throw std::runtime_error("no more copies");
    }
    Fragile(Fragile&&) = default;
    std::shared_ptr<int> copies = std::make_shared<int>(2);
  };
  Stage stage;
  int runs = 0;
  const auto works = [&](const Fragile&) -> Task<void> {
    ++runs;
    co_await sleep(1ms);
    throw std::runtime_error("failed");
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_one).intensity(3, 1s),
                         [&](Supervisor& s) { s.permanent("works", works, Fragile()); });
    };
    try {
      co_await tree();
    } catch (const SupervisionFailed& failed) {
      Trace what;
      for (const ChildFailure& one : failed.history()) what.push_back(what_of(one.error));
      EXPECT_EQ(what, Trace({"failed", "failed", "no more copies", "no more copies"}));
    }
  };
  run_program(program, stage.options());
  EXPECT_EQ(runs, 2);
}

TEST(Supervise, T11_WhatAChildSpawnsEndsWithItAndFailsIt) {
  Stage stage;
  const auto parent = [&]() -> Task<void> {
    spawn(&Stage::worker, &stage, "x", std::vector<int>{5, 5});
    spawn(&Stage::worker, &stage, "y", std::vector<int>{});
    co_await sleep(1h);
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_one),
                         [&](Supervisor& s) { s.permanent("parent", parent); });
    };
    const auto error = co_await error_of(tree());
    EXPECT_EQ(code_of(error), Errc::supervision_failed);
  };
  run_program(program, stage.options());
  EXPECT_EQ(stage.trace, Trace({"0 +x", "0 +y", "5 -x", "5 -y", "5 +x", "5 +y", "10 -x", "10 -y"}));
}

// ---- Intensity ----

// When a child that lives for 10 ms each time makes its supervisor give up, and after how many
// starts.
struct End {
  int starts = 0;
  Time when{};
  std::size_t failures = 0;
};
End end_of(std::uint32_t restarts, Duration period, Options options = Options().virtual_time()) {
  End end;
  const auto fails = [&]() -> Task<void> {
    ++end.starts;
    co_await sleep(10ms);
    throw std::runtime_error("failed");
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_one).intensity(restarts, period),
                         [&](Supervisor& s) { s.permanent("fails", fails); });
    };
    try {
      co_await within(1s, tree());
    } catch (const SupervisionFailed& failed) {
      end.when = now();
      end.failures = failed.history().size();
    }
  };
  run_program(program, std::move(options).log_to([](const LogLine&) {}));
  return end;
}

TEST(Supervise, T11_GivesUpAtExactlyOneRestartMoreThanAllowed) {
  for (std::uint32_t restarts = 0; restarts < 6; ++restarts) {
    const End end = end_of(restarts, 10s);
    EXPECT_EQ(end.starts, static_cast<int>(restarts) + 1);
    EXPECT_EQ(end.when, Time((restarts + 1) * 10ms));
    EXPECT_EQ(end.failures, restarts + 1);
  }
}

TEST(Supervise, T11_TheStretchOfTimeSlidesAndIncludesBothItsEnds) {
  // Failures at 10, 20, 30, ... ms: two restarts are allowed, the third is 20 ms after the first.
  EXPECT_EQ(end_of(2, 20ms).starts, 3);
  EXPECT_EQ(end_of(2, 20ms - 1ns).starts, 100) << "never more than two at a time, for one second";
}

TEST(Supervise, T11_TheHistoryKeepsTheLastHundred) {
  const End end = end_of(2, 20ms - 1ns);
  EXPECT_EQ(end.failures, 0u);
  const End many = end_of(98, 10s);
  EXPECT_EQ(many.failures, 99u);
  Stage stage;
  const auto program = [&]() -> Task<void> {
    int left = 120;
    const auto fails = [&]() -> Task<void> {
      co_await sleep(left-- > 0 ? 10ms : 1ns);
      throw std::runtime_error("failed");
    };
    try {
      co_await supervise(Supervision(RestartStrategy::one_for_one).intensity(2, 15ms),
                         [&](Supervisor& s) { s.permanent("fails", fails); });
    } catch (const SupervisionFailed& failed) {
      EXPECT_EQ(failed.history().size(), 100u);
      EXPECT_EQ(failed.history().back().times, 121u);
    }
  };
  run_program(program, stage.options());
}

TEST(Supervise, T11_TheErrorTellsTheWholeStory) {
  Stage stage;
  std::string what;
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(
          Supervision(RestartStrategy::one_for_one).intensity(2, 10s), [&](Supervisor& s) {
            s.permanent("db", &Stage::worker, &stage, "db", std::vector<int>{1500, 1500});
            s.permanent("cache", &Stage::worker, &stage, "cache", std::vector<int>{2000});
          });
    };
    what = what_of(co_await error_of(tree()));
  };
  run_program(program, stage.options());
  const std::size_t line = what.find("supervise_test.cpp:");
  ASSERT_NE(line, std::string::npos);
  what.erase(line + 19, what.find(' ', line) - line - 19);
  EXPECT_EQ(what,
            "The supervisor at supervise_test.cpp: gave up: child \"db\" would have to be "
            "restarted, but no more than 2 restarts are allowed within 10 s. "
            "All its children have ended. What happened, by the time since it began:\n"
            "  1.5 s: child \"db\" failed (number 1): db broke\n"
            "  2 s: child \"cache\" failed (number 1): cache broke\n"
            "  3 s: child \"db\" failed (number 2): db broke");
}

// ---- Back-off ----

TEST(Supervise, T11_TheWaitDoublesUpToItsLimitAndBeginsAnewWhenTheChildStaysUp) {
  Stage stage;
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(
          Supervision(RestartStrategy::one_for_one).intensity(10, 1s).backoff(10ms, 35ms),
          [&](Supervisor& s) {
            s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{0, 0, 0, 0, 1000, 0});
            s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{});
          });
    };
    co_await within(1200ms, tree());
  };
  run_program(program, stage.options());
  // 10, 20, 35 (instead of 40), 35; then it stayed up for a second: 10, 20.
  EXPECT_EQ(stage.trace,
            Trace({"0 +a", "0 +b", "0 -a", "10 +a", "10 -a", "30 +a", "30 -a", "65 +a", "65 -a",
                   "100 +a", "1100 -a", "1110 +a", "1110 -a", "1130 +a", "1200 -b", "1200 -a"}));
  EXPECT_EQ(stage.said.at(2),
            "child \"a\" failed: a broke. Restart 3 of 10 within 1 s: \"a\" in 35 ms.");
}

TEST(Supervise, T11_ChildrenBackOffEachForItself) {
  Stage stage;
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(
          Supervision(RestartStrategy::one_for_one).intensity(9, 1s).backoff(10ms, 80ms),
          [&](Supervisor& s) {
            s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{0, 0});
            s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{15});
            s.permanent("c", &Stage::worker, &stage, "c", std::vector<int>{25});
          });
    };
    co_await within(50ms, tree());
  };
  run_program(program, stage.options());
  // a waits from 0 to 10 and from 10 to 30, b from 15 to 25, c from 25 to 35.
  EXPECT_EQ(stage.trace, Trace({"0 +a", "0 +b", "0 +c", "0 -a", "10 +a", "10 -a", "15 -b", "25 -c",
                                "25 +b", "30 +a", "35 +c", "50 -c", "50 -b", "50 -a"}));
}

TEST(Supervise, T11_CancelledWhileBackingOffItStartsNobodyAgain) {
  Stage stage;
  Scheduler* scheduler = nullptr;
  const auto program = [&]() -> Task<void> {
    scheduler = Scheduler::current();
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_all).backoff(1h, 1h),
                         [&](Supervisor& s) {
                           s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{5});
                           s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{});
                         });
    };
    auto supervisor = spawn(tree);
    co_await sleep(20ms);
    EXPECT_EQ(scheduler->live_tasks(), 2u) << "nobody but the supervisor is left";
    EXPECT_NE(scheduler->wait_report().find(
                  "waits for the restart of child \"a\" or the restart of child \"b\""),
              std::string::npos)
        << scheduler->wait_report();
    const auto end = co_await cancel_and_join(supervisor);
    EXPECT_TRUE(end.cancelled());
    EXPECT_EQ(now(), Time(20ms));
    EXPECT_EQ(scheduler->armed_timers(), 0u);
  };
  run_program(program, stage.options());
  EXPECT_EQ(stage.trace, Trace({"0 +a", "0 +b", "5 -a", "5 -b"}));
}

TEST(Supervise, T11_AnEarlierChildThatFailsDuringABackOffTakesTheWaitingOnesAlong) {
  Stage stage;
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(
          Supervision(RestartStrategy::rest_for_one).intensity(5, 1s).backoff(10ms, 80ms),
          [&](Supervisor& s) {
            s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{25});
            s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{2, 8});
            s.permanent("c", &Stage::worker, &stage, "c", std::vector<int>{});
          });
    };
    co_await within(60ms, tree());
  };
  run_program(program, stage.options());
  // b fails at 2 (back at 12) and at 20 (back at 40); a fails at 25 and would be back at 35, but
  // waits for b, so that they start in their order.
  EXPECT_EQ(stage.trace,
            Trace({"0 +a", "0 +b", "0 +c", "2 -b", "2 -c", "12 +b", "12 +c", "20 -b", "20 -c",
                   "25 -a", "40 +a", "40 +b", "40 +c", "60 -c", "60 -b", "60 -a"}));
}

TEST(Supervise, T11_NobodyWakesForATimeThatWasPutOff) {
  Stage stage;
  Scheduler scheduler(stage.options());
  const auto tree = [&]() -> Task<void> {
    co_await supervise(
        Supervision(RestartStrategy::rest_for_one).intensity(3, 1min).backoff(10ms, 10ms),
        [&](Supervisor& s) {
          s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{5});
          s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{1});
        });
  };
  scheduler.spawn(tree);
  scheduler.run_until(Time(10ms));
  const std::uint64_t slices = scheduler.slices();
  // The restart of b at 11 ms was put off to that of a at 15 ms.
  scheduler.run_until(Time(14ms));
  EXPECT_EQ(scheduler.slices(), slices);
  scheduler.run_until(Time(15ms));
  EXPECT_EQ(stage.trace, Trace({"0 +a", "0 +b", "1 -b", "5 -a", "15 +a", "15 +b"}));
}

TEST(Supervise, T11_NonsenseTimesAreRefused) {
  const auto program = []() -> Task<void> {
    const auto refused = [](Supervision how) {
      return code_of(thrown_by([&] { static_cast<void>(supervise(how, [](Supervisor&) {})); }));
    };
    EXPECT_EQ(refused(Supervision(RestartStrategy::one_for_one).intensity(1, -1ns)),
              Errc::bad_argument);
    EXPECT_EQ(refused(Supervision(RestartStrategy::one_for_one).backoff(-1ns, 1s)),
              Errc::bad_argument);
    EXPECT_EQ(refused(Supervision(RestartStrategy::one_for_one).backoff(2s, 1s)),
              Errc::bad_argument);
    EXPECT_EQ(refused(Supervision(RestartStrategy::one_for_one)), std::nullopt);
    co_return;
  };
  run_program(program);
  EXPECT_EQ(
      code_of(thrown_by([] {
        static_cast<void>(supervise(Supervision(RestartStrategy::one_for_one), [](Supervisor&) {}));
      })),
      Errc::no_task);
}

// ---- Failures inside a restart ----

TEST(Supervise, T11_ASiblingThatFailsWhileItIsStoppedIsWrittenDownAndRestarted) {
  Stage stage;
  int runs = 0;
  const auto bad_loser = [&]() -> Task<void> {
    ++runs;
    try {
      co_await sleep(1h);
    } catch (const Cancelled&) {
      throw std::runtime_error("could not clean up");
    }
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_all), [&](Supervisor& s) {
        s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{5, 5});
        s.permanent("bad", bad_loser);
        s.permanent("c", &Stage::worker, &stage, "c", std::vector<int>{});
      });
    };
    try {
      co_await tree();
    } catch (const SupervisionFailed& failed) {
      Trace story;
      for (const ChildFailure& one : failed.history()) {
        story.push_back(one.child + " " + std::to_string(one.times) + " " + what_of(one.error));
      }
      EXPECT_EQ(story, Trace({"a 1 a broke", "bad 1 could not clean up", "a 2 a broke",
                              "bad 2 could not clean up"}));
    }
  };
  run_program(program, stage.options());
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(stage.trace, Trace({"0 +a", "0 +c", "5 -a", "5 -c", "5 +a", "5 +c", "10 -a", "10 -c"}));
  EXPECT_EQ(stage.said.at(0), "child \"bad\" failed: could not clean up. It was being stopped.");
}

TEST(Supervise, T11_ChildrenThatFailAtTheSameTimeAreOneRestart) {
  Stage stage;
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_all).intensity(1, 1s),
                         [&](Supervisor& s) {
                           s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{5});
                           s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{5});
                           s.transient("c", &Stage::worker, &stage, "c", std::vector<int>{5});
                         });
    };
    EXPECT_TRUE((co_await within(20ms, tree())).timed_out());
  };
  run_program(program, stage.options());
  EXPECT_EQ(stage.trace, Trace({"0 +a", "0 +b", "0 +c", "5 -a", "5 -b", "5 -c", "5 +a", "5 +b",
                                "5 +c", "20 -c", "20 -b", "20 -a"}));
}

TEST(Supervise, T11_AChildThatCrashesAtOnceDuringARestartDoesNotLoseItsSiblings) {
  Stage stage;
  int starts = 0;
  const auto crash_early = [&]() -> Task<void> {
    if (++starts < 4) throw std::runtime_error("at once");
    stage.note("+crash");
    co_await sleep(1h);
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_all).intensity(3, 1s),
                         [&](Supervisor& s) {
                           s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{});
                           s.permanent("crash", crash_early);
                           s.permanent("c", &Stage::worker, &stage, "c", std::vector<int>{});
                         });
    };
    EXPECT_TRUE((co_await within(20ms, tree())).timed_out());
  };
  run_program(program, stage.options());
  EXPECT_EQ(starts, 4);
  EXPECT_EQ(stage.starts("a"), 4);
  EXPECT_EQ(stage.starts("c"), 4);
  const Trace end(stage.trace.end() - 5, stage.trace.end());
  EXPECT_EQ(end, Trace({"0 +a", "0 +crash", "0 +c", "20 -c", "20 -a"}));
}

TEST(Supervise, T11_CancelledWhileItStopsSiblingsItStopsTheRestAndRestartsNobody) {
  Stage stage;
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_all), [&](Supervisor& s) {
        s.permanent("a", &Stage::slow, &stage, "a", 1);
        s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{5});
        s.permanent("c", &Stage::slow, &stage, "c", 20);
      });
    };
    EXPECT_TRUE((co_await within(10ms, tree())).timed_out());
    EXPECT_EQ(now(), Time(26ms));
  };
  run_program(program, stage.options());
  EXPECT_EQ(stage.trace, Trace({"0 +a", "0 +b", "0 +c", "5 -b", "25 -c", "26 -a"}));
}

TEST(Supervise, T11_CancelledBeforeItStartsNoChildBegins) {
  Stage stage;
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      this_task::cancel("too late");
      co_await supervise(Supervision(RestartStrategy::one_for_one), [&](Supervisor& s) {
        s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{});
      });
    };
    auto supervisor = spawn(tree);
    EXPECT_TRUE((co_await supervisor.outcome()).cancelled());
  };
  run_program(program, stage.options());
  EXPECT_EQ(stage.trace, Trace());
}

// ---- Nesting ----

TEST(Supervise, T11_AnInnerSupervisorThatGivesUpIsAChildThatFailed) {
  Stage stage;
  Trace story;
  const auto inner = [&]() -> Task<void> {
    stage.note("+inner");
    co_await supervise(
        Supervision(RestartStrategy::one_for_one).intensity(1, 1s), [&](Supervisor& s) {
          s.permanent("x", &Stage::worker, &stage, "x", std::vector<int>{5, 5, 5, 5, 5, 5});
          s.permanent("y", &Stage::worker, &stage, "y", std::vector<int>{});
        });
  };
  const auto program = [&]() -> Task<void> {
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_one).intensity(1, 1s),
                         [&](Supervisor& s) {
                           s.permanent("inner", inner);
                           s.permanent("z", &Stage::worker, &stage, "z", std::vector<int>{});
                         });
    };
    try {
      co_await tree();
    } catch (const SupervisionFailed& failed) {
      EXPECT_EQ(failed.history().size(), 2u);
      for (const ChildFailure& one : failed.history()) {
        EXPECT_EQ(one.child, "inner");
        EXPECT_EQ(code_of(one.error), Errc::supervision_failed);
      }
    }
    EXPECT_EQ(now(), Time(20ms));
  };
  run_program(program, stage.options());
  ASSERT_EQ(stage.said.size(), 3u);
  EXPECT_NE(
      stage.said[1].find("no more than 1 restart is allowed within 1 s. Restart 1 of 1 within "
                         "1 s: \"inner\" at once."),
      std::string::npos)
      << stage.said[1];
  EXPECT_EQ(stage.trace,
            Trace({"0 +inner", "0 +z", "0 +x", "0 +y", "5 -x", "5 +x", "10 -x", "10 -y",
                   "10 +inner", "10 +x", "10 +y", "15 -x", "15 +x", "20 -x", "20 -y", "20 -z"}));
}

TEST(Supervise, T11_EverySeedOfTheOrderEndsInTheSameWay) {
  const auto story_of = [](std::uint64_t seed) {
    Stage stage;
    Trace story;
    const auto program = [&]() -> Task<void> {
      const auto tree = [&]() -> Task<void> {
        co_await supervise(
            Supervision(RestartStrategy::rest_for_one).intensity(4, 1s).backoff(3ms, 10ms),
            [&](Supervisor& s) {
              s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{31, 40});
              s.permanent("b", &Stage::worker, &stage, "b", std::vector<int>{12, 8});
              s.permanent("c", &Stage::worker, &stage, "c", std::vector<int>{50, 50, 50, 1});
              s.temporary("d", &Stage::worker, &stage, "d", std::vector<int>{7});
            });
      };
      try {
        co_await tree();
      } catch (const SupervisionFailed& failed) {
        for (const ChildFailure& one : failed.history()) {
          story.push_back(one.child + " " + std::to_string(one.when.time_since_epoch() / 1ms));
        }
      }
    };
    run_program(program, stage.options().order(random_order(seed)));
    std::sort(stage.trace.begin(), stage.trace.end());
    story.insert(story.end(), stage.trace.begin(), stage.trace.end());
    return story;
  };
  const Trace first = story_of(0);
  EXPECT_GE(first.size(), 15u);
  for (std::uint64_t seed = 1; seed < 100; ++seed) EXPECT_EQ(story_of(seed), first) << seed;
}

TEST(Supervise, T11_ChildrenHaveThePriorityThatIsAskedFor) {
  const auto program = []() -> Task<void> {
    const auto child = []() -> Task<void> {
      EXPECT_EQ(Scheduler::current()->running()->priority(), kSystemPriority);
      EXPECT_EQ(this_task::name(), "child");
      co_return;
    };
    co_await supervise(Supervision(RestartStrategy::one_for_one).priority(kSystemPriority),
                       [&](Supervisor& s) { s.transient("child", child); });
  };
  run_program(program);
}

TEST(Supervise, T11_AChildThatThereIsNoRoomForHasFailedAndIsTriedAgain) {
  Stage stage;
  const auto brief = [&](std::string name) -> Task<void> {
    stage.note("+" + name);
    co_await sleep(10ms);
  };
  const auto program = [&]() -> Task<void> {
    co_await supervise(Supervision(RestartStrategy::one_for_one).backoff(15ms, 15ms),
                       [&](Supervisor& s) {
                         s.transient("a", brief, "a");
                         s.transient("b", brief, "b");
                       });
  };
  run_program(program, stage.options().limit_tasks(2));
  EXPECT_EQ(stage.trace, Trace({"0 +a", "15 +b"}));
  ASSERT_EQ(stage.said.size(), 1u);
  EXPECT_EQ(stage.said[0].find("child \"b\" failed: A task was not spawned"), 0u) << stage.said[0];
}

TEST(Supervise, W8_AReportNamesTheChildrenThatAreWaitedFor) {
  Scheduler scheduler(Options().virtual_time());
  const auto stuck = []() -> Task<void> {
    Promise<int> never;
    co_await never.future();
  };
  const auto tree = [&]() -> Task<void> {
    co_await supervise(Supervision(RestartStrategy::one_for_one), [&](Supervisor& s) {
      s.permanent("one", stuck);
      s.permanent("two", stuck);
    });
  };
  scheduler.spawn(std::ref(tree)).named("supervisor");
  const std::string report = what_of(thrown_by([&] { scheduler.run(); }));
  EXPECT_NE(report.find("task #1 \"supervisor\" waits for task #2 \"one\" or task #3 \"two\""),
            std::string::npos)
      << report;
}

TEST(Supervise, T11_ASchedulerThatGoesTakesASupervisorWithIt) {
  Stage stage;
  {
    Scheduler scheduler(stage.options());
    const auto tree = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_all).backoff(1h, 1h),
                         [&](Supervisor& s) {
                           s.permanent("a", &Stage::worker, &stage, "a", std::vector<int>{5});
                           s.permanent("b", &Stage::slow, &stage, "b", 100);
                         });
    };
    scheduler.spawn(tree);
    scheduler.run_until(Time(6ms));
  }
  EXPECT_EQ(stage.trace.front(), "0 +a");
}

}  // namespace supervise_test
}  // namespace tiffany
