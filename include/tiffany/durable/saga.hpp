// A saga: steps of a durable task, each with what undoes it. When the body fails or its task is
// cancelled, what was registered is undone, the last first, and then the failure goes on.
//
//   Durable<std::string> book(Flow& flow, Saga& saga, std::string trip) {
//     saga.undo("give the room back", give_back, trip);   // before the step: it may have happened
//     co_await flow.step("take a room", ...);
//     ...
//   }
//   Durable<std::string> trip(Flow& flow, std::string trip) {
//     co_return co_await run_saga(flow, book, trip);
//   }
//
// Register before the step what must also be undone when nobody knows whether the step had its
// effect, and let it do nothing when there is nothing to undo. What can be undone by the database
// that it was done in needs no saga but a transaction.
//
// Crash: the body is replayed from the log, and the undoing goes on with the entry it was at; an
// entry that has an end in the log does not run again.
//
// Cancel. Before start: nothing was registered, and DurableCancelled goes on. While the body waits:
// DurableCancelled ends the body, and what was registered is undone under a shield, so a second
// cancel does not stop that. After completion: nothing is undone. A host that stops the task
// (close, pause, kill) undoes nothing: the next host goes on.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/durable/durable.hpp"
#include "tiffany/durable/flow.hpp"

namespace tiffany {

class Saga {
 public:
  explicit Saga(Flow& flow) noexcept : flow_(flow) {}
  Saga(const Saga&) = delete;
  Saga& operator=(const Saga&) = delete;

  // `fn` and `args` are kept as those of Flow::begin_step. Tried ten times, with pauses from a
  // second to a minute, unless `options` say otherwise.
  template <class F, class... Args>
    requires(!std::is_same_v<std::remove_cvref_t<F>, StepOptions>)
  void undo(std::string name, F&& fn, Args&&... args) {
    undo(std::move(name), StepOptions().retry(Retry(10, std::chrono::seconds(1))),
         std::forward<F>(fn), std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  void undo(std::string name, StepOptions options, F&& fn, Args&&... args) {
    detail::refuse_state_of_callable<std::decay_t<F>>();
    using Kept = Entry<std::decay_t<F>, detail::KeptArgument<Args>...>;
    entries_.push_back(std::make_unique<Kept>(std::move(name), std::move(options), fn,
                                              detail::unmoved(std::forward<Args>(args))...));
  }

  // Undoes what was registered, the last first, each entry as a step, under a shield. An entry that
  // fails as often as it may be tried does not stop the others; it is thrown at the end, as
  // Errc::step_failed. run_saga calls this; a program that catches by itself may, too.
  Durable<void> compensate() {
    const auto shield = flow_.shield();
    std::string problem;
    while (!entries_.empty()) {
      const std::unique_ptr<AnyEntry> entry = std::move(entries_.back());
      entries_.pop_back();
      try {
        co_await entry->run(flow_);
      } catch (const Error& e) {
        if (problem.empty()) problem = "\"" + entry->name + "\" failed: " + e.what();
      }
    }
    if (!problem.empty()) {
      throw Error(Errc::step_failed, "What was done could not all be undone: " + problem);
    }
  }
  // Nothing is undone any more.
  void forget() noexcept { entries_.clear(); }

 private:
  struct AnyEntry {
    explicit AnyEntry(std::string what) : name(std::move(what)) {}
    virtual ~AnyEntry() = default;
    AnyEntry(const AnyEntry&) = delete;
    AnyEntry& operator=(const AnyEntry&) = delete;
    virtual Durable<void> run(Flow& flow) = 0;
    const std::string name;
  };
  template <class F, class... Args>
  struct Entry final : AnyEntry {
    template <class... Given>
    Entry(std::string what, StepOptions how, F fn, Given&&... args)
        : AnyEntry(std::move(what)),
          options_(std::move(how)),
          fn_(fn),
          args_(std::forward<Given>(args)...) {}
    Durable<void> run(Flow& flow) override {
      auto step = co_await std::apply(
          [&](const Args&... args) { return flow.begin_step(this->name, options_, fn_, args...); },
          args_);
      co_await step;
    }
    StepOptions options_;
    F fn_;
    std::tuple<Args...> args_;
  };

  Flow& flow_;
  std::vector<std::unique_ptr<AnyEntry>> entries_;
};

// Calls `body` with a saga. What the body throws, a cancel included, is thrown after everything was
// undone; when that fails, why.
template <class T, class... As>
Durable<T> run_saga(Flow& flow, Durable<T> (*body)(Flow&, Saga&, As...),
                    std::type_identity_t<As>... args) {
  Saga saga(flow);
  std::exception_ptr failed;
  try {
    co_return co_await body(flow, saga, std::move(args)...);
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  co_await saga.compensate();
  std::rethrow_exception(failed);
}

}  // namespace tiffany
