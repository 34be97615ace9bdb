// What can be waited for: tasks and promises, in the same way.
//
// Any number of waiters may wait on one waitable, before or after it settled; they are told in the
// order they came. A waitable is reference-counted (not thread-safe: it belongs to its scheduler's
// thread) and keeps its result as long as someone holds a reference.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "tiffany/base/ref.hpp"
#include "tiffany/core/state.hpp"
#include "tiffany/core/waiter.hpp"

namespace tiffany {

class Scheduler;
class TaskRecord;

class Waitable {
 public:
  Waitable(const Waitable&) = delete;
  Waitable& operator=(const Waitable&) = delete;

  TaskState state() const noexcept { return state_; }
  bool settled() const noexcept { return is_final(state_); }

  // The error of a waitable that did not complete: what it failed with, or TaskCancelled.
  virtual std::exception_ptr error() const = 0;
  // For reports: `task #3 "fetch"`, `promise`.
  virtual std::string describe() const = 0;
  // Null when it is no task. (A dynamic_cast took a quarter of the time of a gather of 1,000.)
  virtual TaskRecord* as_task() noexcept { return nullptr; }
  const TaskRecord* as_task() const noexcept { return const_cast<Waitable*>(this)->as_task(); }

  void add_ref() noexcept { ++refs_; }
  void release() noexcept {
    if (--refs_ == 0) dispose();
  }

  void add_waiter(Waiter& waiter, TaskRecord& task) noexcept { waiters_.push(waiter, task); }
  void remove_waiter(Waiter& waiter) noexcept { waiters_.remove(waiter); }
  bool has_waiters() const noexcept { return !waiters_.empty(); }

  // What a task that waits for this waits for, when it is no task: a promise that is kept from
  // outside of the scheduler, or by one of its tasks.
  bool external() const noexcept { return external_; }

  // A task that ended on its own and left entries in its log. Never true of a promise.
  bool told() const noexcept { return told_; }

  // Someone has looked at the error, so it is not reported as unobserved.
  void mark_observed() noexcept { observed_ = true; }

 protected:
  explicit Waitable(std::uint32_t refs) noexcept : refs_(refs) {}
  ~Waitable() = default;

  // Becomes final and tells the waiters, in the order they registered.
  void settle(Scheduler& scheduler, TaskState state) noexcept;
  virtual void dispose() noexcept = 0;

  WaiterList waiters_;
  std::uint32_t refs_;
  TaskState state_ = TaskState::pending;
  bool observed_ : 1 = false;
  bool told_ : 1 = false;
  // Room that TaskRecord uses, so that what a resume touches stays in one cache line.
  bool daemon_ : 1 = false;
  std::uint8_t unrecorded_ : 4 = 0;  // see TaskRecord::keep_reason
  bool external_ : 1 = false;        // of a promise
  std::uint8_t priority_ = 10;
  std::uint8_t flags_ = 0;
};

}  // namespace tiffany
