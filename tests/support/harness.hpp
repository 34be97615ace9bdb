// What the tests share: running a program to its end on virtual time, and seeing that it left
// nothing behind.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/tiffany.hpp"

namespace tiffany::test {

using namespace std::chrono_literals;

// What happened, in order. The tests compare whole traces, so that nothing unexpected slips by.
using Trace = std::vector<std::string>;

inline std::string what_of(const std::exception_ptr& error) {
  if (error == nullptr) return "no error";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (const Cancelled& cancelled) {
    return "Cancelled: " + cancelled.reason().text();
  } catch (...) {
    return "not a std::exception";
  }
}

// The number of an error from the table; none for no error or a foreign one.
inline std::optional<Errc> code_of(const std::exception_ptr& error) {
  if (error == nullptr) return std::nullopt;
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return known.code();
  } catch (...) {
    return std::nullopt;
  }
}

// What a plain call throws.
template <class F>
std::exception_ptr thrown_by(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

// What awaiting a task or handle throws. A cancellation of the one who asks is not caught.
template <class A>
Task<std::exception_ptr> error_of(A operation) {
  std::exception_ptr error;
  try {
    static_cast<void>(co_await std::move(operation));
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  co_return error;
}

// W9: a program that is over leaves no task, timer, frame or record.
inline void expect_nothing_left(const Scheduler& scheduler) {
  EXPECT_EQ(scheduler.live_tasks(), 0u) << "a task is left";
  EXPECT_EQ(scheduler.ready_len(), 0u) << "a task is still queued";
  EXPECT_EQ(scheduler.armed_timers(), 0u) << "a timer is still armed";
  EXPECT_EQ(scheduler.arena().live_blocks(), 0u) << "a frame, record or promise is left";
  EXPECT_EQ(scheduler.arena().live_bytes(), 0u);
}

// Runs a coroutine lambda on a scheduler until everything has ended, and expects that it did not
// fail. `program` outlives the run, so it may capture by reference.
template <class F>
void run_on_scheduler(Scheduler& scheduler, F& program) {
  {
    auto handle = scheduler.spawn(std::ref(program)).named("main");
    scheduler.run();
    ASSERT_TRUE(handle.done());
    handle.waitable().mark_observed();
    EXPECT_EQ(handle.state(), TaskState::completed) << what_of(handle.waitable().error());
  }
  expect_nothing_left(scheduler);
}

// As above, on a scheduler of its own; on virtual time unless told otherwise.
template <class F>
void run_program(F&& program, Options options = Options().virtual_time()) {
  Scheduler scheduler(std::move(options));
  run_on_scheduler(scheduler, program);
}

// Does something when it is destroyed: shows when a frame or an argument goes.
class AtExit {
 public:
  AtExit(Trace& trace, std::string text) : trace_(&trace), text_(std::move(text)) {}
  AtExit(AtExit&& other) noexcept
      : trace_(std::exchange(other.trace_, nullptr)), text_(std::move(other.text_)) {}
  AtExit& operator=(AtExit&&) = delete;
  ~AtExit() {
    if (trace_ != nullptr) trace_->push_back(text_);
  }

 private:
  Trace* trace_;
  std::string text_;
};

template <class F>
[[noreturn]] void run_and_exit(const F& f) {
  alarm(20);  // for what would never end
  f();
  std::exit(::testing::Test::HasFailure() ? EXIT_FAILURE : EXIT_SUCCESS);
}

// Calls a function in a process of its own and expects it to end well: for tests whose failure is a
// crash, a leak or an endless loop, which would take the other tests with it.
#define EXPECT_SURVIVES(f) \
  EXPECT_EXIT(::tiffany::test::run_and_exit(f), ::testing::ExitedWithCode(EXIT_SUCCESS), "")

}  // namespace tiffany::test
