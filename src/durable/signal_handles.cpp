// Signals as handles: Flow::begin_signal.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/records.hpp"
#include "durable/signals.hpp"

namespace tiffany {

detail::Slot* TaskSignals::begin(const std::string& name, const detail::ValueType& type,
                                 const std::source_location& site) {
  std::string id = flow_.code.names.next(name, "signal ");
  const detail::Command* recorded = nullptr;
  std::uint64_t command = 0;
  if (flow_.written_by.records_waits()) {
    bool differs = false;
    recorded = flow_.comparison.match("signal", id, "", site, differs, type.shape);
    if (differs) return nullptr;
    if (recorded == nullptr) {
      records::Asked::signal(flow_.host.payload, id, type.shape, "");
      command = flow_.append(wal::RecordType::Command, flow_.host.payload, &site);
    }
  }
  auto made = std::make_unique<detail::SignalSlot>(flow_, std::move(id), name, site, type);
  made->live = true;
  made->command = command;
  if (mailbox_ == nullptr) mailbox_ = std::make_unique<detail::SignalBox>();
  made->place = mailbox_->reserve(name);
  detail::SignalSlot& slot = flow_.hold(std::move(made), recorded);
  if (has(name)) {
    std::uint64_t order = 0;
    std::string value = mailbox_->take(name, &order);
    give(slot, std::move(value), order);
  } else {
    line_.push_back(&slot);
  }
  return &slot;
}

detail::SignalSlot* TaskSignals::first_in_line(std::string_view name) const noexcept {
  for (detail::SignalSlot* each : line_) {
    if (each->name == name) return each;
  }
  return nullptr;
}

void TaskSignals::give(detail::SignalSlot& slot, std::string value, std::uint64_t order) noexcept {
  line_.erase(&slot);
  slot.value = std::move(value);
  slot.order = order;
  slot.recorded = true;
  slot.arrived = true;
}

// A signal that nobody has looked at goes to the next in the line, or back into the mailbox, before
// those that came after it. Called by destructors, so its place there was reserved.
void TaskSignals::leave(detail::SignalSlot& slot) noexcept {
  if (!slot.arrived) {
    line_.erase(&slot);
  } else if (!slot.taken && !slot.retired) {
    slot.taken = true;
    if (detail::SignalSlot* const next = first_in_line(slot.name)) {
      give(*next, std::move(slot.value), slot.order);
    } else {
      return mailbox_->put_back(slot.place, std::move(slot.value), slot.order);
    }
  }
  mailbox_->release(slot.place);
}

}  // namespace tiffany
