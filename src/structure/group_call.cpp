#include "tiffany/detail/structure/group_call.hpp"

namespace tiffany {
namespace detail {

void throw_empty_race(const char* what) {
  throw Error(Errc::empty_race, std::string(what) +
                                    " was given nothing to wait for, so it could never be decided. "
                                    "Check that the list is not empty before you call it.");
}

}  // namespace detail

bool GroupCall::decides(TaskState state) const noexcept {
  switch (mode_) {
    case GroupMode::gather:
      return state != TaskState::completed;
    case GroupMode::settled:
      return false;
    case GroupMode::race:
      return true;
    case GroupMode::any:
      break;
  }
  return state == TaskState::completed;
}

Answer GroupCall::start(Scheduler&, TaskRecord& task) {
  left_ = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (!entries_[i].target->settled()) {
      ++left_;
      continue;
    }
    told_ |= entries_[i].target->told();
    if (decided_ == kNone && decides(entries_[i].target->state())) {
      decided_ = i;
    }
  }
  if (decided_ != kNone || left_ == 0) return Answer::now;
  for (std::size_t i = 0; i < count_; ++i) {
    Entry& entry = entries_[i];
    if (entry.target->settled()) continue;
    try {
      begin_join(*entry.target, task, entry.waiter);
    } catch (...) {
      withdraw(task);
      throw;
    }
  }
  return Answer::parked;
}

void GroupCall::withdraw(TaskRecord&) noexcept {
  for (std::size_t i = 0; i < count_; ++i) entries_[i].target->remove_waiter(entries_[i].waiter);
}

void GroupCall::on_settled(Scheduler& scheduler, Waiter& waiter) noexcept {
  Entry& entry = reinterpret_cast<Entry&>(waiter);  // the waiter is its first member
  --left_;
  told_ |= entry.target->told();
  if (decides(entry.target->state())) {
    decided_ = static_cast<std::size_t>(&entry - entries_);
    withdraw(*waiter.task);
  } else if (left_ > 0) {
    return;
  }
  wake(scheduler, *waiter.task);
}

void GroupCall::throw_decided() const {
  if (decided_ == kNone) return;
  Waitable& target = *entries_[decided_].target;
  if (target.state() != TaskState::completed) std::rethrow_exception(error_to_throw(target));
}

// What each of them told hangs on the log as one link.
void GroupCall::LogMerge::prepare(const GroupCall& call) {
  Scheduler& scheduler = *Scheduler::current();
  Arena& arena = scheduler.arena();
  TaskRecord& task = *scheduler.running();
  log_ = &TaskLog::writable(arena, task.own_heritage(arena).log, task.id());
  last_ = log_->told();
  for (std::size_t i = 0; i < call.count_; ++i) {
    const Waitable& target = *call.entries_[i].target;
    if (!target.told()) continue;
    Ref<LogLink> words(static_cast<const TaskRecord&>(target).last_words());
    last_ = Ref<LogLink>::adopt(make_in<LogLink>(arena, last_, std::move(words)));
  }
}

std::string GroupCall::describe() const {
  std::string out;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (entries_[i].target->settled()) continue;
    if (++shown > 8) continue;
    if (!out.empty()) out += mode_ == GroupMode::race || mode_ == GroupMode::any ? " or " : " and ";
    out += entries_[i].target->describe();
  }
  if (shown > 8) out += " and " + std::to_string(shown - 8) + " more";
  return out;
}

void GroupCall::visit_waits(WaitVisitor& visitor) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!entries_[i].target->settled()) visitor.on_waitable(*entries_[i].target);
  }
}

}  // namespace tiffany
