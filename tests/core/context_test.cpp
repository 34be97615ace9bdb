#include "tiffany/core/context.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include "support/harness.hpp"

namespace tiffany::test {
namespace context_test {

inline constexpr ContextKey<int> kDepth{"depth"};
inline constexpr ContextKey<std::string> kUser{"user"};
inline constexpr ContextKey<std::shared_ptr<int>> kShared{"shared"};
inline constexpr StateKey<int> kCount{"count"};

// What the running task sees, as text.
std::string view() {
  const int* depth = lookup(kDepth);
  const std::string* user = lookup(kUser);
  return (depth != nullptr ? std::to_string(*depth) : "-") + " " + (user != nullptr ? *user : "-");
}

Task<std::string> see() { co_return view(); }
Task<std::string> see_later(Duration delay) {
  co_await sleep(delay);
  co_return view();
}

TEST(Context, I2_NobodySetAnythingAtTheRoot) {
  run_program([]() -> Task<void> {
    EXPECT_EQ(lookup(kDepth), nullptr);
    EXPECT_EQ(view(), "- -");
    co_return;
  });
}

TEST(Context, I2_AskingForWhatNobodySetIsAnErrorThatNamesTheKeyAndTheTask) {
  run_program([]() -> Task<void> {
    this_task::set_name("asker");
    const auto error = thrown_by([] { static_cast<void>(ask(kUser)); });
    EXPECT_EQ(code_of(error), Errc::not_in_context);
    EXPECT_NE(what_of(error).find("no \"user\" in the context of task"), std::string::npos);
    EXPECT_NE(what_of(error).find("\"asker\""), std::string::npos);
    co_return;
  });
}

TEST(Context, I2_OutsideOfATaskThereIsNone) {
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(ask(kUser)); })), Errc::no_task);
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(lookup(kUser)); })), Errc::no_task);
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(with(kDepth, 1, see)); })), Errc::no_task);
  EXPECT_EQ(code_of(thrown_by([] { static_cast<void>(spawn.with(kDepth, 1)); })), Errc::no_task);
}

TEST(Context, I2_ABlockHasItsValueAndGivesItBackAtItsEnd) {
  run_program([]() -> Task<void> {
    const std::string seen = co_await with(kUser, "ann", [&]() -> Task<std::string> {
      co_await yield();
      EXPECT_EQ(ask(kUser), "ann");
      co_return view();
    });
    EXPECT_EQ(seen, "- ann");
    EXPECT_EQ(view(), "- -");
  });
}

TEST(Context, I2_AnInnerValueHidesAnOuterOneUntilItsBlockEnds) {
  run_program([]() -> Task<void> {
    Trace trace;
    co_await with(kDepth, 1, [&]() -> Task<void> {
      trace.push_back(view());
      co_await with(kUser, "ann", [&]() -> Task<void> {
        co_await with(kDepth, 2, [&]() -> Task<void> {
          trace.push_back(view());
          co_return;
        });
        trace.push_back(view());
      });
      trace.push_back(view());
    });
    EXPECT_EQ(trace, (Trace{"1 -", "2 ann", "1 ann", "1 -"}));
  });
}

TEST(Context, I2_KeysWithEqualNamesAreDifferentKeys) {
  static constexpr ContextKey<int> same_name{"depth"};
  run_program([]() -> Task<void> {
    co_await with(same_name, 1, [&]() -> Task<void> {
      EXPECT_EQ(lookup(kDepth), nullptr);
      EXPECT_EQ(ask(same_name), 1);
      co_return;
    });
  });
}

TEST(Context, I2_ATaskInheritsTheContextWhereItWasSpawned) {
  run_program([]() -> Task<void> {
    Handle<std::string> inside;
    co_await with(kDepth, 1, [&]() -> Task<void> {
      inside = spawn(see_later, 1ms);
      co_return;
    });
    auto outside = spawn(see_later, 1ms);
    EXPECT_EQ(co_await inside, "1 -") << "it keeps the value after the block has ended";
    EXPECT_EQ(co_await outside, "- -");
  });
}

TEST(Context, I2_ItIsInheritedOverGenerationsAndIntoScopesAndRaces) {
  run_program([]() -> Task<void> {
    co_await with(kUser, "ann", [&]() -> Task<void> {
      auto child = []() -> Task<std::string> { co_return co_await spawn(see); };
      EXPECT_EQ(co_await spawn(child), "- ann");
      co_await scope([&](Scope& s) -> Task<void> { EXPECT_EQ(co_await s.spawn(see), "- ann"); });
      const auto won = co_await race(see_later(1ms), see_later(2ms));
      EXPECT_EQ(won.value, "- ann");
      EXPECT_EQ(co_await Scheduler::current()->spawn(see), "- ann");
    });
  });
}

TEST(Context, I2_AnotherTasksBlockIsNotSeen) {
  run_program([]() -> Task<void> {
    auto other = []() -> Task<void> {
      co_await with(kDepth, 9, [&]() -> Task<void> { co_await sleep(10ms); });
    };
    auto handle = spawn(other);
    co_await sleep(1ms);
    EXPECT_EQ(view(), "- -");
    EXPECT_EQ(co_await spawn(see), "- -");
    co_await handle;
  });
}

TEST(Context, I2_ASpawnCanGiveValues) {
  run_program([]() -> Task<void> {
    EXPECT_EQ(co_await spawn.with(kDepth, 1)(see), "1 -");
    auto both = spawn.with(kDepth, 1).with(kUser, "ann").with_priority(3)(see);
    EXPECT_EQ(co_await both, "1 ann");
    EXPECT_EQ(view(), "- -");
    co_await with(kDepth, 5, [&]() -> Task<void> {
      auto a = spawn.with(kUser, "bob")(see);
      auto b = spawn.with(kDepth, 6).system()(see_later, 1ms);
      EXPECT_EQ(co_await a, "5 bob");
      EXPECT_EQ(co_await b, "6 -");
      EXPECT_EQ(view(), "5 -");
    });
    co_await scope(
        [&](Scope& s) -> Task<void> { EXPECT_EQ(co_await s.spawn.with(kDepth, 2)(see), "2 -"); });
  });
}

TEST(Context, I2_AScheduleCanBeGivenValuesFromOutside) {
  Scheduler scheduler(Options().virtual_time());
  {
    auto handle = scheduler.spawn.with(kUser, "root")(see);
    scheduler.run();
    EXPECT_EQ(detail::result_now(handle), "- root");
  }
  expect_nothing_left(scheduler);
}

TEST(Context, I2_ATaskThatIsGivenValuesHasTheStoreToo) {
  run_program([]() -> Task<void> {
    put(kCount, 7);
    auto child = []() -> Task<int> {
      tell("child");
      co_return *get(kCount) + ask(kDepth);
    };
    auto handle = spawn.with(kDepth, 1)(child);
    put(kCount, 8);
    const auto sum = co_await gather(handle);
    EXPECT_EQ(sum.get<0>(), 8);
    EXPECT_EQ(told(), (Trace{"child"}));
  });
}

TEST(Context, I2_SpawningWithAValueIntoACancelledScopeGivesTheValueBack) {
  auto value = std::make_shared<int>(1);
  run_program([&]() -> Task<void> {
    Handle<std::string> handle;
    co_await scope([&](Scope& s) -> Task<void> {
      s.cancel("test");
      handle = s.spawn.with(kShared, value)(see);
      EXPECT_TRUE(handle.done());
      EXPECT_EQ(value.use_count(), 1);
      co_return;
    });
  });
}

TEST(Context, I2_ATaskWithNothingLeftAfterItsBlocksHasNothingToBequeath) {
  run_program([]() -> Task<void> {
    co_await with(kDepth, 1, see);
    EXPECT_EQ(Scheduler::current()->running()->heritage(), nullptr);
  });
}

TEST(Context, I2_TheStoreGoesThroughABlockUnchangedByItsEnd) {
  run_program([]() -> Task<void> {
    auto stays = []() -> Task<void> { co_await sleep(10ms); };
    put(kCount, 1);
    co_await with(kDepth, 1, [&]() -> Task<void> {
      put(kCount, 2);
      tell("inside");
      spawn(stays);  // shares what the task has when the block ends
      co_return;
    });
    EXPECT_EQ(*get(kCount), 2);
    EXPECT_EQ(told(), (Trace{"inside"}));
    EXPECT_EQ(view(), "- -");
    tell("after");
    EXPECT_EQ(told(), (Trace{"inside", "after"}));
  });
}

TEST(Context, I2_ABlockGivesItsValueBackWhenItThrowsAndWhenItIsCancelled) {
  run_program([]() -> Task<void> {
    auto throws = []() -> Task<void> {
      co_await yield();
      throw std::runtime_error("thrown");
    };
    EXPECT_EQ(what_of(co_await error_of(with(kDepth, 1, throws))), "thrown");
    EXPECT_EQ(view(), "- -");

    Trace trace;
    auto waits = [&]() -> Task<void> {
      try {
        co_await with(kDepth, 1, [&]() -> Task<void> {
          AtExit at_exit(trace, "unwound");
          co_await sleep(1h);
        });
      } catch (const Cancelled&) {
        trace.push_back(view());
        throw;
      }
    };
    auto parked = spawn(std::ref(waits));
    co_await sleep(1ms);
    parked.cancel("test");
    co_await all_settled(parked);
    EXPECT_EQ(trace, (Trace{"unwound", "- -"}));

    const auto late =
        co_await within(1ms, with(kDepth, 2, []() -> Task<void> { co_await sleep(1h); }));
    EXPECT_TRUE(late.timed_out());
    EXPECT_EQ(view(), "- -");
  });
}

TEST(Context, I2_ATaskCancelledBeforeItBeginsGivesBackWhatItInherited) {
  auto value = std::make_shared<int>(1);
  run_program([&]() -> Task<void> {
    auto handle = spawn.with(kShared, value)(see);
    EXPECT_EQ(value.use_count(), 2);
    handle.cancel("test");
    EXPECT_EQ(value.use_count(), 1);
    co_return;
  });
}

TEST(Context, I2_AValueGoesWhenItsBlockAndAllThatInheritedItHaveEnded) {
  auto value = std::make_shared<int>(1);
  run_program([&]() -> Task<void> {
    Handle<std::string> kept;
    co_await with(kShared, value, [&]() -> Task<void> {
      kept = spawn(see_later, 1ms);
      co_return;
    });
    EXPECT_EQ(value.use_count(), 2);
    co_await kept;
    EXPECT_EQ(value.use_count(), 1) << "a handle keeps no context";
  });
}

TEST(Context, I2_ABlockThatIsNeverAwaitedChangesNothing) {
  auto value = std::make_shared<int>(1);
  run_program([&]() -> Task<void> {
    {
      auto block = with(kShared, value, see);
      EXPECT_EQ(value.use_count(), 2);
      EXPECT_EQ(lookup(kShared), nullptr);
    }
    EXPECT_EQ(value.use_count(), 1);
    co_return;
  });
}

TEST(Context, I2_ABlockIsInsideOfTheContextWhereItRunsNotWhereItWasMade) {
  run_program([]() -> Task<void> {
    auto block = with(kUser, "ann", see);
    const std::string seen = co_await with(
        kDepth, 1, [&]() -> Task<std::string> { co_return co_await std::move(block); });
    EXPECT_EQ(seen, "1 ann");
  });
}

TEST(Context, I2_TasksThatAreDroppedByForceGiveBackWhatTheyHave) {
  auto value = std::make_shared<int>(1);
  {
    Scheduler scheduler(Options().virtual_time());
    auto stubborn = [&]() -> Task<void> {
      co_await with(kShared, value, [&]() -> Task<void> {
        put(kCount, 1);
        for (;;) {
          try {
            co_await sleep(1h);
          } catch (const Cancelled&) {
          }
        }
      });
    };
    scheduler.spawn(std::ref(stubborn));
    scheduler.step_until_idle();
    EXPECT_EQ(value.use_count(), 2);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(Context, I2_NamesAndReasonsLiveBesideWhatIsInherited) {
  run_program([]() -> Task<void> {
    co_await with(kDepth, 1, [&]() -> Task<void> {
      auto named = spawn(see_later, 1ms).named("named");
      EXPECT_EQ(named.name(), "named");
      EXPECT_EQ(co_await named, "1 -");
      auto child = []() -> Task<std::string> {
        this_task::set_name("child");
        co_return co_await with(kUser, "ann", see);
      };
      EXPECT_EQ(co_await spawn(child), "1 ann");
      auto cancelled = spawn(see_later, 1h);
      co_await yield();
      cancelled.cancel("enough");
      const auto end = co_await cancelled.outcome();
      EXPECT_TRUE(end.cancelled());
      EXPECT_NE(what_of(end.error()).find("enough"), std::string::npos);
    });
  });
}

TEST(Context, I2_AMillionValuesAreFoundAndDroppedOnAConstantStack) {
  run_program([]() -> Task<void> {
    // From inside a task one gets so deep with spawners only: a block would need a frame for each.
    auto spawner = spawn.with(kUser, "outermost");
    for (int i = 0; i < 1'000'000; ++i) spawner = spawner.with(kDepth, i);
    EXPECT_EQ(co_await spawner(see), "999999 outermost");
  });
}

class PollAsker : public AgentTask<std::string> {
  Poll<std::string> poll(PollContext&) override { return Poll<std::string>::ready(ask(kUser)); }
};

TEST(Context, I2_APollTaskInheritsTheContextLikeAnyOther) {
  run_program([]() -> Task<void> {
    co_await with(kUser, "ann", [&]() -> Task<void> {
      EXPECT_EQ(co_await spawn_agent(std::make_unique<PollAsker>()), "ann");
    });
  });
}

}  // namespace context_test
}  // namespace tiffany::test
