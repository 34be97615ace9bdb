// Waiting for a signal in a durable task, with and without an end. Made by a Flow
// (durable/flow.hpp), and seldom named.
//
// Cancel. Before start: nothing is asked for, and DurableCancelled is thrown. While parked: the
// wait ends with DurableCancelled; a signal that comes later stays in the mailbox. After
// completion: the signal is given; the next durable call throws. A handle of begin_signal stays
// with the code when its task is cancelled, and is dropped as all variables are.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "tiffany/base/outcome.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/durable/calls.hpp"

namespace tiffany::detail {

// Throws Errc::bad_argument for what cannot be the name of a signal.
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
  // The oldest signal of that name, which leaves the mailbox. Throws when the task was cancelled.
  std::string take();
  // For sentences.
  std::string what() const;

 private:
  std::string name_;
  const ValueType* type_;
  bool issued_ = false;
};
// co_await flow.signal<T>(name).
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

// The same with a timer, which is recorded too: whether the signal or the end of the time comes
// first is decided by the log.
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
// co_await flow.signal_within<T>(d, name). TimedOut: no signal came in time.
template <class T>
class [[nodiscard("signal_within does nothing until awaited")]] SignalWithin final
    : public SignalWaitFor {
 public:
  using value_type = Timed<T>;
  static constexpr CallName call_name{"durable_signal"};
  SignalWithin(FlowState& flow, std::string name, Duration longest, std::source_location site)
      : SignalWaitFor(flow, std::move(name), kValueType<T>, longest, site) {}
  Timed<T> finish() {
    const std::optional<std::string> json = take_in_time();
    if (!json) return Timed<T>(TimedOut());
    return Timed<T>(decode<T>(flow(), *json, [this] { return what(); }));
  }
};

Slot* issue_signal(FlowState&, const std::string&, const std::string&, const ValueType&,
                   const std::source_location&);

// co_await flow.wait_until(condition).
template <class F>
class [[nodiscard("wait_until does nothing until awaited")]] WaitUntil final : public DurableCall {
 public:
  using value_type = void;
  static constexpr CallName call_name{"durable_wait_until"};
  WaitUntil(FlowState& flow, F condition, std::source_location site)
      : DurableCall(flow, site), condition_(std::move(condition)) {}
  void finish() const {
    if (!condition_()) check_cancelled(flow());
  }

 private:
  void issue() override {}
  bool ready() const override { return condition_(); }
  bool asks() const noexcept override { return false; }
  mutable F condition_;
};

}  // namespace tiffany::detail
