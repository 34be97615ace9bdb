#include "durable/slot.hpp"

#include <utility>

#include "durable/effects.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/records.hpp"

namespace tiffany::detail {

std::string_view name_of(SlotKind kind) noexcept {
  switch (kind) {
    case SlotKind::step:
      return "step";
    case SlotKind::timer:
      return "timer";
    case SlotKind::promise:
      return "promise";
    case SlotKind::child:
      return "child";
    case SlotKind::checkpoint:
      return "checkpoint";
    case SlotKind::signal:
      return "signal";
  }
  return "";
}

Slot::Slot(FlowState& of, SlotKind what, std::string name, const std::source_location& where)
    : flow(of), id(std::move(name)), site(where), kind(what) {}
Slot::~Slot() = default;

void Slot::synced(std::exception_ptr error) noexcept { flow.waits.record_synced(error); }
void TaskMail::synced(std::exception_ptr failed) noexcept {
  error = std::move(failed);
  event.set();
  if (flow != nullptr) flow->waits.record_synced(error);
}

void Slot::write_result(std::string& payload, const std::string& result, bool error, bool) const {
  records::Result::write(payload, *flow.host.store, id, result, error, failure.get());
}
void StepSlot::write_result(std::string& payload, const std::string& result, bool error,
                            bool uncertain) const {
  records::Result::write_of_step(payload, *flow.host.store, id, hash, result, error, uncertain,
                                 attempts, failure.get());
}

void StepSlot::go_live(FlowEffects& effects) { effects.resume_step(*this); }
void TimerSlot::go_live(FlowEffects& effects) { effects.arm_timer(*this); }
void PromiseSlot::go_live(FlowEffects& effects) { effects.await_promise(*this); }
void ChildSlot::go_live(FlowEffects& effects) { effects.start_child(*this); }
void CheckpointSlot::go_live(FlowEffects&) {}

// Whoever keeps the promise a second time is told that it was kept, as long as the code is here.
void PromiseSlot::come() {
  flow.host.promises.keep(uuid);
  flow.kept_promises.push_back(uuid);
}
void SignalSlot::leave() noexcept { flow.signals.leave(*this); }
void ChildSlot::come() { flow.host.children.forget(uuid); }
// What has arrived was taken out, or is known as kept, when it came.
void AwaitedSlot::leave() noexcept {
  if (arrived) return;
  kind == SlotKind::promise ? flow.host.promises.close(uuid) : flow.host.children.forget(uuid);
}

}  // namespace tiffany::detail
