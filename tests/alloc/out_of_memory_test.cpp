// T13: whichever allocation of operator new fails, somebody hears of it and nothing is lost. The
// same for the memory of frames, which comes from the arena, is in tests/core/guard_test.cpp.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <string>

#include "alloc/failing_new.hpp"
#include "support/fault_programs.hpp"

namespace tiffany {
namespace out_of_memory_test {

using namespace test;
using Then = ShortOfMemory::Then;

// What came of a run.
struct Run {
  bool felt = false;         // an allocation failed
  std::exception_ptr error;  // that came out of the program, its task or run()
  TaskState state = TaskState::pending;
};

// A run of a program, with a scheduler of its own. It is driven on when run() throws: what was
// ready must still be there.
Run run_short(const FaultProgram& program, const std::function<Options()>& options, std::size_t n,
              Then then) {
  Run run;
  try {
    std::optional<ShortOfMemory> memory(std::in_place, n, then);
    Scheduler scheduler(options());
    Handle<void> handle = scheduler.spawn(program.run);
    while (scheduler.live_tasks() > 0) {
      try {
        scheduler.run();
      } catch (const std::bad_alloc&) {
        if (then == Then::stays) memory.reset();
      }
    }
    memory.reset();
    run.state = handle.state();
    handle.waitable().mark_observed();
    run.error = handle.waitable().error();
    handle = {};
    scheduler.step_until_idle();  // lets external promises hear that they were dropped
    if (!program.may_leave_a_promise) expect_nothing_left(scheduler);
  } catch (...) {
    run.error = std::current_exception();
  }
  run.felt = ShortOfMemory::was_felt();
  return run;
}

// Lets each allocation of each program fail in turn.
void try_every_allocation(const std::function<Options()>& options, Then then) {
  for (const FaultProgram& program : kFaultPrograms) {
    std::size_t failed = 0;
    Run run;
    run.felt = true;
    for (std::size_t n = 0; run.felt; ++n) {
      SCOPED_TRACE(std::string(program.name) + ", without allocation " + std::to_string(n));
      ASSERT_LT(n, 5000u);
      const std::size_t before = live_allocations();
      run = Run();
      run = run_short(program, options, n, then);
      if (run.error != nullptr) {
        ++failed;
        EXPECT_TRUE(is_lack_of_memory(run.error)) << what_of(run.error);
        run.error = nullptr;
      } else {
        EXPECT_EQ(run.state, TaskState::completed);
      }
      EXPECT_EQ(live_allocations(), before) << "something is left";
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(failed, 0u) << program.name;
  }
}

Options plain() {
  return Options().virtual_time().log_to([](const LogLine&) {});
}

TEST(OutOfMemory, T13_WhicheverAllocationFailsSomebodyHearsOfItAndNothingIsLost) {
  try_every_allocation(plain, Then::recovers);
}

TEST(OutOfMemory, T13_TheSameWhenNoMemoryComesBack) { try_every_allocation(plain, Then::stays); }

// What the watch notes of a task takes memory, and is not worth a failure.
TEST(OutOfMemory, T13_TheSameWithAWatch) {
  const auto options = [] { return plain().watch_steps(3); };
  try_every_allocation(options, Then::recovers);
  try_every_allocation(options, Then::stays);
}

// Their queues and the record of what they picked take memory, too.
TEST(OutOfMemory, T13_TheSameInAnOrderOfOnesOwn) {
  const auto orders = {fifo_order, depth_first_order, longest_path_order,
                       +[] { return random_order(1); }};
  for (const auto order : orders) {
    const auto options = [&] { return plain().order(order()).record_picks(); };
    try_every_allocation(options, Then::recovers);
    try_every_allocation(options, Then::stays);
  }
}

TEST(OutOfMemory, T13_ASchedulerThatIsDestroyedNeedsNone) {
  bool felt = true;
  for (std::size_t n = 0; felt; ++n) {
    ASSERT_LT(n, 5000u);
    const std::size_t before = live_allocations();
    int outlived = 0;
    {
      std::optional<ShortOfMemory> memory;
      Scheduler scheduler(Options().virtual_time().log_to([&](const LogLine& line) {
        try {
          if (line.unseen_error != nullptr) std::rethrow_exception(line.unseen_error);
        } catch (const std::logic_error&) {
          ++outlived;
        } catch (...) {
        }
      }));
      for (const FaultProgram& program : kFaultPrograms) scheduler.spawn(program.run);
      scheduler.run_until(Time(500us));
      EXPECT_GT(scheduler.live_tasks(), 20u);
      memory.emplace(n);
    }
    felt = ShortOfMemory::was_felt();
    EXPECT_EQ(outlived, 0);
    EXPECT_EQ(live_allocations(), before) << "something is left, without allocation " << n;
  }
}

// Does not end when it is cancelled, nor does the task of its scope.
Task<void> insists(int& inside) {
  const faults::Inside here(inside);
  for (;;) {
    try {
      co_await sleep(1h);
    } catch (const Cancelled&) {
    }
  }
}
Task<void> insists_in_scopes(int& inside, int depth) {
  if (depth == 0) co_return co_await insists(inside);
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(insists_in_scopes, std::ref(inside), depth - 1);
    co_await insists(inside);
  });
}

TEST(OutOfMemory, T13_NorDoesOneWithTasksThatMustBeDroppedByForce) {
  int inside = 0;
  std::optional<ShortOfMemory> memory;
  {
    Scheduler scheduler(plain());
    scheduler.spawn(insists_in_scopes, std::ref(inside), 2);
    scheduler.step_until_idle();
    EXPECT_EQ(inside, 3);
    memory.emplace(0);
  }
  memory.reset();
  EXPECT_TRUE(ShortOfMemory::was_felt()) << "there was no memory for the reason";
  EXPECT_EQ(inside, 0);
}

TEST(OutOfMemory, T13_ASystemTaskThatFailsEndsTheRunAllTheSame) {
  bool felt = true;
  for (std::size_t n = 0; felt; ++n) {
    Scheduler scheduler(plain().system_failure(SystemFailure::end_run));
    int inside = 0;
    scheduler.spawn(faults::waits, std::ref(inside));
    scheduler.spawn.system()(faults::fails, std::ref(inside), 1);
    scheduler.step_until_idle();
    std::exception_ptr error;
    {
      const ShortOfMemory memory(n);
      error = thrown_by([&] { scheduler.run(); });
    }
    felt = ShortOfMemory::was_felt();
    EXPECT_TRUE(is_lack_of_memory(error) || code_of(error) == Errc::system_task_failed)
        << what_of(error);
    EXPECT_EQ(inside, 0);
    expect_nothing_left(scheduler);
  }
}

// The supervisor gives up, and has no memory to stop its children and to say why in the error. What
// it cannot throw is counted and reported.
TEST(OutOfMemory, ASupervisorThatCannotThrowWhyItGaveUpReportsIt) {
  bool felt = true;
  std::size_t unspoken = 0;
  for (std::size_t n = 0; felt; ++n) {
    ASSERT_LT(n, 5000u);
    std::optional<ShortOfMemory> memory;
    Scheduler scheduler(Options().virtual_time().log_to([](const LogLine&) {}));
    const auto fails = [](std::optional<ShortOfMemory>* short_of, std::size_t left) -> Task<void> {
      co_await sleep(1ms);
      const std::exception_ptr why = std::make_exception_ptr(std::runtime_error("no database"));
      short_of->emplace(left);
      std::rethrow_exception(why);
    };
    const auto program = [&]() -> Task<void> {
      co_await supervise(Supervision(RestartStrategy::one_for_one).intensity(0, 1s),
                         [&](Supervisor& s) { s.permanent("db", fails, &memory, n); });
    };
    Handle<void> handle = scheduler.spawn(std::ref(program));
    scheduler.run();
    memory.reset();
    felt = ShortOfMemory::was_felt();
    handle.waitable().mark_observed();
    const std::exception_ptr error = handle.waitable().error();
    ASSERT_NE(error, nullptr);
    if (code_of(error) == Errc::supervision_failed) continue;
    ASSERT_TRUE(is_lack_of_memory(error)) << what_of(error);
    EXPECT_GT(scheduler.counters().unseen_failures, 0u) << "without allocation " << n;
    ++unspoken;
  }
  EXPECT_GT(unspoken, 0u);
}

// A task that has extras already (a name) and one that has none.
TEST(OutOfMemory, T4_ACancelIsDeliveredWithItsCauseAloneWhenThereIsNoMemoryForMore) {
  int inside = 0;
  Scheduler scheduler(plain());
  auto named = scheduler.spawn(faults::waits, std::ref(inside)).named("waits");
  auto bare = scheduler.spawn(faults::waits, std::ref(inside));
  auto unbegun = scheduler.spawn(faults::waits, std::ref(inside));
  scheduler.step();
  scheduler.step();
  {
    const ShortOfMemory memory(0);
    for (const auto& handle : {named, bare, unbegun}) {
      handle.cancel(faults::kText);
      handle.cancel_with(CancelCause::supervisor, faults::kText, std::source_location::current());
    }
  }
  scheduler.run();
  EXPECT_EQ(inside, 0);
  for (const auto& handle : {named, bare, unbegun}) {
    EXPECT_EQ(handle.state(), TaskState::cancelled);
    const CancelReasonPtr reason = scheduler.find(handle.id())->cancel_reason();
    ASSERT_NE(reason, nullptr);
    EXPECT_EQ(reason->cause, CancelCause::requested) << "the first one stands";
    EXPECT_FALSE(reason->recorded());
    const std::string what = what_of(handle.waitable().error());
    EXPECT_NE(what.find("was cancelled, with no memory left to record by whom, where and why "
                        "(requested)."),
              std::string::npos)
        << what;
  }
}

TEST(OutOfMemory, T13_ATaskThatMustNotBeginFailsAlsoWithoutAnErrorToSayWhy) {
  int inside = 0;
  Scheduler scheduler(plain());
  auto first = scheduler.spawn(faults::fails, std::ref(inside), 1);
  auto after = [&](IfFailed policy) {
    return scheduler.spawn.after(first).if_failed(policy)(faults::waits, std::ref(inside));
  };
  auto refused = after(IfFailed::fail);
  auto skipped = after(IfFailed::skip);
  scheduler.step_until_idle();
  {
    const ShortOfMemory memory(0);
    scheduler.run();
  }
  EXPECT_EQ(refused.state(), TaskState::failed);
  EXPECT_TRUE(is_lack_of_memory(refused.waitable().error()));
  EXPECT_EQ(skipped.state(), TaskState::cancelled);
  EXPECT_EQ(scheduler.find(skipped.id())->cancel_reason()->cause, CancelCause::dependency);
  refused.waitable().mark_observed();
}

}  // namespace out_of_memory_test
}  // namespace tiffany
