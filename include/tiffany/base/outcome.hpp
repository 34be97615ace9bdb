// Results as values: how a waitable ended, and what within() gives back.
//
//   const Outcome<int> end = co_await handle.outcome();   // never throws what the task threw
//   if (end.ok()) use(end.value());
//
//   const Timed<Page> page = co_await within(5ms, fetch(url));
//   if (page.timed_out()) return;
//
// An Outcome that is an error is an error that was looked at: nothing reports it any more.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "tiffany/base/error.hpp"

namespace tiffany {

// Stands for `void` where a value is needed.
struct Unit {
  friend constexpr bool operator==(Unit, Unit) noexcept = default;
};

// What a T is kept and handed over as.
template <class T>
using ValueOf = std::conditional_t<std::is_void_v<T>, Unit, T>;

// How something ended: with a value, with an error, or cancelled. Exactly one of ok(), failed() and
// cancelled() is true. Only value() throws.
template <class T>
class Outcome {
 public:
  using Value = ValueOf<T>;

  static Outcome success(Value value) {
    Outcome outcome;
    outcome.value_.emplace(std::move(value));
    return outcome;
  }
  static Outcome failure(std::exception_ptr error, bool cancelled) noexcept {
    Outcome outcome;
    outcome.error_ = std::move(error);
    outcome.cancelled_ = cancelled;
    return outcome;
  }

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  // It was cancelled; error() is then a TaskCancelled.
  bool cancelled() const noexcept { return cancelled_; }
  bool failed() const noexcept { return !ok() && !cancelled_; }

  // The value, or the error thrown.
  Value& value() & {
    check();
    return *value_;
  }
  const Value& value() const& {
    check();
    return *value_;
  }
  Value value() && {
    check();
    return std::move(*value_);
  }
  // Null when ok().
  const std::exception_ptr& error() const noexcept { return error_; }
  // The same for readers: what the exception says; `no error` when ok().
  std::string error_text() const { return tiffany::error_text(error_); }

 private:
  Outcome() noexcept = default;
  void check() const {
    if (!ok()) std::rethrow_exception(error_);
  }

  std::optional<Value> value_;
  std::exception_ptr error_;
  bool cancelled_ = false;
};

// The other result of within().
struct TimedOut {
  friend constexpr bool operator==(TimedOut, TimedOut) noexcept = default;
};

// What within() gives: the value, or TimedOut. A timeout is not an error and not a cancellation of
// the one who asked; asking for the value of one that timed out is an error.
template <class T>
class Timed {
 public:
  using Value = ValueOf<T>;

  Timed(TimedOut) noexcept {}
  explicit Timed(Value value) : value_(std::move(value)) {}

  // Exactly one of the next two is true.

  bool timed_out() const noexcept { return !value_.has_value(); }
  bool has_value() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }

  // The value, or an error (Errc::timed_out); so do the operators.
  Value& value() & {
    check();
    return *value_;
  }
  const Value& value() const& {
    check();
    return *value_;
  }
  Value value() && {
    check();
    return std::move(*value_);
  }
  Value& operator*() & { return value(); }
  const Value& operator*() const& { return value(); }
  Value* operator->() { return &value(); }
  const Value* operator->() const { return &value(); }

 private:
  void check() const {
    if (!value_) {
      throw Error(Errc::timed_out,
                  "The value of an operation that timed out was asked for; ask timed_out() first.");
    }
  }

  std::optional<Value> value_;
};

}  // namespace tiffany
