// Running a whole program: make a scheduler, run a task to its end, and everything it spawned.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "tiffany/core/options.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/engine/awaitable.hpp"
#include "tiffany/engine/spawn.hpp"

namespace tiffany {

namespace detail {
// The result of a task that has ended, without awaiting it.
template <class T>
T result_now(Handle<T> handle) {
  Waitable& task = handle.waitable();
  if (task.state() != TaskState::completed) std::rethrow_exception(error_to_throw(task));
  if constexpr (!std::is_void_v<T>) return handle.value(true);
}
}  // namespace detail

// Runs the program on an existing scheduler until it and everything else there has ended, and gives
// its result or throws its exception.
template <class T>
T run_on(Scheduler& scheduler, Task<T> program) {
  Handle<T> handle = scheduler.spawn(detail::carry<Task<T>>, std::move(program)).named("main");
  scheduler.run();
  return detail::result_now(std::move(handle));
}

namespace detail {
// Prints the error as `error: sentence` and gives 1.
int report_uncaught(std::exception_ptr error) noexcept;
}  // namespace detail

// For main(): `int main() { return tiffany::run(program()); }`. Gives what a Task<int> returns and
// 0 for a Task<void>; an exception is printed as a sentence, and gives 1.
template <class T>
int run(Task<T> program, Options options = Options()) {
  static_assert(std::is_void_v<T> || std::is_same_v<T, int>,
                "a program returns nothing or an exit code: Task<void> or Task<int>");
  try {
    Scheduler scheduler(std::move(options));
    if constexpr (std::is_void_v<T>) {
      run_on(scheduler, std::move(program));
      return 0;
    } else {
      return run_on(scheduler, std::move(program));
    }
  } catch (...) {
    return detail::report_uncaught(std::current_exception());
  }
}

}  // namespace tiffany
