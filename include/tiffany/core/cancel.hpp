// Cancellation: why, by whom, and how it leaves a task.
//
// Cancelling is level-triggered. Once a task (or a block inside it) is cancelled, the suspension it
// is parked at throws `Cancelled`, and so does every later one, until the cancelled block has been
// left; `shield` holds that back for a while. A call that can be answered without suspending is
// answered: a result that has arrived is never lost to a cancel.
//
// A cancel cannot fail. Where there is no memory to record who asked, where and why, it is
// delivered with the cause alone.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "tiffany/base/time.hpp"
#include "tiffany/core/id.hpp"

namespace tiffany {

class Scheduler;
class Scope;
class TaskRecord;

enum class CancelCause : std::uint8_t {
  requested,       // somebody called cancel()
  sibling_failed,  // another task of a fail-fast scope failed
  scope_ended,     // the block of its scope threw or was cancelled
  deadline,        // the deadline of a scope passed
  timeout,         // within() ran out of time
  race_decided,    // another contender of race() or any() was decided
  shutdown,        // the scheduler is being shut down
  dependency,      // a task that it comes after did not complete
  supervisor,      // its supervisor stops it, to restart it or for good
};

const char* name_of(CancelCause cause) noexcept;

// Who asked for a cancellation, where, and why. Shared by everything that it cancelled.
struct CancelReason {
  CancelReason(CancelCause why, std::string_view text, TaskId asker, std::source_location where,
               Time when)
      : cause(why), message(text), requester(asker), site(where), time(when) {}

  // For example: `cancelled by #3 at tour.cpp:40: no longer needed (requested)`
  std::string text() const;
  // False when there was no memory for anything but the cause.
  bool recorded() const noexcept { return site.line() != 0; }

  CancelCause cause;
  std::string message;
  TaskId requester;  // no task: asked for from outside of every task
  std::source_location site;
  Time time;
};

using CancelReasonPtr = std::shared_ptr<const CancelReason>;

// A reason that has nothing but its cause, and takes no memory.
const CancelReasonPtr& unrecorded_reason(CancelCause cause) noexcept;

// Thrown at the suspension point of a cancelled task. Deliberately not a std::exception, so that
// a handler for errors does not swallow it. Code that catches it must let it go on: every later
// suspension of the task throws it again.
class Cancelled {
 public:
  explicit Cancelled(CancelReasonPtr reason) noexcept : reason_(std::move(reason)) {}
  const CancelReason& reason() const noexcept { return *reason_; }

 private:
  CancelReasonPtr reason_;
};

namespace detail {
// A cancellation is none: nobody misses one that could not be thrown.
bool is_error(const std::exception_ptr& thrown) noexcept;
}  // namespace detail

// A stretch of a task's code that can be cancelled by itself (the block of a scope, the operation
// of within()) or that cannot be cancelled from outside (a shield). Regions nest; they live in the
// frame of the code they cover and belong to the task that was running when they were made.
class CancelRegion {
 public:
  enum class Kind : std::uint8_t {
    plain,
    scope,    // the block of a scope
    shield,   // hides what is cancelled further out
    closing,  // as shield: a scope waits for its tasks, which may refer to its frame
  };
  static constexpr bool hides(Kind kind) noexcept {
    return kind == Kind::shield || kind == Kind::closing;
  }

  explicit CancelRegion(Kind kind = Kind::plain, Scope* scope = nullptr);
  ~CancelRegion();
  CancelRegion(const CancelRegion&) = delete;
  CancelRegion& operator=(const CancelRegion&) = delete;

  // Cancels this stretch of code; the task goes on behind it. The first reason stands.
  void cancel(CancelReasonPtr reason) noexcept;

  // Ends the region before its scope does. After this, cancels no longer reach the covered code.
  void close() noexcept;

  // A timer will cancel it: a wait in the region ends, whatever comes of what is waited for.
  void ends_by_time() noexcept { timed_ = true; }

  bool cancelled() const noexcept { return reason_ != nullptr; }
  const CancelReasonPtr& reason() const noexcept { return reason_; }
  // True while something further out has been cancelled and no shield stands between: then a
  // `Cancelled` that comes by is not this region's to keep.
  bool outer_cancelled() const noexcept;
  TaskRecord& task() const noexcept { return *task_; }
  Kind kind() const noexcept { return kind_; }
  // The scope whose block this covers; null for the other kinds.
  Scope* scope() const noexcept { return scope_; }
  CancelRegion* outer() const noexcept { return outer_; }

  // ---- What the regions of a task come to ----

  // The innermost reason that no shield hides; null when the code may go on.
  static const CancelReasonPtr* effective_reason(const TaskRecord& task) noexcept;
  // A shield stands between the code and a cancel of the task.
  static bool shields(const TaskRecord& task) noexcept;
  // A deadline around the task, or around what it is part of, will end its wait.
  static bool wait_can_time_out(const TaskRecord& task) noexcept;

 private:
  friend struct DebugLayout;

  TaskRecord* task_;
  CancelRegion* outer_;
  CancelReasonPtr reason_;
  Scope* scope_;
  Kind kind_;
  bool open_ = true;
  bool timed_ = false;
};

}  // namespace tiffany
