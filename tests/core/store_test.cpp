#include "tiffany/core/store.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany::test {
namespace store_test {

constexpr StateKey<int> kCount{"count"};
constexpr StateKey<std::string> kName{"name"};
constexpr StateKey<std::unique_ptr<int>> kBox{"box"};

Task<void> tells(std::string text) {
  tell(text);
  co_return;
}

Task<void> tells_after(std::string text, Duration delay) {
  co_await sleep(delay);
  tell(std::move(text));
}

// What a gather throws.
template <class... Hs>
Task<std::exception_ptr> error_of_gather(const Hs&... handles) {
  std::exception_ptr error;
  try {
    co_await gather(handles...);
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  co_return error;
}

// ---- State

TEST(Store, W5_ATaskFindsWhatItPutAndNullForWhatItDidNot) {
  run_program([]() -> Task<void> {
    EXPECT_EQ(get(kCount), nullptr);
    put(kCount, 1);
    EXPECT_EQ(get(kName), nullptr);
    put(kName, "ann");
    put(kBox, std::make_unique<int>(7));
    put(kCount, 2);
    EXPECT_EQ(*get(kCount), 2);
    EXPECT_EQ(*get(kName), "ann");
    EXPECT_EQ(**get(kBox), 7);
    co_return;
  });
}

TEST(Store, W5_KeysWithEqualNamesAreTheSameKeyWhereverTheNameIsFrom) {
  run_program([]() -> Task<void> {
    {
      const std::string made = std::string("cou") + "nt";
      put(StateKey<int>(made), 5);
    }
    EXPECT_EQ(*get(kCount), 5);
    co_return;
  });
}

TEST(Store, W5_TwoNamesWithOneHashAreTwoNames) {
  constexpr StateKey<int> one{"8yn0iYCKYHlIj4-BwPqk"};
  constexpr StateKey<int> other{"GReLUrM4wMqfg9yzV3KQ"};
  static_assert(one.hash() == other.hash());
  run_program([&]() -> Task<void> {
    put(one, 1);
    EXPECT_EQ(get(other), nullptr);
    put(other, 2);
    EXPECT_EQ(*get(one), 1);
    EXPECT_EQ(*get(other), 2);
    co_return;
  });
}

TEST(Store, W5_ANameThatIsUsedWithTwoTypesIsAnErrorThatNamesThem) {
  run_program([]() -> Task<void> {
    put(kCount, 1);
    const StateKey<std::string> wrong{"count"};
    for (const auto& error : {thrown_by([&] { static_cast<void>(get(wrong)); }),
                              thrown_by([&] { put(wrong, "one"); })}) {
      EXPECT_EQ(code_of(error), Errc::key_type);
      EXPECT_NE(what_of(error).find("The state has \"count\" as int, and it was used as std::"),
                std::string::npos)
          << what_of(error);
    }
    EXPECT_EQ(*get(kCount), 1);
    co_return;
  });
}

struct RefusesZero {
  explicit RefusesZero(int value) {
    if (value == 0) throw std::runtime_error("zero");
  }
};

TEST(Store, W5_AValueThatCannotBeMadeLeavesWhatWasThere) {
  run_program([]() -> Task<void> {
    const StateKey<RefusesZero> key{"number"};
    EXPECT_EQ(what_of(thrown_by([&] { put(key, 0); })), "zero");
    EXPECT_EQ(get(key), nullptr);
    put(key, 1);
    const RefusesZero* before = get(key);
    EXPECT_EQ(what_of(thrown_by([&] { put(key, 0); })), "zero");
    EXPECT_EQ(get(key), before);
    co_return;
  });
}

TEST(Store, W5_AChildStartsFromWhatItsParentHadAtTheSpawn) {
  run_program([]() -> Task<void> {
    put(kCount, 0);
    auto child = [](int& seen) -> Task<void> {
      seen = *get(kCount);
      put(kCount, seen + 1);
      seen = *get(kCount);
      co_return;
    };
    int seen = -1;
    auto handle = spawn(child, std::ref(seen));
    put(kCount, 100);
    co_await handle;
    EXPECT_EQ(seen, 1);
    EXPECT_EQ(*get(kCount), 100);
  });
}

TEST(Store, W5_AChildDoesNotSeeWhatItsParentPutsAfterTheSpawnNorTheOtherWayRound) {
  run_program([]() -> Task<void> {
    put(kCount, 1);
    Trace trace;
    auto child = [](Trace& out) -> Task<void> {
      out.push_back("child " + std::to_string(*get(kCount)));
      co_await yield();
      out.push_back("child " + std::to_string(*get(kCount)));
      put(kCount, 10);
      put(kName, "child");
      co_await yield();
      out.push_back("child " + std::to_string(*get(kCount)));
    };
    auto handle = spawn(child, std::ref(trace));
    co_await yield();
    put(kCount, 2);
    co_await yield();
    trace.push_back("parent " + std::to_string(*get(kCount)));
    co_await handle;
    EXPECT_EQ(get(kName), nullptr);
    EXPECT_EQ(trace, (Trace{"child 1", "child 1", "parent 2", "child 10"}));
  });
}

TEST(Store, W5_SiblingsAndGrandchildrenEachHaveTheirOwn) {
  run_program([]() -> Task<void> {
    put(kCount, 1);
    auto grandchild = [](int add) -> Task<int> {
      put(kCount, *get(kCount) + add);
      co_return *get(kCount);
    };
    auto child = [&](int add) -> Task<int> {
      put(kCount, *get(kCount) + add);
      auto below = spawn(grandchild, 1000);
      put(kCount, -1);
      co_return co_await below;
    };
    auto a = spawn(std::ref(child), 10);
    auto b = spawn(std::ref(child), 20);
    const auto both = co_await gather(a, b);
    EXPECT_EQ(both.get<0>(), 1011);
    EXPECT_EQ(both.get<1>(), 1021);
    EXPECT_EQ(*get(kCount), 1);
  });
}

TEST(Store, W5_ATaskSpawnedFromOutsideStartsWithNothing) {
  Scheduler scheduler(Options().virtual_time());
  auto first = []() -> Task<void> {
    put(kCount, 1);
    co_return;
  };
  auto second = []() -> Task<bool> { co_return get(kCount) == nullptr; };
  scheduler.spawn(first);
  auto handle = scheduler.spawn(second);
  scheduler.run();
  EXPECT_TRUE(detail::result_now(handle));
}

// ---- Log

TEST(Store, W5_TheLogIsWhatWasInheritedThenWhatWasTold) {
  run_program([]() -> Task<void> {
    EXPECT_EQ(told(), Trace{});
    put(kCount, 1);
    EXPECT_EQ(told(), Trace{});
    tell("a");
    auto child = []() -> Task<std::vector<std::string>> {
      tell("b");
      co_return told();
    };
    auto handle = spawn(child);
    tell("c");
    const std::vector<std::string> theirs = co_await handle;
    EXPECT_EQ(theirs, (Trace{"a", "b"}));
    EXPECT_EQ(told(), (Trace{"a", "c"}));
  });
}

TEST(Store, W5_AGatherAppendsWhatTheChildrenToldInArgumentOrder) {
  run_program([]() -> Task<void> {
    tell("start");
    auto slow = spawn(tells_after, "slow", 2ms);
    auto fast = spawn(tells_after, "fast", 1ms);
    tell("meanwhile");
    co_await gather(slow, fast);
    EXPECT_EQ(told(), (Trace{"start", "meanwhile", "slow", "fast"}));
  });
}

TEST(Store, W5_AGatherOverARangeAppendsToo) {
  run_program([]() -> Task<void> {
    std::vector<Handle<void>> none;
    std::vector<Handle<int>> some;
    auto child = [](int i) -> Task<int> {
      if (i % 2 == 0) tell(std::to_string(i));
      co_return i;
    };
    for (int i = 0; i < 5; ++i) some.push_back(spawn(child, i));
    for (int i = 0; i < 2; ++i) none.push_back(spawn(tells, "void " + std::to_string(i)));
    co_await gather(some);
    co_await gather(none);
    EXPECT_EQ(told(), (Trace{"0", "2", "4", "void 0", "void 1"}));
  });
}

TEST(Store, W5_AGatherOfTasksThatHaveEndedAppendsTheSame) {
  run_program([]() -> Task<void> {
    auto a = spawn(tells, "a");
    auto named = spawn(tells, "b").named("b");
    co_await a;
    co_await named;
    a.named("named after its end");
    EXPECT_EQ(told(), Trace{}) << "a plain await appends nothing";
    co_await gather(named, a);
    EXPECT_EQ(told(), (Trace{"b", "a"}));
    EXPECT_EQ(a.name(), "named after its end");
  });
}

TEST(Store, W5_ATaskThatIsGatheredTwiceIsAppendedTwice) {
  run_program([]() -> Task<void> {
    auto a = spawn(tells, "a");
    co_await gather(a, a);
    EXPECT_EQ(told(), (Trace{"a", "a"}));
    co_await gather(a);
    EXPECT_EQ(told(), (Trace{"a", "a", "a"}));
  });
}

TEST(Store, W5_WhatAChildGatheredIsPartOfWhatItTold) {
  run_program([]() -> Task<void> {
    tell("root");
    auto child = []() -> Task<void> {
      tell("child");
      auto below = spawn(tells, "grandchild");
      tell("meanwhile");
      co_await gather(below);
      tell("child again");
    };
    auto handle = spawn(child);
    co_await gather(handle);
    EXPECT_EQ(told(), (Trace{"root", "child", "meanwhile", "grandchild", "child again"}));
  });
}

TEST(Store, W5_AChildThatGathersWithoutTellingPassesTheEntriesOn) {
  run_program([]() -> Task<void> {
    tell("root");
    auto child = []() -> Task<void> { co_await gather(spawn(tells, "grandchild")); };
    auto handle = spawn(child);
    co_await gather(handle);
    EXPECT_EQ(told(), (Trace{"root", "grandchild"}));
  });
}

TEST(Store, W5_OnlyTheNewEntriesAreAppendedAlsoWhenTheParentIsGone) {
  run_program([]() -> Task<void> {
    Handle<void> orphan;
    auto parent = [](Handle<void>& out) -> Task<void> {
      tell("parent");
      out = spawn(tells_after, "orphan", 1ms);
      co_return;
    };
    tell("root");
    co_await spawn(parent, std::ref(orphan));
    co_await gather(orphan);
    EXPECT_EQ(told(), (Trace{"root", "orphan"}));
  });
}

TEST(Store, W5_AGatherThatFailsAppendsNothing) {
  run_program([]() -> Task<void> {
    auto fails = []() -> Task<void> {
      tell("it will fail");
      co_await sleep(2ms);
      throw std::runtime_error("failed");
    };
    auto good = spawn(tells, "good");
    auto bad = spawn(fails);
    EXPECT_EQ(what_of(co_await error_of_gather(good, bad)), "failed");
    EXPECT_EQ(told(), Trace{});
  });
}

// A result that refuses to be copied when told to.
struct Fragile {
  explicit Fragile(bool& broken) : broken_(&broken) {}
  Fragile(const Fragile& other) : broken_(other.broken_) {
    if (*broken_) throw std::runtime_error("the copy failed");
  }
  Fragile& operator=(const Fragile&) = delete;
  bool* broken_;
};

TEST(Store, W5_AGatherWhoseResultsCannotBeCopiedAppendsNothing) {
  run_program([]() -> Task<void> {
    bool broken = false;
    auto child = [](bool& flag) -> Task<Fragile> {
      tell("child");
      co_return Fragile(flag);
    };
    auto good = spawn(tells, "good");
    auto handle = spawn(child, std::ref(broken));
    co_await sleep(1ms);
    broken = true;
    EXPECT_EQ(what_of(co_await error_of_gather(good, handle)), "the copy failed");
    EXPECT_EQ(told(), Trace{});
    broken = false;
    co_await gather(good, handle);
    EXPECT_EQ(told(), (Trace{"good", "child"}));
  });
}

TEST(Store, W5_AllSettledAppendsOfThoseThatFailedToo_NotOfThoseThatWereCancelled) {
  run_program([]() -> Task<void> {
    auto fails = []() -> Task<void> {
      tell("failing");
      throw std::runtime_error("failed");
      co_return;
    };
    auto waits = []() -> Task<void> {
      tell("cancelled");
      co_await sleep(1h);
    };
    auto bad = spawn(fails);
    auto gone = spawn(waits);
    auto good = spawn(tells, "good");
    co_await yield();
    gone.cancel("test");
    co_await all_settled(bad, gone, good);
    EXPECT_EQ(told(), (Trace{"failing", "good"}));
    co_await all_settled(std::vector<Handle<void>>(2, good));
    EXPECT_EQ(told(), (Trace{"failing", "good", "good", "good"}));
  });
}

TEST(Store, W5_RacesAndPlainAwaitsAppendNothing) {
  run_program([]() -> Task<void> {
    auto a = spawn(tells, "a");
    co_await a;
    co_await race(a, spawn(tells, "b"));
    auto contender = []() -> Task<int> {
      tell("contender");
      co_return 1;
    };
    co_await race(contender(), contender());
    EXPECT_EQ(told(), Trace{});
  });
}

TEST(Store, W5_PromisesInAGatherHaveNoEntries) {
  run_program([]() -> Task<void> {
    Promise<int> promise;
    promise.complete(1);
    auto a = spawn(tells, "a");
    co_await gather(promise.future(), a);
    EXPECT_EQ(told(), (Trace{"a"}));
  });
}

// ---- Cancel, memory and ends

TEST(Store, W5_ATaskThatIsCancelledBeforeItBeginsGivesBackWhatItInherited) {
  run_program([]() -> Task<void> {
    put(kCount, 1);
    tell("root");
    auto handle = spawn(tells, "never");
    handle.cancel("test");
    EXPECT_TRUE(handle.done());
    co_await all_settled(handle);
    EXPECT_EQ(told(), (Trace{"root"}));
  });
}

TEST(Store, W5_ATaskThatIsCancelledHasItsStoreWhileItUnwinds) {
  run_program([]() -> Task<void> {
    put(kCount, 1);
    int seen = 0;
    auto child = [](int& out) -> Task<void> {
      put(kCount, 5);
      try {
        co_await sleep(1h);
      } catch (const Cancelled&) {
        tell("cleaning up");
        out = *get(kCount);
        throw;
      }
    };
    auto handle = spawn(child, std::ref(seen));
    co_await yield();
    handle.cancel("test");
    co_await all_settled(handle);
    EXPECT_EQ(seen, 5);
  });
}

TEST(Store, W5_AHandleKeepsWhatItsTaskToldAndNothingElse) {
  auto big = std::make_shared<int>(1);
  Handle<void> kept;
  {
    Scheduler scheduler(Options().virtual_time());
    const StateKey<std::shared_ptr<int>> key{"big"};
    auto child = []() -> Task<void> {
      tell("last words");
      co_return;
    };
    auto program = [&]() -> Task<void> {
      put(key, big);
      tell("told before the spawn");
      kept = spawn(child);
      co_return;
    };
    scheduler.spawn(std::ref(program));
    scheduler.run();
    EXPECT_EQ(big.use_count(), 1) << "a task that has ended keeps its state";
    EXPECT_EQ(scheduler.arena().live_blocks(), 1u) << "the one entry of the child";
  }
  // The entry outlives the scheduler.
  EXPECT_TRUE(kept.done());
}

// Tells when it is destroyed.
struct TellsAtTheEnd {
  explicit TellsAtTheEnd(std::string words) : words_(std::move(words)) {}
  TellsAtTheEnd(TellsAtTheEnd&& other) noexcept : words_(std::exchange(other.words_, "")) {}
  ~TellsAtTheEnd() {
    if (!words_.empty()) tell(words_);
  }
  std::string words_;
};

TEST(Store, W5_DestructorsThatWriteAfterTheEndOfATaskDoNoHarm) {
  const StateKey<TellsAtTheEnd> key{"teller"};
  auto child = [&](bool tells_itself) -> Task<TellsAtTheEnd> {
    put(key, TellsAtTheEnd("from the state"));
    if (tells_itself) tell("from the task");
    co_return TellsAtTheEnd("from the result");
  };
  run_program([&]() -> Task<void> {
    spawn(std::ref(child), false);
    spawn(std::ref(child), true);
    spawn(std::ref(child), true).named("named");
    co_await sleep(1ms);
  });
}

TEST(Store, W5_TheStoreOutsideOfATaskIsAnError) {
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(get(kCount)); })), Errc::no_task);
  EXPECT_EQ(code_of(thrown_by([] { put(kCount, 1); })), Errc::no_task);
  EXPECT_EQ(code_of(thrown_by([] { tell("x"); })), Errc::no_task);
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(told()); })), Errc::no_task);
}

// ---- Determinism and preemption

// The trace hash of a program, which is told how many steps it has made.
template <class F>
std::uint64_t trace_of(std::uint64_t steps, F calls) {
  Scheduler scheduler(Options().virtual_time());
  auto program = [&]() -> Task<std::uint64_t> {
    calls();
    co_return Scheduler::current()->running()->steps();
  };
  auto handle = scheduler.spawn(std::ref(program));
  scheduler.run();
  EXPECT_EQ(detail::result_now(handle), steps);
  return scheduler.trace_hash();
}

TEST(Store, W5_CallsAreCountedAsStepsAndShowInTheTrace) {
  const std::vector<std::uint64_t> traces{
      trace_of(0, [] {}),
      trace_of(1, [] { put(kCount, 1); }),
      trace_of(2, [] { put(kCount, 1), put(kCount, 2); }),
      trace_of(1, [] { put(StateKey<int>("other"), 1); }),
      trace_of(1, [] { static_cast<void>(get(kCount)); }),
      trace_of(1, [] { tell("x"); }),
      trace_of(1, [] { static_cast<void>(told()); }),
  };
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(traces[i], traces[k]) << i << " and " << k;
  }
  EXPECT_EQ(traces[1], trace_of(1, [] { put(kCount, 1); }));
}

TEST(Store, W5_CallsCountAgainstTheQuantum) {
  Trace trace;
  auto worker = [&](std::string name) -> Task<void> {
    for (int i = 0; i < 2; ++i) {
      for (int n = 0; n < 10; ++n) put(kCount, n);
      trace.push_back(name);
      co_await checkpoint();
    }
  };
  run_program(
      [&]() -> Task<void> {
        auto a = spawn(std::ref(worker), "a");
        auto b = spawn(std::ref(worker), "b");
        co_await gather(a, b);
      },
      Options().virtual_time().quantum(8));
  EXPECT_EQ(trace, (Trace{"a", "b", "a", "b"}));
}

// ---- The poll engine

class PollWriter : public AgentTask<std::vector<std::string>> {
  Poll<std::vector<std::string>> poll(PollContext& context) override {
    put(kCount, *get(kCount) + 1);
    tell("poll " + std::to_string(*get(kCount)));
    if (*get(kCount) == 3) return Poll<std::vector<std::string>>::ready(told());
    context.wake_after(1ms);
    return Poll<std::vector<std::string>>::pending();
  }
};

TEST(Store, W5_APollTaskHasAStoreLikeAnyOther) {
  run_program([]() -> Task<void> {
    put(kCount, 1);
    tell("parent");
    auto agent = spawn_agent(std::make_unique<PollWriter>());
    put(kCount, 100);
    const auto seen = co_await gather(agent);
    EXPECT_EQ(seen.get<0>(), (Trace{"parent", "poll 2", "poll 3"}));
    EXPECT_EQ(told(), (Trace{"parent", "poll 2", "poll 3"}));
    EXPECT_EQ(*get(kCount), 100);
  });
}

// ---- Size

TEST(Store, W5_ASnapshotOfTenThousandEntriesMakesNothing) {
  run_program([]() -> Task<void> {
    for (int i = 0; i < 10'000; ++i) {
      const std::string name = "key " + std::to_string(i);
      put(StateKey<int>(name), i);
      tell(name);
    }
    auto child = []() -> Task<void> { co_return; };
    auto warm = spawn(child);
    const std::size_t blocks = Scheduler::current()->arena().live_blocks();
    std::vector<Handle<void>> handles;
    for (int i = 0; i < 100; ++i) handles.push_back(spawn(child));
    EXPECT_EQ(Scheduler::current()->arena().live_blocks(), blocks);
    co_await gather(handles);
    co_await warm;
    EXPECT_EQ(told().size(), 10'000u);
  });
}

}  // namespace store_test
}  // namespace tiffany::test
