#include "durable/eviction.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/updates.hpp"
#include "tiffany/base/assert.hpp"
#include "tiffany/engine/spawn.hpp"

namespace tiffany {

void Eviction::gone(FlowState& flow) noexcept {
  TIFFANY_ASSERT(hot_ > 0, "the code of a task went that had not come");
  --hot_;
  if (!crowded()) fewer_.set();
  idle_.erase(std::exchange(flow.idle_since, 0));
}

void Eviction::waits(FlowState& flow) {
  if (host_.options.hot_tasks == HostOptions::kAllTasks) return;
  idle_.erase(std::exchange(flow.idle_since, 0));
  if (!idle(flow)) return;
  flow.idle_since = ++last_;
  idle_.emplace(last_, host_.tasks.find(flow.log.id));
  consider();
}

bool Eviction::idle(const FlowState& flow) const noexcept {
  if (!flow.waits.waits_for_outside() || !flow.arrivals.empty()) return false;
  if (flow.any_updates() != nullptr && flow.any_updates()->busy()) return false;
  const std::int64_t now = host_.store->clock().now();
  return std::all_of(flow.slots.begin(), flow.slots.end(), [now](const auto& slot) {
    if (slot->arrived) return true;
    switch (slot->kind) {
      case detail::SlotKind::timer:
        // One that is due is about to arrive: ended now, the task would be woken by it again and
        // again.
        return static_cast<const detail::TimerSlot&>(*slot).due > now;
      case detail::SlotKind::promise:
      case detail::SlotKind::child:
        return slot->live;
      default:
        return false;
    }
  });
}

void Eviction::consider() {
  if (running_ || hot_ <= host_.options.hot_tasks || !host_.is_open()) return;
  running_ = true;
  host_.scheduler->spawn(&Eviction::run, std::shared_ptr<Eviction>(host_.shared_from_this(), this))
      .named("eviction");
}

struct Eviction::Over {
  Eviction& eviction;
  ~Over() {
    eviction.running_ = false;
    eviction.fewer_.set();
  }
};

bool Eviction::crowded() const noexcept {
  const HostOptions& options = host_.options;
  return hot_ > options.hot_tasks && hot_ - options.hot_tasks > options.replay_tasks;
}

// Tasks are replayed faster than they are ended one by one: without this, all of a log would be in
// memory before the first is evicted.
Task<void> Eviction::until_few() {
  while (running_ && crowded()) {
    fewer_.reset();
    co_await fewer_.wait();
  }
}

Task<void> Eviction::run() {
  const Over over{*this};
  while (hot_ > host_.options.hot_tasks && !idle_.empty() && host_.is_open()) {
    HostedTask* const entry = idle_.begin()->second;
    idle_.erase(idle_.begin());
    entry->flow->idle_since = 0;
    // One that is busy again, or is being changed, comes back into the list when it waits again.
    if (entry->changing == 0 && idle(*entry->flow)) co_await evict(entry);
  }
}

// Crash case: nothing is written here. What comes to the task while its code is being ended is in
// its log, and the number of its last record says so; of a child that ends, `wake_soon` does.
Task<void> Eviction::evict(HostedTask* entry) {
  const Changing changing(*entry, host_.changed);
  auto rest = std::make_unique<HostedTask::Rest>();
  const std::uint64_t last_seq = entry->log.last_seq;
  for (const auto& slot : entry->flow->slots) {
    if (slot->arrived || slot->kind != detail::SlotKind::timer) continue;
    const std::int64_t due = static_cast<const detail::TimerSlot&>(*slot).due;
    rest->due = rest->due == 0 ? due : std::min(rest->due, due);
  }
  if (entry->rest != nullptr) host_.promises.forget(entry->rest->promises);
  rest->promises = host_.promises.rest(*entry->flow);
  leaving_ = entry;
  leaving_is_woken_ = false;
  co_await host_.runs.stop(*entry);
  leaving_ = nullptr;
  if (entry->log.ended || entry->status != DurableStatus::running || entry->broken != nullptr ||
      host_.closing || host_.abandoned) {
    host_.promises.forget(rest->promises);
    co_return;
  }
  rest->asleep = true;
  entry->promises_read = true;
  entry->rest = std::move(rest);
  ++asleep_;
  host_.alarms.set_wake(*entry);
  if (leaving_is_woken_ || entry->log.last_seq != last_seq) wake_soon(*entry);
}

void Eviction::begin_again(HostedTask& entry) {
  TIFFANY_ASSERT(entry.asleep() && entry.flow == nullptr, "a task was woken that is not asleep");
  entry.rest->asleep = false;
  --asleep_;
  host_.alarms.clear_wake(entry);
  try {
    host_.runs.begin_again(entry);
  } catch (const Error& error) {  // what its log names may be damaged
    host_.runs.quarantine(entry, error.what());
  }
  host_.store->done_reading();
}

// As many at a time as when a log is opened.
Task<void> Eviction::wake(HostedTask* entry) {
  while (entry->asleep() && !host_.closing) {
    co_await host_.runs.until_room();
    if (entry->asleep() && entry->changing == 0) {
      begin_again(*entry);
    } else if (entry->asleep()) {
      host_.changed.reset();
      co_await host_.changed.wait();
    }
  }
}

void Eviction::wake_soon(HostedTask& entry) {
  if (&entry == leaving_) leaving_is_woken_ = true;
  if (!entry.asleep() || host_.closing) return;
  host_.scheduler
      ->spawn(&Eviction::wake_now, std::shared_ptr<Eviction>(host_.shared_from_this(), this),
              &entry)
      .named("wake");
}

Task<void> Eviction::wake_now(HostedTask* entry) {
  const Held held(*entry);
  co_await wake(entry);
}

}  // namespace tiffany
