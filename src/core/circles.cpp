#include "tiffany/detail/core/circles.hpp"

#include <algorithm>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "core/wait_text.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/core/deadlock.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany::detail {
namespace {

// A look at all tasks comes after as many slices as there are tasks, or this much later.
constexpr Duration kFullLookDelay = std::chrono::milliseconds(100);
// How many circles are remembered as reported. Each is a fault of the program, so there are few.
constexpr std::size_t kRemembered = 4096;
// How many tasks of one circle a report names.
constexpr std::size_t kCircleShown = 16;

bool needs_others(const TaskRecord& task) noexcept {
  return !task.settled() && task.waiting_on() != nullptr && task.waiting_on()->needs_all();
}

// The tasks that a wait needs and that need others in turn. Any other cannot be in a circle.
class NeededTasks final : public WaitVisitor {
 public:
  explicit NeededTasks(std::vector<const TaskRecord*>* out) noexcept : out_(out) {}
  void on_waitable(const Waitable& waitable) override {
    if (out_ == nullptr && found_) return;
    const TaskRecord* const task = waitable.as_task();
    if (task == nullptr || !needs_others(*task)) return;
    found_ = true;
    if (out_ != nullptr) out_->push_back(task);
  }
  bool found() const noexcept { return found_; }

 private:
  std::vector<const TaskRecord*>* out_;
  bool found_ = false;
};

// Most suspects are a parent that waits for children who are at work: nothing to follow, no memory.
bool may_be_in_circle(const TaskRecord& task) {
  if (!needs_others(task)) return false;
  NeededTasks needed(nullptr);
  task.waiting_on()->visit_waits(needed);
  return needed.found();
}

}  // namespace

class Circles::Search {
 public:
  struct Mark {
    std::uint64_t look = 0;  // the look that has come by here
    std::size_t at = 0;      // the place on its path, from 1; 0: left for good
  };
  struct Step {
    const TaskRecord* task;
    std::size_t targets;  // where in `targets` its own begin
  };

  Mark& mark_of(const TaskRecord& task) {
    const std::size_t slot = task.id().slot();
    if (slot >= marks.size()) marks.resize(slot + 1);
    return marks[slot];
  }
  void enter(const TaskRecord& task) {
    path.push_back(Step{&task, targets.size()});
    mark_of(task) = Mark{look, path.size()};
    NeededTasks needed(&targets);
    task.waiting_on()->visit_waits(needed);
  }
  // Depth first. A task that is met again while it is on the path closes a circle.
  void follow(const TaskRecord& start) {
    if (mark_of(start).look == look) return;
    enter(start);
    while (!path.empty()) {
      if (targets.size() == path.back().targets) {
        mark_of(*path.back().task).at = 0;
        path.pop_back();
        continue;
      }
      const TaskRecord& to = *targets.back();
      targets.pop_back();
      const Mark mark = mark_of(to);
      if (mark.look != look) {
        enter(to);
      } else if (mark.at != 0) {
        std::vector<TaskId>& circle = found.emplace_back();
        for (std::size_t i = mark.at - 1; i < path.size(); ++i) {
          circle.push_back(path[i].task->id());
        }
      }
    }
  }

  std::uint64_t look = 0;
  std::vector<Mark> marks;  // by the slots of the tasks
  std::vector<Step> path;
  std::vector<const TaskRecord*> targets;
  std::vector<std::vector<TaskId>> found;
  std::vector<TaskId> suspects;  // in the order in which they began to wait, as far as known
  std::set<std::uint64_t> told;  // the waits of circles that were reported
};

void Circles::DropSearch::operator()(Search* search) const noexcept { delete search; }

// A full look costs time in proportion to the tasks. It must not come each time the loop runs dry.
bool Circles::full_look_is_due(const Scheduler& scheduler) {
  if (scheduler.slices() >= next_full_look_) return true;
  if (scheduler.virtual_time() && scheduler.armed_timers() == 0) return true;
  if (!full_look_by_) full_look_by_ = saturating_add(scheduler.now(), kFullLookDelay);
  return scheduler.now() >= *full_look_by_;
}

bool Circles::look(Scheduler& scheduler, Time limit) {
  turns_since_look_ = 0;
  // When nothing at all can go on, Deadlock follows and has the report.
  if (policy_ == CirclePolicy::report && limit == kEndOfTime && scheduler.armed_timers() == 0 &&
      !scheduler.can_be_woken_from_outside())
    return false;
  const bool all = new_suspects_ > kSuspects;
  if (all && !full_look_is_due(scheduler)) return false;
  try {
    if (search_ == nullptr) search_.reset(new Search);
    Search& search = *search_;
    ++search.look;
    search.path.clear();
    search.targets.clear();
    search.found.clear();
    search.suspects.clear();
    for (std::uint32_t i = all ? new_suspects_ - kSuspects : 0; i != new_suspects_; ++i) {
      search.suspects.push_back(suspects_[i % kSuspects]);
    }
    // The latest first: a circle then begins with the task that has closed it.
    for (std::size_t i = search.suspects.size(); i-- > 0;) {
      const TaskRecord* const task = scheduler.find(search.suspects[i]);
      if (task != nullptr && may_be_in_circle(*task)) search.follow(*task);
    }
    if (all) {
      next_full_look_ = scheduler.slices() + scheduler.live_tasks();
      scheduler.for_each_task([&](TaskRecord& task) {
        if (may_be_in_circle(task)) search.follow(task);
      });
    }
  } catch (const std::bad_alloc&) {
    return false;  // the suspects stay, for the next look
  }
  new_suspects_ = 0;
  full_look_by_.reset();
  for (const std::vector<TaskId>& circle : search_->found) {
    try {
      handle(scheduler, circle);
    } catch (const std::bad_alloc&) {
      ++counters_.lost_log_lines;
    }
  }
  return scheduler.has_ready();  // by a cancel, or by the sink of the log
}

bool Circles::handle(Scheduler& scheduler, const std::vector<TaskId>& circle) {
  // The same wherever the circle is entered, and other when a task has waited anew.
  std::uint64_t waits = 0;
  for (const TaskId id : circle) {
    const TaskRecord* const task = scheduler.find(id);
    // The cancel of another circle may have ended this one.
    if (task == nullptr || !needs_others(*task) || CancelRegion::wait_can_time_out(*task))
      return false;
    waits += mix(id.value(), task->recorded_steps());
  }
  if (search_->told.size() >= kRemembered) search_->told.clear();
  if (!search_->told.insert(waits).second) return false;
  ++counters_.circles;
  std::string names;
  std::string lines;
  for (std::size_t i = 0; i < circle.size() && i < kCircleShown; ++i) {
    const TaskRecord& task = *scheduler.find(circle[i]);
    names += task.describe() + " -> ";
    append_wait(lines, scheduler, task);
  }
  if (circle.size() > kCircleShown) {
    const std::string more = std::to_string(circle.size() - kCircleShown) + " more";
    names += more + " -> ";
    lines += "\n  and " + more;
  }
  names += scheduler.find(circle.front())->describe();
  const std::string report =
      std::to_string(circle.size()) +
      (circle.size() == 1 ? " task waits for itself" : " tasks wait in a circle") +
      ", which nothing but a cancel can end: " + names;
  if (policy_ == CirclePolicy::end_run) throw Deadlock("Deadlock: " + report + lines);
  scheduler.log(report + lines);
  return policy_ == CirclePolicy::cancel_last && cancel_last_of(scheduler, circle, report);
}

bool Circles::cancel_last_of(Scheduler& scheduler, const std::vector<TaskId>& circle,
                             const std::string& why) {
  struct Candidate {
    std::size_t order;  // among the suspects; 0: it has waited for longer than they
    Time since;
    TaskId id;
  };
  std::vector<Candidate> candidates;
  for (const TaskId id : circle) {
    const auto& suspects = search_->suspects;
    const auto last = std::find(suspects.rbegin(), suspects.rend(), id);
    candidates.push_back(Candidate{static_cast<std::size_t>(suspects.rend() - last),
                                   scheduler.find(id)->waiting_on()->since(), id});
  }
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    if (a.order != b.order) return a.order > b.order;
    return a.since != b.since ? a.since > b.since : a.id > b.id;
  });
  const CancelReasonPtr cause =
      scheduler.reason(CancelCause::requested, why, std::source_location::current());
  for (const Candidate& candidate : candidates) {
    TaskRecord& task = *scheduler.find(candidate.id);
    // A cancel would not end its wait.
    if (CancelRegion::shields(task) || task.cancel_reason() != nullptr) continue;
    const Ref<TaskRecord> held(&task);
    scheduler.cancel(task, cause);
    return true;
  }
  return false;
}

}  // namespace tiffany::detail
