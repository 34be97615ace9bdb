// What a durable task awaits, and the handles of what it has asked for. Made by a Flow
// (durable/flow.hpp), and seldom named.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/durable/step.hpp"
#include "tiffany/durable/value.hpp"

namespace tiffany {

namespace detail {

// One thing that a task has asked for and that will come, or has come.
struct Slot;

// Keeps a slot as long as somebody may still ask for it.
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
  bool waits_for_outside() const noexcept final { return true; }

 protected:
  DurableCall(FlowState& flow, std::source_location site) noexcept : flow_(&flow), site_(site) {}
  ~DurableCall() = default;
  FlowState& flow() const noexcept { return *flow_; }
  const std::source_location& site() const noexcept { return site_; }

 private:
  friend class FlowState;
  // Asks for what it is; called once.
  virtual void issue() = 0;
  virtual bool ready() const = 0;
  virtual bool cancellable() const noexcept { return true; }
  // False: it waits only for what was asked for before.
  virtual bool asks() const noexcept { return true; }

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
  Slot* slot_ = nullptr;
};

bool slot_arrived(const Slot* slot) noexcept;
void drop_slot(FlowState& flow, Slot* slot) noexcept;
const std::string& slot_value(FlowState& flow, const Slot* slot);
void check_cancelled(FlowState& flow);
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

// co_await flow.step(name, fn).
template <class F>
class [[nodiscard("a step does nothing until awaited: co_await flow.step(...)")]] StepCall final
    : public AwaitSlot<StepResult<F>>,
      private StepCode {
 public:
  static constexpr CallName call_name{"step"};
  StepCall(FlowState& flow, std::string_view name, StepOptions options, F fn,
           std::source_location site)
      : AwaitSlot<StepResult<F>>(flow, site),
        name_(name),
        options_(std::move(options)),
        fn_(std::move(fn)) {}
  ~StepCall() {
    if (this->slot_ != nullptr) drop_slot(this->flow(), this->slot_);
  }

 private:
  void issue() override {
    this->slot_ = issue_step(this->flow(), name_, options_, *this, this->site());
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
  StepOptions options_;
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
  std::string name_;
  std::string arguments_;
  Slot* slot_ = nullptr;
};

Slot* issue_timer(FlowState&, const std::string&, const std::string&, const ValueType&,
                  const std::source_location&);
Slot* issue_promise(FlowState&, const std::string&, const std::string&, const ValueType&,
                    const std::source_location&);
Slot* issue_child(FlowState&, const std::string&, const std::string&, const ValueType&,
                  const std::source_location&);

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

// Waits until some of several have come.
class SeveralCall : public DurableCall {
 protected:
  SeveralCall(FlowState& flow, std::vector<Slot*> slots, std::source_location site)
      : DurableCall(flow, site), slots_(std::move(slots)) {}
  ~SeveralCall() = default;
  void issue() override;
  bool asks() const noexcept override { return false; }
  virtual bool needs_one() const noexcept { return false; }
  std::vector<Slot*> slots_;
};

// The index of the one that came first.
class [[nodiscard("race does nothing until awaited")]] RaceCall final : public SeveralCall {
 public:
  using value_type = std::size_t;
  static constexpr CallName call_name{"durable_race"};
  RaceCall(FlowState& flow, std::vector<Slot*> slots, std::source_location site)
      : SeveralCall(flow, std::move(slots), site) {}
  std::size_t finish() const;

 private:
  bool ready() const override;
  bool needs_one() const noexcept override { return true; }
};
// The index of the first that came and is no failure.
class [[nodiscard("any does nothing until awaited")]] AnyCall final : public SeveralCall {
 public:
  using value_type = std::size_t;
  static constexpr CallName call_name{"durable_any"};
  AnyCall(FlowState& flow, std::vector<Slot*> slots, std::source_location site)
      : SeveralCall(flow, std::move(slots), site) {}
  std::size_t finish() const;

 private:
  bool ready() const override;
  bool needs_one() const noexcept override { return true; }
};
bool all_or_one_failed(const std::vector<Slot*>& slots) noexcept;
void throw_first_failure(FlowState& flow, const std::vector<Slot*>& slots);

template <class... Ts>
class [[nodiscard("gather does nothing until awaited")]] GatherCall final : public SeveralCall {
 public:
  using value_type = std::tuple<ValueOf<Ts>...>;
  static constexpr CallName call_name{"durable_gather"};
  GatherCall(FlowState& flow, std::vector<Slot*> slots, std::source_location site)
      : SeveralCall(flow, std::move(slots), site) {}
  value_type finish() const {
    throw_first_failure(flow(), slots_);
    return values(std::index_sequence_for<Ts...>());
  }

 private:
  template <std::size_t... Is>
  value_type values(std::index_sequence<Is...>) const {
    return value_type{value_of<Ts>(slots_[Is])...};
  }
  template <class T>
  ValueOf<T> value_of(Slot* slot) const {
    const std::string& json = slot_value(flow(), slot);
    if constexpr (std::is_void_v<T>) {
      return Unit();
    } else {
      return decode<T>(flow(), json, [slot] { return what_is(slot); });
    }
  }
  bool ready() const override;
};
template <class... Ts>
bool GatherCall<Ts...>::ready() const {
  return all_or_one_failed(slots_);
}

void require_signal_name(std::string_view name);
// Which signal is waited for is recorded, and compared when the task comes back.
class SignalWait : public DurableCall {
 protected:
  SignalWait(FlowState& flow, std::string name, const ValueType& type, std::source_location site)
      : DurableCall(flow, site), name_(std::move(name)), type_(&type) {
    require_signal_name(name_);
  }
  ~SignalWait() = default;
  void issue() override;
  bool asks() const noexcept override;
  bool ready() const override;
  virtual bool timed() const noexcept { return false; }
  std::string take();
  std::string what() const;

 private:
  std::string name_;
  const ValueType* type_;
  bool issued_ = false;
};
template <class T>
class [[nodiscard("signal does nothing until awaited")]] SignalCall final : public SignalWait {
 public:
  using value_type = T;
  static constexpr CallName call_name{"durable_signal"};
  SignalCall(FlowState& flow, std::string name, std::source_location site)
      : SignalWait(flow, std::move(name), kValueType<T>, site) {}
  T finish() {
    return decode<T>(flow(), take(), [this] { return what(); });
  }
};

class SignalWaitFor : public SignalWait {
 protected:
  SignalWaitFor(FlowState& flow, std::string name, const ValueType& type, Duration longest,
                std::source_location site)
      : SignalWait(flow, std::move(name), type, site), longest_(longest) {}
  ~SignalWaitFor();
  void issue() override;
  bool asks() const noexcept override { return true; }
  bool ready() const override;
  bool timed() const noexcept override { return true; }
  // Nothing: the time is over.
  std::optional<std::string> take_in_time();

 private:
  Duration longest_;
  Slot* timer_ = nullptr;
};
template <class T>
class [[nodiscard("signal_within does nothing until awaited")]] SignalWithin final
    : public SignalWaitFor {
 public:
  using value_type = std::optional<T>;
  static constexpr CallName call_name{"durable_signal"};
  SignalWithin(FlowState& flow, std::string name, Duration longest, std::source_location site)
      : SignalWaitFor(flow, std::move(name), kValueType<T>, longest, site) {}
  std::optional<T> finish() {
    const std::optional<std::string> json = take_in_time();
    if (!json) return std::nullopt;
    return decode<T>(flow(), *json, [this] { return what(); });
  }
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
