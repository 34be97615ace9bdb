// Steps that go on behind the statement that began them. Made by Flow::begin_step
// (durable/flow.hpp), and seldom named. For a step that is awaited where it is made use Flow::step.
//
//   auto a = co_await flow.begin_step("ship", ship, first);
//   auto b = co_await flow.begin_step("ship", ship, second);
//   auto [x, y] = co_await flow.gather(a, b);
//
// The frame that began the step may be gone while the step runs, so the step keeps its function and
// its arguments. A callable with a state of its own is refused by the compiler. What
// StepOptions::transactional asks must not refer to locals, either.
//
// Crash: a step that has no end in the log is begun again, by its class, as one of Flow::step is.
//
// Cancel. Before start: nothing is begun, and DurableCancelled is thrown. After that the step goes
// on: a cancel of the task ends the waits of the code and not the step. The end of the code cancels
// and awaits every step that is still under way; the log then has no end of such a step.
#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiffany/durable/calls.hpp"
#include "tiffany/durable/step.hpp"

namespace tiffany::detail {

// The code of a step with everything it needs.
class KeptStep : public StepCode {
 public:
  explicit KeptStep(StepOptions how) : options(std::move(how)) {}
  virtual ~KeptStep();
  KeptStep(const KeptStep&) = delete;
  KeptStep& operator=(const KeptStep&) = delete;
  const StepOptions options;
};

// What an argument is kept as: text as a std::string, anything else by value.
template <class V>
using KeptArgument = std::conditional_t<std::is_convertible_v<Unmoved<V>, std::string_view>,
                                        std::string, Unmoved<V>>;

// A function with its arguments, as one callable of an Attempt.
template <class F, class... Args>
class KeptCall {
 public:
  template <class... Given>
  explicit KeptCall(F fn, Given&&... args) : fn_(fn), args_(std::forward<Given>(args)...) {}
  auto operator()(Attempt& attempt) {
    return std::apply([&](const Args&... args) { return call(attempt, args...); }, args_);
  }
  std::string json() const {
    return std::apply([](const Args&... args) { return arguments_json(args...); }, args_);
  }

 private:
  auto call(Attempt& attempt, const Args&... args) {
    if constexpr (std::is_invocable_v<F&, Attempt&, const Args&...>) {
      return fn_(attempt, args...);
    } else {
      static_assert(std::is_invocable_v<F&, const Args&...>,
                    "begin_step calls its function with the arguments that follow it, as "
                    "constants, and with an Attempt& before them if the function takes one");
      return fn_(args...);
    }
  }
  F fn_;
  std::tuple<Args...> args_;
};

template <class Call>
class KeptStepOf final : public KeptStep {
 public:
  KeptStepOf(StepOptions how, Call call) : KeptStep(std::move(how)), call_(std::move(call)) {}

 private:
  bool suspends() const noexcept override { return kStepSuspends<Call>; }
  void call(Attempt& attempt, std::string& result) override {
    if constexpr (!kStepSuspends<Call>) call_step(call_, attempt, result);
  }
  Task<void> run(Attempt& attempt, std::string& result) override {
    if constexpr (kStepSuspends<Call>) {
      return run_step(invoke_step(call_, attempt), &result);
    } else {
      call_step(call_, attempt, result);
      return nothing();
    }
  }
  Call call_;
};

template <class F>
constexpr void refuse_state_of_callable() {
  static_assert(std::is_pointer_v<F> || std::is_empty_v<F>,
                "a step that is begun goes on when this frame is gone: begin_step takes a function "
                "or a lambda without captures, and what it needs as arguments, "
                "flow.begin_step(\"ship\", ship, order)");
}

Slot* begin_kept_step(FlowState& flow, const std::string& name, std::unique_ptr<KeptStep> code,
                      const ValueType& type, const std::source_location& site);

// co_await flow.begin_step(...). Gives the handle at once.
template <class R>
class [[nodiscard("begin_step does nothing until awaited")]] BeginStepCall final
    : public DurableCall {
 public:
  using value_type = DurableHandle<R>;
  static constexpr CallName call_name{"begin_step"};
  BeginStepCall(FlowState& flow, std::string name, std::unique_ptr<KeptStep> code,
                std::source_location site)
      : DurableCall(flow, site), name_(std::move(name)), code_(std::move(code)) {}
  DurableHandle<R> finish() {
    check_cancelled(flow());
    return DurableHandle<R>(SlotRef(&flow(), slot_));
  }

 private:
  void issue() override {
    slot_ = begin_kept_step(flow(), name_, std::move(code_), kValueType<R>, site());
  }
  bool ready() const override { return true; }
  std::string name_;
  std::unique_ptr<KeptStep> code_;
  Slot* slot_ = nullptr;
};

// The function and its arguments as a call that gives a handle.
template <class F, class... Args>
auto make_begin_step(FlowState& flow, std::string name, StepOptions options,
                     std::source_location site, F fn, Args&&... args) {
  refuse_state_of_callable<F>();
  (refuse_destroyed_twice<Args>(), ...);
  using Call = KeptCall<F, KeptArgument<Args>...>;
  Call call(fn, unmoved(std::forward<Args>(args))...);
  if constexpr (sizeof...(Args) > 0) options.about += call.json();
  return BeginStepCall<StepResult<Call>>(
      flow, std::move(name),
      std::make_unique<KeptStepOf<Call>>(std::move(options), std::move(call)), site);
}

}  // namespace tiffany::detail
