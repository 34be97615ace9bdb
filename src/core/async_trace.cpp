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

// ---- The scheduler's part ----

AwaitStack* Scheduler::exception_leaves(const std::exception_ptr& error) noexcept {
  const TaskId here = running_->id_;
  if (flight_.error != error) {
    flight_.error = error;
    flight_.origin = nullptr;
  } else if (flight_.task == here) {
    return nullptr;
  }
  flight_.task = here;
  flight_.frames.clear();
  return &flight_.frames;
}

void Scheduler::exception_comes(const std::exception_ptr& error, AsyncTracePtr origin) noexcept {
  flight_.error = error;
  flight_.origin = std::move(origin);
  flight_.task = TaskId();
}

AsyncTracePtr Scheduler::trace_of(const std::exception_ptr& error) const noexcept {
  if (error == nullptr || flight_.error != error) return nullptr;
  const TaskRecord* task = find(flight_.task);
  if (task == nullptr) return flight_.origin;
  try {
    return std::make_shared<const AsyncTrace>(*this, *task, flight_.frames.sites(), flight_.origin);
  } catch (const std::bad_alloc&) {
    return nullptr;  // no memory: the exception matters more than its trace
  }
}

// From here on, whoever gets the exception gets it from this task.
void Scheduler::keep_trace(TaskRecord& task) noexcept {
  const std::exception_ptr error = task.error();
  if (flight_.error != error) exception_comes(error, nullptr);
  if (flight_.task != task.id_) {
    // It came out of no frame: the task has none, or was not called yet.
    flight_.task = task.id_;
    flight_.frames.clear();
  }
  AsyncTracePtr trace = trace_of(error);
  try {
    task.extras().trace = trace;
  } catch (const std::bad_alloc&) {
    // As above.
  }
  exception_comes(error, std::move(trace));
}

}  // namespace tiffany
