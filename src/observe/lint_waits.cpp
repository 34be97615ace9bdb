// Lints about waits that cannot end, and about frames.
#include <algorithm>

#include "observe/lint_text.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/reactor.hpp"
#include "tiffany/observe/lints.hpp"

namespace tiffany::observe {

namespace {

// Whether all of what a call waits for has settled.
class AllSettled final : public WaitVisitor {
 public:
  void on_waitable(const Waitable& waitable) override {
    ++count_;
    settled_ += waitable.settled() ? 1 : 0;
  }
  bool yes() const noexcept { return count_ > 0 && settled_ == count_; }

 private:
  std::size_t count_ = 0;
  std::size_t settled_ = 0;
};

// What has settled wakes those who wait for it in the same moment. Locks are no such thing: the
// task that has one may end, and leave it to another.
bool has_come(const SystemCall& call) {
  if (call.parked_for() != WaitKind::join) return false;
  AllSettled all;
  call.visit_waits(all);
  return all.yes();
}

}  // namespace

void Linter::find_lost_wakes(std::vector<Lint>& out) {
  // Nothing but the task that looks, or whoever drives the scheduler, can do anything.
  const bool silent = scheduler_.ready_len() == 0 && scheduler_.armed_timers() == 0 &&
                      scheduler_.reactor().in_flight() == 0 &&
                      !scheduler_.can_be_woken_from_outside();
  std::vector<Overdue> overdue;
  scheduler_.for_each_task([&](const TaskRecord& task) {
    if (task.state() != TaskState::blocked) return;
    const SystemCall& call = *task.waiting_on();
    const bool come = has_come(call);
    const bool timeless = call.waits_for_time() && scheduler_.armed_timers() == 0;
    if (!come && !timeless && !silent) return;
    const Overdue wait{task.id(), &call, call.since()};
    overdue.push_back(wait);
    if (std::find(overdue_.begin(), overdue_.end(), wait) == overdue_.end()) return;
    std::string why =
        ". What it waits for has come, and nobody has woken it: the call does not "
        "wake its task.";
    if (!come && timeless) {
      why = ". No timer is armed that could wake it: the call does not arm one.";
    } else if (!come) {
      why =
          ". No task is ready, no timer is armed, and nothing is expected from outside: only "
          "the task that says this could wake it.";
    }
    out.push_back({LintKind::lost_wake, task.id(),
                   lint_subject(task) + " has waited for " + call.describe() + " for " +
                       duration_text(scheduler_.now() - call.since()) + why});
  });
  overdue_ = std::move(overdue);
}

void Linter::find_fat_frames(std::vector<Lint>& out) const {
  std::vector<Lint> found;
  for (const auto& row : scheduler_.fat_frames().rows()) {
    const TaskRecord* const task = row.bytes > 0 ? scheduler_.find(row.task) : nullptr;
    if (task == nullptr || task->settled()) continue;
    found.push_back({LintKind::fat_frame, row.task,
                     lint_subject(*task) + " has made a coroutine frame of " +
                         std::to_string(row.bytes) +
                         " bytes. Keep large arrays and buffers in a std::vector, or behind a "
                         "std::unique_ptr: a frame lives as long as its call."});
  }
  std::sort(found.begin(), found.end(),
            [](const Lint& a, const Lint& b) { return a.task.slot() < b.task.slot(); });
  out.insert(out.end(), found.begin(), found.end());
}

}  // namespace tiffany::observe
