#include "tiffany/core/scope.hpp"

#include <vector>

#include "tiffany/base/assert.hpp"
#include "tiffany/core/failures.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany {

ScopeCancelled::ScopeCancelled(CancelReasonPtr reason)
    : Error(Errc::scope_cancelled,
            "A scope did not run to its end: it was " + reason->text() +
                ". Its tasks have ended. Catch ScopeCancelled to go on without its result."),
      reason_(std::move(reason)) {}

Scope::Scope(ScopePolicy policy)
    : spawn(this),
      spawn_fiber(this),
      spawn_agent(this),
      scheduler_(Scheduler::require("Opening a scope")),
      policy_(policy),
      arena_(scheduler_.arena_.get()) {
  region_.emplace(CancelRegion::Kind::scope, this);
}

Scope::Scope(Scheduler& scheduler, RootTag) noexcept
    : spawn(this),
      spawn_fiber(this),
      spawn_agent(this),
      scheduler_(scheduler),
      policy_(ScopePolicy::root),
      arena_(nullptr) {}

Scope::~Scope() {
  scheduler_.disarm(deadline_);
  // Only a scope whose frame is dropped by force can still have tasks: those that a destructor in
  // that frame has spawned. They have not begun, and never will.
  while (first_ != nullptr) {
    TaskRecord& task = *first_;
    TIFFANY_ASSERT(this != &scheduler_.root_, "the root scope still has tasks at its end");
    first_ = task.next_sibling_;
    scheduler_.root_.add(task);
    scheduler_.cancel(
        task, scheduler_.reason(CancelCause::scope_ended, "its scope is gone", task.spawn_site()));
  }
  // A collected failure that could not be thrown, because something else was, is reported; so is
  // that of a contender when another one has won.
  while (kept_ != nullptr) {
    TaskRecord& task = *kept_;
    kept_ = task.next_sibling_;
    if (task.state() == TaskState::failed) task.set(TaskRecord::kReportFailure);
    task.release();
  }
  if (own_arena_) arena_->retire();  // it stays as long as a handle has a result in it
}

void Scope::limit_memory(std::size_t bytes) {
  if (!own_arena_) {
    arena_ = Arena::create_within(*arena_);
    own_arena_ = true;
    look_from_ = 0;  // of the bytes
  }
  arena_->set_limit(bytes);
}

void Scope::add(TaskRecord& task) noexcept {
  task.scope_ = this;
  task.prev_sibling_ = last_;
  task.next_sibling_ = nullptr;
  (last_ != nullptr ? last_->next_sibling_ : first_) = &task;
  last_ = &task;
  ++live_;
}

void Scope::child_ended(TaskRecord& task) noexcept {
  (task.prev_sibling_ != nullptr ? task.prev_sibling_->next_sibling_ : first_) = task.next_sibling_;
  (task.next_sibling_ != nullptr ? task.next_sibling_->prev_sibling_ : last_) = task.prev_sibling_;
  --live_;
  task.scope_ = &scheduler_.root_;  // outlives this scope, as the record may
  if (task.state_ == TaskState::failed || policy_ == ScopePolicy::first_success) [[unlikely]]
    judge(task);
  if (live_ == 0 && joiner_ != nullptr) all_ended();
}

void Scope::all_ended() noexcept {
  scheduler_.disarm(deadline_);  // it comes too late
  std::exchange(joiner_, nullptr)->joined();
}

// What the policy makes of a task that failed; or ended in whatever way, if the first success
// counts.
void Scope::judge(TaskRecord& task) noexcept {
  switch (policy_) {
    case ScopePolicy::fail_fast:
      if (error_ != nullptr) break;
      error_ = task.error();
      trace_ = task.trace();
      task.mark_observed();
      cancel_all(scheduler_.reason(
          CancelCause::sibling_failed, [&] { return task.describe() + " failed"; },
          task.spawn_site()));
      return;
    case ScopePolicy::collect_all:
      return keep(task);
    case ScopePolicy::first_success:
      // Only those that the block started compete; what they spawn in turn helps them.
      if (task.parent_ == region_->task().id()) return judge_contender(task);
      if (task.state() != TaskState::failed) return;
      break;
    case ScopePolicy::report:
      ++failures_;
      break;
    case ScopePolicy::isolate:
      break;
    case ScopePolicy::root:
      if (task.priority_ == kSystemPriority) scheduler_.system_task_failed(task);
      break;
  }
  // Reported when nobody can look at it any more and nobody has. Also a second failure in a scope
  // that is failing already, and that of a contender who lost.
  task.set(TaskRecord::kReportFailure);
}

void Scope::judge_contender(TaskRecord& task) noexcept {
  if (winner_) {
    if (task.state() == TaskState::failed) task.set(TaskRecord::kReportFailure);
    return;
  }
  if (task.state() != TaskState::completed) return keep(task);
  winner_ = task.id();
  cancel_all(scheduler_.reason(
      CancelCause::race_decided, [&] { return task.describe() + " completed first"; },
      task.spawn_site()));
}

void Scope::keep(TaskRecord& task) noexcept {
  task.add_ref();
  task.next_sibling_ = nullptr;
  (last_kept_ != nullptr ? last_kept_->next_sibling_ : kept_) = &task;
  last_kept_ = &task;
}

void Scope::cancel_all(CancelReasonPtr reason) noexcept {
  if (reason_ != nullptr) return;
  reason_ = reason;
  if (region_) region_->cancel(reason);
  for (TaskRecord* task = first_; task != nullptr;) {
    TaskRecord* next = task->next_sibling_;
    scheduler_.cancel(*task, reason);
    task = next;
  }
}

void Scope::cancel(std::string_view why, std::source_location site) {
  cancel_all(scheduler_.reason(CancelCause::requested, why, site));
}

void Scope::set_deadline(Time when, std::source_location site) {
  scheduler_.disarm(deadline_);
  deadline_.site = site;
  if (!cancelled()) scheduler_.arm(deadline_, when);
}

void Scope::set_timeout(Duration delay, std::source_location site) {
  set_deadline(scheduler_.deadline_in(delay), site);
}

void Scope::on_deadline(Scheduler& scheduler, Timer& timer) noexcept {
  auto& deadline = static_cast<DeadlineTimer&>(timer);
  deadline.scope.cancel_all(
      scheduler.reason(CancelCause::deadline, "the deadline of its scope passed", deadline.site));
}

void Scope::block_threw(std::exception_ptr error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled& cancelled) {
    cut_short_ = true;
    cancel_all(scheduler_.reason(
        CancelCause::scope_ended, [&] { return "its scope was " + cancelled.reason().text(); },
        cancelled.reason().site));
  } catch (...) {
    if (error_ == nullptr) {
      error_ = error;
      trace_ = scheduler_.trace_of(error);
    } else if (error_ != error) {
      scheduler_.reports().lost(
          region_->task(),
          "threw from the block of a scope that a task had failed already, so "
          "that this error cannot be thrown",
          error);
    }
    cancel_all(scheduler_.reason(CancelCause::scope_ended, "the block of its scope threw",
                                 region_->task().spawn_site()));
  }
}

void Scope::join_cancelled() noexcept {
  // Its own cancel ends the wait too, but not a block that had run to its end.
  if (!region_->outer_cancelled()) return;
  cut_short_ = true;
  cancel_all(scheduler_.reason(CancelCause::scope_ended,
                               "the task that owns its scope is cancelled",
                               region_->task().spawn_site()));
}

void Scope::finish() {
  scheduler_.disarm(deadline_);
  region_->close();
  if (error_ != nullptr) {
    scheduler_.exceptions().comes(error_, trace_);
    std::rethrow_exception(error_);
  }
  if (policy_ == ScopePolicy::collect_all) throw_collected();
  if (winner_) return;
  if (region_->outer_cancelled() && cut_short_) throw Cancelled(scheduler_.why_cancelled());
  const bool needs_winner = policy_ == ScopePolicy::first_success;
  if (reason_ == nullptr) {
    if (needs_winner) throw_all_failed();
    return;
  }
  // A block that ran to its end, and whose tasks were then cancelled on purpose, has its result.
  const bool on_purpose =
      reason_->cause == CancelCause::requested || reason_->cause == CancelCause::race_decided;
  if (cut_short_ || !on_purpose || needs_winner) throw ScopeCancelled(reason_);
}

void Scope::throw_collected() {
  std::vector<TaskFailure> failures;
  for (TaskRecord* task = kept_; task != nullptr; task = task->next_sibling_) {
    if (task->observed_) continue;
    failures.emplace_back(task->id(), task->describe(), task->error());
  }
  if (failures.empty()) return;
  TasksFailed error(std::move(failures));
  for (TaskRecord* task = kept_; task != nullptr; task = task->next_sibling_) task->mark_observed();
  throw error;
}

void Scope::throw_all_failed() {
  if (kept_ == nullptr) {
    throw Error(Errc::empty_race,
                "The block of a first_success scope ended without having started a task, so none "
                "could succeed. Start at least one with s.spawn(...).");
  }
  std::vector<std::exception_ptr> errors;
  for (TaskRecord* task = kept_; task != nullptr; task = task->next_sibling_) {
    task->mark_observed();
    errors.push_back(task->error());
  }
  throw AllFailed(std::move(errors));
}

Answer Scope::Join::start(Scheduler&, TaskRecord& task) {
  if (scope_.live_ == 0) {
    scope_.scheduler_.disarm(scope_.deadline_);
    return Answer::now;
  }
  task_ = &task;
  scope_.joiner_ = this;
  return Answer::parked;
}

void Scope::Join::withdraw(TaskRecord&) noexcept { scope_.joiner_ = nullptr; }
void Scope::Join::joined() noexcept { wake(scope_.scheduler_, *task_); }

std::string Scope::Join::describe() const {
  return std::to_string(scope_.live_) + (scope_.live_ == 1 ? " task" : " tasks") + " of its scope";
}

void Scope::Join::visit_waits(WaitVisitor& visitor) const {
  for (const TaskRecord* task = scope_.first_; task != nullptr; task = task->next_sibling_) {
    visitor.on_waitable(*task);
  }
}

}  // namespace tiffany
