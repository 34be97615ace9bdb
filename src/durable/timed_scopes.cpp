#include "durable/timed_scopes.hpp"

#include <utility>

#include "durable/flow_state.hpp"
#include "tiffany/durable/scope_call.hpp"

namespace tiffany {

void detail::ScopeCall::issue() { slot_ = issue_timer(flow(), limit_, site()); }

FlowScope::FlowScope(FlowState& state, detail::Slot* timer) : state_(&state), timer_(timer) {
  state.scopes.open(*timer, state.cancel.shields);
}
FlowScope::FlowScope(FlowScope&& other) noexcept
    : state_(other.state_), timer_(std::exchange(other.timer_, nullptr)) {}
FlowScope::~FlowScope() {
  if (timer_ == nullptr) return;
  state_->scopes.close(*timer_);
  state_->drop(timer_);
}
bool FlowScope::timed_out() const noexcept { return timer_ != nullptr && timer_->arrived; }

}  // namespace tiffany
