// Timers of a durable task: asked for with a time of the log, armed when the log has no more to
// tell.
#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/records.hpp"

namespace tiffany::detail {
namespace {

void timer_fired(Scheduler&, Timer& timer) noexcept {
  TimerSlot& slot = static_cast<TimerSlot&>(timer);
  try {
    slot.flow.settle(slot, wal::RecordType::Resumed, "null", false);
  } catch (...) {
    slot.flow.broken(std::current_exception());
  }
}

}  // namespace

TimerSlot::TimerSlot(FlowState& of, std::string name, const std::source_location& where,
                     std::int64_t when) noexcept
    : Slot(of, SlotKind::timer, std::move(name), where), Timer(&timer_fired), due(when) {}

void TimerSlot::leave() noexcept {
  if (armed()) flow.host.scheduler->disarm(*this);
}

Slot* issue_timer(FlowState& flow, Duration delay, const std::source_location& site) {
  if (delay < Duration::zero()) {
    throw Error(Errc::bad_argument, "A durable task cannot wait for a negative time.");
  }
  std::string id = flow.code.names.next("timer");
  const std::string hash = std::to_string(delay.count());
  bool differs = false;
  const Command* const recorded = flow.comparison.match("timer", id, hash, site, differs);
  if (differs) return nullptr;
  if (recorded != nullptr) {
    return &flow.hold(std::make_unique<TimerSlot>(flow, std::move(id), site, recorded->due),
                      recorded);
  }
  // Rounded up: never too early.
  const std::int64_t due =
      flow.host.store->clock().now() + delay.count() / 1000 + (delay.count() % 1000 != 0 ? 1 : 0);
  records::Asked::timer(flow.host.payload, id, due, hash);
  const std::uint64_t command = flow.append(wal::RecordType::Command, flow.host.payload, &site);
  return &flow.hold_live(std::make_unique<TimerSlot>(flow, std::move(id), site, due), command);
}

}  // namespace tiffany::detail
