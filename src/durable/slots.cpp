#include "durable/slots.hpp"

#include <utility>

#include "tiffany/base/assert.hpp"

namespace tiffany::detail {

void Slots::add(std::unique_ptr<Slot> slot, bool in_log) {
  Slot* const added = slot.get();
  added->place = static_cast<std::uint32_t>(all_.size());
  all_.push_back(std::move(slot));
  if (!in_log) return;
  if (from_log_ == nullptr) from_log_ = std::make_unique<FromLog>();
  from_log_->by_id.emplace(added->id, added);
}

// The last one takes its place: a task may hold thousands of promises, and erases them in any
// order.
void Slots::erase(Slot& slot) noexcept {
  if (slot.retired) {
    retired_.erase_if([&slot](const auto& each) { return each.get() == &slot; });
    return;
  }
  TIFFANY_ASSERT(slot.place < all_.size() && all_[slot.place].get() == &slot,
                 "a slot is not at its place");
  if (from_log_ != nullptr) from_log_->by_id.erase(slot.id);
  all_.back()->place = slot.place;
  std::swap(all_[slot.place], all_.back());
  all_.pop_back();
}

Slot* Slots::find(std::string_view id) const noexcept {
  if (from_log_ == nullptr) return nullptr;
  const auto found = from_log_->by_id.find(id);
  return found == from_log_->by_id.end() ? nullptr : found->second;
}

void Slots::keep_early(Arrival arrival) {
  if (from_log_ == nullptr) from_log_ = std::make_unique<FromLog>();
  std::string id = arrival.id;
  from_log_->early.insert_or_assign(std::move(id), std::move(arrival));
}

std::optional<Arrival> Slots::take_early(const std::string& id) {
  if (from_log_ == nullptr) return std::nullopt;
  const auto found = from_log_->early.find(id);
  if (found == from_log_->early.end()) return std::nullopt;
  std::optional<Arrival> taken(std::move(found->second));
  from_log_->early.erase(found);
  return taken;
}

// The code that made the checkpoint still has handles of them in its frames, which are destroyed
// later.
void Slots::retire_all() {
  for (std::unique_ptr<Slot>& each : all_) {
    each->retired = true;
    retired_.push_back(std::move(each));
  }
  all_.clear();
  from_log_.reset();
}

void Slots::forget_names() noexcept { from_log_.reset(); }

void Slots::leave_all() noexcept {
  for (const auto& slot : all_) slot->leave();
  for (const auto& slot : retired_) slot->leave();
}

}  // namespace tiffany::detail
