// The coroutine engine's other half: a spawned coroutine, and what spawn() checks.
#pragma once

#include <coroutine>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiffany/core/handle.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/spawner.hpp"
#include "tiffany/detail/engine/bound_call.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany {

// What does not depend on the task's type: beginning, ending, and the stack of frames.
class CoroutineRecord : public TaskRecord {
 public:
  void* begin(Scheduler& scheduler) final;
  void ended(Scheduler& scheduler) noexcept final;
  void drop_code() noexcept final;
  void visit_frames(FrameVisitor& visitor) const final;

 protected:
  CoroutineRecord() noexcept = default;
  ~CoroutineRecord() = default;

  // Calls the stored callable and returns the address of the coroutine it made.
  virtual void* call() = 0;
  // The outermost frame, at the cursor, has ended without an exception: keeps its value, and drops
  // the code.
  virtual void keep_value(Scheduler& scheduler) = 0;
  virtual void drop_closure() noexcept = 0;

  // For the end of a task: the outermost frame is the one at the cursor.
  void drop_frame() noexcept {
    std::coroutine_handle<>::from_address(std::exchange(cursor_, nullptr)).destroy();
  }

 private:
  TaskState keep_error(std::exception_ptr error) noexcept;
};

template <class T, class Closure>
class SpawnedCoroutine final : public CoroutineRecord {
 public:
  SpawnedCoroutine(Scheduler&, Arena& arena, Closure&& closure) {
    this->template store<Closure>(arena, std::move(closure));
  }

 private:
  using Coroutine = std::coroutine_handle<typename Task<T>::promise_type>;

  void* call() override {
    Task<T> task = (*this->template stored<Closure>())();
    return task.coroutine_.release().address();
  }
  void keep_value([[maybe_unused]] Scheduler& scheduler) override {
    if constexpr (std::is_void_v<T>) {
      drop_frame();
      SpawnedCoroutine::drop_closure();
    } else {
      // The value leaves the frame before the frame, and then the arguments it may refer to, go.
      // Whatever can throw comes before the code is dropped.
      auto& promise = Coroutine::from_address(cursor_).promise();
      if constexpr (TaskRecord::fits_inline<T>) {
        T value = promise.take();
        drop_frame();
        SpawnedCoroutine::drop_closure();
        new (storage_) T(std::move(value));
        this->template holds_value<T>();
      } else {
        T* kept = TaskRecord::make_apart<T>(scheduler.arena(), promise.take());
        drop_frame();
        SpawnedCoroutine::drop_closure();
        new (storage_) T*(kept);
        this->template holds_value<T>();
      }
    }
  }
  void drop_closure() noexcept override { this->template unstore<Closure>(); }
  void drop_value() noexcept override {
    if constexpr (!std::is_void_v<T>) this->template unstore<T>();
  }
};

// Says that a view outlives the task it is given to: `spawn(parse, borrowed(text))`.
template <class V>
auto borrowed(V view) {
  return detail::Borrowed<V>{view};
}

namespace detail {

// What a callable is stored as with its arguments, once it is known that it can be spawned with
// them. All types are decayed.
template <class F, class... Args>
struct Spawnable {
  static constexpr bool is_callable = !IsTask<F>::value && std::is_invocable_v<F, Args...>;
  template <class Engine = CoroutineEngine>
  static constexpr bool check() {
    (refuse_views<Args>(), ...);
    if constexpr (IsTask<F>::value) {
      static_assert(
          always_false<F>,
          "spawn takes the callable and its arguments: write spawn(f, x), not spawn(f(x)), "
          "so that the arguments live as long as the task");
    } else if constexpr (!is_callable) {
      static_assert(
          always_false<F>,
          "this callable cannot be called with these arguments (they are passed as rvalues "
          "of their stored copies; use std::ref for a reference)");
    } else {
      Engine::template check<std::invoke_result_t<F, Args...>>();
    }
    return is_callable;
  }
  template <class G, class... As>
  static auto closure(G&& f, As&&... args) {
    using Closure = typename ClosureOf<typename SignatureOf<F>::type, F, Args...>::type;
    return Closure(std::in_place, std::forward<G>(f), std::forward<As>(args)...);
  }
};

// The value that a coroutine computes which this closure makes.
template <class Closure>
using ResultOf = typename std::invoke_result_t<Closure&>::value_type;

// The scheduler and the scope of a spawn that names a scope, or names none.
struct Target {
  Target(Scope* named, std::string_view call)
      : scheduler(named != nullptr ? named->scheduler() : Scheduler::require(call)),
        scope(named != nullptr ? *named : scheduler.scope_of(*scheduler.running())) {}
  Scheduler& scheduler;
  Scope& scope;
};

}  // namespace detail

// What a spawner needs to know of an engine.
struct CoroutineEngine {
  static constexpr std::string_view spawn_name = "spawn()";
  // Refuses a callable that returns something else than it should.
  template <class R>
  static constexpr void check() {
    static_assert(detail::IsTask<R>::value,
                  "spawn needs a coroutine that returns a Task: Task<T> f(...); for a plain "
                  "function that waits see spawn_fiber");
  }
  template <class F, class... Args>
  using Spawnable = detail::Spawnable<F, Args...>;
  template <class Closure>
  using Result = detail::ResultOf<Closure>;
  template <class Closure>
  using Record = SpawnedCoroutine<Result<Closure>, Closure>;
  // Throws SpawnDenied when a limit of the engine is reached.
  static void allow(Scheduler&) noexcept {}
};

template <class Engine>
template <class F, class... Args>
auto SpawnerOf<Engine>::start(const Site& site, F&& f, Args&&... args) const {
  using Spawned = typename Engine::template Spawnable<std::decay_t<F>, std::decay_t<Args>...>;
  if constexpr (Spawned::template check<Engine>()) {
    const detail::Target target(scope_, Engine::spawn_name);
    using Closure = decltype(Spawned::closure(std::forward<F>(f), std::forward<Args>(args)...));
    Engine::allow(target.scheduler);
    auto& record = target.scheduler.template make_task<typename Engine::template Record<Closure>>(
        target.scope, priority_, site,
        Spawned::closure(std::forward<F>(f), std::forward<Args>(args)...));
    return Handle<typename Engine::template Result<Closure>>::adopt(record);
  }
}

}  // namespace tiffany
