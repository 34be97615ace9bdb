// T10: joiners get the same exception, and with it how it came to them.
#include "tiffany/core/async_trace.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace async_trace_test {

using namespace test;

std::string text_of(const AsyncTracePtr& trace) { return trace ? trace->text() : "no trace"; }

std::string here(unsigned line) { return "async_trace_test.cpp:" + std::to_string(line); }

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}
void expect_not_in(const std::string& text, const std::string& part) {
  EXPECT_EQ(text.find(part), std::string::npos) << "unexpected: " << part << "\nin: " << text;
}

constexpr unsigned kLeafLine = __LINE__ + 2;
Task<int> leaf() {
  co_await sleep(1ms);
  throw std::runtime_error("broken");
}
constexpr unsigned kBranchLine = __LINE__ + 1;
Task<int> branch() { co_return co_await leaf(); }

Task<int> early(bool fails) {
  if (fails) throw std::runtime_error("broken early");
  co_return 1;
}

TEST(AsyncTrace, T10_TheFailedTaskKeepsTheLinesOfItsCallsAndItsSpawnChain) {
  const auto program = []() -> Task<void> {
    unsigned spawn_line = 0;
    unsigned join_line = 0;
    const auto parent = [&]() -> Task<void> {
      auto child = spawn(branch).named("child");
      spawn_line = static_cast<unsigned>(__LINE__ - 1);
      join_line = static_cast<unsigned>(__LINE__ + 1);
      static_cast<void>(co_await child.outcome());
      EXPECT_EQ(
          text_of(child.trace())
              .find("thrown in task #3 \"child\"\n      at " + here(kLeafLine) +
                    " in leaf\n      at " + here(kBranchLine) + " in branch\n      spawned at " +
                    here(spawn_line) + " by task #2, spawned at "),
          0u)
          << text_of(child.trace());
      EXPECT_EQ(child.trace()->task(), child.id());
      EXPECT_EQ(child.trace()->origin(), nullptr);
      EXPECT_EQ(child.trace()->frames().size(), 2u);
      EXPECT_EQ(child.trace()->spawned().size(), 3u);
    };
    co_await spawn(std::ref(parent));
    EXPECT_GT(join_line, 0u);
  };
  run_program(program);
}

TEST(AsyncTrace, T10_AJoinerThatPassesItOnAddsItsOwnPart) {
  const auto program = []() -> Task<void> {
    unsigned inner_line = 0;
    unsigned outer_line = 0;
    std::exception_ptr first;
    const auto middle = [&]() -> Task<int> {
      auto child = spawn(branch).named("child");
      try {
        inner_line = static_cast<unsigned>(__LINE__ + 1);
        co_return co_await child;
      } catch (...) {
        first = std::current_exception();
        throw;
      }
    };
    const auto outer = [&]() -> Task<int> {
      auto handle = spawn(std::ref(middle)).named("middle");
      outer_line = static_cast<unsigned>(__LINE__ + 1);
      co_return co_await handle;
    };
    auto handle = spawn(std::ref(outer)).named("outer");
    const auto error = co_await error_of(handle);
    EXPECT_EQ(error, first) << "it is the same object all the way";
    const std::string text = text_of(handle.trace());
    expect_in(text, "thrown in task #4 \"child\"\n      at " + here(kLeafLine) + " in leaf");
    expect_in(text, "\n  awaited by task #3 \"middle\"\n      at " + here(inner_line) +
                        "\n      spawned at ");
    expect_in(text, "\n  awaited by task #2 \"outer\"\n      at " + here(outer_line) +
                        "\n      spawned at ");
    EXPECT_EQ(handle.trace()->origin()->origin()->task(), TaskId(4, 1));
  };
  run_program(program);
}

TEST(AsyncTrace, T10_TheHandlerCanAskForItBeforeItAwaits) {
  const auto program = []() -> Task<void> {
    // From a call: the frames that it has left.
    AsyncTracePtr called;
    try {
      static_cast<void>(co_await branch());
    } catch (...) {
      called = trace_of(std::current_exception());
    }
    expect_in(text_of(called), "thrown in task #1 \"main\"\n      at " + here(kLeafLine) +
                                   " in leaf\n      at " + here(kBranchLine) + " in branch");
    // From another task: what it has there.
    auto child = spawn(leaf);
    AsyncTracePtr joined;
    std::exception_ptr kept;
    try {
      static_cast<void>(co_await child);
    } catch (...) {
      kept = std::current_exception();
      joined = trace_of(kept);
    }
    EXPECT_EQ(joined, child.trace());
    EXPECT_EQ(trace_of(nullptr), nullptr);
    EXPECT_EQ(trace_of(std::make_exception_ptr(1)), nullptr) << "nobody threw it";
    co_await sleep(1ms);
    EXPECT_EQ(trace_of(kept), nullptr) << "the turn is over";
  };
  run_program(program);
  EXPECT_EQ(trace_of(std::make_exception_ptr(1)), nullptr) << "no scheduler runs here";
}

TEST(AsyncTrace, T10_TheExceptionIsHeldUntilTheTurnIsOverAndNoLonger) {
  struct Owner {
    std::shared_ptr<int> what;
  };
  std::weak_ptr<int> seen;
  const auto program = [&]() -> Task<void> {
    const auto thrower = [&]() -> Task<void> {
      co_await yield();
      auto owned = std::make_shared<int>(1);
      seen = owned;
      throw Owner{std::move(owned)};
    };
    try {
      co_await thrower();
    } catch (const Owner&) {
    }
    co_await sleep(1ms);
    EXPECT_TRUE(seen.expired());
  };
  run_program(program);
}

// The exception that is thrown second is made where the first one was: it must not get its trace.
TEST(AsyncTrace, T10_ALaterExceptionAtTheSameAddressHasItsOwnTrace) {
  const auto program = []() -> Task<void> {
    unsigned line = 0;
    const auto retry = [&]() -> Task<int> {
      line = static_cast<unsigned>(__LINE__ + 2);
      try {
        static_cast<void>(co_await leaf());
      } catch (const std::runtime_error&) {
      }
      throw std::runtime_error("gave up");
    };
    auto handle = spawn(std::ref(retry));
    static_cast<void>(co_await handle.outcome());
    const std::string text = text_of(handle.trace());
    expect_in(text, "thrown in task #2\n      at " + here(line) + "\n      spawned at ");
    expect_not_in(text, "leaf");
  };
  run_program(program);
}

TEST(AsyncTrace, T10_AnExceptionBeforeTheFirstAwaitSaysSo) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(early, true);
    static_cast<void>(co_await handle.outcome());
    EXPECT_EQ(text_of(handle.trace())
                  .find("thrown in task #2\n      before its first await\n      spawned at " +
                        here(__LINE__ - 4)),
              0u)
        << text_of(handle.trace());
  };
  run_program(program);
}

TEST(AsyncTrace, T10_ATaskWithoutFramesHasASpawnChain) {
  class Broken final : public AgentTask<int> {
    Poll<int> poll(PollContext&) override { throw std::runtime_error("broken machine"); }
  };
  const auto program = []() -> Task<void> {
    auto handle = spawn_agent(std::make_unique<Broken>());
    const unsigned line = static_cast<unsigned>(__LINE__ - 1);
    static_cast<void>(co_await handle.outcome());
    EXPECT_EQ(text_of(handle.trace()).find("thrown in task #2\n      spawned at " + here(line)), 0u)
        << text_of(handle.trace());
    // A callable that throws before it has made a coroutine.
    const auto refuses = [](int) -> Task<int> { throw std::runtime_error("no coroutine"); };
    auto refused = spawn(refuses, 1);
    static_cast<void>(co_await refused.outcome());
    EXPECT_EQ(text_of(refused.trace()).find("thrown in task #3\n      spawned at "), 0u)
        << text_of(refused.trace());
  };
  run_program(program);
}

TEST(AsyncTrace, T10_OnlyFailedTasksHaveOne) {
  const auto program = []() -> Task<void> {
    auto fine = spawn(early, false);
    auto cancelled = spawn(leaf);
    co_await yield();
    cancelled.cancel();
    static_cast<void>(co_await all_settled(fine, cancelled));
    EXPECT_EQ(fine.trace(), nullptr);
    EXPECT_EQ(cancelled.state(), TaskState::cancelled);
    EXPECT_EQ(cancelled.trace(), nullptr);
  };
  run_program(program);
}

TEST(AsyncTrace, T10_GatherRaceAndOutcomePassItOn) {
  const auto program = []() -> Task<void> {
    const auto by_gather = []() -> Task<void> {
      auto a = spawn(leaf).named("a");
      auto b = spawn(early, false);
      static_cast<void>(co_await gather(a, b));
    };
    const auto by_race = []() -> Task<void> { static_cast<void>(co_await race(leaf(), leaf())); };
    const auto by_outcome = []() -> Task<void> {
      auto a = spawn(leaf).named("c");
      const auto outcome = co_await a.outcome();
      std::rethrow_exception(outcome.error());
    };
    auto first = spawn(by_gather);
    static_cast<void>(co_await first.outcome());
    expect_in(text_of(first.trace()), "\"a\"\n      at " + here(kLeafLine) + " in leaf");
    expect_in(text_of(first.trace()), "\n  awaited by task #2");
    auto second = spawn(by_race);
    static_cast<void>(co_await second.outcome());
    expect_in(text_of(second.trace()),
              here(kLeafLine) + " in leaf\n      at awaitable.hpp in carry");
    expect_in(text_of(second.trace()), "\n  awaited by task " + second.id().text());
    auto third = spawn(by_outcome);
    static_cast<void>(co_await third.outcome());
    expect_in(text_of(third.trace()), "\"c\"\n      at " + here(kLeafLine) + " in leaf");
    expect_in(text_of(third.trace()), "\n  awaited by task #");
  };
  run_program(program);
}

TEST(AsyncTrace, T10_AScopePassesOnTheTraceOfItsTaskAndOfItsBlock) {
  const auto program = []() -> Task<void> {
    const auto by_task = []() -> Task<void> {
      co_await scope([](Scope& s) -> Task<void> {
        s.spawn(branch).named("child");
        co_await sleep(1s);
      });
    };
    const auto by_block = []() -> Task<void> {
      co_await scope([](Scope& s) -> Task<void> {
        s.spawn(early, false);
        static_cast<void>(co_await branch());
      });
    };
    auto first = spawn(by_task);
    static_cast<void>(co_await first.outcome());
    expect_in(text_of(first.trace()), "thrown in task #3 \"child\"\n      at " + here(kLeafLine));
    expect_in(text_of(first.trace()), "\n  awaited by task #2\n      at blocks.cpp");
    auto second = spawn(by_block);
    static_cast<void>(co_await second.outcome());
    const std::string who = "task " + second.id().text();
    expect_in(text_of(second.trace()), "thrown in " + who + "\n      at " + here(kLeafLine));
    expect_in(text_of(second.trace()), "\n  thrown again in " + who);
  };
  run_program(program);
}

TEST(AsyncTrace, T10_LongWaysAreCutShort) {
  const auto program = []() -> Task<void> {
    // Through a hundred calls...
    std::function<Task<int>(int)> deep = [&](int depth) -> Task<int> {
      if (depth == 0) co_return co_await leaf();
      co_return co_await deep(depth - 1);
    };
    auto digger = spawn(std::ref(deep), 100);
    static_cast<void>(co_await digger.outcome());
    EXPECT_EQ(digger.trace()->frames().size(), 32u);
    // ... and through a hundred tasks, each of which was spawned by the one before.
    std::function<Task<int>(int)> relay = [&](int tasks) -> Task<int> {
      if (tasks == 0) co_return co_await leaf();
      auto next = spawn(std::ref(relay), tasks - 1);
      co_return co_await next;
    };
    auto runner = spawn(std::ref(relay), 99).named("runner");
    static_cast<void>(co_await runner.outcome());
    const std::string text = text_of(runner.trace());
    expect_in(text, "in leaf");
    expect_in(text, "\n  passed on by 84 more\n  awaited by " + std::string("task #"));
    expect_in(text, "\"runner\"");
    std::size_t tasks = 0;
    for (AsyncTracePtr at = runner.trace(); at != nullptr; at = at->origin()) {
      ++tasks;
      EXPECT_LE(at->spawned().size(), 8u);
    }
    EXPECT_EQ(tasks, 16u);
  };
  run_program(program);
}

TEST(AsyncTrace, T10_TwoTasksThatFailInOneTurnDoNotMix) {
  const auto program = []() -> Task<void> {
    auto a = spawn(leaf);
    auto b = spawn(branch);
    static_cast<void>(co_await all_settled(a, b));
    EXPECT_EQ(a.trace()->frames().size(), 1u);
    EXPECT_EQ(b.trace()->frames().size(), 2u);
  };
  run_program(program);
}

TEST(AsyncTrace, T10_ItOutlivesTheScheduler) {
  Handle<int> handle;
  {
    Scheduler scheduler(Options().virtual_time());
    handle = scheduler.spawn(leaf);
    scheduler.run();
    handle.waitable().mark_observed();
  }
  expect_in(text_of(handle.trace()), "thrown in task #1\n      at " + here(kLeafLine) + " in leaf");
}

}  // namespace async_trace_test
}  // namespace tiffany
