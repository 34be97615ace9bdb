#include "tiffany/engine/poll.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany {

void PollWait::clear() noexcept {
  entries_.clear();
  deadline_.reset();
}

void PollWait::add(Waitable& target) {
  entries_.push_back(Entry{Waiter(), Ref<Waitable>(&target)});
}

void PollWait::add(Time deadline) noexcept {
  if (!deadline_ || deadline < *deadline_) deadline_ = deadline;
}

Answer PollWait::start(Scheduler& scheduler, TaskRecord& task) {
  if (entries_.empty() && !deadline_) {
    throw Error(Errc::no_wake_source,
                "The " + task.describe() +
                    " returned pending from poll() and asked for no wake-up, so it would never be "
                    "called again. Call wake_on, wake_at or wake_after on the context first.");
  }
  for (const Entry& entry : entries_) {
    if (entry.target->settled()) return Answer::now;
  }
  for (Entry& entry : entries_) entry.target->add_waiter(entry.waiter, task);
  task_ = &task;
  if (deadline_) scheduler.arm(*this, *deadline_);
  return Answer::parked;
}

void PollWait::withdraw(TaskRecord&) noexcept { stop_waiting(); }

void PollWait::stop_waiting() noexcept {
  for (Entry& entry : entries_) entry.target->remove_waiter(entry.waiter);
  Scheduler::owner(*task_)->disarm(*this);
}

void PollWait::on_settled(Scheduler& scheduler, Waiter&) noexcept {
  stop_waiting();
  wake(scheduler, *task_);
}

void PollWait::on_time(Scheduler& scheduler, Timer& timer) noexcept {
  auto& wait = static_cast<PollWait&>(timer);
  wait.stop_waiting();
  wait.wake(scheduler, *wait.task_);
}

std::string PollWait::describe() const {
  std::string out;
  for (const Entry& entry : entries_) {
    if (!out.empty()) out += " or ";
    out += entry.target->describe();
  }
  if (deadline_) out += out.empty() ? "its timer" : " or its timer";
  return out;
}

void PollWait::visit_waits(WaitVisitor& visitor) const {
  for (const Entry& entry : entries_) visitor.on_waitable(*entry.target);
}

// A state machine has no frames; where it was spawned is all there is to show.
void PollRecordBase::visit_frames(FrameVisitor&) const {}

}  // namespace tiffany
