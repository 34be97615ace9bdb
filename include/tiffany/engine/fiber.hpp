// Fibers: tasks whose code is a plain function that waits wherever it likes.
//
//   int total(std::vector<Handle<int>> parts) {
//     int sum = 0;
//     for (auto& part : parts) sum += await(part);   what co_await is in a coroutine
//     fiber::sleep(10ms);                            as await(sleep(10ms))
//     return sum;
//   }
//   auto h = spawn_fiber(total, parts);
//
// A fiber has a stack of its own, so there may be any code between it and the await: a parser that
// reads through a callback, a comparison inside of a sort. Everything else is as with coroutines:
// handles, scopes, context, store, order, cancellation, dumps. `await` takes all that co_await
// takes; a Task is run as a part of this one, and its frames are in the dump above that of the
// fiber.
//
// spawn_fiber checks and keeps its arguments as spawn does (core/spawner.hpp).
//
// Cancel. Before start: the function is never called. While parked: Cancelled is thrown from the
// await, so that destructors run. After completion: the result is delivered first. What a
// destructor waits for while an exception unwinds the stack is not cancelled; one that waits
// otherwise should do so in fiber::shield (structure/fiber_blocks.hpp), because what leaves a
// destructor ends the program. Code that catches everything must throw it again: a fiber that does
// not end when its scheduler is destroyed is unwound by an exception without a name, and reported
// when it throws that away.
//
// Stacks have Options::fiber_stack bytes with a guard below. A fiber that needs more ends the
// program, after a report that names it.
#pragma once

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "tiffany/core/cancel.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/detail/engine/fiber_stacks.hpp"
#include "tiffany/engine/fiber_switch.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany {

namespace detail {

// One await of the running fiber. The compiler may keep the address of a thread_local for as long
// as a function runs, and the fiber may come back in another thread; so what comes before the
// switch, the switch, and what comes after it are functions of their own.
class FiberWait {
 public:
  // Throws (Errc::no_fiber) when no fiber runs.
  explicit FiberWait(PromiseBase::Site at);
  FiberWait(const FiberWait&) = delete;
  FiberWait& operator=(const FiberWait&) = delete;

  template <class Awaiter>
  decltype(auto) run(Awaiter& awaiter) {
    if (!begin(awaiter) && (fiber_.leave() & Fiber::kDropped) != 0) [[unlikely]]
      fiber_.drop_here();
    return end(awaiter);
  }

 private:
  template <class Awaiter>
  [[gnu::noinline]] bool begin(Awaiter& awaiter) {
    if (awaiter.await_ready()) return true;
    awaiter.await_suspend(std::coroutine_handle<>::from_address(&fiber_));
    return false;
  }
  template <class Awaiter>
  [[gnu::noinline]] static decltype(auto) end(Awaiter& awaiter) {
    return awaiter.await_resume();
  }

  Fiber& fiber_;
  std::optional<CancelRegion> held_back_;  // the cancels, while the stack is being unwound
};

}  // namespace detail

// The plain forms of the most frequent calls. For all others write await(call).
namespace fiber {

using Site = detail::PromiseBase::Site;

inline void yield(Site at = __builtin_source_location()) {
  if (detail::fiber_yield(at) != detail::Fiber::kNothing) [[unlikely]]
    detail::fiber_interrupted();
}
void sleep(Duration delay, Site at = __builtin_source_location());
void sleep_until(Time deadline, Site at = __builtin_source_location());
void checkpoint(Site at = __builtin_source_location());

}  // namespace fiber

// The running fiber waits for a system call, a handle, a future or a Task, and gets its result.
template <class A>
decltype(auto) await(A&& awaited, fiber::Site at = __builtin_source_location()) {
  if constexpr (std::is_same_v<std::remove_cvref_t<A>, Yield>) {
    fiber::yield(at);
  } else {
    detail::FiberWait wait(at);
    auto awaiter = detail::Awaiters::of(std::forward<A>(awaited));
    return wait.run(awaiter);
  }
}

// What does not depend on the task's type: beginning, ending, and the stack of frames.
class FiberRecord : public TaskRecord {
 public:
  void* begin(Scheduler& scheduler) final;
  void ended(Scheduler& scheduler) noexcept final;
  void drop_code() noexcept final;
  void visit_frames(FrameVisitor& visitor) const final;

 protected:
  FiberRecord() noexcept = default;
  ~FiberRecord() = default;

  // On the fiber's stack: calls the stored callable, drops it, and keeps the value.
  virtual void call(Scheduler& scheduler) = 0;
  virtual void drop_closure() noexcept = 0;

 private:
  static void run(detail::Fiber& fiber) noexcept;
  detail::Fiber& take_fiber() noexcept;
  void report_not_unwound(Scheduler& scheduler) noexcept;
};

template <class T, class Closure>
class SpawnedFiber final : public FiberRecord {
 public:
  SpawnedFiber(Scheduler& scheduler, Arena& arena, Closure&& closure) {
    this->template store<Closure>(arena, std::move(closure));
    detail::FiberStacks::of(scheduler).promise();
  }

 private:
  void call([[maybe_unused]] Scheduler& scheduler) override {
    Closure& closure = *this->template stored<Closure>();
    if constexpr (std::is_void_v<T>) {
      closure();
      SpawnedFiber::drop_closure();
    } else if constexpr (TaskRecord::fits_inline<T>) {
      T value = closure();
      SpawnedFiber::drop_closure();
      new (storage_) T(std::move(value));
      this->template holds_value<T>();
    } else {
      // Whatever can throw comes before the closure is dropped.
      T* kept = TaskRecord::make_apart<T>(scheduler.arena(), closure());
      SpawnedFiber::drop_closure();
      new (storage_) T*(kept);
      this->template holds_value<T>();
    }
  }
  void drop_closure() noexcept override { this->template unstore<Closure>(); }
  void drop_value() noexcept override {
    if constexpr (!std::is_void_v<T>) this->template unstore<T>();
  }
};

struct FiberEngine {
  static constexpr std::string_view spawn_name = "spawn_fiber()";
  template <class R>
  static constexpr void check() {
    static_assert(!detail::IsTask<R>::value,
                  "a fiber runs a plain function: for one that returns a Task write spawn(f, x)");
    static_assert(!std::is_reference_v<R>,
                  "a fiber returns a value; return a pointer or std::reference_wrapper instead");
  }
  template <class F, class... Args>
  using Spawnable = detail::Spawnable<F, Args...>;
  template <class Closure>
  using Result = std::invoke_result_t<Closure&>;
  template <class Closure>
  using Record = SpawnedFiber<Result<Closure>, Closure>;
  static void allow(Scheduler& scheduler) {
    scheduler.limits().allow_fiber(detail::FiberStacks::of(scheduler).promised());
  }
};

}  // namespace tiffany
