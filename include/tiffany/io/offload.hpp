// A function that blocks, on a thread of its own, while the task waits and others run.
//
//   std::string text = co_await offload(parse, std::move(bytes));
//
// A scheduler has four such threads at most; more calls wait their turn. The function gets
// its arguments by value and must not touch tasks, scheduler or anything else that is not made for
// threads. What it returns or throws comes out of the await.
//
// Cancel. Before start: the function is not called. While parked: it is not called when no thread has
// begun it; a function that runs cannot be stopped, and the task waits for its end. After completion:
// the result wins, and the next suspension throws.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiffany/base/temporaries.hpp"
#include "tiffany/io/io_call.hpp"

namespace tiffany {

template <class F, class... Args>
class [[nodiscard("offload does nothing until awaited: co_await offload(...)")]] Offload final
    : public IoCall,
      private BlockingWork {
 public:
  using T = std::invoke_result_t<F, Args...>;
  static constexpr CallName call_name{"offload"};

  template <class G, class... As>
  explicit Offload(std::in_place_t, G&& f, As&&... args)
      : IoCall(Kind::work, -1), f_(std::forward<G>(f)), args_(std::forward<As>(args)...) {}
  Answer start(Scheduler& scheduler, TaskRecord& task) {
    memory = static_cast<BlockingWork*>(this);
    return IoCall::start(scheduler, task);
  }
  T finish() {
    if (error_ != nullptr) std::rethrow_exception(std::move(error_));
    outcome();
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

 private:
  using Value = std::conditional_t<std::is_void_v<T>, char, T>;

  int run() noexcept override {
    try {
      if constexpr (std::is_void_v<T>) {
        std::apply(std::move(f_), std::move(args_));
      } else {
        value_.emplace(std::apply(std::move(f_), std::move(args_)));
      }
    } catch (...) {
      error_ = std::current_exception();
    }
    return 0;
  }
  const char* verb() const noexcept override { return "offload"; }
  std::string subject() const override { return "a thread"; }

  F f_;
  std::tuple<Args...> args_;
  std::optional<Value> value_;
  std::exception_ptr error_;
};

template <class F, class... Args>
auto offload(F&& f, Args&&... args) {
  detail::refuse_destroyed_twice<F>();
  (detail::refuse_destroyed_twice<Args>(), ...);
  return Offload<std::decay_t<F>, std::decay_t<Args>...>(std::in_place, std::forward<F>(f),
                                                         std::forward<Args>(args)...);
}

}  // namespace tiffany
