#include "tiffany/structure/effect.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include "support/harness.hpp"

namespace tiffany::test {
namespace effect_test {

struct AskUser {
  using result = std::string;
  std::string question;
  int urgency = 0;
};

struct Note {
  using result = void;
  std::string text;
};

// Not an aggregate.
class Toss {
 public:
  using result = int;
  explicit Toss(int sides) : sides_(sides) {}
  int sides() const { return sides_; }

 private:
  int sides_;
};

Task<std::string> asks(std::string question) {
  co_return co_await perform<AskUser>(std::move(question));
}

const auto yes = [](const AskUser&) { return "yes"; };
const auto no = [](const AskUser&) { return "no"; };

// Longer than what a string keeps inside itself, so that a second free is seen.
const std::string kLong = "a question that is long enough to need memory of its own";

TEST(Effect, W7_ThePerformerGetsWhatTheHandlerReturns) {
  run_program([]() -> Task<void> {
    auto echo = [](const AskUser& ask) { return ask.question + "!" + std::to_string(ask.urgency); };
    const std::string answer = co_await with_handler<AskUser>(
        echo, [&]() -> Task<std::string> { co_return co_await perform<AskUser>(kLong, 3); });
    EXPECT_EQ(answer, kLong + "!3");
  });
}

TEST(Effect, W7_AHandlerMaySuspend) {
  run_program([]() -> Task<void> {
    auto slow = [](AskUser ask) -> Task<std::string> {
      co_await sleep(5ms);
      co_return "after a while: " + ask.question;
    };
    co_await with_handler<AskUser>(slow, [&]() -> Task<void> {
      const Time before = now();
      EXPECT_EQ(co_await perform<AskUser>(kLong), "after a while: " + kLong);
      EXPECT_EQ(now() - before, 5ms);
    });
  });
}

TEST(Effect, W7_AnEffectIsMadeOfArgumentsOfAVariableOrOfNothing) {
  run_program([]() -> Task<void> {
    Trace trace;
    auto echo = [&](AskUser ask) {
      trace.push_back(ask.question);
      return ask.question;
    };
    co_await with_handler<AskUser>(echo, [&]() -> Task<void> {
      AskUser kept{kLong, 1};
      co_await perform<AskUser>(kept);
      co_await perform<AskUser>(std::string("x") + kLong);
      co_await perform<AskUser>();
      EXPECT_EQ(kept.question, kLong);
    });
    EXPECT_EQ(trace, (Trace{kLong, "x" + kLong, ""}));
  });
}

TEST(Effect, W7_EffectsMayHaveNoResultAndConstructors) {
  run_program([]() -> Task<void> {
    Trace trace;
    co_await with_handler<Note>([&](const Note& note) { trace.push_back(note.text); },
                                [&]() -> Task<void> {
                                  co_await perform<Note>(kLong);
                                  const auto awaited = [&](Note note) -> Task<void> {
                                    co_await yield();
                                    trace.push_back("awaited " + note.text);
                                  };
                                  co_await with_handler<Note>(awaited, [&]() -> Task<void> {
                                    co_await perform<Note>("note");
                                  });
                                });
    EXPECT_EQ(trace, (Trace{kLong, "awaited note"}));
    const auto last = [](const Toss& toss) { return toss.sides(); };
    co_await with_handler<Toss>(last,
                                [&]() -> Task<void> { EXPECT_EQ(co_await perform<Toss>(6), 6); });
  });
}

TEST(Effect, W7_WithoutAHandlerItIsAnErrorThatNamesTheEffectAndSaysWhatToWrite) {
  run_program([]() -> Task<void> {
    this_task::set_name("lonely");
    const auto error = co_await error_of(perform<AskUser>("anyone?"));
    EXPECT_EQ(code_of(error), Errc::no_handler);
    EXPECT_NE(what_of(error).find("\"lonely\" performed "), std::string::npos);
    EXPECT_NE(what_of(error).find("AskUser>(handler, block)"), std::string::npos);
    co_await with_handler<Note>([](const Note&) {},
                                [&]() -> Task<void> {
                                  EXPECT_EQ(code_of(co_await error_of(perform<AskUser>("anyone?"))),
                                            Errc::no_handler);
                                });
  });
}

TEST(Effect, W7_OutsideOfATaskABlockIsAnError) {
  EXPECT_EQ(code_of(thrown_by([] {
              static_cast<void>(with_handler<AskUser>(yes, []() -> Task<void> { co_return; }));
            })),
            Errc::no_task);
}

TEST(Effect, W7_AChildInheritsTheHandlersWhereItWasSpawned) {
  run_program([]() -> Task<void> {
    Handle<std::string> outlives;
    co_await with_handler<AskUser>(yes, [&]() -> Task<void> {
      EXPECT_EQ(co_await spawn(asks, "?"), "yes");
      outlives = spawn(asks, "?");
    });
    EXPECT_EQ(co_await outlives, "yes");
  });
}

TEST(Effect, W7_TheInnermostHandlerAnswersAndTheOuterOneAfterItsBlock) {
  run_program([]() -> Task<void> {
    co_await with_handler<AskUser>(yes, [&]() -> Task<void> {
      co_await with_handler<AskUser>(no, [&]() -> Task<void> {
        EXPECT_EQ(co_await asks("?"), "no");
        EXPECT_EQ(co_await spawn(asks, "?"), "no");
      });
      EXPECT_EQ(co_await asks("?"), "yes");
    });
  });
}

TEST(Effect, W7_ASpawnCanOverrideAHandler) {
  run_program([]() -> Task<void> {
    auto owning = [text = kLong](const AskUser&) { return text; };
    co_await with_handler<AskUser>(yes, [&]() -> Task<void> {
      auto child = spawn.with_handler<AskUser>(owning)(asks, "?");
      auto below = spawn.with_handler<AskUser>(no).with_handler<AskUser>(owning)(asks, "?");
      EXPECT_EQ(co_await child, kLong);
      EXPECT_EQ(co_await below, kLong);
      EXPECT_EQ(co_await asks("?"), "yes");
    });
  });
}

TEST(Effect, W7_AHandlerThatPerformsTheSameEffectReachesTheNextOuterOne) {
  run_program([]() -> Task<void> {
    const auto wrap = [](std::string around) {
      return [around](AskUser ask) -> Task<std::string> {
        co_return around + "(" + co_await perform<AskUser>(ask.question) + ")";
      };
    };
    const auto outer = [](const AskUser& ask) { return "outer " + ask.question; };
    const auto middle = wrap("middle");
    const auto inner = wrap("inner");
    co_await with_handler<AskUser>(outer, [&]() -> Task<void> {
      co_await with_handler<AskUser>(middle, [&]() -> Task<void> {
        auto child = spawn.with_handler<AskUser>(inner)(asks, "q");
        EXPECT_EQ(co_await child, "inner(middle(outer q))");
        EXPECT_EQ(co_await asks("q"), "middle(outer q)");
      });
    });
    EXPECT_EQ(code_of(co_await error_of(with_handler<AskUser>(
                  middle, []() -> Task<void> { static_cast<void>(co_await asks("q")); }))),
              Errc::no_handler);
  });
}

inline constexpr ContextKey<std::string> kWhere{"where"};

TEST(Effect, W7_AHandlerRunsInTheContextWhereItWasInstalled) {
  run_program([]() -> Task<void> {
    auto handler = [](const AskUser&) -> Task<std::string> {
      const std::string here = ask(kWhere);
      co_return here +
          co_await with(kWhere, " inside", []() -> Task<std::string> { co_return ask(kWhere); });
    };
    co_await with(kWhere, "outside", [&]() -> Task<void> {
      co_await with_handler<AskUser>(handler, [&]() -> Task<void> {
        co_await with(kWhere, "performer", [&]() -> Task<void> {
          EXPECT_EQ(co_await asks("?"), "outside inside");
          EXPECT_EQ(ask(kWhere), "performer");
        });
      });
    });
    // Also where there was none at all.
    auto looks = [](const AskUser&) -> Task<std::string> {
      EXPECT_EQ(lookup(kWhere), nullptr);
      co_return co_await with(kWhere, "here", []() -> Task<std::string> { co_return ask(kWhere); });
    };
    EXPECT_EQ(co_await spawn.with_handler<AskUser>(looks)(asks, "?"), "here");
  });
}

TEST(Effect, W7_WhatAHandlerWritesToTheStoreIsThePerformers) {
  run_program([]() -> Task<void> {
    const StateKey<int> key{"count"};
    auto counts = [&](const AskUser&) {
      put(key, (get(key) != nullptr ? *get(key) : 0) + 1);
      tell("asked");
      return "ok";
    };
    co_await with_handler<AskUser>(counts, [&]() -> Task<void> {
      co_await asks("?");
      co_await asks("?");
    });
    EXPECT_EQ(*get(key), 2);
    EXPECT_EQ(told(), (Trace{"asked", "asked"}));
  });
}

TEST(Effect, W7_WhatAHandlerThrowsIsThrownFromThePerform) {
  run_program([]() -> Task<void> {
    auto refuses = [](const AskUser&) -> std::string { throw std::runtime_error("no answer"); };
    auto suspends = [](const AskUser&) -> Task<std::string> {
      co_await yield();
      throw std::runtime_error("late");
    };
    co_await with_handler<AskUser>(refuses, [&]() -> Task<void> {
      EXPECT_EQ(what_of(co_await error_of(perform<AskUser>(kLong))), "no answer");
    });
    co_await with_handler<AskUser>(suspends, [&]() -> Task<void> {
      EXPECT_EQ(what_of(co_await error_of(perform<AskUser>(kLong))), "late");
      co_await with(kWhere, "still here", [&]() -> Task<void> {
        EXPECT_EQ(what_of(co_await error_of(perform<AskUser>(kLong))), "late");
        EXPECT_EQ(ask(kWhere), "still here");
      });
    });
  });
}

TEST(Effect, W7_ACancelReachesTheHandlerWhereItIsParked) {
  run_program([]() -> Task<void> {
    Trace trace;
    auto waits = [&](const AskUser&) -> Task<std::string> {
      AtExit at_exit(trace, "handler unwound");
      co_await sleep(1h);
      co_return "never";
    };
    auto parked = spawn.with_handler<AskUser>(waits)(asks, kLong);
    auto unborn = spawn.with_handler<AskUser>(waits)(asks, kLong);
    unborn.cancel("before it begins");
    co_await sleep(1ms);
    parked.cancel("while parked");
    auto done = spawn.with_handler<AskUser>(yes)(asks, kLong);
    co_await all_settled(parked, unborn);
    co_await sleep(1ms);
    done.cancel("after its end");
    EXPECT_EQ(co_await done, "yes");
    EXPECT_EQ(trace, (Trace{"handler unwound"}));
  });
}

TEST(Effect, W7_PerformsShowInTheTraceHash) {
  const auto trace_of = [](int performs) {
    Scheduler scheduler(Options().virtual_time());
    auto program = [&]() -> Task<void> {
      for (int i = 0; i < performs; ++i) co_await perform<AskUser>("?");
    };
    scheduler.spawn.with_handler<AskUser>(yes)(std::ref(program));
    scheduler.run();
    return scheduler.trace_hash();
  };
  EXPECT_EQ(trace_of(2), trace_of(2));
  EXPECT_NE(trace_of(2), trace_of(3));
}

}  // namespace effect_test
}  // namespace tiffany::test
