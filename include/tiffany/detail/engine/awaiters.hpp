// What co_await does with a system call, a handle, yield() and another coroutine.
#pragma once

#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include "tiffany/core/handle.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/waitable_handle.hpp"

namespace tiffany {

template <class T>
class Task;

namespace detail {

// The awaiters below hold no reference to the scheduler: they live in the frame, and a million
// suspended tasks would pay for it. The one that runs this thread is the one.

// co_await of a system call. `Held` is a reference to a call that lives in the awaiting frame, or a
// call that is made here for a handle.
template <class Held>
class AwaitCall {
 public:
  template <class From>
  explicit AwaitCall(From&& from) : call_(std::forward<From>(from)) {}
  bool await_ready() { return Scheduler::current()->enter(call_); }
  void await_suspend(std::coroutine_handle<>) const noexcept {
    Scheduler::Trampoline::next = nullptr;
  }
  decltype(auto) await_resume() {
    Scheduler::resumed();
    return call_.finish();
  }

 private:
  Held call_;
};

// co_await yield().
class AwaitYield {
 public:
  constexpr AwaitYield() noexcept = default;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {
    Scheduler::Trampoline::next = Scheduler::Trampoline::yielded();
  }
  void await_resume() const { Scheduler::resumed(); }
};

// co_await of another coroutine: a call.
template <class T, class Promise = typename Task<T>::promise_type>
class AwaitTask {
 public:
  explicit AwaitTask(std::coroutine_handle<Promise> callee) noexcept : callee_(callee) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) noexcept {
    callee_.promise().caller = caller.address();
    Scheduler::Trampoline::next = callee_.address();
  }
  T await_resume() {
    std::exception_ptr& flying = Scheduler::current()->flying();
    if (flying != nullptr) [[unlikely]]
      std::rethrow_exception(std::exchange(flying, nullptr));
    if constexpr (!std::is_void_v<T>) return callee_.promise().take();
  }

 private:
  std::coroutine_handle<Promise> callee_;
};

template <class T>
inline constexpr bool always_false = false;

template <class T>
struct IsTask : std::false_type {};
template <class T>
struct IsTask<Task<T>> : std::true_type {};

// What can be awaited, and by which awaiter: the one list for coroutines (co_await) and fibers
// (await).
class Awaiters {
 public:
  template <class T>
  static auto of(Task<T>&& task) noexcept {
    return AwaitTask<T>(task.coroutine_.get());
  }
  // Coroutines of other types, which say themselves who may await them.
  template <class C>
    requires requires(C&& coroutine) { std::move(coroutine).call_from_task(); }
  static auto of(C&& coroutine) noexcept {
    return std::move(coroutine).call_from_task();
  }
  static AwaitYield of(Yield) noexcept { return AwaitYield(); }
  template <Call C>
  static auto of(C&& call) noexcept
    requires(!std::is_lvalue_reference_v<C>)
  {
    return AwaitCall<C&>(call);
  }
  template <WaitableHandle H>
  static auto of(const H& handle) {
    require_copyable<H>();
    return AwaitCall<Join<H, false>>(handle);
  }
  template <WaitableHandle H>
  static auto of(H&& handle)
    requires(!std::is_lvalue_reference_v<H>)
  {
    return AwaitCall<Join<H, true>>(std::move(handle));
  }
  template <class X>
    requires(!Call<std::remove_cvref_t<X>> || std::is_lvalue_reference_v<X>) &&
            (!WaitableHandle<std::remove_cvref_t<X>>) &&
            (!requires(X&& coroutine) { std::move(coroutine).call_from_task(); })
  static void of(X&&) {
    if constexpr (IsTask<std::remove_cvref_t<X>>::value) {
      static_assert(always_false<X>,
                    "a Task is awaited where it is made: write co_await f(x) (in a fiber: "
                    "await(f(x))), or co_await std::move(task) for one kept in a variable");
    } else if constexpr (Call<std::remove_cvref_t<X>>) {
      static_assert(always_false<X>,
                    "a system call is awaited where it is made: write co_await sleep(1s), or in a "
                    "fiber await(sleep(1s))");
    } else {
      static_assert(always_false<X>,
                    "this is not awaitable inside a Tiffany task: await a Task, a Handle, a Future "
                    "or a system call (see tiffany/core/system_call.hpp for adding one)");
    }
  }
};

}  // namespace detail

}  // namespace tiffany
