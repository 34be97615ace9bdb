// A promise: a value that one task will give and others wait for, within one scheduler.
//
//   Promise<int> promise;
//   auto waiter = spawn(consumer, promise.future());
//   promise.complete(7);            // or promise.fail(error); the completer goes on
//
// Whoever waits becomes ready in the order of waiting. Completing twice is an error to the second
// completer, and the first value stands. A promise that is dropped while it is pending fails with
// Errc::broken_promise, so nobody waits for what cannot come. The error of a promise that was
// failed and that nobody looked at is reported to the log when the last of its sides is gone. For
// completion from another thread or process see core/external.hpp.
//
// Cancel of the one who waits, as for handles (core/handle.hpp).
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "tiffany/base/arena.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/outcome.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/waitable.hpp"

namespace tiffany {

// The state that a promise and its futures share.
class PromiseCore : public Waitable {
 public:
  std::exception_ptr error() const override { return error_; }
  std::string describe() const override { return "a promise"; }
  void fail(Scheduler& scheduler, std::exception_ptr error) noexcept;
  // The writing side is gone.
  void abandon() noexcept;
  // Somebody who has only the reading side is about to settle it (test/test_scheduler.hpp), and
  // from now on nobody else can. False: a completion is under way already.
  virtual bool take_over(Scheduler&) noexcept { return true; }

 protected:
  PromiseCore() noexcept : Waitable(1) {}
  ~PromiseCore() {
    if (flags_ == kWasFailed && !observed_) [[unlikely]]
      report_unseen();
  }

 private:
  static constexpr std::uint8_t kWasFailed = 1;  // by somebody, and not because it was dropped
  void report_unseen() const noexcept;

  std::exception_ptr error_;
};

template <class T>
class PromiseState : public PromiseCore {
 public:
  using Value = ValueOf<T>;

  static PromiseState* make() {
    void* memory = Scheduler::require("Making a promise").arena().allocate(sizeof(PromiseState));
    return new (memory) PromiseState();
  }

  void complete(Scheduler& scheduler, Value value) {
    value_.emplace(std::move(value));
    settle(scheduler, TaskState::completed);
  }
  const Value& value() const noexcept { return *value_; }

 protected:
  PromiseState() noexcept = default;
  ~PromiseState() = default;

  void dispose() noexcept override {
    this->PromiseState::~PromiseState();
    Arena::deallocate(this, sizeof(PromiseState));
  }

 private:
  std::optional<Value> value_;
};

// The reading side. Copyable; each await gets a copy of the value.
template <class T>
class Future {
 public:
  using value_type = T;

  Future() noexcept = default;
  explicit Future(PromiseState<T>* state) noexcept : state_(state) {}

  bool done() const { return get().settled(); }
  TaskState state() const { return get().state(); }
  explicit operator bool() const noexcept { return static_cast<bool>(state_); }

  // Awaited: how it was settled, as a value.
  JoinOutcome<Future> outcome() const { return JoinOutcome<Future>(*this); }

  // ---- For system calls ----
  Waitable& waitable() const { return get(); }
  WaitKind wait_kind() const noexcept {
    return state_->external() ? WaitKind::external : WaitKind::event;
  }
  ValueOf<T> value(bool) const { return get().value(); }

 private:
  PromiseState<T>& get() const {
    if (!state_) [[unlikely]]
      detail::throw_empty_handle();
    return *state_;
  }
  Ref<PromiseState<T>> state_;
};

namespace detail {
[[noreturn]] void throw_settled_twice();
}  // namespace detail

// The writing side. Move-only: one place decides.
template <class T>
class Promise {
 public:
  static_assert(std::is_void_v<T> || std::is_copy_constructible_v<ValueOf<T>>,
                "every waiter of a promise gets a copy of its value; use std::shared_ptr for what "
                "cannot be copied");

  Promise() : state_(Ref<PromiseState<T>>::adopt(PromiseState<T>::make())) {}
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&& other) noexcept {
    abandon();
    state_ = std::move(other.state_);
    return *this;
  }
  ~Promise() { abandon(); }

  Future<T> future() const { return Future<T>(state_.get()); }
  bool done() const noexcept { return state_->settled(); }

  // Must be called from a task. An error (Errc::already_settled) when it has been settled before.
  void complete(ValueOf<T> value) {
    check();
    state_->complete(Scheduler::require("Completing a promise"), std::move(value));
  }
  void complete()
    requires std::is_void_v<T>
  {
    complete(Unit());
  }
  void fail(std::exception_ptr error) {
    check();
    state_->fail(Scheduler::require("Failing a promise"), std::move(error));
  }
  template <class E>
    requires std::is_base_of_v<std::exception, E>
  void fail(E error) {
    fail(std::make_exception_ptr(std::move(error)));
  }

 private:
  void check() const {
    if (!state_) detail::throw_empty_handle();
    if (state_->settled()) detail::throw_settled_twice();
  }
  void abandon() noexcept {
    if (state_ && !state_->settled()) state_->abandon();
  }

  Ref<PromiseState<T>> state_;
};

}  // namespace tiffany
