// The body of a durable task: a coroutine that may await only what can be recorded.
//
//   Durable<Receipt> order(Flow& flow, Order order) {
//     const Charge charge = co_await flow.step("charge", [&] { return bank.charge(order); });
//     co_await flow.sleep(24h);
//     ...
//   }
//
// It may call other such coroutines and await them. A Task, a sleep() or a socket cannot be awaited
// here, which the compiler says: whatever happens outside belongs into a step (durable/flow.hpp),
// whose result is recorded, so that it is not done again when the task comes back after a crash.
#pragma once

#include <concepts>
#include <coroutine>
#include <source_location>
#include <type_traits>
#include <utility>

#include "tiffany/engine/task.hpp"

namespace tiffany {

class DurableCall;
template <class T>
class DurableHandle;
namespace detail {
template <class T>
class AwaitSlot;

// The code ends here for good: the frame that called the outermost of these coroutines goes on, and
// destroys them.
class LeaveForGood {
 public:
  explicit LeaveForGood(void* outermost) noexcept : outermost_(outermost) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {
    Scheduler::Trampoline::next = outermost_;
  }
  void await_resume() const noexcept {}

 private:
  void* outermost_;
};

template <class T>
inline constexpr bool kIsDurableHandle = false;
template <class T>
inline constexpr bool kIsDurableHandle<DurableHandle<T>> = true;
}  // namespace detail

template <class T = void>
class [[nodiscard("a Durable does nothing until it is awaited")]] Durable {
 public:
  static_assert(!std::is_reference_v<T>,
                "a Durable returns a value; return a pointer or std::reference_wrapper instead");
  using value_type = T;

  class promise_type : public detail::ValuePromise<T> {
   public:
    // Not the bare pointer of PromiseBase: Clang does not take that in a template.
    using Site = std::source_location;

    Durable get_return_object() noexcept {
      return Durable(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    template <class U>
    auto await_transform(Durable<U>&& callee, Site at = Site::current()) noexcept {
      this->site = at;
      return std::move(callee).call();
    }
    template <class U>
    auto await_transform(const DurableHandle<U>& handle, Site at = Site::current()) {
      this->site = at;
      return detail::AwaitCall<detail::AwaitSlot<U>>(handle);
    }
    template <class U>
    auto await_transform(DurableHandle<U>& handle, Site at = Site::current()) {
      return await_transform(std::as_const(handle), at);
    }
    detail::LeaveForGood await_transform(detail::LeaveForGood leave) noexcept { return leave; }
    template <class C>
      requires(!detail::kIsDurableHandle<std::remove_cvref_t<C>>)
    auto await_transform(C&& call, Site at = Site::current()) noexcept {
      static_assert(
          std::derived_from<std::remove_cvref_t<C>, DurableCall>,
          "a durable task can await only what its log records: the functions of its Flow, "
          "handles from it, and other Durable coroutines. Put everything else into a step: "
          "co_await flow.step(\"name\", [&]() -> Task<T> { ... })");
      this->site = at;
      return detail::Awaiters::of(std::forward<C>(call));
    }
  };

  Durable(Durable&&) noexcept = default;
  Durable& operator=(Durable&&) noexcept = default;

  // For the coroutines that may await it.
  auto call() && noexcept { return detail::AwaitTask<T, promise_type>(coroutine_.get()); }
  // The address of its frame, which the caller destroys.
  void* release() && noexcept { return coroutine_.release().address(); }

 private:
  explicit Durable(std::coroutine_handle<promise_type> coroutine) noexcept
      : coroutine_(coroutine) {}

  detail::CoroutineOwner<promise_type> coroutine_;
};

}  // namespace tiffany
