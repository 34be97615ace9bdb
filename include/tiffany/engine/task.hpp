// Task<T>: straight-line code that may suspend. The coroutine engine's half that users see.
//
//   Task<int> twice(int n) { co_await sleep(1ms); co_return 2 * n; }
//
// A Task is a call that has not begun. It is awaited where it is made (`co_await twice(4)` runs it
// as part of this task, like a function call) or spawned (`spawn(twice, 4)` makes it a task of its
// own). It is move-only and does nothing when dropped.
//
// Calls nest to any depth on a constant native stack, in every build type: a frame never resumes
// another one, it comes back to the run loop (a trampoline) and says which frame is next.
// docs/decisions/0003-trampoline.md says why, with the measurements.
#pragma once

#include <bit>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>

#include "tiffany/base/temporaries.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/detail/engine/awaiters.hpp"

namespace tiffany {

// What every coroutine frame carries: who called it, and at which line it is suspended. Sixteen
// bytes, and no types. Which scheduler runs it is known to the thread.
class Frame {
 public:
  void* caller = nullptr;  // null in the outermost frame of a task
  std::source_location site;

  static void* operator new(std::size_t size) {
    if (Scheduler* running = Scheduler::current()) [[likely]] {
      if (size > detail::FatFrames::kFat) [[unlikely]]
        note_fat(*running, size);
      return running->arena().allocate(size);
    }
    return allocate_outside(size);
  }
  static void operator delete(void* frame, std::size_t size) noexcept {
    Arena::deallocate(frame, size);
  }

  // The frame behind the address of a coroutine. Every promise type begins with a Frame.
  static Frame& at(void* coroutine) noexcept {
    return std::coroutine_handle<Frame>::from_address(coroutine).promise();
  }
  // From that coroutine outwards. Null: nothing.
  static void visit(void* innermost, FrameVisitor& visitor);
  // An exception leaves this frame. The first that it leaves notes where all of them are.
  void left_by(const std::exception_ptr& error) const noexcept;

 private:
  // While no scheduler runs on this thread, as in run(program()).
  static void* allocate_outside(std::size_t size);
  static void note_fat(Scheduler& scheduler, std::size_t size) noexcept;
};

namespace detail {

class PromiseBase : public Frame {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }
  // The last thing a coroutine does: name the caller as the next frame, or end the task. Here and
  // not in an awaiter, which would have to find its way to the promise through memory.
  std::suspend_always final_suspend() const noexcept {
    Scheduler::Trampoline::next = caller != nullptr ? caller : Scheduler::Trampoline::ended();
    return {};
  }
  void unhandled_exception() noexcept;

  // What std::source_location::current() wraps. As a bare pointer it is a constant to GCC; an
  // object in the awaited expression would be kept in the frame once more.
  using Site = decltype(__builtin_source_location());

  // By value, because what a reference is bound to in an awaited expression is kept in the frame.
  AwaitYield await_transform(Yield, Site at = __builtin_source_location()) noexcept {
    stop_at(at);
    return AwaitYield();
  }
  template <class A>
  auto await_transform(A&& awaited, Site at = __builtin_source_location()) noexcept(
      noexcept(Awaiters::of(std::forward<A>(awaited)))) {
    stop_at(at);
    return Awaiters::of(std::forward<A>(awaited));
  }

 private:
  void stop_at(Site at) noexcept { site = std::bit_cast<std::source_location>(at); }
};

template <class T>
class ValuePromise : public PromiseBase {
 public:
  ValuePromise() noexcept {}
  ~ValuePromise() {
    if (full_) std::destroy_at(std::addressof(value_));
  }
  template <class U>
    requires std::is_constructible_v<T, U&&>
  void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U&&>) {
    std::construct_at(std::addressof(value_), std::forward<U>(value));
    full_ = true;
  }
  T take() noexcept(std::is_nothrow_move_constructible_v<T>) { return std::move(value_); }

 private:
  union {
    T value_;
  };
  bool full_ = false;
};

// The common case needs no flag: there is nothing to destroy.
template <class T>
  requires std::is_trivially_destructible_v<T>
class ValuePromise<T> : public PromiseBase {
 public:
  ValuePromise() noexcept {}
  template <class U>
    requires std::is_constructible_v<T, U&&>
  void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U&&>) {
    std::construct_at(std::addressof(value_), std::forward<U>(value));
  }
  T take() noexcept(std::is_nothrow_move_constructible_v<T>) { return std::move(value_); }

 private:
  union {
    T value_;
  };
};

template <>
class ValuePromise<void> : public PromiseBase {
 public:
  void return_void() const noexcept {}
  void take() const noexcept {}
};

// Owns a coroutine frame.
template <class P>
class CoroutineOwner {
 public:
  explicit CoroutineOwner(std::coroutine_handle<P> coroutine = {}) noexcept
      : coroutine_(coroutine) {}
  CoroutineOwner(CoroutineOwner&& other) noexcept
      : coroutine_(std::exchange(other.coroutine_, {})) {}
  CoroutineOwner& operator=(CoroutineOwner&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~CoroutineOwner() {
    if (coroutine_) coroutine_.destroy();
  }
  std::coroutine_handle<P> get() const noexcept { return coroutine_; }
  std::coroutine_handle<P> release() noexcept { return std::exchange(coroutine_, {}); }

 private:
  std::coroutine_handle<P> coroutine_;
};

}  // namespace detail

template <class T = void>
class [[nodiscard(
    "a Task does nothing until it is awaited or spawned: write co_await f(x), or spawn(f, x)")]]
Task {
 public:
  static_assert(!std::is_reference_v<T>,
                "a Task returns a value; return a pointer or std::reference_wrapper instead");
  static_assert(std::is_void_v<T> || alignof(ValueOf<T>) <= 16,
                "results of tasks are aligned to 16 bytes at most");

  using value_type = T;

  class promise_type : public detail::ValuePromise<T> {
   public:
    Task get_return_object() noexcept {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  Task(Task&&) noexcept = default;
  Task& operator=(Task&&) noexcept = default;

 private:
  friend class detail::Awaiters;
  template <class U, class Closure>
  friend class SpawnedCoroutine;

  explicit Task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  detail::CoroutineOwner<promise_type> coroutine_;
};

}  // namespace tiffany
