// A scheduler for tests: virtual time that stands still until told, one task at a time, results and
// outside events put in by hand, and an order that can be chosen and repeated.
//
//   TestScheduler test;
//   auto reply = test.spawn(ask_with_timeout, std::ref(server));   // the code under test
//   test.step_until_idle();                          // as far as it gets without time passing
//   EXPECT_EQ(test.task_state(reply), TaskState::blocked);
//   test.advance(5ms);                               // now the timers of these 5 ms have fired
//   EXPECT_EQ(test.result(reply), "timed out");
//
// It needs no test framework, and works with any. For searching through many orders see
// test/explore.hpp; for standing in for what the code calls, test/mock.hpp.
//
// Lifetime: what was spawned and is still there ends with the TestScheduler, as with a Scheduler.
// Handles may outlive it. Thread safety: as for Scheduler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/core/external.hpp"
#include "tiffany/core/promise.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/engine/run.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/test/schedule.hpp"

namespace tiffany::test {

class TestOptions {
 public:
  TestOptions() = default;

  // Default: first in first out.
  TestOptions&& schedule(Schedule value) && {
    schedule_ = std::move(value);
    return std::move(*this);
  }
  // As Options::quantum. 1 makes every await a place where others may run.
  TestOptions&& quantum(std::uint32_t steps) && {
    quantum_ = steps;
    return std::move(*this);
  }
  // A program that is still running after so many picks of a task is stopped by an error
  // (Errc::never_ends).
  TestOptions&& max_picks(std::size_t picks) && {
    max_picks_ = picks;
    return std::move(*this);
  }

 private:
  friend class TestScheduler;
  // Ten times what any of our own tests takes, and reached within a second.
  static constexpr std::size_t kMaxPicks = 1'000'000;

  Schedule schedule_;
  std::optional<std::uint32_t> quantum_;
  std::size_t max_picks_ = kMaxPicks;
};

class TestScheduler {
 private:
  DeviationOrder* order_ = nullptr;  // owned by the scheduler
  std::vector<std::string> log_;
  std::vector<std::exception_ptr> unseen_errors_;
  Scheduler scheduler_;

 public:
  explicit TestScheduler(TestOptions options = TestOptions());
  ~TestScheduler();
  TestScheduler(const TestScheduler&) = delete;
  TestScheduler& operator=(const TestScheduler&) = delete;

  // Into the root scope.
  const Spawner spawn;

  // ---- Driving it ----

  // Gives one task the processor, once. False when none is ready. Time does not move.
  bool step();
  // Until nothing is ready at the present time. Returns how often a task had the processor.
  std::size_t step_until_idle();
  // Moves time by that much. On the way everything that is due happens, in its order and at its
  // time.
  void advance(Duration delay);
  // Lets time jump from one thing that is due to the next, until no task and no event is left.
  // Throws Deadlock when tasks are left that nothing can wake.
  void run();

  // What a task returned or threw. Runs the program, as run() does, if the task has not ended yet.
  template <class T>
  T result(Handle<T> handle) {
    if (!handle.done()) run();
    return tiffany::detail::result_now(std::move(handle));
  }

  // ---- Looking at it ----

  // Starts at zero.
  Duration now() const noexcept { return scheduler_.now().time_since_epoch(); }
  template <class H>
    requires requires(const H& handle) { handle.state(); }
  TaskState task_state(const H& handle) const {
    return handle.state();
  }
  // By id. Nothing when the task has ended and nobody holds a handle to it.
  std::optional<TaskState> task_state(TaskId id) const;
  // What the code under test wrote with log(), and what was reported about it.
  const std::vector<std::string>& log() const noexcept { return log_; }
  // What tasks failed with that nobody looked at.
  const std::vector<std::exception_ptr>& unseen_errors() const noexcept { return unseen_errors_; }
  // What is not over, for a test that expects nothing: tasks, timers, frames, promises. Empty when
  // nothing is left. Promises, and results in handles, that the test itself holds count.
  std::string leftovers() const;
  // The order of the run so far.
  const DeviationOrder& order() const noexcept { return *order_; }
  DeviationOrder& order() noexcept { return *order_; }
  Scheduler& scheduler() noexcept { return scheduler_; }

  // ---- Standing in for the outside ----

  // Calls `event` so long after now, on virtual time, outside of any task, as an event from outside
  // would come: complete an external promise, post to a mailbox, cancel a handle, spawn. Events for
  // one instant happen in the order they were asked for. What it throws comes out of the call that
  // drives the scheduler.
  void at(Duration delay, std::function<void()> event);

  // Gives what is awaited a value or an error, from outside of any task. Whoever would have
  // completed it later gets Errc::already_settled; of an external promise, the later completion is
  // ignored and counted. An error of the same kind when it is settled already, or a completion of
  // an external promise is under way.
  template <class T>
  void complete(const Future<T>& future, ValueOf<T> value) {
    pending(future).complete(scheduler_, std::move(value));
  }
  void complete(const Future<void>& future) { complete(future, Unit()); }
  template <class T>
  void complete(const Promise<T>& promise, ValueOf<T> value) {
    complete(promise.future(), std::move(value));
  }
  void complete(const Promise<void>& promise) { complete(promise.future()); }
  template <class T>
  void fail(const Future<T>& future, std::exception_ptr error) {
    pending(future).fail(scheduler_, std::move(error));
  }
  template <class T>
  void fail(const Promise<T>& promise, std::exception_ptr error) {
    fail(promise.future(), std::move(error));
  }

 private:
  struct Event;

  static Options options_for(TestOptions& options, TestScheduler& self);
  template <class T>
  PromiseState<T>& pending(const Future<T>& future) {
    auto& state = static_cast<PromiseState<T>&>(future.waitable());
    if (future.done() || !state.take_over(scheduler_)) tiffany::detail::throw_settled_twice();
    return state;
  }
  const Event* next_event() const noexcept;
  void to_event(const Event& event);
  void throw_what_an_event_threw();

  std::vector<std::unique_ptr<Event>> events_;
  std::exception_ptr event_error_;
};

}  // namespace tiffany::test
