// How an exception came to where it is: the lines at which the calls of a task were suspended when
// it was thrown, where the task was spawned, and the same for every task that got it from there.
//
//   try {
//     co_await handle;
//   } catch (const std::exception& error) {
//     log(error.what() + ("\n" + trace_of(std::current_exception())->text()));
//   }
//
// The exception itself is not touched. Its trace is kept with the task that it ended:
// `handle.trace()` has it as long as a handle lives. `trace_of` knows the exception that was thrown
// last, until the scheduler's turn is over; so ask in the handler, before the next co_await.
//
// The innermost line is that of the last co_await which the throwing function had reached: where
// exactly behind it the throw stands, nobody has noted.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "tiffany/core/id.hpp"
#include "tiffany/core/spawn_chain.hpp"

namespace tiffany {

class AsyncTrace;
using AsyncTracePtr = std::shared_ptr<const AsyncTrace>;

class AsyncTrace {
 public:
  // Of an exception that leaves a task or one of its calls. `origin`: the trace that it had when it
  // came into this task; null when it was thrown here.
  AsyncTrace(const Scheduler& scheduler, const TaskRecord& task,
             std::span<const std::source_location> frames, AsyncTracePtr origin);

  TaskId task() const noexcept { return task_; }
  // At most AwaitStack::kShown, innermost first.
  const std::vector<std::source_location>& frames() const noexcept { return frames_; }
  const std::vector<SpawnStep>& spawned() const noexcept { return spawned_; }
  const AsyncTracePtr& origin() const noexcept { return origin_; }

  // From the throw outwards, over several lines; the first is
  // `thrown in task #3 "fetch"`.
  std::string text() const;

 private:
  // An exception may pass through any number of tasks. This many are kept: those closest to the
  // throw, and the last.
  static constexpr std::size_t kTasks = 16;

  TaskId task_;
  std::string name_;
  std::vector<std::source_location> frames_;
  std::vector<SpawnStep> spawned_;
  AsyncTracePtr origin_;
  std::size_t tasks_ = 1;     // in this trace
  std::size_t left_out_ = 0;  // between the origin and this
};

// Null when it is not known, or not any more.
AsyncTracePtr trace_of(const std::exception_ptr& error) noexcept;

}  // namespace tiffany
