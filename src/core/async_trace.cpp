#include "tiffany/core/async_trace.hpp"

#include <utility>

#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany {

AsyncTrace::AsyncTrace(const Scheduler& scheduler, const TaskRecord& task,
                       std::span<const std::source_location> frames, AsyncTracePtr origin)
    : task_(task.id()),
      name_(task.name()),
      frames_(frames.begin(), frames.end()),
      origin_(std::move(origin)) {
  SpawnChain chain;
  chain.trace(scheduler, task);
  spawned_.assign(chain.steps().begin(), chain.steps().end());
  if (origin_ == nullptr) return;
  if (origin_->tasks_ < kTasks) {
    tasks_ = origin_->tasks_ + 1;
    return;
  }
  tasks_ = kTasks;
  left_out_ = origin_->left_out_ + 1;
  origin_ = origin_->origin_;
}

std::string AsyncTrace::text() const {
  std::string out;
  const std::string who = describe_task(task_, name_);
  if (origin_ == nullptr) {
    out = "thrown in " + who;
  } else {
    out = origin_->text();
    if (left_out_ > 0) out += "\n  passed on by " + std::to_string(left_out_) + " more";
    out += (origin_->task_ == task_ ? "\n  thrown again in " : "\n  awaited by ") + who;
  }
  append_stack(out, frames_);
  append_spawns(out, spawned_);
  return out;
}

AsyncTracePtr trace_of(const std::exception_ptr& error) noexcept {
  const Scheduler* scheduler = Scheduler::current();
  return scheduler != nullptr ? scheduler->trace_of(error) : nullptr;
}

namespace detail {

AwaitStack* ExceptionFlight::leaves(const std::exception_ptr& error, TaskId task) noexcept {
  if (error_ != error) {
    error_ = error;
    origin_ = nullptr;
  } else if (task_ == task) {
    return nullptr;
  }
  task_ = task;
  frames_.clear();
  return &frames_;
}

AsyncTracePtr ExceptionFlight::trace_of(const Scheduler& scheduler,
                                        const std::exception_ptr& error) const noexcept {
  if (error == nullptr || error_ != error) return nullptr;
  const TaskRecord* task = scheduler.find(task_);
  if (task == nullptr) return origin_;
  try {
    return std::make_shared<const AsyncTrace>(scheduler, *task, frames_.sites(), origin_);
  } catch (const std::bad_alloc&) {
    return nullptr;  // no memory: the exception matters more than its trace
  }
}

AsyncTracePtr ExceptionFlight::lands(const Scheduler& scheduler, const TaskRecord& task) noexcept {
  const std::exception_ptr error = task.error();
  if (error_ != error) comes(error, nullptr);
  if (task_ != task.id()) {
    // It came out of no frame: the task has none, or was not called yet.
    task_ = task.id();
    frames_.clear();
  }
  AsyncTracePtr trace = trace_of(scheduler, error);
  comes(error, trace);
  return trace;
}

}  // namespace detail
}  // namespace tiffany
