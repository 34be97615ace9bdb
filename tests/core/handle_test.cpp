// W3: waiting for tasks.
#include "tiffany/core/handle.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace handle_test {

using namespace test;

Task<int> number(int n) { co_return n; }
Task<int> slow_number(int n) {
  co_await sleep(1ms);
  co_return n;
}
Task<void> nothing() { co_return; }
Task<int> fails(std::string why) {
  co_await sleep(1ms);
  throw std::runtime_error(why);
}
Task<std::unique_ptr<int>> unique(int n) {
  co_await yield();
  co_return std::make_unique<int>(n);
}

TEST(Join, W3_GivesTheValueAndOnlyAfterTheTaskHasEnded) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto body = [&]() -> Task<int> {
      co_await sleep(5ms);
      trace.push_back("task ends");
      co_return 7;
    };
    auto handle = spawn(std::ref(body));
    const int value = co_await handle;
    trace.push_back("joined");
    EXPECT_EQ(value, 7);
    EXPECT_EQ(now(), Time(5ms));
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"task ends", "joined"}));
}

TEST(Join, W3_ManyWaitersGoOnInTheOrderTheyWaited) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    auto target = spawn(slow_number, 3);
    const auto waiter = [&](int which) -> Task<void> {
      const int value = co_await target;
      trace.push_back(std::to_string(which) + ":" + std::to_string(value));
    };
    std::vector<Handle<void>> waiters;
    for (int i = 0; i < 5; ++i) waiters.push_back(spawn(std::ref(waiter), i));
    co_await gather(waiters);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"0:3", "1:3", "2:3", "3:3", "4:3"}));
}

// B18: as often as one likes, as long as a handle is there.
TEST(Join, W3_AWaitAfterTheEndIsAnsweredAtOnceAndRepeatedly) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(number, 4);
    co_await yield();
    EXPECT_TRUE(handle.done());
    Trace trace;
    const auto other = [&]() -> Task<void> {
      trace.push_back("other");
      co_return;
    };
    spawn(std::ref(other));
    for (int i = 0; i < 3; ++i) {
      const int value = co_await handle;
      EXPECT_EQ(value, 4);
    }
    EXPECT_EQ(trace, Trace()) << "an answer at once is no switch";
    co_await yield();
  };
  run_program(program);
}

TEST(Join, W9_ADroppedHandleIsHarmlessAndTheTaskGoesOn) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto body = [&]() -> Task<void> {
      co_await sleep(1ms);
      trace.push_back("ran");
    };
    spawn(std::ref(body));
    co_await sleep(2ms);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"ran"}));
}

TEST(Join, I7_VoidTasksAreJoinedLikeOthers) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(nothing);
    co_await handle;
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.ok());
    EXPECT_EQ(handle.value(true), Unit());
  };
  run_program(program);
}

TEST(Join, W4_AnErrorIsThrownToEveryWaiterAndIsTheSameObject) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(fails, "broken");
    const auto first = co_await error_of(handle);
    const auto second = co_await error_of(handle);
    EXPECT_EQ(what_of(first), "broken");
    EXPECT_EQ(first, second);
    EXPECT_EQ(handle.state(), TaskState::failed);
  };
  run_program(program);
}

TEST(Join, W4_TheOutcomeNeverThrows) {
  const auto program = []() -> Task<void> {
    auto good = spawn(slow_number, 1);
    auto bad = spawn(fails, "broken");
    auto cancelled = spawn(slow_number, 2);
    cancelled.cancel("enough");
    const auto a = co_await good.outcome();
    const auto b = co_await bad.outcome();
    const auto c = co_await cancelled.outcome();
    EXPECT_TRUE(a.ok());
    EXPECT_EQ(a.value(), 1);
    EXPECT_TRUE(b.failed());
    EXPECT_EQ(what_of(b.error()), "broken");
    EXPECT_TRUE(c.cancelled());
    EXPECT_EQ(code_of(c.error()), Errc::task_cancelled);
  };
  run_program(program);
}

TEST(Join, W4_WaitingForACancelledTaskIsAnErrorThatSaysWhoAndWhy) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(slow_number, 2).named("victim");
    co_await yield();
    handle.cancel("not needed");
    const auto error = co_await error_of(handle);
    EXPECT_EQ(code_of(error), Errc::task_cancelled);
    try {
      std::rethrow_exception(error);
    } catch (const TaskCancelled& cancelled) {
      EXPECT_EQ(cancelled.task(), handle.id());
      EXPECT_EQ(cancelled.reason()->message, "not needed");
      EXPECT_EQ(cancelled.reason()->requester, this_task::id());
    }
    const std::string what = what_of(error);
    EXPECT_NE(what.find("task #2 \"victim\""), std::string::npos) << what;
    EXPECT_NE(what.find("not needed"), std::string::npos) << what;
    EXPECT_NE(what.find("handle_test.cpp:"), std::string::npos) << what;
  };
  run_program(program);
}

// The waiter was not cancelled, so what it gets must be an error that `catch (std::exception)`
// sees.
TEST(Join, W4_TheErrorOfACancelledTaskIsAnOrdinaryError) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(nothing);
    handle.cancel();
    bool caught = false;
    try {
      co_await handle;
    } catch (const std::exception&) {
      caught = true;
    }
    EXPECT_TRUE(caught);
    co_await yield();  // and the waiter goes on as before
  };
  run_program(program);
}

TEST(Join, W3_ATaskThatWaitsForItselfGetsAnErrorInsteadOfWaitingForEver) {
  const auto program = []() -> Task<void> {
    Handle<void> self;
    std::exception_ptr joined;
    std::exception_ptr gathered;
    std::exception_ptr raced;
    auto other = spawn(nothing);
    const auto body = [&]() -> Task<void> {
      joined = co_await error_of(self);
      try {
        co_await gather(other, self);
      } catch (...) {
        gathered = std::current_exception();
      }
      try {
        co_await all_settled(self, other);
      } catch (...) {
        raced = std::current_exception();
      }
    };
    self = spawn.system()(std::ref(body));
    co_await self;
    EXPECT_EQ(code_of(joined), Errc::self_join);
    EXPECT_EQ(code_of(gathered), Errc::self_join);
    EXPECT_EQ(code_of(raced), Errc::self_join);
    EXPECT_NE(what_of(joined).find("task #3"), std::string::npos) << what_of(joined);
    EXPECT_FALSE(other.waitable().has_waiters()) << "the half-made wait was taken back";
  };
  run_program(program);
}

// ---- Results that can only be moved ----

TEST(Join, W3_AMoveOnlyResultIsTakenByAwaitingAnRvalue) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(unique, 9);
    const std::unique_ptr<int> value = co_await std::move(handle);
    EXPECT_EQ(*value, 9);
  };
  run_program(program);
}

TEST(Join, W3_TheSecondTakerOfAMoveOnlyResultGetsAnError) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(unique, 9);
    auto copy = handle;
    const std::unique_ptr<int> value = co_await std::move(handle);
    EXPECT_EQ(*value, 9);
    std::exception_ptr error;
    try {
      static_cast<void>(co_await std::move(copy));
    } catch (...) {
      error = std::current_exception();
    }
    EXPECT_EQ(code_of(error), Errc::value_taken);
    EXPECT_NE(what_of(error).find("task #2"), std::string::npos) << what_of(error);
  };
  run_program(program);
}

// A value is delivered or stays: the wait of a cancelled taker takes nothing.
TEST(Join, I4_AMoveOnlyResultIsNotLostToACancelledTaker) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(unique, 9);
    const auto taker = [](Handle<std::unique_ptr<int>> h) -> Task<int> {
      const std::unique_ptr<int> value = co_await std::move(h);
      co_return *value;
    };
    auto first = spawn(taker, handle);
    auto second = spawn(taker, handle);
    co_await yield();
    first.cancel();
    const int value = co_await second;
    EXPECT_EQ(value, 9);
    EXPECT_EQ(first.state(), TaskState::cancelled);
  };
  run_program(program);
}

// How often a value is copied shows whether the last handle moves it out.
struct Counted {
  explicit Counted(int& c) noexcept : copies(&c) {}
  Counted(const Counted& other) : copies(other.copies) { ++*copies; }
  Counted(Counted&&) noexcept = default;
  Counted& operator=(const Counted&) = delete;
  Counted& operator=(Counted&&) = delete;
  ~Counted() = default;
  int* copies;
};

TEST(Join, W3_AValueIsCopiedForEachWaiterAndMovedForTheLastHandle) {
  int copies = 0;
  const auto make = [&]() -> Task<Counted> { co_return Counted(copies); };
  const auto program = [&]() -> Task<void> {
    auto handle = spawn(std::ref(make));
    static_cast<void>(co_await handle);
    EXPECT_EQ(copies, 1);
    static_cast<void>(co_await handle);
    EXPECT_EQ(copies, 2);
    auto other = handle;
    static_cast<void>(co_await std::move(other));
    EXPECT_EQ(copies, 3) << "another handle could still ask";
    static_cast<void>(co_await std::move(handle));
    EXPECT_EQ(copies, 3);
  };
  run_program(program);
}

TEST(Join, W3_LargeAndOwningResultsLiveAsLongAsAHandle) {
  const auto program = []() -> Task<void> {
    const auto make = []() -> Task<std::vector<std::string>> {
      co_return std::vector<std::string>(100, std::string(100, 'y'));
    };
    auto handle = spawn(make);
    auto copy = handle;
    const auto a = co_await handle;
    handle = {};
    const auto b = co_await copy;
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.size(), 100u);
  };
  run_program(program);
}

TEST(Handle, W3_ComparesByTheTaskItNames) {
  const auto program = []() -> Task<void> {
    auto a = spawn(nothing);
    auto b = spawn(nothing);
    EXPECT_EQ(a, Handle<void>(a));
    EXPECT_FALSE(a == b);
    EXPECT_EQ(Handle<void>(), Handle<void>());
    co_await gather(a, b);
  };
  run_program(program);
}

TEST(Handle, T9_AJoinWithATimeoutGivesUpOnlyTheWait) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(slow_number, 5);
    const auto early = co_await within(500us, handle);
    EXPECT_TRUE(early.timed_out());
    EXPECT_EQ(now(), Time(500us));
    EXPECT_FALSE(handle.waitable().has_waiters()) << "B22: it must not be woken a second time";
    const auto late = co_await within(1h, handle);
    EXPECT_EQ(late.value(), 5);
    EXPECT_EQ(now(), Time(1ms));
  };
  run_program(program);
}

}  // namespace handle_test
}  // namespace tiffany
