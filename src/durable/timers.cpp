// Timers of a durable task: asked for with a time of the log, armed when the log has no more to
// tell.
#include <exception>
#include <string>
#include <utility>

#include "durable/hosted_task.hpp"
#include "durable/records.hpp"

namespace tiffany {

using detail::Command;
using detail::SlotKind;
using wal::RecordType;

namespace {

void timer_fired(Scheduler&, Timer& timer) noexcept {
  detail::Slot& slot = static_cast<detail::Slot&>(timer);
  try {
    slot.flow.settle(slot, RecordType::Resumed, "null", false);
  } catch (...) {
    slot.flow.broken(std::current_exception());
  }
}

}  // namespace

detail::Slot::Slot(FlowState& of, SlotKind what, std::string name)
    : Timer(&timer_fired), flow(of), kind(what), id(std::move(name)) {}

// Rounded up: never too early.
std::int64_t FlowState::wall_after(Duration delay) const noexcept {
  constexpr Duration kLongest = std::chrono::hours(24 * 36525);  // a hundred years
  const std::int64_t rest = host_.scheduler_->now().time_since_epoch().count() % 1000;
  return host_.store_->clock().now() + (std::min(delay, kLongest).count() + rest + 999) / 1000;
}

FlowState::Slot* FlowState::issue_timer(Duration delay, const std::source_location& site) {
  if (delay < Duration::zero()) {
    throw Error(Errc::bad_argument, "A durable task cannot wait for a negative time.");
  }
  std::string id = next_id("timer");
  const std::string hash = std::to_string(delay.count());
  bool differs = false;
  const Command* recorded = match("timer", id, hash, site, differs);
  if (differs) return nullptr;
  if (recorded != nullptr) {
    Slot* const slot = make_slot(SlotKind::timer, std::move(id), recorded, site);
    slot->due = recorded->due;
    return slot;
  }
  // Rounded up: never too early.
  const std::int64_t due =
      host_.store_->clock().now() + delay.count() / 1000 + (delay.count() % 1000 != 0 ? 1 : 0);
  records::Asked::timer(payload_, id, due, hash);
  const std::uint64_t command = append(RecordType::Command, payload_, &site);
  Slot* const slot = make_slot(SlotKind::timer, std::move(id), nullptr, site);
  slot->due = due;
  slot->command = command;
  go_live(*slot);
  return slot;
}

}  // namespace tiffany
