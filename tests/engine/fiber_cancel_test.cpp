// I4, T2: what a cancel does to a fiber, and what the end of its scheduler does.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/fibers.hpp"
#include "support/harness.hpp"
#include "tiffany/engine/fiber.hpp"
#include "tiffany/structure/fiber_blocks.hpp"

namespace tiffany {
namespace fiber_cancel_test {

using namespace test;

// Waits where it is told to, and writes down how it left.
template <class Wait>
class Waiter {
 public:
  Waiter(Trace& trace, Wait wait) : trace_(&trace), wait_(std::move(wait)) {}
  void operator()() {
    const AtExit outer(*trace_, "outer gone");
    try {
      const AtExit inner(*trace_, "inner gone");
      trace_->push_back("begun");
      wait_();
      trace_->push_back("waited");
    } catch (const Cancelled& cancelled) {
      trace_->push_back("cancelled: " + cancelled.reason().message);
      throw;
    }
  }

 private:
  Trace* trace_;
  Wait wait_;
};

const Trace kUnwound({"begun", "inner gone", "cancelled: enough", "outer gone"});

TEST(FiberCancel, I4_BeforeItsStartTheFunctionIsNeverCalled) {
  Trace trace;
  run_fiber([&] {
    AtExit argument(trace, "argument gone");
    auto handle = spawn_fiber([&](AtExit) { trace.push_back("called"); }, std::move(argument));
    handle.cancel("not wanted");
    EXPECT_EQ(handle.state(), TaskState::cancelled);
    EXPECT_EQ(code_of(await(handle.outcome()).error()), Errc::task_cancelled);
  });
  EXPECT_EQ(trace, Trace({"argument gone"}));
}

TEST(FiberCancel, I4_WhileParkedTheCallIsWithdrawnAndTheStackUnwound) {
  Trace trace;
  run_fiber([&] {
    auto handle = spawn_fiber(Waiter(trace, [] { fiber::sleep(1h); }));
    fiber::yield();
    EXPECT_EQ(Scheduler::current()->armed_timers(), 1u);
    handle.cancel("enough");
    EXPECT_EQ(Scheduler::current()->armed_timers(), 0u);
    EXPECT_TRUE(await(handle.outcome()).cancelled());
    EXPECT_EQ(now(), Time()) << "the clock does not jump to a timer that is gone";
  });
  EXPECT_EQ(trace, kUnwound);
}

TEST(FiberCancel, I4_InAYieldItIsThrownThere) {
  Trace trace;
  run_fiber([&] {
    const auto yields = [] {
      for (;;) fiber::yield();
    };
    auto handle = spawn_fiber(Waiter(trace, yields));
    for (int i = 0; i < 5; ++i) fiber::yield();
    EXPECT_EQ(handle.state(), TaskState::suspended);
    handle.cancel("enough");
    EXPECT_TRUE(await(handle.outcome()).cancelled());
  });
  EXPECT_EQ(trace, kUnwound);
}

TEST(FiberCancel, I4_AfterItsResultArrivedThatIsDeliveredFirst) {
  Trace trace;
  run_fiber([&] {
    Promise<int> promise;
    const auto waits = [&] {
      trace.push_back(std::to_string(await(promise.future())));
      fiber::sleep(1h);
    };
    auto handle = spawn_fiber(Waiter(trace, waits));
    fiber::yield();
    promise.complete(3);
    handle.cancel("enough");
    EXPECT_TRUE(await(handle.outcome()).cancelled());
  });
  EXPECT_EQ(trace, Trace({"begun", "3", "inner gone", "cancelled: enough", "outer gone"}));
}

TEST(FiberCancel, I4_InACoroutineThatItAwaitsBothUnwind) {
  Trace trace;
  const auto coroutine = [&](int depth, auto& self) -> Task<void> {
    const AtExit exit(trace, "frame " + std::to_string(depth) + " gone");
    if (depth > 1) {
      co_await self(depth - 1, self);
    } else {
      co_await sleep(1h);
    }
  };
  run_fiber([&] {
    auto handle = spawn_fiber(Waiter(trace, [&] { await(coroutine(3, coroutine)); }));
    fiber::yield();
    handle.cancel("enough");
    EXPECT_TRUE(await(handle.outcome()).cancelled());
  });
  EXPECT_EQ(trace, Trace({"begun", "frame 1 gone", "frame 2 gone", "frame 3 gone", "inner gone",
                          "cancelled: enough", "outer gone"}));
}

TEST(FiberCancel, I4_CodeThatThrowsItAwayGetsItAgain) {
  run_fiber([] {
    int caught = 0;
    const auto stubborn = [&] {
      for (int i = 0; i < 3; ++i) {
        try {
          i == 1 ? fiber::yield() : fiber::sleep(1h);
        } catch (const Cancelled&) {
          ++caught;
        }
      }
      fiber::sleep(1h);
    };
    auto handle = spawn_fiber(std::ref(stubborn));
    fiber::yield();
    handle.cancel();
    EXPECT_TRUE(await(handle.outcome()).cancelled());
    EXPECT_EQ(caught, 3);
    EXPECT_EQ(now(), Time());
  });
}

TEST(FiberCancel, I4_ByItselfItIsThrownFromTheNextAwait) {
  run_fiber([] {
    const auto stops = [] {
      this_task::cancel("changed my mind");
      fiber::yield();
      ADD_FAILURE() << "not reached";
    };
    auto handle = spawn_fiber(stops);
    EXPECT_TRUE(await(handle.outcome()).cancelled());
    auto finishes = spawn_fiber([] {
      this_task::cancel();
      return 1;
    });
    EXPECT_EQ(await(finishes), 1) << "it may still finish";
  });
}

// As in a coroutine: only a task that was asked to stop is cancelled.
TEST(FiberCancel, W4_ACancelledThatStrayedIntoItIsAnErrorLikeAnyOther) {
  run_fiber([] {
    auto handle = spawn_fiber([] {
      throw Cancelled(Scheduler::current()->reason(CancelCause::requested, "another one's",
                                                   std::source_location::current()));
    });
    static_cast<void>(await(handle.outcome()));
    EXPECT_EQ(handle.state(), TaskState::failed);
  });
}

TEST(FiberCancel, I4_AFailingSiblingCancelsAFiberOfTheScope) {
  Trace trace;
  run_fiber([&] {
    const auto fails = [] {
      fiber::sleep(1ms);
      throw std::runtime_error("sibling");
    };
    const auto error = thrown_by([&] {
      fiber::scope([&](Scope& s) {
        s.spawn_fiber(Waiter(trace, [] { fiber::sleep(1h); }));
        s.spawn_fiber(fails);
        fiber::sleep(1h);
      });
    });
    EXPECT_EQ(what_of(error), "sibling");
    EXPECT_EQ(now(), Time(1ms));
  });
  EXPECT_EQ(trace.size(), 4u);
  EXPECT_EQ(trace.back(), "outer gone");
}

// ---- Destructors that wait ----

struct WaitsAtExit {
  explicit WaitsAtExit(Trace& t, Duration d = 1ms) : trace(t), delay(d) {}
  ~WaitsAtExit() {
    trace.push_back("waits");
    fiber::yield();
    fiber::sleep(delay);
    trace.push_back("has waited until " + std::to_string(now().time_since_epoch() / 1ms));
  }
  Trace& trace;
  Duration delay;
};

TEST(FiberCancel, I4_WhatADestructorWaitsForWhileTheStackUnwindsIsNotCancelled) {
  Trace trace;
  run_fiber([&] {
    const auto waits = [&] {
      const WaitsAtExit exit(trace);
      fiber::sleep(1h);
    };
    auto handle = spawn_fiber(waits);
    fiber::yield();
    handle.cancel("enough");
    EXPECT_TRUE(await(handle.outcome()).cancelled());
  });
  EXPECT_EQ(trace, Trace({"waits", "has waited until 1"}));
}

TEST(FiberCancel, I4_AShieldHoldsItBack) {
  Trace trace;
  run_fiber([&] {
    const auto waits = [&] {
      fiber::shield([&] { const WaitsAtExit exit(trace); });
      fiber::yield();
      trace.push_back("not reached");
    };
    auto handle = spawn_fiber(waits);
    fiber::yield();
    handle.cancel("enough");
    EXPECT_TRUE(await(handle.outcome()).cancelled());
  });
  EXPECT_EQ(trace, Trace({"waits", "has waited until 1"}));
}

// ---- The end of the scheduler ----

TEST(FiberCancel, T2_ShutdownEndsFibers) {
  Trace trace;
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn_fiber(Waiter(trace, [] { fiber::sleep(1h); }));
  scheduler.step_until_idle();
  scheduler.shutdown("enough");
  EXPECT_EQ(trace, kUnwound);
  expect_no_fiber_left(scheduler);
}

TEST(FiberCancel, T2_TheDestructorOfASchedulerUnwindsFibersWhereverTheyAre) {
  const auto body = [] {
    Trace trace;
    {
      Scheduler scheduler(Options().virtual_time());
      const auto nap = []() -> Task<void> { co_await sleep(1h); };
      scheduler.spawn_fiber(Waiter(trace, [] { fiber::sleep(1h); }));
      scheduler.spawn_fiber(Waiter(trace, [] {
        for (;;) fiber::yield();
      }));
      scheduler.spawn_fiber(Waiter(trace, [&] { await(nap()); }));
      for (int i = 0; i < 8; ++i) scheduler.step();
      scheduler.spawn_fiber(Waiter(trace, [] {}));
    }
    EXPECT_EQ(std::count(trace.begin(), trace.end(), "begun"), 3);
    EXPECT_EQ(std::count(trace.begin(), trace.end(), "inner gone"), 3);
    EXPECT_EQ(std::count(trace.begin(), trace.end(), "outer gone"), 3);
    EXPECT_EQ(std::count(trace.begin(), trace.end(), "waited"), 0);
  };
  EXPECT_SURVIVES(body);
}

Options logging_to(std::string& text) {
  return Options().virtual_time().log_to(
      [&](const LogLine& line) { text += std::string(line.message) + "\n"; });
}

// It does not stop when asked to, so it is dropped by force, and unwound all the same.
TEST(FiberCancel, T2_AFiberThatThrowsCancelledAwayIsUnwoundWithoutIt) {
  const auto body = [] {
    Trace trace;
    std::string log;
    {
      Scheduler scheduler(logging_to(log));
      const auto nap = []() -> Task<void> { co_await sleep(1h); };
      const auto stubborn = [&](bool in_coroutine) {
        const AtExit exit(trace, "gone");
        for (;;) {
          try {
            in_coroutine ? await(nap()) : fiber::sleep(1h);
          } catch (const Cancelled&) {
          }
        }
      };
      AtExit argument(trace, "argument gone");
      const auto takes = [&](AtExit, bool in_coroutine) { stubborn(in_coroutine); };
      scheduler.spawn_fiber(takes, std::move(argument), false);
      scheduler.spawn_fiber(std::ref(stubborn), true);
      scheduler.step_until_idle();
    }
    EXPECT_EQ(trace, Trace({"gone", "argument gone", "gone"}));
    EXPECT_EQ(log, "");
  };
  EXPECT_SURVIVES(body);
}

TEST(FiberCancel, WhatAFiberThrowsWhileItIsDroppedByForceIsReported) {
  const auto body = [] {
    std::string log;
    {
      Scheduler scheduler(logging_to(log));
      const auto stubborn = [] {
        for (;;) {
          try {
            fiber::sleep(1h);
          } catch (const Cancelled&) {
          } catch (...) {
            throw std::runtime_error("could not write the last page");
          }
        }
      };
      scheduler.spawn_fiber(stubborn).named("printer");
      scheduler.step_until_idle();
    }
    EXPECT_NE(log.find("task #1 \"printer\", spawned at "), std::string::npos) << log;
    EXPECT_NE(log.find(", threw while its scheduler was being destroyed: could not write the last "
                       "page"),
              std::string::npos)
        << log;
  };
  EXPECT_SURVIVES(body);
}

TEST(FiberCancel, T2_ABlockOfAScopeLetsTheDropThrough) {
  const auto body = [] {
    Trace trace;
    {
      Scheduler scheduler(Options().virtual_time());
      const auto stubborn = [&] {
        for (;;) {
          try {
            fiber::sleep(1h);
          } catch (const Cancelled&) {
          }
        }
      };
      const auto opens = [&] {
        const AtExit exit(trace, "owner gone");
        fiber::scope([&](Scope& s) {
          s.spawn_fiber([&] {
            const AtExit child(trace, "child gone");
            stubborn();
          });
          stubborn();
        });
      };
      scheduler.spawn_fiber(opens);
      scheduler.step_until_idle();
    }
    EXPECT_EQ(trace, Trace({"child gone", "owner gone"}));
  };
  EXPECT_SURVIVES(body);
}

TEST(FiberCancel, T2_AFiberThatThrowsEverythingAwayIsReportedAndLeftAsItIs) {
  const auto body = [] {
    std::string log;
    Trace trace;
    {
      Scheduler scheduler(logging_to(log));
      const auto deaf = [&] {
        const AtExit exit(trace, "never gone");
        for (;;) {
          try {
            fiber::sleep(1h);
          } catch (...) {
          }
        }
      };
      scheduler.spawn_fiber(std::ref(deaf)).named("deaf");
      scheduler.step_until_idle();
    }
    EXPECT_EQ(trace, Trace());
    EXPECT_EQ(log.find("task #1 \"deaf\", a fiber spawned at fiber_cancel_test.cpp:"), 0u) << log;
    EXPECT_NE(log.find("did not unwind"), std::string::npos) << log;
  };
  EXPECT_SURVIVES(body);
}

TEST(FiberCancel, T2_AFiberThatReturnsInsteadOfUnwindingIsReportedToo) {
  const auto body = [] {
    std::string log;
    const auto value = std::make_shared<int>(1);
    {
      Scheduler scheduler(logging_to(log));
      const auto sly = [&]() -> std::shared_ptr<int> {
        for (int i = 0; i < 100'000; ++i) {
          try {
            fiber::sleep(1h);
          } catch (const Cancelled&) {
          } catch (...) {
            return value;
          }
        }
        return nullptr;
      };
      auto handle = scheduler.spawn_fiber(std::ref(sly)).named("sly");
      scheduler.step_until_idle();
    }
    EXPECT_EQ(value.use_count(), 1);
    EXPECT_NE(log.find("task #1 \"sly\""), std::string::npos) << log;
  };
  EXPECT_SURVIVES(body);
}

// Nothing can be thrown there, and nothing will ever wake it.
TEST(FiberCancel, T2_AFiberThatStillWaitsInADestructorIsReportedAndLeftAsItIs) {
  const auto body = [] {
    std::string log;
    Trace trace;
    {
      Scheduler scheduler(logging_to(log));
      const auto waits = [&] {
        const WaitsAtExit exit(trace, 2h);
        throw std::runtime_error("unwinds");
      };
      scheduler.spawn_fiber(std::ref(waits)).named("slow");
      scheduler.step_until_idle();
    }
    EXPECT_EQ(trace, Trace({"waits"}));
    EXPECT_NE(log.find("task #1 \"slow\""), std::string::npos) << log;
    EXPECT_NE(log.find("waits in a destructor"), std::string::npos) << log;
  };
  EXPECT_SURVIVES(body);
}

// The loop that unwinds the inner fibers runs on the stack of the outer one.
TEST(FiberCancel, T2_ASchedulerMayBeDestroyedInAFiberOfAnother) {
  const auto body = [] {
    Trace trace;
    std::optional<Scheduler> inner;
    inner.emplace(Options().virtual_time());
    inner->spawn_fiber(Waiter(trace, [] { fiber::sleep(1h); }));
    inner->spawn_fiber(Waiter(trace, [] {
      for (;;) {
        try {
          fiber::sleep(1h);
        } catch (const Cancelled&) {
        }
      }
    }));
    inner->step_until_idle();
    const auto destroys = [&] {
      fiber::yield();
      try {
        throw std::runtime_error("outer");
      } catch (const std::exception&) {
        inner.reset();
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        EXPECT_EQ(what_of(std::current_exception()), "outer");
      }
      fiber::sleep(1ms);
      trace.push_back("outer goes on");
    };
    run_fiber(destroys);
    EXPECT_EQ(std::count(trace.begin(), trace.end(), "outer gone"), 2);
    EXPECT_EQ(trace.back(), "outer goes on");
  };
  EXPECT_SURVIVES(body);
}

}  // namespace fiber_cancel_test
}  // namespace tiffany
