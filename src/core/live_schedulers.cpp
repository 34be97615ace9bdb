#include "tiffany/core/live_schedulers.hpp"

#include <mutex>

#include "tiffany/core/scheduler.hpp"

namespace tiffany {

// These classes are not of standard layout, where offsetof is up to the compiler. GCC and Clang
// have it for everything without virtual bases.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
struct DebugLayout {
  static constexpr LiveSchedulers::Offset kOffsets[] = {
      {"Scheduler.live", offsetof(Scheduler, live_)},
      {"LiveScheduler.next", offsetof(LiveScheduler, next_)},
      {"CallKind.type", offsetof(CallKind, type_)},
      {"CallKind.name", offsetof(CallKind, name_)},
      {"CallKind.next", offsetof(CallKind, next_)},
      {"CallName.name", offsetof(CallName, name)},
      {"Scheduler.now", offsetof(Scheduler, now_)},
      {"Scheduler.running", offsetof(Scheduler, running_)},
      {"Scheduler.ring", offsetof(Scheduler, ring_)},
      {"Scheduler.slice_base", offsetof(Scheduler, slice_base_)},
      {"Scheduler.rings", offsetof(Scheduler, ready_) + offsetof(ReadyQueue, rings_)},
      {"Ring.size", sizeof(ReadyQueue::Ring)},
      {"Ring.places", offsetof(ReadyQueue::Ring, places)},
      {"Ring.yields", offsetof(ReadyQueue::Ring, yields)},
      {"Ring.mask", offsetof(ReadyQueue::Ring, mask)},
      {"Ring.head", offsetof(ReadyQueue::Ring, head)},
      {"Ring.tail", offsetof(ReadyQueue::Ring, tail)},
      {"Scheduler.trace_hash", offsetof(Scheduler, trace_)},
      {"Scheduler.live_tasks", offsetof(Scheduler, live_tasks_)},
      {"Scheduler.timers", offsetof(Scheduler, timers_) + offsetof(TimerWheel, size_)},
      {"Scheduler.externals", offsetof(Scheduler, pending_externals_)},
      {"Scheduler.ended", offsetof(Scheduler, ended_)},
      {"Scheduler.root", offsetof(Scheduler, root_)},
      {"Scheduler.blocks", offsetof(Scheduler, tasks_) + offsetof(TaskTable, blocks_)},
      {"TaskTable.per_block", TaskTable::kPerBlock},
      {"TaskRecord.size", sizeof(TaskRecord)},
      {"TaskRecord.id", offsetof(TaskRecord, id_)},
      {"TaskRecord.state", offsetof(TaskRecord, state_)},
      {"TaskRecord.flags", offsetof(TaskRecord, flags_)},
      {"TaskRecord.cancel_pending", TaskRecord::kCancelPending},
      {"TaskRecord.priority", offsetof(TaskRecord, priority_)},
      {"TaskRecord.steps", offsetof(TaskRecord, steps_)},
      {"TaskRecord.waiting_on", offsetof(TaskRecord, waiting_on_)},
      {"TaskRecord.cursor", offsetof(TaskRecord, cursor_)},
      {"TaskRecord.parent", offsetof(TaskRecord, parent_)},
      {"TaskRecord.spawn_site", offsetof(TaskRecord, spawn_site_)},
      {"TaskRecord.scope", offsetof(TaskRecord, scope_)},
      {"TaskRecord.region", offsetof(TaskRecord, region_)},
      {"TaskRecord.extras", offsetof(TaskRecord, extras_)},
      {"Extras.name", offsetof(TaskRecord::Extras, name)},
      {"SharedName.text", offsetof(SharedName, text_)},
      {"Extras.cancel", offsetof(TaskRecord::Extras, cancel)},
      {"SystemCall.since", offsetof(SystemCall, since_)},
      {"CancelRegion.outer", offsetof(CancelRegion, outer_)},
      {"CancelRegion.reason", offsetof(CancelRegion, reason_)},
      {"CancelRegion.scope", offsetof(CancelRegion, scope_)},
      {"CancelRegion.kind", offsetof(CancelRegion, kind_)},
      {"CancelReason.cause", offsetof(CancelReason, cause)},
      {"CancelReason.message", offsetof(CancelReason, message)},
      {"CancelReason.requester", offsetof(CancelReason, requester)},
      {"CancelReason.site", offsetof(CancelReason, site)},
      {"CancelReason.time", offsetof(CancelReason, time)},
      {"Scope.live", offsetof(Scope, live_)},
      {"Scope.reason", offsetof(Scope, reason_)},
      {"Scope.deadline", offsetof(Scope, deadline_)},
      {"Timer.armed", offsetof(Timer, next)},
      {"Timer.deadline", offsetof(Timer, deadline_)},
      {nullptr, 0},
  };
};
#pragma GCC diagnostic pop

namespace {
constinit std::mutex lock;
}  // namespace

LiveScheduler::LiveScheduler() noexcept {
  const std::lock_guard held(lock);
  next_ = tiffany_schedulers.first;
  if (next_ != nullptr) next_->prev_ = this;
  tiffany_schedulers.first = this;
}

LiveScheduler::~LiveScheduler() {
  const std::lock_guard held(lock);
  (prev_ != nullptr ? prev_->next_ : tiffany_schedulers.first) = next_;
  if (next_ != nullptr) next_->prev_ = prev_;
}

}  // namespace tiffany

constinit tiffany::LiveSchedulers tiffany_schedulers{nullptr, nullptr,
                                                     tiffany::DebugLayout::kOffsets};
