// A handle: how one task knows another.
//
// Copyable, eight bytes, and harmless to drop: the task belongs to its scope. As long as a handle
// lives, the result of the task can be had, by any number of waiters, before and after it ended.
//
//   int a = co_await h;                     its value, or its exception thrown here
//   Outcome<int> o = co_await h.outcome();  how it ended; never throws
//   auto r = co_await within(5ms, h);       waits so long at most; the task goes on
//
// A result that cannot be copied is taken by awaiting an rvalue, once: `co_await std::move(h)`.
//
// Cancel of the one who waits. Before start: the wait is not begun. While parked: the wait is
// withdrawn, the awaited task goes on. After completion: the result is delivered first.
#pragma once

#include <exception>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/base/outcome.hpp"
#include "tiffany/core/async_trace.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/task_record.hpp"

namespace tiffany {

template <class T>
class Handle;
template <class H, bool kTake>
class Join;
template <class H>
class JoinOutcome;

namespace detail {
[[noreturn]] void throw_empty_handle();
[[noreturn]] void throw_value_taken(const TaskRecord& task);
}  // namespace detail

template <class T>
class Handle {
 public:
  using value_type = T;

  Handle() noexcept = default;
  // Takes over the caller's reference. For engines.
  static Handle adopt(TaskRecord& record) noexcept {
    Handle handle;
    handle.record_ = Ref<TaskRecord>::adopt(&record);
    return handle;
  }

  TaskId id() const { return record().id(); }
  TaskState state() const { return record().state(); }
  bool done() const { return record().settled(); }
  std::string_view name() const { return record().name(); }
  // Shows in reports and logs. Returns the handle: `auto h = spawn(f).named("fetch");`
  Handle named(std::string_view name) && {
    record().set_name(name);
    return std::move(*this);
  }
  Handle named(const Ref<SharedName>& name) && {
    record().set_name(name);
    return std::move(*this);
  }
  Handle& named(std::string_view name) & {
    record().set_name(name);
    return *this;
  }

  // The task does not keep Scheduler::run() alive: when only such tasks are left, they are
  // cancelled (CancelCause::shutdown) and joined. What the task spawns from now on is a daemon,
  // too. A scope waits for its daemons as for every other task. Returns the handle:
  // `spawn(report_load).daemon();`
  Handle daemon() && {
    make_daemon();
    return std::move(*this);
  }
  Handle& daemon() & {
    make_daemon();
    return *this;
  }

  // Asks the task to stop, and returns at once.
  void cancel(std::string_view why = {},
              std::source_location site = std::source_location::current()) const {
    cancel_with(CancelCause::requested, why, site);
  }
  void cancel_with(CancelCause cause, std::string_view why, std::source_location site) const {
    Scheduler* scheduler = Scheduler::owner(record());
    if (scheduler != nullptr) scheduler->cancel(record(), scheduler->reason(cause, why, site));
  }

  // How the exception of a failed task came about; null for any other.
  AsyncTracePtr trace() const { return record().trace(); }

  // Awaited: how the task ended, as a value.
  JoinOutcome<Handle> outcome() const { return JoinOutcome<Handle>(*this); }

  explicit operator bool() const noexcept { return static_cast<bool>(record_); }
  friend bool operator==(const Handle& a, const Handle& b) noexcept {
    return a.record_.get() == b.record_.get();
  }

  // ---- For system calls ----

  Waitable& waitable() const { return record(); }
  static constexpr WaitKind wait_kind() noexcept { return WaitKind::join; }
  // The value of a completed task: copied, or moved when nobody else can ask for it (`take`).
  ValueOf<T> value(bool take) const {
    TaskRecord& task = record();
    if constexpr (std::is_void_v<T>) {
      return Unit();
    } else {
      if (task.has(TaskRecord::kValueTaken)) [[unlikely]]
        detail::throw_value_taken(task);
      T& stored = *task.template stored<T>();
      if constexpr (std::is_copy_constructible_v<T>) {
        return take && task.refs_ == 1 ? T(std::move(stored)) : T(stored);
      } else {
        task.set(TaskRecord::kValueTaken);
        return T(std::move(stored));
      }
    }
  }

 private:
  void make_daemon() const {
    if (Scheduler* const scheduler = Scheduler::owner(record())) scheduler->make_daemon(record());
  }
  TaskRecord& record() const {
    if (!record_) [[unlikely]]
      detail::throw_empty_handle();
    return *record_;
  }

  Ref<TaskRecord> record_;
};

// A task that waits for itself can never go on: an error (Errc::self_join).
void refuse_self_join(const Waitable& target, const TaskRecord& task);
// Registers with a waitable, unless it has settled. Refuses a task that waits for itself.
Answer begin_join(Waitable& target, TaskRecord& task, Waiter& waiter);

// What a waitable that did not complete ended with, to be thrown at once. The trace of a task's
// exception goes along. The caller throws it: a function in between would have to be unwound, too,
// which costs as much as making the trace.
std::exception_ptr error_to_throw(Waitable& target);

// Waits for one waitable. The value is moved out when kTake is set.
template <class H, bool kTake>
class Join final : public SystemCall {
 public:
  using T = typename H::value_type;
  static constexpr CallName call_name{"join"};

  explicit Join(H handle) : handle_(std::move(handle)) {}

  Answer start(Scheduler&, TaskRecord& task) {
    return begin_join(handle_.waitable(), task, waiter_);
  }
  void withdraw(TaskRecord&) noexcept override { handle_.waitable().remove_waiter(waiter_); }
  void on_settled(Scheduler& scheduler, Waiter& waiter) noexcept override {
    wake(scheduler, *waiter.task);
  }
  T finish() {
    Waitable& target = handle_.waitable();
    if (target.state() != TaskState::completed) std::rethrow_exception(error_to_throw(target));
    if constexpr (!std::is_void_v<T>) return handle_.value(kTake);
  }
  std::string describe() const override { return handle_.waitable().describe(); }
  WaitKind wait_kind() const noexcept { return wait_kind_of(handle_); }
  void visit_waits(WaitVisitor& visitor) const override { visitor.on_waitable(handle_.waitable()); }
  bool needs_all() const noexcept override { return true; }

 private:
  H handle_;
  Waiter waiter_;
};

// The outcome of a settled waitable.
template <class H>
Outcome<typename H::value_type> outcome_of(const H& handle, bool take) {
  using Result = Outcome<typename H::value_type>;
  Waitable& target = handle.waitable();
  if (target.state() == TaskState::completed) return Result::success(handle.value(take));
  target.mark_observed();
  return Result::failure(target.error(), target.state() == TaskState::cancelled);
}

// The value of a settled waitable, or its error thrown. Moved out when nobody else can ask for it.
template <class H>
ValueOf<typename H::value_type> value_now(const H& handle) {
  Waitable& target = handle.waitable();
  if (target.state() != TaskState::completed) {
    target.mark_observed();
    std::rethrow_exception(target.error());
  }
  return handle.value(true);
}

template <class H>
class JoinOutcome final : public SystemCall {
 public:
  static constexpr CallName call_name{"join_outcome"};

  explicit JoinOutcome(H handle) : handle_(std::move(handle)) {}

  Answer start(Scheduler&, TaskRecord& task) {
    return begin_join(handle_.waitable(), task, waiter_);
  }
  void withdraw(TaskRecord&) noexcept override { handle_.waitable().remove_waiter(waiter_); }
  void on_settled(Scheduler& scheduler, Waiter& waiter) noexcept override {
    wake(scheduler, *waiter.task);
  }
  Outcome<typename H::value_type> finish() { return outcome_of(handle_, false); }
  std::string describe() const override { return handle_.waitable().describe(); }
  WaitKind wait_kind() const noexcept { return wait_kind_of(handle_); }
  void visit_waits(WaitVisitor& visitor) const override { visitor.on_waitable(handle_.waitable()); }
  bool needs_all() const noexcept override { return true; }

 private:
  H handle_;
  Waiter waiter_;
};

// Asks the task to stop and returns at once. Not started: it never starts. Suspended: `Cancelled`
// is thrown where it is. Ended: nothing happens, its result stays.
template <class T>
void cancel(const Handle<T>& handle, std::string_view why = {},
            std::source_location site = std::source_location::current()) {
  handle.cancel(why, site);
}

}  // namespace tiffany
