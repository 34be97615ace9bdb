#include "durable/effects.hpp"

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"

namespace tiffany {

FlowEffects::~FlowEffects() = default;

void LiveEffects::begin_step(detail::StepSlot& step) { step.flow.steps.begin(step); }
void LiveEffects::resume_step(detail::StepSlot& step) { step.flow.steps.resume(step); }
void LiveEffects::arm_timer(detail::TimerSlot& timer) {
  host_.scheduler->arm(timer, host_.store->clock().scheduler_time(timer.due));
}
void LiveEffects::await_promise(detail::PromiseSlot& promise) { host_.promises.open(promise); }
void LiveEffects::start_child(detail::ChildSlot& child) {
  host_.children.expect(child);
  host_.children.adopt(child);
}
void LiveEffects::diverged(const FlowState&, const std::string& why) { host_.scheduler->log(why); }

}  // namespace tiffany
