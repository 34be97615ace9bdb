// A part of a durable task that may take so long. Made by Flow::scope (durable/flow.hpp).
//
// Cancel. Before start: nothing is asked for, and DurableCancelled is thrown. After that the guard
// is there, and the scope ends with it.
#pragma once

#include <source_location>

#include "tiffany/base/error.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/durable/calls.hpp"
#include "tiffany/durable/flow_guards.hpp"

namespace tiffany {

// The time of a scope is over (Errc::scope_timed_out).
class ScopeTimedOut : public Error {
 public:
  using Error::Error;
};

namespace detail {

class [[nodiscard("scope does nothing until awaited: const auto scope = co_await flow.scope(1h)")]]
ScopeCall final : public DurableCall {
 public:
  using value_type = FlowScope;
  static constexpr CallName call_name{"durable_scope"};
  ScopeCall(FlowState& flow, Duration limit, std::source_location site)
      : DurableCall(flow, site), limit_(limit) {}
  FlowScope finish() {
    check_cancelled(flow());
    return FlowScope(flow(), slot_);
  }

 private:
  void issue() override;
  bool ready() const override { return true; }
  Duration limit_;
  Slot* slot_ = nullptr;
};

}  // namespace detail

}  // namespace tiffany
