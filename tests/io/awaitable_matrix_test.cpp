// Every combinator over every kind of awaitable: completion, cancel while parked, cancel before it
// has begun. A table of awaitables times a table of combinators, in coroutines and in fibers, on
// both reactors. What was cancelled has left no registration, and what comes afterwards is not
// lost.
#include "io/awaitable_matrix.hpp"

#include <chrono>
#include <thread>

#include "support/harness.hpp"

namespace tiffany::matrix {
namespace awaitable_matrix_test {

using test::what_of;

const Cells& cells() {
  static const Cells all = [] {
    Cells made;
    add_core_rows(made);
    add_sync_rows(made);
    add_io_rows(made);
    add_rows_of_tasks(made);
    return made;
  }();
  return all;
}

// A thread that was left with a directory closes it when it has read it, and ends.
void wait_for_abandoned_threads(std::size_t threads_before) {
  while (running_threads() > threads_before) std::this_thread::yield();
}

enum class Engine : unsigned char { coroutine, fiber };

class AwaitableMatrix : public testing::TestWithParam<std::tuple<ReactorKind, Engine>> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()) == ReactorKind::uring && !uring_works()) {
      GTEST_SKIP() << "this kernel does not let us use io_uring";
    }
  }
  // Cancels itself first, if that is asked for, and then runs the cell.
  static Task<void> body(const Cell* cell, Stage* stage, bool cancel_first) {
    if (cancel_first) this_task::cancel("first");
    co_await cell->in_coroutine(*cell, *stage);
  }
  static void fiber_body(const Cell* cell, Stage* stage, bool cancel_first) {
    if (cancel_first) this_task::cancel("first");
    cell->in_fiber(*cell, *stage);
  }
  static Handle<void> begin(const Cell& cell, Stage& stage, Engine engine, bool cancel_first) {
    if (engine == Engine::fiber) return spawn_fiber(fiber_body, &cell, &stage, cancel_first);
    return spawn(body, &cell, &stage, cancel_first);
  }
  // Until what was begun waits, children included; it may also have ended by itself.
  static Task<void> let_it_park() {
    for (int i = 0; i < 12; ++i) co_await yield();
  }

  template <class F>
  void each_cell(F test) {
    const Engine engine = std::get<1>(GetParam());
    for (const Cell& cell : cells()) {
      SCOPED_TRACE(cell.name);
      const std::size_t descriptors = open_descriptors();
      const std::size_t threads = running_threads();
      {
        Scheduler scheduler(Options().clock(system_reactor(std::get<0>(GetParam()))));
        const auto program = [&]() -> Task<void> {
          Stage stage;
          co_await test(cell, stage, engine);
          if (stage.handle) stage.handle.cancel();
        };
        auto handle = scheduler.spawn(std::ref(program));
        scheduler.run();
        handle.waitable().mark_observed();
        EXPECT_EQ(handle.state(), TaskState::completed) << what_of(handle.waitable().error());
        EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
        EXPECT_EQ(scheduler.live_tasks(), 0u);
        EXPECT_EQ(scheduler.armed_timers(), 0u);
      }
      wait_for_abandoned_threads(threads);
      EXPECT_EQ(open_descriptors(), descriptors);
      if (HasFailure()) return;
    }
  }
};

Task<void> completes(const Cell& cell, Stage& stage, Handle<void> handle) {
  auto fulfil = spawn(cell.fulfil, std::ref(stage));
  const auto done = co_await within(10s, handle);
  EXPECT_FALSE(done.timed_out());
  co_await fulfil;
}

TEST_P(AwaitableMatrix, EachCombinatorGivesTheResultOfEachAwaitable) {
  each_cell([](const Cell& cell, Stage& stage, Engine engine) -> Task<void> {
    auto handle = begin(cell, stage, engine, false);
    co_await let_it_park();
    co_await completes(cell, stage, handle);
  });
}

TEST_P(AwaitableMatrix, ACancelWhileParkedWithdrawsAndLosesNothing) {
  each_cell([](const Cell& cell, Stage& stage, Engine engine) -> Task<void> {
    auto handle = begin(cell, stage, engine, false);
    co_await let_it_park();
    handle.cancel("while parked");
    if (cell.shielded) {
      co_await completes(cell, stage, handle);
      co_return;
    }
    const auto outcome = co_await handle.outcome();
    EXPECT_FALSE(outcome.failed()) << what_of(outcome.error());
    if (outcome.ok()) co_return;  // it was over before: an offload, a short sleep
    EXPECT_FALSE(stage.never.future().waitable().has_waiters());
    // What comes now is for the next who asks.
    auto next = spawn(cell.plain, std::ref(stage));
    co_await let_it_park();
    co_await completes(cell, stage, next);
  });
}

TEST_P(AwaitableMatrix, ACancelBeforeItHasBegunLeavesEverythingAsItWas) {
  each_cell([](const Cell& cell, Stage& stage, Engine engine) -> Task<void> {
    auto handle = begin(cell, stage, engine, true);
    if (cell.shielded) {
      co_await let_it_park();
      co_await completes(cell, stage, handle);
      co_return;
    }
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled()) << what_of(outcome.error());
    EXPECT_FALSE(stage.never.future().waitable().has_waiters());
    auto next = spawn(cell.plain, std::ref(stage));
    co_await let_it_park();
    co_await completes(cell, stage, next);
  });
}

INSTANTIATE_TEST_SUITE_P(
    , AwaitableMatrix,
    testing::Combine(testing::Values(ReactorKind::uring, ReactorKind::epoll),
                     testing::Values(Engine::coroutine, Engine::fiber)),
    [](const auto& cell) {
      return std::string(std::get<0>(cell.param) == ReactorKind::uring ? "uring" : "epoll") +
             (std::get<1>(cell.param) == Engine::fiber ? "_fiber" : "_coroutine");
    });

}  // namespace awaitable_matrix_test
}  // namespace tiffany::matrix
