// gather, all_settled and race over handles and futures.
#include "tiffany/structure/combine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <list>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace group_test {

using namespace test;

Task<int> after_ms(int ms, int value) {
  co_await sleep(std::chrono::milliseconds(ms));
  co_return value;
}
Task<int> fails_after_ms(int ms, std::string why) {
  co_await sleep(std::chrono::milliseconds(ms));
  throw std::runtime_error(why);
}
Task<std::string> text_after_ms(int ms, std::string text) {
  co_await sleep(std::chrono::milliseconds(ms));
  co_return text;
}
Task<void> nothing_after_ms(int ms) { co_await sleep(std::chrono::milliseconds(ms)); }

// Awaits a gather, and gives what it throws.
template <class... Hs>
Task<std::exception_ptr> error_of_gather(Hs... handles) {
  std::exception_ptr error;
  try {
    co_await gather(handles...);
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  co_return error;
}
template <class... Hs>
Task<std::exception_ptr> error_of_race(Hs... handles) {
  std::exception_ptr error;
  try {
    co_await race(handles...);
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  co_return error;
}

// ---- gather ----

TEST(Gather, W1_ResultsComeInTheOrderOfTheArgumentsWhateverEndsFirst) {
  const auto program = []() -> Task<void> {
    std::vector<Handle<int>> handles;
    for (int i = 0; i < 5; ++i) handles.push_back(spawn(after_ms, 10 - i, i));
    const std::vector<int> values = co_await gather(handles);
    EXPECT_EQ(values, std::vector<int>({0, 1, 2, 3, 4}));
    EXPECT_EQ(now(), Time(10ms));
  };
  run_program(program);
}

TEST(Gather, W1_OverDifferentTypesAndVoid) {
  const auto program = []() -> Task<void> {
    auto a = spawn(after_ms, 3, 7);
    auto b = spawn(text_after_ms, 1, "seven");
    auto c = spawn(nothing_after_ms, 2);
    Promise<double> promise;
    promise.complete(0.5);
    auto all = co_await gather(a, b, c, promise.future());
    EXPECT_EQ(all.get<0>(), 7);
    EXPECT_EQ(all.get<1>(), "seven");
    EXPECT_EQ(all.get<2>(), Unit());
    EXPECT_EQ(all.get<3>(), 0.5);
    EXPECT_EQ(std::get<1>(all.tuple()), "seven");
  };
  run_program(program);
}

TEST(Gather, W1_OverAnyRangeOfHandles) {
  const auto program = []() -> Task<void> {
    std::list<Handle<int>> list;
    list.push_back(spawn(after_ms, 1, 1));
    list.push_back(spawn(after_ms, 1, 2));
    const std::vector<int> from_list = co_await gather(list);
    EXPECT_EQ(from_list, std::vector<int>({1, 2}));
    const std::array<Handle<int>, 2> array = {list.front(), list.back()};
    const std::vector<int> from_array = co_await gather(array);
    EXPECT_EQ(from_array, from_list);
    std::vector<Handle<void>> quiet;
    quiet.push_back(spawn(nothing_after_ms, 1));
    co_await gather(quiet);
    EXPECT_TRUE(quiet.front().done());
  };
  run_program(program);
}

TEST(Gather, W1_OfNothingIsNothing) {
  const auto program = []() -> Task<void> {
    const std::vector<int> none = co_await gather(std::vector<Handle<int>>());
    EXPECT_TRUE(none.empty());
    const auto ends = co_await all_settled(std::vector<Handle<int>>());
    EXPECT_TRUE(ends.empty());
  };
  run_program(program);
}

TEST(Gather, W1_TheSameWaitableTwiceGivesItsValueTwice) {
  const auto program = []() -> Task<void> {
    auto text = spawn(text_after_ms, 1, std::string(50, 'x'));
    const std::vector<Handle<std::string>> twice = {text, text, text};
    const auto values = co_await gather(twice);
    EXPECT_EQ(values, std::vector<std::string>(3, std::string(50, 'x')));
    auto fixed = co_await gather(text, text);  // after it ended
    EXPECT_EQ(fixed.get<0>(), fixed.get<1>());
  };
  run_program(program);
}

// B25: any pending child, not only the first listed.
TEST(Gather, W4_FailsFastWhileASiblingIsStillBlocked) {
  for (int failing = 0; failing < 3; ++failing) {
    const auto program = [&]() -> Task<void> {
      std::vector<Handle<int>> handles;
      for (int i = 0; i < 3; ++i) {
        handles.push_back(i == failing ? spawn(fails_after_ms, 1, "early")
                                       : spawn(after_ms, 100, i));
      }
      const auto error = co_await error_of_gather(handles);
      EXPECT_EQ(what_of(error), "early");
      EXPECT_EQ(now(), Time(1ms)) << "it did not wait for the others";
      handles.erase(handles.begin() + failing);
      for (const Handle<int>& sibling : handles) {
        EXPECT_EQ(sibling.state(), TaskState::blocked) << "siblings go on";
        EXPECT_FALSE(sibling.waitable().has_waiters()) << "interest in them was withdrawn";
      }
      co_await gather(handles);
      EXPECT_EQ(now(), Time(100ms));
    };
    run_program(program);
  }
}

// B29: also in one that may never finish.
TEST(Gather, W4_AFailureWithdrawsInterestInAPromiseThatIsNeverKept) {
  const auto program = []() -> Task<void> {
    Promise<int> never;
    auto failing = spawn(fails_after_ms, 1, "broken");
    const auto error = co_await error_of_gather(never.future(), failing, never.future());
    EXPECT_EQ(what_of(error), "broken");
    EXPECT_FALSE(never.future().waitable().has_waiters());
  };
  run_program(program);
}

// B24
TEST(Gather, W4_ACancelledChildRaisesTaskCancelledWheneverItWasCancelled) {
  const auto program = []() -> Task<void> {
    auto before = spawn(after_ms, 5, 1);
    before.cancel("before");
    auto good = spawn(after_ms, 5, 2);
    const auto first = co_await error_of_gather(good, before);
    EXPECT_EQ(code_of(first), Errc::task_cancelled);
    EXPECT_NE(what_of(first).find("before"), std::string::npos);

    auto during = spawn(after_ms, 5, 3);
    auto gathering = spawn(error_of_gather<Handle<int>, Handle<int>>, good, during);
    co_await yield();
    during.cancel("during");
    const auto second = co_await gathering;
    EXPECT_EQ(code_of(second), Errc::task_cancelled);
    EXPECT_EQ(now(), Time());
  };
  run_program(program);
}

// B26: the order of the arguments decides, between failures and cancellations alike.
TEST(Gather, W4_AmongThoseThatHaveEndedTheFirstInOrderThatDidNotCompleteDecides) {
  const auto program = []() -> Task<void> {
    auto good = spawn(after_ms, 0, 1);
    auto late = spawn(fails_after_ms, 1, "ended first");
    auto cancelled = spawn(after_ms, 9, 2);
    auto early = spawn(fails_after_ms, 2, "ended second");
    co_await sleep(5ms);
    co_await cancel_and_join(cancelled);
    const auto a = co_await error_of_gather(good, cancelled, early, late);
    EXPECT_EQ(code_of(a), Errc::task_cancelled);
    const auto b = co_await error_of_gather(good, early, cancelled, late);
    EXPECT_EQ(what_of(b), "ended second");
    // One that has failed decides although an earlier argument is still pending.
    auto pending = spawn(after_ms, 50, 3);
    const auto c = co_await error_of_gather(pending, late);
    EXPECT_EQ(what_of(c), "ended first");
    EXPECT_EQ(now(), Time(5ms));
    EXPECT_FALSE(pending.waitable().has_waiters());
  };
  run_program(program);
}

// B28: gathering twice as many must not look at each of them for each that ends.
TEST(Gather, W1_CostsALinearNumberOfWakeUps) {
  const auto slices_for = [](int n) {
    Scheduler scheduler(Options().virtual_time().record_picks());
    const auto program = [&]() -> Task<void> {
      std::vector<Handle<int>> handles;
      for (int i = 0; i < n; ++i) handles.push_back(spawn(after_ms, i % 7, i));
      const auto values = co_await gather(handles);
      EXPECT_EQ(values.back(), n - 1);
    };
    run_on_scheduler(scheduler, program);
    return scheduler.picks().size();
  };
  // Each child is picked twice; the one who gathers is picked twice, however many it waits for.
  EXPECT_EQ(slices_for(200), 402u);
  EXPECT_EQ(slices_for(400), 802u);
}

TEST(Gather, W4_AnObservedFailureIsNotReported) {
  Trace lines;
  const auto program = []() -> Task<void> {
    const auto error = co_await error_of_gather(spawn(fails_after_ms, 1, "seen"));
    EXPECT_EQ(what_of(error), "seen");
  };
  run_program(program, Options().virtual_time().log_to(
                           [&](const LogLine& line) { lines.emplace_back(line.message); }));
  EXPECT_EQ(lines, Trace());
}

// ---- all_settled ----

TEST(AllSettled, W4_GivesEveryOutcomeAndNeverThrows) {
  const auto program = []() -> Task<void> {
    auto good = spawn(after_ms, 3, 1);
    auto bad = spawn(fails_after_ms, 1, "broken");
    auto cancelled = spawn(after_ms, 5, 2);
    cancelled.cancel();
    const std::vector<Handle<int>> handles = {good, bad, cancelled};
    const auto outcomes = co_await all_settled(handles);
    EXPECT_EQ(now(), Time(3ms)) << "it waited for all";
    EXPECT_EQ(outcomes.size(), 3u);
    EXPECT_EQ(outcomes[0].value(), 1);
    EXPECT_TRUE(outcomes[1].failed());
    EXPECT_EQ(what_of(outcomes[1].error()), "broken");
    EXPECT_TRUE(outcomes[2].cancelled());
    const auto fixed = co_await all_settled(bad, good);
    EXPECT_TRUE(std::get<0>(fixed).failed());
    EXPECT_EQ(std::get<1>(fixed).value(), 1);
  };
  run_program(program);
}

// ---- race ----

TEST(Race, I5_TheFirstToSettleDecidesAndTheResultSaysWhich) {
  const auto program = []() -> Task<void> {
    const std::vector<Handle<int>> handles = {spawn(after_ms, 9, 0), spawn(after_ms, 3, 1),
                                              spawn(after_ms, 5, 2)};
    const auto won = co_await race(handles);
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(won.value, 1);
    EXPECT_EQ(now(), Time(3ms)) << "winner-time return";
    EXPECT_EQ(won.rest.size(), 2u);
    EXPECT_EQ(won.rest[0], handles[0]);
    EXPECT_EQ(won.rest[1], handles[2]);
    EXPECT_EQ(won.rest[0].state(), TaskState::blocked) << "losers go on";
    EXPECT_FALSE(won.rest[0].waitable().has_waiters());
    const auto rest = co_await gather(won.rest);
    EXPECT_EQ(rest, std::vector<int>({0, 2}));
  };
  run_program(program);
}

TEST(Race, I5_OverDifferentTypes) {
  const auto program = []() -> Task<void> {
    auto number = spawn(after_ms, 9, 4);
    auto text = spawn(text_after_ms, 1, "fast");
    auto quiet = spawn(nothing_after_ms, 5);
    auto won = co_await race(number, text, quiet);
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(won.get<1>(), "fast");
    auto second = co_await race(number, quiet);
    EXPECT_EQ(second.index, 1u);
    EXPECT_EQ(second.get<1>(), Unit());
  };
  run_program(program);
}

// B31
TEST(Race, W4_OfSeveralThatHaveSettledTheLowestIndexDecidesErrorsIncluded) {
  const auto program = []() -> Task<void> {
    auto slow = spawn(after_ms, 99, 0);
    auto first = spawn(after_ms, 2, 1);
    auto second = spawn(after_ms, 1, 2);
    auto bad = spawn(fails_after_ms, 1, "bad");
    auto cancelled = spawn(after_ms, 99, 4);
    co_await sleep(5ms);
    co_await cancel_and_join(cancelled);
    const auto won = co_await race(slow, first, second);
    EXPECT_EQ(won.index, 1u) << "not the one that settled first";
    const auto error = co_await error_of_race(bad, first);
    EXPECT_EQ(what_of(error), "bad");
    const auto gone = co_await error_of_race(slow, cancelled, bad);
    EXPECT_EQ(code_of(gone), Errc::task_cancelled);
    const auto good = co_await race(first, bad);
    EXPECT_EQ(good.index, 0u);
    co_await cancel_and_join(slow);
  };
  run_program(program);
}

// B32
TEST(Race, W4_AnErrorOrCancellationThatComesFirstWins) {
  const auto program = []() -> Task<void> {
    auto slow = spawn(after_ms, 9, 0);
    auto bad = spawn(fails_after_ms, 1, "first");
    const auto error = co_await error_of_race(slow, bad);
    EXPECT_EQ(what_of(error), "first");
    auto victim = spawn(after_ms, 9, 1);
    auto racing = spawn(error_of_race<Handle<int>, Handle<int>>, slow, victim);
    co_await yield();
    victim.cancel();
    const auto gone = co_await racing;
    EXPECT_EQ(code_of(gone), Errc::task_cancelled);
    EXPECT_EQ(now(), Time(1ms));
    EXPECT_FALSE(slow.waitable().has_waiters());
    co_await slow;
  };
  run_program(program);
}

// B33
TEST(Race, W4_DuplicatesResolveOnce) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(after_ms, 1, 5);
    const auto won = co_await race(handle, handle);
    EXPECT_EQ(won.index, 0u);
    EXPECT_FALSE(handle.waitable().has_waiters());
    Promise<int> promise;
    const std::vector<Future<int>> futures = {promise.future(), promise.future()};
    const auto racer = [&]() -> Task<std::size_t> {
      const auto result = co_await race(futures);
      EXPECT_EQ(result.rest.size(), 1u);
      co_await sleep(1ms);  // a second wake-up would end this early
      co_return result.index;
    };
    auto racing = spawn(std::ref(racer));
    co_await yield();
    promise.complete(1);
    const std::size_t index = co_await racing;
    EXPECT_EQ(index, 0u);
    EXPECT_EQ(now(), Time(2ms));
  };
  run_program(program);
}

TEST(Race, W4_TwoThatSettleBackToBackResolveOnceToTheFirst) {
  const auto program = []() -> Task<void> {
    Promise<int> a;
    Promise<int> b;
    const std::vector<Future<int>> futures = {a.future(), b.future()};
    const auto racer = [&]() -> Task<void> {
      const auto won = co_await race(futures);
      EXPECT_EQ(won.index, 1u);
      EXPECT_EQ(won.value, 20);
      co_await sleep(1ms);
    };
    auto racing = spawn(std::ref(racer));
    co_await yield();
    b.complete(20);
    a.complete(10);
    co_await racing;
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
}

// B34
TEST(Race, W4_OfNothingIsAnErrorAtTheCall) {
  const auto program = []() -> Task<void> {
    const std::vector<Handle<int>> none;
    const auto error = thrown_by([&] { static_cast<void>(race(none)); });
    EXPECT_EQ(code_of(error), Errc::empty_race);
    std::exception_ptr awaited;
    try {
      co_await race(none);
    } catch (...) {
      awaited = std::current_exception();
    }
    EXPECT_EQ(code_of(awaited), Errc::empty_race);
  };
  run_program(program);
}

TEST(Race, I5_OfOneIsThatOne) {
  const auto program = []() -> Task<void> {
    const std::vector<Handle<int>> one = {spawn(after_ms, 1, 6)};
    const auto won = co_await race(one);
    EXPECT_EQ(won.index, 0u);
    EXPECT_EQ(won.value, 6);
    EXPECT_TRUE(won.rest.empty());
  };
  run_program(program);
}

TEST(Race, W3_TasksAndFuturesWaitAlike) {
  const auto program = []() -> Task<void> {
    Promise<int> promise;
    auto task = spawn(after_ms, 5, 1);
    const auto completer = [&]() -> Task<void> {
      co_await sleep(2ms);
      promise.complete(2);
    };
    auto completing = spawn(std::ref(completer));
    auto won = co_await race(task, promise.future());
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(won.get<1>(), 2);
    co_await gather(task, completing);
  };
  run_program(program);
}

}  // namespace group_test
}  // namespace tiffany
