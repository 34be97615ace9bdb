// T17, I3: tasks that are plain functions, behind the same handles as coroutines.
#include "tiffany/engine/fiber.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/fibers.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace fiber_test {

using namespace test;

Task<int> number_after(Duration delay, int number) {
  co_await sleep(delay);
  co_return number;
}

int number_in_fiber(Duration delay, int number) {
  fiber::sleep(delay);
  return number;
}

TEST(Fiber, T17_APlainFunctionWaitsAndIsJoinedByACoroutine) {
  const auto program = []() -> Task<void> {
    auto handle = spawn_fiber(number_in_fiber, 3ms, 7);
    EXPECT_EQ(handle.state(), TaskState::pending) << "spawning is not a suspension point";
    const int result = co_await handle;
    EXPECT_EQ(result, 7);
    EXPECT_EQ(now(), Time(3ms));
    EXPECT_EQ(handle.state(), TaskState::completed);
    const int again = co_await handle;
    EXPECT_EQ(again, 7) << "also after it ended";
  };
  run_program(program);
}

TEST(Fiber, I3_AwaitTakesCallsHandlesFuturesAndTasks) {
  run_fiber([] {
    await(sleep(1ms));
    EXPECT_EQ(now(), Time(1ms));
    await(yield());
    await(checkpoint());
    EXPECT_EQ(await(spawn(number_after, 1ms, 1)), 1);
    const auto handle = spawn_fiber(number_in_fiber, 1ms, 2);
    EXPECT_EQ(await(handle), 2);
    EXPECT_EQ(await(handle.outcome()).value(), 2);
    Promise<int> promise;
    promise.complete(3);
    EXPECT_EQ(await(promise.future()), 3);
    EXPECT_EQ(await(number_after(1ms, 4)), 4);
    EXPECT_TRUE(await(within(1ms, number_after(2ms, 5))).timed_out());
    EXPECT_EQ(now(), Time(5ms));
  });
}

TEST(Fiber, I3_ATaskThatItAwaitsRunsAsAPartOfIt) {
  run_fiber([] {
    const TaskId me = this_task::id();
    const auto inner = [&]() -> Task<TaskId> {
      co_await yield();
      co_return this_task::id();
    };
    const auto outer = [&]() -> Task<TaskId> { co_return co_await inner(); };
    EXPECT_EQ(await(outer()), me);
    EXPECT_EQ(Scheduler::current()->live_tasks(), 1u);
  });
}

TEST(Fiber, I3_PlainFormsOfTheCommonCalls) {
  run_fiber([] {
    fiber::yield();
    fiber::checkpoint();
    fiber::sleep(2ms);
    fiber::sleep_until(Time(5ms));
    EXPECT_EQ(now(), Time(5ms));
  });
}

TEST(Fiber, T17_MayBeSpawnedIntoTheRootScopeFromOutside) {
  Scheduler scheduler(Options().virtual_time());
  auto handle = scheduler.spawn_fiber(number_in_fiber, 1ms, 5).named("fiber");
  EXPECT_EQ(handle.name(), "fiber");
  scheduler.run();
  EXPECT_EQ(handle.value(false), 5);
  handle = {};
  expect_no_fiber_left(scheduler);
  EXPECT_EQ(code_of(thrown_by([] { spawn_fiber(number_in_fiber, 1ms, 1); })), Errc::no_task);
}

TEST(Fiber, T17_BelongsToTheNearestScopeOrToTheOneThatIsNamed) {
  Trace trace;
  const auto body = [&](std::string name, Duration delay) {
    fiber::sleep(delay);
    trace.push_back(name);
  };
  const auto program = [&]() -> Task<void> {
    co_await scope([&](Scope& outer) -> Task<void> {
      co_await scope([&](Scope&) -> Task<void> {
        spawn_fiber(std::ref(body), "nearest", 1ms);
        outer.spawn_fiber(std::ref(body), "outer", 2ms);
        co_return;
      });
      trace.push_back("inner scope left");
    });
    trace.push_back("outer scope left");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"nearest", "inner scope left", "outer", "outer scope left"}));
}

TEST(Fiber, T17_IsGatheredAndRacedTogetherWithCoroutines) {
  run_fiber([] {
    auto fiber = spawn_fiber(number_in_fiber, 2ms, 1);
    auto coroutine = spawn(number_after, 3ms, 2);
    const auto both = await(gather(fiber, coroutine));
    EXPECT_EQ(both.get<0>() + both.get<1>(), 3);
    EXPECT_EQ(now(), Time(3ms));
    auto quick = spawn_fiber(number_in_fiber, 1ms, 3);
    auto slow = spawn(number_after, 5ms, 4);
    auto won = await(race(slow, quick));
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(won.get<1>(), 3);
    auto late = spawn_fiber(number_in_fiber, 1h, 5);
    auto lost = await(race(late, slow));
    EXPECT_EQ(lost.index, 1u);
    EXPECT_EQ(late.state(), TaskState::blocked) << "the loser goes on";
    late.cancel();
  });
}

TEST(Fiber, T6_TakesTurnsWithTheOthersInTheOrderTheyCame) {
  Trace trace;
  const auto body = [&](std::string name) {
    for (int i = 0; i < 3; ++i) {
      trace.push_back(name);
      fiber::yield();
    }
  };
  const auto coroutine = [&]() -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      trace.push_back("coroutine");
      co_await yield();
    }
  };
  const auto program = [&]() -> Task<void> {
    auto a = spawn_fiber(std::ref(body), "a");
    auto c = spawn(std::ref(coroutine));
    auto b = spawn_fiber(std::ref(body), "b");
    co_await gather(a, b, c);
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"a", "coroutine", "b", "a", "coroutine", "b", "a", "coroutine", "b"}));
}

TEST(Fiber, T6_PrioritiesAreThoseOfTasks) {
  Trace trace;
  const auto body = [&](std::string name) { trace.push_back(name); };
  run_fiber([&] {
    spawn_fiber.with_priority(200)(std::ref(body), "least");
    spawn_fiber(std::ref(body), "default");
    spawn_fiber.system()(std::ref(body), "system");
    fiber::sleep(1ms);
  });
  EXPECT_EQ(trace, Trace({"system", "default", "least"}));
}

TEST(Fiber, W6_CallsThatAreAnsweredAtOnceSpendTheQuantum) {
  Trace trace;
  const auto body = [&](std::string name) {
    for (int i = 0; i < 4; ++i) {
      await(checkpoint());
      trace.push_back(name);
    }
  };
  const auto program = [&] {
    auto a = spawn_fiber(std::ref(body), "a");
    auto b = spawn_fiber(std::ref(body), "b");
    await(gather(a, b));
  };
  run_fiber(program, Options().virtual_time().quantum(2));
  EXPECT_EQ(trace, Trace({"a", "b", "a", "a", "b", "b", "a", "b"}));
}

TEST(Fiber, W6_AMillionYieldsAloneAndTogether) {
  int yields = 0;
  const auto body = [&] {
    for (int i = 0; i < 250'000; ++i, ++yields) fiber::yield();
  };
  run_fiber([&] {
    body();
    auto a = spawn_fiber(std::ref(body));
    auto b = spawn_fiber(std::ref(body));
    auto c = spawn_fiber(std::ref(body));
    await(gather(a, b, c));
  });
  EXPECT_EQ(yields, 1'000'000);
}

// ---- Results and arguments ----

TEST(Fiber, T17_ResultsOfEveryKindAreKeptWithTheTask) {
  using Large = std::array<std::string, 20>;
  const auto large = [] {
    fiber::yield();
    Large made;
    made[19] = "the last of many strings, none of which fits into the record";
    return made;
  };
  const auto program = [&]() -> Task<void> {
    auto nothing = spawn_fiber([] { fiber::yield(); });
    co_await nothing;
    EXPECT_EQ(nothing.state(), TaskState::completed);
    const Large got = co_await spawn_fiber(std::ref(large));
    EXPECT_EQ(got[19], "the last of many strings, none of which fits into the record");
    auto moved = spawn_fiber([] { return std::make_unique<int>(5); });
    auto copy = moved;
    const std::unique_ptr<int> five = co_await std::move(moved);
    EXPECT_EQ(*five, 5);
    const auto taken = co_await error_of(std::move(copy));
    EXPECT_EQ(code_of(taken), Errc::value_taken);
  };
  run_program(program);
}

TEST(Fiber, W9_ResultsAreDestroyedWithTheLastHandle) {
  const auto value = std::make_shared<int>(1);
  const auto program = [&]() -> Task<void> {
    {
      auto fiber = spawn_fiber([&] { return value; });
      static_cast<void>(co_await fiber.outcome());
      EXPECT_EQ(value.use_count(), 2);
    }
    EXPECT_EQ(value.use_count(), 1);
    spawn_fiber([&] { return value; });
    co_await yield();
    EXPECT_EQ(value.use_count(), 1) << "nobody holds a handle";
  };
  run_program(program);
}

TEST(Fiber, W9_ItsVariablesAndArgumentsAreGoneBeforeItsJoinersGoOn) {
  Trace trace;
  const auto body = [&](AtExit, std::string text) {
    const AtExit local(trace, "variable gone");
    fiber::yield();
    trace.push_back(text);
  };
  const auto program = [&]() -> Task<void> {
    AtExit argument(trace, "argument gone");
    auto handle = spawn_fiber(std::ref(body), std::move(argument), std::string("text"));
    co_await handle;
    trace.push_back("joined");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"text", "variable gone", "argument gone", "joined"}));
}

// ---- What a task inherits ----

constexpr ContextKey<std::string> kUser{"user"};

TEST(Fiber, I2_InheritsTheContextAndPassesItOn) {
  run_fiber([] {
    const auto user = [] { return ask(kUser); };
    const auto passes_on = [&] {
      fiber::yield();
      return await(spawn_fiber(user)) + " and " +
             await(spawn([]() -> Task<std::string> { co_return ask(kUser); }));
    };
    EXPECT_EQ(await(spawn_fiber.with(kUser, "ann")(std::ref(passes_on))), "ann and ann");
    const std::string inside = await(
        with(kUser, "bob", [&]() -> Task<std::string> { co_return co_await spawn_fiber(user); }));
    EXPECT_EQ(inside, "bob");
    EXPECT_EQ(lookup(kUser), nullptr);
  });
}

constexpr StateKey<int> kCount{"count"};

TEST(Fiber, I2_HasAStoreOfItsOwnAndItsLogIsGathered) {
  run_fiber([] {
    put(kCount, 1);
    const auto child = [](int n) {
      put(kCount, *get(kCount) + n);
      fiber::yield();
      tell("child " + std::to_string(*get(kCount)));
    };
    auto a = spawn_fiber(child, 1);
    auto b = spawn_fiber(child, 2);
    await(gather(b, a));
    EXPECT_EQ(*get(kCount), 1) << "nobody sees the other's writes";
    EXPECT_EQ(told(), Trace({"child 3", "child 2"}));
  });
}

struct AskTwice {
  using result = int;
  int number;
};

TEST(Fiber, I2_PerformsEffectsAndGivesItsChildrenHandlers) {
  run_fiber([] {
    const auto asks = [](int n) { return await(perform<AskTwice>(n)); };
    const auto twice = [](const AskTwice& ask) -> Task<int> {
      co_await sleep(1ms);
      co_return 2 * ask.number;
    };
    auto handle = spawn_fiber.with_handler<AskTwice>(twice)(asks, 21);
    EXPECT_EQ(await(handle), 42);
    EXPECT_EQ(now(), Time(1ms));
  });
}

TEST(Fiber, T19_ComesAfterOthersAndTakesTheirValues) {
  run_fiber([] {
    auto one = spawn(number_after, 1ms, 1);
    auto two = spawn_fiber(number_in_fiber, 2ms, 2);
    const auto add = [](int a, int b, int c) {
      fiber::yield();
      return a + b + c;
    };
    auto sum = spawn_fiber.from(one, two)(add, 3);
    auto when = spawn_fiber.after(sum)([] { return now(); });
    EXPECT_EQ(await(sum), 6);
    EXPECT_EQ(await(when), Time(2ms));
    const auto fails = []() -> int { throw std::runtime_error("broken"); };
    auto failed = spawn_fiber(fails);
    auto skipped = spawn_fiber.after(failed)([] { ADD_FAILURE() << "not begun"; });
    EXPECT_TRUE(await(skipped.outcome()).cancelled());
    EXPECT_TRUE(await(failed.outcome()).failed());
  });
}

// ---- Errors ----

TEST(Fiber, T17_AwaitOutsideOfAFiberIsAnErrorThatSaysWhatToWrite) {
  const auto outside = thrown_by([] { fiber::yield(); });
  EXPECT_EQ(code_of(outside), Errc::no_fiber);
  EXPECT_EQ(what_of(outside),
            "await() was called outside of every task. In a coroutine write co_await; start plain "
            "functions that wait with spawn_fiber().");
  const auto program = []() -> Task<void> {
    const auto in_coroutine = thrown_by([] { fiber::sleep(1ms); });
    EXPECT_EQ(code_of(in_coroutine), Errc::no_fiber);
    EXPECT_EQ(what_of(in_coroutine)
                  .find("await() was called in task #1 \"main\", by code that "
                        "does not run in a fiber. "),
              0u)
        << what_of(in_coroutine);
    co_return;
  };
  run_program(program);
}

// It runs on the stack of the loop, which cannot be left.
TEST(Fiber, T17_AwaitInACoroutineThatAFiberAwaitsIsThatErrorToo) {
  run_fiber([] {
    const auto coroutine = []() -> Task<void> {
      co_await yield();
      await(sleep(1ms));
    };
    EXPECT_EQ(code_of(thrown_by([&] { await(coroutine()); })), Errc::no_fiber);
    fiber::yield();
  });
}

TEST(Fiber, T13_ASpawnBeyondTheLimitOfFibersIsDenied) {
  const auto program = [] {
    Promise<void> event;
    const auto waits = [](Future<void> future) { await(future); };
    spawn_fiber(waits, event.future());
    spawn_fiber(waits, event.future());
    try {
      spawn_fiber(waits, event.future());
      ADD_FAILURE() << "nothing was denied";
    } catch (const SpawnDenied& denied) {
      EXPECT_EQ(denied.limit(), SpawnDenied::Limit::fibers);
      EXPECT_EQ(denied.used(), 3u);
      EXPECT_STREQ(
          denied.what(),
          "A fiber was not spawned: the scheduler has 3 of 3 fibers that it may have. Wait "
          "for some to end, or raise Options::limit_fibers.");
    }
    EXPECT_EQ(Scheduler::current()->counters().denied, 1u);
    spawn(number_after, 1ms, 1);  // other tasks are not concerned
    event.complete();
    fiber::yield();
    fiber::yield();
    spawn_fiber(waits, event.future()).cancel();  // there is room again, also if it never begins
    spawn_fiber(waits, event.future());
  };
  run_fiber(program, Options().virtual_time().limit_fibers(3));
}

TEST(Fiber, T13_AStackThatIsTooSmallIsAnErrorOfTheOptions) {
  const auto makes = [] { Scheduler scheduler(Options().fiber_stack(1000)); };
  EXPECT_EQ(code_of(thrown_by(makes)), Errc::bad_argument);
}

// ---- Explaining itself ----

std::string here(unsigned line) { return "fiber_test.cpp:" + std::to_string(line); }

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

unsigned nap_line = 0;
Task<void> nap(Duration time) {
  nap_line = static_cast<unsigned>(__LINE__ + 1);
  co_await sleep(time);
}
unsigned deep_line = 0;
void waits_deeply() {
  deep_line = static_cast<unsigned>(__LINE__ + 1);
  await(nap(1h));
}

TEST(Fiber, P6_ADumpShowsWhereItWaitsAndTheCoroutinesThatItAwaits) {
  Scheduler scheduler(Options().virtual_time());
  auto handle = scheduler.spawn_fiber([] { waits_deeply(); }).named("deep");
  const auto spawned = static_cast<unsigned>(__LINE__ - 1);
  scheduler.run_until(Time(1ms));
  expect_in(scheduler.dump_text(),
            "task #1 \"deep\": blocked in sleep for 1 ms, since 0 ns\n"
            "      waits for the time 3600 s\n"
            "      at " +
                here(nap_line) + " in nap\n      at " + here(deep_line) +
                " in waits_deeply\n      spawned at " + here(spawned) +
                "\n      in scope root, priority 10, 1 step\n");
  handle.cancel();
  scheduler.run();
}

TEST(Fiber, P6_ADumpShowsWhereItYielded) {
  Scheduler scheduler(Options().virtual_time());
  unsigned line = 0;
  const auto yields = [&] {
    for (int i = 0; i < 2; ++i) {
      line = static_cast<unsigned>(__LINE__ + 1);
      fiber::yield();
    }
  };
  scheduler.spawn_fiber(std::ref(yields));
  scheduler.step();
  expect_in(scheduler.dump_text(), "task #1: suspended\n      at " + here(line) + "\n");
  scheduler.run();
}

TEST(Fiber, W8_ADeadlockReportNamesItAndWhereItWaits) {
  Scheduler scheduler(Options().virtual_time());
  Handle<void> first;
  Handle<void> second;
  unsigned line = 0;
  const auto waits = [&](Handle<void>& other) {
    line = static_cast<unsigned>(__LINE__ + 1);
    await(other);
  };
  first = scheduler.spawn_fiber(std::ref(waits), std::ref(second)).named("first");
  second = scheduler.spawn_fiber(std::ref(waits), std::ref(first)).named("second");
  const auto error = thrown_by([&] { scheduler.run(); });
  EXPECT_EQ(code_of(error), Errc::deadlock);
  expect_in(what_of(error),
            "task #1 \"first\" waits for task #2 \"second\"\n      at " + here(line));
  expect_in(what_of(error), "task #1 \"first\" -> task #2 \"second\" -> task #1 \"first\"");
}

TEST(Fiber, T10_TheTraceOfItsExceptionHasItsPlaces) {
  run_fiber([] {
    unsigned line = 0;
    const auto breaks = [&] {
      line = static_cast<unsigned>(__LINE__ + 1);
      fiber::yield();
      throw std::runtime_error("broken");
    };
    auto handle = spawn_fiber(std::ref(breaks)).named("breaks");
    EXPECT_EQ(what_of(await(handle.outcome()).error()), "broken");
    expect_in(handle.trace()->text(), "thrown in task #2 \"breaks\"\n      at " + here(line));
  });
}

// ---- The same every time ----

int everything(int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    auto fiber = spawn_fiber(number_in_fiber, 1ms * i, i);
    auto coroutine = spawn(number_after, 2ms, i);
    fiber::yield();
    sum += await(fiber) + await(coroutine) + await(number_after(1ms, 1));
    auto doomed = spawn_fiber(number_in_fiber, 1h, 0);
    fiber::checkpoint();
    doomed.cancel("enough");
    static_cast<void>(await(doomed.outcome()));
  }
  return sum;
}

std::uint64_t hash_of_everything() {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn_fiber(everything, 5);
  scheduler.run();
  expect_no_fiber_left(scheduler);
  return scheduler.trace_hash();
}

constexpr std::uint64_t kHashOfEverything = 5179995788025172527u;

// The number is the same with every compiler and every switch.
TEST(Fiber, T7_TheTraceHashIsTheSameEverywhere) {
  EXPECT_EQ(hash_of_everything(), kHashOfEverything);
  EXPECT_EQ(hash_of_everything(), kHashOfEverything);
}

TEST(Fiber, T7_TheTraceHashIsTheSameInAnotherProcess) {
  const auto body = [] { EXPECT_EQ(hash_of_everything(), kHashOfEverything); };
  EXPECT_SURVIVES(body);
}

TEST(Fiber, T7_ARecordedOrderMakesARandomRunAgain) {
  const auto run = [](std::unique_ptr<ReadyPolicy> order) {
    Scheduler scheduler(Options().virtual_time().order(std::move(order)).record_picks());
    scheduler.spawn_fiber(everything, 5);
    scheduler.run();
    return std::pair(scheduler.trace_hash(), scheduler.picks());
  };
  const auto random = run(random_order(7));
  EXPECT_EQ(run(random_order(7)).first, random.first);
  EXPECT_EQ(run(recorded_order(random.second)).first, random.first);
  EXPECT_EQ(run(priority_order()).first, kHashOfEverything);
}

}  // namespace fiber_test
}  // namespace tiffany
