#include "tiffany/observe/event_ring.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace tiffany::observe {

namespace {

std::string_view limit_text(SpawnDenied::Limit limit) noexcept {
  switch (limit) {
    case SpawnDenied::Limit::tasks:
      return "tasks";
    case SpawnDenied::Limit::tasks_of_scope:
      return "tasks_of_scope";
    case SpawnDenied::Limit::memory:
      return "memory";
    case SpawnDenied::Limit::fibers:
      return "fibers";
    case SpawnDenied::Limit::memory_of_scope:
      return "memory_of_scope";
    case SpawnDenied::Limit::shutdown:
      break;
  }
  return "shutdown";
}

// What ended a slice.
std::string_view stop_text(TaskState state) noexcept {
  switch (state) {
    case TaskState::suspended:
      return "yielded";
    case TaskState::preempted:
      return "throttled";
    case TaskState::blocked:
      return "waits";
    default:
      return is_final(state) ? "ended" : "ready";
  }
}

}  // namespace

std::string_view name_of(EventKind kind) noexcept {
  static constexpr std::array<std::string_view, kEventKinds> kNames = {
      "admit", "hold",     "release", "run", "stop", "park",
      "wake",  "throttle", "cancel",  "end", "deny"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string Event::text() const {
  std::string out(name_of(kind));
  if (task) out += " " + task.text();
  switch (kind) {
    case EventKind::park:
      if (call != nullptr) out += " " + std::string(call->name);
      out += " (" + std::string(tiffany::name_of(wait())) + ")";
      return out;
    case EventKind::wake:
      out += cancelled() ? " cancelled in " : " ";
      out += tiffany::name_of(wait());
      break;
    case EventKind::stop:
      return out + " " + std::string(stop_text(state()));
    case EventKind::end:
      return out + " " + tiffany::name_of(state());
    case EventKind::deny:
      out += " " + std::string(limit_text(limit()));
      break;
    default:
      break;
  }
  if (by && by != task) out += " by " + by.text();
  return out;
}

EventRing::EventRing(std::size_t capacity)
    : mask_(std::bit_ceil(std::max<std::size_t>(capacity, 2)) - 1),
      lines_(std::make_unique<Line[]>(mask_ + 1)) {}

EventReader::EventReader(const EventRing& ring, From from) noexcept
    : ring_(&ring), next_(ring.count()) {
  if (from == From::oldest) next_ -= std::min<std::uint64_t>(ring.count(), ring.capacity());
}

std::size_t EventReader::read(std::span<Event> into) noexcept {
  const std::uint64_t there = ring_->count();
  if (there - next_ > ring_->capacity()) {
    const std::uint64_t oldest = there - ring_->capacity();
    dropped_ += oldest - next_;
    next_ = oldest;
  }
  const auto count = std::min<std::uint64_t>(there - next_, into.size());
  for (std::size_t i = 0; i < count; ++i) into[i] = ring_->lines_[next_++ & ring_->mask_].event;
  return static_cast<std::size_t>(count);
}

}  // namespace tiffany::observe
