// What a durable task awaits, and the handles of what it has asked for. Made by a Flow
// (durable/flow.hpp), and seldom named. gather, race and any are in durable/several_calls.hpp,
// signals in durable/signal_calls.hpp.
//
// Cancel, of a durable task. Before start: nothing is asked for, and DurableCancelled is thrown.
// While parked: a step that runs is cancelled and waited for, and DurableCancelled is thrown; a
// checkpoint that is on its way is completed first. After completion: the result is given; the next
// durable call throws. Inside of a Flow::Shield nothing is cancelled.
//
// A host that stops a task (close, pause, kill) ends its code at the call instead, and nothing of
// that is in the log: the code makes the same call again when the task comes back.
#pragma once

#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiffany/base/rare_text.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/durable/step.hpp"
#include "tiffany/durable/value.hpp"

namespace tiffany {

namespace detail {

// One thing that a task has asked for and that will come, or has come.
struct Slot;

// Keeps a slot as long as the code may still ask for it. A slot that is dropped before its result
// has arrived gives up its timer or its promise; a step or a child goes on until its end is
// recorded, so that the log is the same whenever the handle was dropped.
class SlotRef {
 public:
  SlotRef() noexcept = default;
  SlotRef(FlowState* flow, Slot* slot) noexcept : flow_(flow), slot_(slot) {}
  SlotRef(SlotRef&& other) noexcept
      : flow_(std::exchange(other.flow_, nullptr)), slot_(std::exchange(other.slot_, nullptr)) {}
  SlotRef& operator=(SlotRef&& other) noexcept {
    std::swap(flow_, other.flow_);
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~SlotRef();

  // Null, both, for an empty one.
  FlowState* flow() const noexcept { return flow_; }
  Slot* get() const noexcept { return slot_; }
  bool arrived() const noexcept;
  // Its value as JSON; throws what it failed with.
  const std::string& value() const;

 private:
  FlowState* flow_ = nullptr;
  Slot* slot_ = nullptr;
};

}  // namespace detail

// Everything that a durable task awaits. The task goes on when `ready` says so, which is asked each
// time that something has come, in the order of the log.
class DurableCall : public SystemCall {
 public:
  Answer start(Scheduler& scheduler, TaskRecord& task);
  void withdraw(TaskRecord& task) noexcept final;
  bool take_back(TaskRecord& task) noexcept final;
  std::string describe() const override;
  // Never part of a deadlock of the whole scheduler: somebody may always keep a promise or send a
  // signal.
  bool waits_for_outside() const noexcept final { return true; }
  // The task waits for the end of tasks that wait themselves: for a child, or for a step of its
  // own. Such waits can close a circle, which is reported (Options::circles) and found by a Linter.
  // Not counted: a wait that the limit of a scope or of the task ends, and one for the first of
  // several. Promises, signals and timers come from outside, and are no part of a circle.
  bool needs_all() const noexcept final;
  void visit_waits(WaitVisitor& visitor) const final;

 protected:
  DurableCall(FlowState& flow, std::source_location site) noexcept : flow_(&flow), site_(site) {}
  ~DurableCall() = default;
  FlowState& flow() const noexcept { return *flow_; }
  const std::source_location& site() const noexcept { return site_; }

 private:
  friend class Waits;
  // Asks for what it is; called once.
  virtual void issue() = 0;
  // What it waits for has arrived. No side effects: it is asked often.
  virtual bool ready() const = 0;
  // False: a cancel waits until the call is over.
  virtual bool cancellable() const noexcept { return true; }
  // False: it waits only for what was asked for before.
  virtual bool asks() const noexcept { return true; }
  // All of these have to come, or one of them to fail.
  virtual std::span<detail::Slot* const> needed() const noexcept { return {}; }

  FlowState* flow_;
  std::source_location site_;
};

template <class T>
class DurableHandle;

namespace detail {

// Throws for an empty one.
FlowState& flow_of(const SlotRef& slot);

// co_await of one handle, or of something that is asked for and awaited at once.
template <class T>
class [[nodiscard("this does nothing until awaited")]] AwaitSlot : public DurableCall {
 public:
  using value_type = T;
  static constexpr CallName call_name{"durable"};
  AwaitSlot(FlowState& flow, Slot* slot, std::source_location site) noexcept
      : DurableCall(flow, site), slot_(slot) {}
  explicit AwaitSlot(const DurableHandle<T>& handle)
      : DurableCall(flow_of(handle.slot()), std::source_location()), slot_(handle.slot().get()) {}
  T finish() const;

 protected:
  AwaitSlot(FlowState& flow, std::source_location site) noexcept : DurableCall(flow, site) {}
  void issue() override {}
  bool ready() const override;
  bool asks() const noexcept override { return slot_ == nullptr; }
  std::span<Slot* const> needed() const noexcept override {
    return std::span<Slot* const>(&slot_, slot_ != nullptr ? 1 : 0);
  }
  Slot* slot_ = nullptr;
};

// The result is on the disk and was shown to the code. False for null.
bool slot_arrived(const Slot* slot) noexcept;
// The code has given the slot up.
void drop_slot(FlowState& flow, Slot* slot) noexcept;
// The result as JSON. Throws what was recorded instead: Errc::step_failed, Errc::step_unknown,
// Errc::durable_failed; DurableCancelled when the task was cancelled before it arrived.
const std::string& slot_value(FlowState& flow, const Slot* slot);
void check_cancelled(FlowState& flow);
// Of a promise or a child; nil for others.
Uuid id_of(const Slot* slot) noexcept;

template <class T>
bool AwaitSlot<T>::ready() const {
  return slot_arrived(slot_);
}
template <class T>
T AwaitSlot<T>::finish() const {
  return decode<T>(flow(), slot_value(flow(), slot_), [this] { return what_is(slot_); });
}

}  // namespace detail

// Something that a durable task has asked for: a timer, a promise, a child, a step under way.
// Move-only.
template <class T>
class DurableHandle {
 public:
  using value_type = T;
  DurableHandle() noexcept = default;
  explicit DurableHandle(detail::SlotRef slot) noexcept : slot_(std::move(slot)) {}

  // Of the promise or the child, for those outside; the nil UUID for others.
  Uuid id() const noexcept { return slot_.get() != nullptr ? detail::id_of(slot_.get()) : Uuid(); }
  bool arrived() const noexcept { return slot_.arrived(); }

  const detail::SlotRef& slot() const noexcept { return slot_; }

 private:
  detail::SlotRef slot_;
};

// ---- Steps ----

namespace detail {

// Of a step that has no options: it takes no room in the frame that awaits the step.
struct NoStepOptions {};
// Its members are empty, so that nothing is allocated.
// NOLINTNEXTLINE(bugprone-throwing-static-initialization)
inline const StepOptions kNoStepOptions{};
inline const StepOptions& options_of(const StepOptions& options) noexcept { return options; }
inline const StepOptions& options_of(NoStepOptions) noexcept { return kNoStepOptions; }

// co_await flow.step(name, fn). The code of the step lives in the frame that waits for it, so the
// frame cannot go before the step has ended: a cancel waits for that.
template <class F, class Options = StepOptions>
class [[nodiscard("a step does nothing until awaited: co_await flow.step(...)")]] StepCall final
    : public AwaitSlot<StepResult<F>>,
      private StepCode {
 public:
  static constexpr CallName call_name{"step"};
  StepCall(FlowState& flow, std::string_view name, Options options, F fn, std::source_location site)
      : AwaitSlot<StepResult<F>>(flow, site),
        name_(name),
        options_(std::move(options)),
        fn_(std::move(fn)) {}
  ~StepCall() {
    if (this->slot_ != nullptr) drop_slot(this->flow(), this->slot_);
  }

 private:
  void issue() override {
    this->slot_ = issue_step(this->flow(), name_, options_of(options_), *this, this->site());
  }
  bool suspends() const noexcept override { return kStepSuspends<F>; }
  void call(Attempt& attempt, std::string& result) override {
    if constexpr (!kStepSuspends<F>) call_step(fn_, attempt, result);
  }
  Task<void> run(Attempt& attempt, std::string& result) override {
    if constexpr (kStepSuspends<F>) {
      return run_step(invoke_step(fn_, attempt), &result);
    } else {
      call_step(fn_, attempt, result);
      return nothing();
    }
  }

  std::string_view name_;
  [[no_unique_address]] Options options_;
  F fn_;
};

// Asks for a handle: co_await gives it at once.
template <class T>
class [[nodiscard("this does nothing until awaited")]] HandleCall final : public DurableCall {
 public:
  using value_type = DurableHandle<T>;
  static constexpr CallName call_name{"ask"};
  using Issue = Slot* (*)(FlowState&, const std::string& name, const std::string& arguments,
                          const ValueType& type, const std::source_location&);
  HandleCall(FlowState& flow, Issue how, std::string name, std::string arguments,
             std::source_location site)
      : DurableCall(flow, site),
        issue_(how),
        name_(std::move(name)),
        arguments_(std::move(arguments)) {}
  DurableHandle<T> finish() {
    check_cancelled(flow());
    return DurableHandle<T>(SlotRef(&flow(), slot_));
  }

 private:
  void issue() override { slot_ = issue_(flow(), name_, arguments_, kValueType<T>, site()); }
  bool ready() const override { return true; }
  Issue issue_;
  RareText name_;  // a word each in the frame of the code, where they stay
  RareText arguments_;
  Slot* slot_ = nullptr;
};

Slot* issue_timer(FlowState&, const std::string&, const std::string&, const ValueType&,
                  const std::source_location&);
Slot* issue_promise(FlowState&, const std::string&, const std::string&, const ValueType&,
                    const std::source_location&);

// co_await flow.sleep(d). When it ends is recorded: a process that starts later waits for the rest.
class [[nodiscard("sleep does nothing until awaited")]] SleepCall final : public AwaitSlot<void> {
 public:
  static constexpr CallName call_name{"durable_sleep"};
  SleepCall(FlowState& flow, Duration delay, std::source_location site) noexcept
      : AwaitSlot<void>(flow, site), delay_(delay) {}
  ~SleepCall();
  void finish();

 private:
  void issue() override;
  Duration delay_;
};

// Until the checkpoint is on the disk. See make_checkpoint.
class CheckpointWait final : public AwaitSlot<void> {
 public:
  static constexpr CallName call_name{"durable_checkpoint"};
  CheckpointWait(FlowState& flow, std::string state, std::source_location site)
      : AwaitSlot<void>(flow, site), state_(std::move(state)) {}
  ~CheckpointWait();

 private:
  void issue() override;
  // Once it is on its way, the task that comes back starts with it: it ends first.
  bool cancellable() const noexcept override { return slot_ == nullptr; }
  std::string state_;
};

}  // namespace detail

}  // namespace tiffany
