// A function that blocks, on a thread of its own, while the task waits and others run.
//
//   std::string text = co_await offload(parse, std::move(bytes));
//
// The function gets its arguments by value and must not touch tasks, scheduler or anything else
// that is not made for threads. What it returns or throws comes out of the await. How many threads
// there may be is an option (ReactorOptions::offload_threads, io/system_reactor.hpp); more calls
// wait their turn. For the names of hosts use resolve(), which has threads of its own.
//
// Cancel. Before start: the function is not called. While parked: it is not called when no thread
// has begun it. A function that runs cannot be stopped: it is abandoned. The task goes on at once,
// the thread runs the function to its end, and function, arguments and result are destroyed on that
// thread. What the function throws is reported to the log of the scheduler, or to standard error
// when the scheduler is gone. After completion: the result wins, and the next suspension throws.
//
// So the function must own what it uses: no references to variables of the task that awaits it,
// which may be gone. Where it has to use them, use offload_joined, whose cancel waits for the
// function. When the program ends while a function that was abandoned runs, the function is cut
// off.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiffany/base/temporaries.hpp"
#include "tiffany/core/inbox.hpp"
#include "tiffany/io/io_call.hpp"

namespace tiffany {

namespace detail {

// Who left a function to its thread, and who is told of what the function throws.
class AbandonedBy {
 public:
  // On the scheduler's thread, before the reactor may abandon the function.
  void set(const TaskRecord& task) noexcept;
  // On the thread of the function. Nobody is told when set() was not called.
  void report(const std::exception_ptr& error) const noexcept;

 private:
  bool set_ = false;
  std::weak_ptr<Inbox> inbox_;  // a function that is stuck keeps nothing of a scheduler
  std::string who_;
};

// The function, what it is called with, and what comes of it: shared by the thread and the waiter.
template <class F, class... Args>
class OffloadedWork final : public BlockingWork {
 public:
  using T = std::invoke_result_t<F, Args...>;
  using Value = std::conditional_t<std::is_void_v<T>, char, T>;

  template <class G, class... As>
  explicit OffloadedWork(std::in_place_t, G&& f, As&&... args)
      : f_(std::forward<G>(f)), args_(std::forward<As>(args)...) {}

  int run() noexcept override {
    try {
      if constexpr (std::is_void_v<T>) {
        std::apply(std::move(f_), std::move(args_));
      } else {
        value.emplace(std::apply(std::move(f_), std::move(args_)));
      }
    } catch (...) {
      error = std::current_exception();
    }
    return 0;
  }
  void abandoned() noexcept override {
    if (error != nullptr) by.report(error);
  }

  std::optional<Value> value;
  std::exception_ptr error;
  AbandonedBy by;

 private:
  F f_;
  std::tuple<Args...> args_;
};

}  // namespace detail

template <class F, class... Args>
class [[nodiscard("offload does nothing until awaited: co_await offload(...)")]] Offload final
    : public IoCall {
  using Work = detail::OffloadedWork<F, Args...>;

 public:
  using T = typename Work::T;
  static constexpr CallName call_name{"offload"};

  Offload(std::shared_ptr<Work> work, bool join, Lane lane) noexcept
      : IoCall(Kind::work, -1), work_(std::move(work)) {
    memory = static_cast<BlockingWork*>(work_.get());
    joined = join;
    flags = lane;
  }
  bool take_back(TaskRecord& task) noexcept override {
    may_abandon(task);
    return IoCall::take_back(task);
  }
  void withdraw(TaskRecord& task) noexcept override {
    may_abandon(task);
    IoCall::withdraw(task);
  }
  T finish() {
    if (work_->error != nullptr) std::rethrow_exception(std::move(work_->error));
    outcome();
    if constexpr (!std::is_void_v<T>) return std::move(*work_->value);
  }

 private:
  const char* verb() const noexcept override { return "offload"; }
  std::string subject() const override {
    return flags == kNames ? "a thread for names of hosts" : "a thread";
  }
  // A look-up of a name changes nothing: that it fails after its task has given up says nothing
  // new.
  void may_abandon(const TaskRecord& task) noexcept {
    if (flags != kNames) work_->by.set(task);
  }

  std::shared_ptr<Work> work_;
};

namespace detail {

template <class F, class... Args>
auto offload_to(Operation::Lane lane, bool join, F&& f, Args&&... args) {
  using Work = OffloadedWork<Unmoved<F>, Unmoved<Args>...>;
  return Offload<Unmoved<F>, Unmoved<Args>...>(
      std::make_shared<Work>(std::in_place, unmoved(std::forward<F>(f)),
                             unmoved(std::forward<Args>(args))...),
      join, lane);
}

}  // namespace detail

template <class F, class... Args>
auto offload(F&& f, Args&&... args) {
  detail::refuse_destroyed_twice<F>();
  (detail::refuse_destroyed_twice<Args>(), ...);
  return detail::offload_to(Operation::kOffload, false, std::forward<F>(f),
                            std::forward<Args>(args)...);
}

// For a function that uses what belongs to the task that awaits it, by reference.
//
// Cancel: as offload, but a function that runs is waited for, however long it takes.
template <class F, class... Args>
auto offload_joined(F&& f, Args&&... args) {
  detail::refuse_destroyed_twice<F>();
  (detail::refuse_destroyed_twice<Args>(), ...);
  return detail::offload_to(Operation::kOffload, true, std::forward<F>(f),
                            std::forward<Args>(args)...);
}

}  // namespace tiffany
