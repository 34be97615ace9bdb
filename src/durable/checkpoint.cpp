// Checkpoints: the state of a task takes the place of its history, and its code begins anew from
// there.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "durable/effects.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "durable/updates.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany::detail {

namespace {

void require_nothing_under_way(const FlowState& flow) {
  for (const auto& slot : flow.slots) {
    if (slot->kind == SlotKind::signal && slot->arrived && slot->wanted &&
        !static_cast<const SignalSlot&>(*slot).taken) {
      throw Error(Errc::durable_misuse, "A checkpoint cannot be made while \"" + slot->id +
                                            "\" has come and was not looked at; await its handle, "
                                            "or drop it.");
    }
    if (slot->arrived || (slot->recorded && !slot->wanted)) continue;
    throw Error(Errc::durable_misuse,
                "A checkpoint cannot be made while " + std::string(name_of(slot->kind)) + " \"" +
                    slot->id + "\" is under way; await it" +
                    (slot->outlives_handle() ? "." : ", or drop its handle."));
  }
}

// The code that comes back begins with a cancel that it has not been shown.
std::optional<std::string> cancel_of(const FlowState& flow) {
  if (flow.cancel.why) return flow.cancel.why.copy();
  const Arrival* const cancel = flow.arrivals.first_cancel();
  return cancel != nullptr ? std::optional<std::string>(cancel->id) : std::nullopt;
}

}  // namespace

Slot* issue_checkpoint(FlowState& flow, const std::string& given,
                       const std::source_location& site) {
  std::string state = given;
  make_recordable(state, "The state of a checkpoint");
  require_nothing_under_way(flow);
  const Updates* const updates = flow.any_updates();
  if (updates != nullptr && updates->serving()) {
    throw Error(Errc::durable_misuse,
                "A checkpoint cannot be made in the handler of an update: its answer would not be "
                "known after it. Make it when flow.serve has returned.");
  }
  if (!flow.waits.finish()) return nullptr;
  auto made = std::make_unique<CheckpointSlot>(flow, site);
  CheckpointSlot* const slot = made.get();
  slot->live = true;
  if (!flow.host.effects->make_checkpoint()) return &flow.hold(std::move(made), nullptr);
  const bool counted = flow.written_by.records_waits();
  const std::uint64_t number = flow.generation.checkpoint() + 1;
  const bool whole = flow.host.store->encodes() || flow.signals.size() > wal::kLongestValue;
  records::Checkpoint::write(flow.host.payload, *flow.host.store, state, counted ? number : 0,
                             flow.signals.json(whole), whole, cancel_of(flow), flow.attributes(),
                             updates != nullptr ? updates->waiting_json() : std::string(),
                             updates != nullptr ? updates->answers_json() : std::string());
  Arrival arrival;
  arrival.slot = slot;
  arrival.time = flow.host.store->clock().now();
  arrival.seq =
      flow.append(wal::RecordType::Checkpoint, flow.host.payload, &site, 0, wal::Level::sync, slot);
  // Until here nothing has changed: the append may be refused.
  flow.slots.retire_all();
  slot->value = "null";
  slot->recorded = true;
  flow.slots.add(std::move(made), false);
  flow.code.seldom().next_state = std::move(state);
  flow.generation.begin(counted ? number : arrival.seq, counted);
  flow.arrivals.push(std::move(arrival));
  return slot;
}

}  // namespace tiffany::detail
