#include "tiffany/core/cancel.hpp"

#include <array>
#include <new>
#include <optional>
#include <utility>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany {

namespace {

// In the order of CancelCause.
constexpr std::array kCauses = {"requested", "sibling failed", "scope ended",
                                "deadline",  "timeout",        "race decided",
                                "shutdown",  "dependency",     "supervisor"};
static_assert(kCauses.size() == static_cast<std::size_t>(CancelCause::supervisor) + 1);

}  // namespace

const char* name_of(CancelCause cause) noexcept { return kCauses[static_cast<std::size_t>(cause)]; }

std::string CancelReason::text() const {
  std::string out = "cancelled";
  if (!recorded()) {
    return out + ", with no memory left to record by whom, where and why (" + name_of(cause) + ")";
  }
  if (requester) out += " by task " + requester.text();
  out += " at " + site_text(site);
  if (!message.empty()) out += ": " + message;
  return out + " (" + name_of(cause) + ")";
}

bool detail::is_error(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const Cancelled&) {
    return false;
  } catch (...) {
    return true;
  }
}

const CancelReasonPtr& unrecorded_reason(CancelCause cause) noexcept {
  // None of this takes memory: neither a reason without a message nor a pointer that shares
  // nothing.
  struct All {
    std::array<std::optional<CancelReason>, kCauses.size()> reasons;
    std::array<CancelReasonPtr, kCauses.size()> pointers;
    All() noexcept {
      for (std::size_t i = 0; i < kCauses.size(); ++i) {
        reasons[i].emplace(static_cast<CancelCause>(i), std::string_view(), TaskId(),
                           std::source_location(), Time());
        pointers[i] = CancelReasonPtr(std::shared_ptr<void>(), &*reasons[i]);
      }
    }
  };
  static const All all;
  return all.pointers[static_cast<std::size_t>(cause)];
}

CancelRegion::CancelRegion(Kind kind, Scope* scope)
    : task_(Scheduler::require("A cancel region").running()),
      outer_(task_->region_),
      scope_(scope),
      kind_(kind) {
  task_->region_ = this;
  Scheduler::current()->refresh_cancel(*task_);
}

CancelRegion::~CancelRegion() { close(); }

void CancelRegion::close() noexcept {
  if (!open_) return;
  open_ = false;
  // Usually the innermost; a frame that is dropped by force may go in another order.
  CancelRegion** link = &task_->region_;
  while (*link != this) link = &(*link)->outer_;
  *link = outer_;
  Scheduler::owner(*task_)->refresh_cancel(*task_);
}

void CancelRegion::cancel(CancelReasonPtr reason) noexcept {
  if (!open_ || reason_ != nullptr) return;
  reason_ = std::move(reason);
  Scheduler::owner(*task_)->refresh_cancel(*task_);
}

bool CancelRegion::outer_cancelled() const noexcept {
  if (hides(kind_)) return false;
  for (const CancelRegion* region = outer_; region != nullptr; region = region->outer_) {
    if (hides(region->kind_)) return false;
    if (region->reason_ != nullptr) return true;
  }
  return task_->cancel_reason() != nullptr;
}

const CancelReasonPtr* CancelRegion::effective_reason(const TaskRecord& task) noexcept {
  for (const CancelRegion* region = task.region_; region != nullptr; region = region->outer_) {
    if (region->reason_ != nullptr) return &region->reason_;
    if (hides(region->kind_)) return nullptr;
  }
  return task.own_reason();
}

bool CancelRegion::shields(const TaskRecord& task) noexcept {
  const CancelRegion* region = task.region_;
  while (region != nullptr && !hides(region->kind_)) region = region->outer_;
  return region != nullptr;
}

bool CancelRegion::wait_can_time_out(const TaskRecord& task) noexcept {
  for (const TaskRecord* at = &task; at != nullptr; at = at->scope_->owner()) {
    for (const CancelRegion* region = at->region_; region != nullptr; region = region->outer_) {
      if (region->timed_) return true;
      if (region->scope_ != nullptr && region->scope_->deadline_.armed()) return true;
    }
    if (at->scope_->deadline_.armed()) return true;
  }
  return false;
}

// ---- What the scheduler does about it ----

CancelReasonPtr Scheduler::reason(CancelCause cause, std::string_view why,
                                  std::source_location site) const noexcept {
  const TaskId asker = running_ != nullptr ? running_->id_ : TaskId();
  try {
    return std::make_shared<const CancelReason>(cause, why, asker, site, now_);
  } catch (const std::bad_alloc&) {
    return unrecorded_reason(cause);
  }
}

void Scheduler::cancel(TaskRecord& task, CancelReasonPtr reason) noexcept {
  if (task.settled() || task.own_reason() != nullptr) return;
  ++counters_.cancels;
  task.keep_reason(std::move(reason));
  if (observer_ != nullptr) observer_->cancel_asked(task);
  refresh_cancel(task);
}

bool Scheduler::cancel(TaskId id, std::string_view why, std::source_location site) {
  TaskRecord* task = find(id);
  if (task == nullptr || task->settled()) return false;
  cancel(*task, reason(CancelCause::requested, why, site));
  return true;
}

void Scheduler::refresh_cancel(TaskRecord& task) noexcept {
  // The end breaks shields, but not the wait of a scope for its tasks: they may refer to its frame.
  const bool closing =
      task.region_ != nullptr && task.region_->kind() == CancelRegion::Kind::closing;
  const bool pending =
      CancelRegion::effective_reason(task) != nullptr || (tearing_down_ && !closing);
  if (!pending) {
    task.clear(TaskRecord::kCancelPending);
  } else if (!task.has(TaskRecord::kCancelPending)) {
    task.set(TaskRecord::kCancelPending);
    interrupt(task);
  }
}

void Scheduler::leaves_wait(const TaskRecord& task) noexcept {
  if (task.state_ == TaskState::pending) {
    --held_;
    return;
  }
  const WaitKind kind = task.waiting_on_->parked_for();
  ++counters_.withdrawn_by[static_cast<std::size_t>(kind)];
  if (observer_ != nullptr) observer_->woken(task, kind, true);
}

void Scheduler::interrupt(TaskRecord& task) noexcept {
  if (&task == running_) {  // the next suspension throws
    raise_alarm_for_running();
    return;
  }
  switch (task.state_) {
    case TaskState::pending:
      if (task.waiting_on_ != nullptr) {
        // It waits for other tasks before it begins, and is in no queue.
        leaves_wait(task);
        std::exchange(task.waiting_on_, nullptr)->withdraw(task);
        task.drop_code();
        finish(task, TaskState::cancelled);
        break;
      }
      // Never starts. Its place in the queue stays and holds a reference until it comes up.
      task.add_ref();
      task.set(TaskRecord::kDeliverCancel);
      ++dead_in_queue_;
      ++alarms_;
      ready_.keep_place(task.priority_);
      task.drop_code();
      finish(task, TaskState::cancelled);
      break;
    case TaskState::blocked:
      if (!task.waiting_on_->take_back(task)) break;
      leaves_wait(task);
      task.waiting_on_ = nullptr;
      task.set(TaskRecord::kDeliverCancel);
      make_ready(task, TaskState::ready);
      break;
    case TaskState::suspended:
      task.set(TaskRecord::kDeliverCancel);  // it yielded, and there is nothing it could lose
      ++alarms_;
      break;
    default:
      break;  // a result has arrived, which comes first: the next suspension throws
  }
}

CancelReasonPtr Scheduler::why_cancelled() const {
  if (const CancelReasonPtr* reason = CancelRegion::effective_reason(*running_)) return *reason;
  return reason(CancelCause::shutdown, "its scheduler is being destroyed", running_->spawn_site_);
}

void Scheduler::throw_cancelled() {
  deliver_cancel_ = false;
  throw Cancelled(why_cancelled());
}

}  // namespace tiffany
