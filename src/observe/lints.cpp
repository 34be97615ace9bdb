#include "tiffany/observe/lints.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "observe/lint_text.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/cancel.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany::observe {

std::string lint_subject(const TaskRecord& task) {
  AwaitStack stack;
  task.visit_frames(stack);
  const auto sites = stack.sites();
  // One that has not awaited anything yet has no line.
  const bool known = !sites.empty() && sites.front().line() != 0;
  return task.describe() + ", at " + site_text(known ? sites.front() : task.spawn_site()) + ",";
}

namespace {

// The tasks that a call waits for.
class TasksWaitedFor final : public WaitVisitor {
 public:
  void on_waitable(const Waitable& waitable) override {
    if (waitable.settled()) return;
    if (const TaskRecord* const task = waitable.as_task()) {
      found.push_back(task);
    } else {
      others = true;
    }
  }
  std::vector<const TaskRecord*> found;
  bool others = false;  // promises
};

std::vector<const TaskRecord*> waits_of(const TaskRecord& task) {
  TasksWaitedFor visitor;
  if (task.waiting_on() != nullptr) task.waiting_on()->visit_waits(visitor);
  return std::move(visitor.found);
}

// Strongly connected parts of the graph of waits, by Tarjan, with a list instead of recursion: a
// chain of waits may be a million tasks long.
class WaitCircles {
 public:
  explicit WaitCircles(const Scheduler& scheduler) {
    find_stuck(scheduler);
    scheduler.for_each_task([this](const TaskRecord& task) {
      if (stuck_.contains(&task) && !nodes_.contains(&task)) walk(task);
    });
  }
  std::vector<std::vector<const TaskRecord*>> circles;

 private:
  struct Node {
    std::size_t number = 0;
    std::size_t lowest = 0;
    bool open = true;
    std::size_t next = 0;
    std::vector<const TaskRecord*> edges{};
  };

  // A task is stuck when everything that it waits for is: what is not may fail, and end the wait
  // for the others as well. So all are taken for stuck first, and those that are not are taken out
  // one by one, with those who wait for them.
  void find_stuck(const Scheduler& scheduler) {
    std::map<const TaskRecord*, std::vector<const TaskRecord*>> waiters;  // looked up
    std::vector<const TaskRecord*> free;
    scheduler.for_each_task([&](const TaskRecord& task) {
      std::vector<const TaskRecord*> edges = edges_of(task);
      if (edges.empty()) free.push_back(&task);
      for (const TaskRecord* const to : edges) waiters[to].push_back(&task);
      if (!edges.empty()) stuck_.emplace(&task, std::move(edges));
    });
    while (!free.empty()) {
      const auto found = waiters.find(free.back());
      free.pop_back();
      if (found == waiters.end()) continue;
      for (const TaskRecord* const waiter : found->second) {
        if (stuck_.erase(waiter) > 0) free.push_back(waiter);
      }
    }
  }

  // None: it can go on without any of them. A wait that a time limit ends is in no circle, nor one
  // that any of several things ends.
  static std::vector<const TaskRecord*> edges_of(const TaskRecord& task) {
    if (task.waiting_on() == nullptr || !task.waiting_on()->needs_all()) return {};
    if (CancelRegion::wait_can_time_out(task)) return {};
    TasksWaitedFor visitor;
    task.waiting_on()->visit_waits(visitor);
    if (visitor.others) return {};
    return std::move(visitor.found);
  }

  Node& enter(const TaskRecord& task) {
    Node& node = nodes_[&task];
    node.number = node.lowest = ++count_;
    node.edges = stuck_[&task];
    open_.push_back(&task);
    path_.push_back(&task);
    return node;
  }

  void walk(const TaskRecord& first) {
    enter(first);
    while (!path_.empty()) {
      const TaskRecord& task = *path_.back();
      Node& node = nodes_[&task];
      if (node.next < node.edges.size()) {
        const TaskRecord& to = *node.edges[node.next++];
        const auto found = nodes_.find(&to);
        if (found == nodes_.end()) {
          enter(to);
        } else if (found->second.open) {
          node.lowest = std::min(node.lowest, found->second.number);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) {
        Node& before = nodes_[path_.back()];
        before.lowest = std::min(before.lowest, node.lowest);
      }
      if (node.lowest == node.number) close(task);
    }
  }

  void close(const TaskRecord& root) {
    std::vector<const TaskRecord*> part;
    do {
      part.push_back(open_.back());
      nodes_[open_.back()].open = false;
      open_.pop_back();
    } while (part.back() != &root);
    const std::vector<const TaskRecord*>& edges = nodes_[&root].edges;
    if (part.size() == 1 && std::find(edges.begin(), edges.end(), &root) == edges.end()) return;
    std::reverse(part.begin(), part.end());
    circles.push_back(std::move(part));
  }

  std::map<const TaskRecord*, std::vector<const TaskRecord*>> stuck_;  // and what each waits for
  std::map<const TaskRecord*, Node> nodes_;  // both are looked up; walked by slots
  std::vector<const TaskRecord*> open_;
  std::vector<const TaskRecord*> path_;
  std::size_t count_ = 0;
};

}  // namespace

std::string_view name_of(LintKind kind) noexcept {
  static constexpr std::array<std::string_view, kLintKinds> kNames = {
      "deadlock",   "hoarder",       "starved",   "stall",
      "busy-yield", "never-yielded", "lost-wake", "fat-frame"};
  return kNames[static_cast<std::size_t>(kind)];
}

Linter::Linter(const Scheduler& scheduler, const Recorder* recorder, LintOptions options)
    : scheduler_(scheduler),
      recorder_(recorder),
      options_(std::move(options)),
      reader_(recorder != nullptr ? recorder->ring() : none_, EventReader::From::now) {}

void Linter::find_circles(std::vector<Lint>& out) const {
  const WaitCircles found(scheduler_);
  for (const std::vector<const TaskRecord*>& circle : found.circles) {
    std::string names;
    for (const TaskRecord* const task : circle) names += task->describe() + " -> ";
    names += circle.front()->describe();
    const bool locks = std::any_of(circle.begin(), circle.end(), [](const TaskRecord* task) {
      return task->waiting_on()->parked_for() == WaitKind::event;
    });
    for (const TaskRecord* const task : circle) {
      out.push_back({LintKind::deadlock, task->id(),
                     lint_subject(*task) + " waits for " + task->waiting_on()->describe() +
                         ", which waits for it in turn (" + names +
                         "). None of them goes on until one is cancelled" +
                         (locks ? ", or a task that was handed a lock lets go of it." : ".")});
    }
  }
}

void Linter::find_hoarders(std::vector<Lint>& out) const {
  std::map<TaskId, std::uint64_t> waiting_for;
  scheduler_.for_each_task([&](const TaskRecord& task) {
    if (task.state() != TaskState::blocked) return;
    if (task.waiting_on()->parked_for() != WaitKind::event) return;
    for (const TaskRecord* const holder : waits_of(task)) ++waiting_for[holder->id()];
  });
  for (const auto& [id, count] : waiting_for) {
    const TaskRecord& holder = *scheduler_.find(id);
    if (holder.state() != TaskState::blocked) continue;
    const Duration waited = scheduler_.now() - holder.waiting_on()->since();
    if (waited <= options_.hoarder) continue;
    out.push_back({LintKind::hoarder, id,
                   lint_subject(holder) + " has waited for " + holder.waiting_on()->describe() +
                       " for " + duration_text(waited) + " while it holds what " +
                       std::to_string(count) + (count == 1 ? " task waits" : " tasks wait") +
                       " for. Let go of a lock before a long wait."});
  }
}

void Linter::find_starved(std::vector<Lint>& out) const {
  const std::int64_t now = recorder_->now();
  scheduler_.for_each_task([&](const TaskRecord& task) {
    const std::int64_t since = recorder_->ready_since(task.id());
    if (since == Event::kUnknown || Duration(now - since) <= options_.starved) return;
    out.push_back({LintKind::starved, task.id(),
                   lint_subject(task) + " is ready for " + duration_text(Duration(now - since)) +
                       " and does not get the processor: more urgent tasks, or long slices, take "
                       "it. See Options::ageing and Options::watch."});
  });
}

void Linter::read_events(std::vector<Lint>& out) {
  struct Seen {
    std::uint64_t slices = 0;
    std::uint64_t yields = 0;
    std::int64_t longest = 0;
    std::int64_t first = 0;  // slice of the task, when it was among these
  };
  std::map<TaskId, Seen> tasks;
  Event event;
  while (reader_.read({&event, 1}) == 1) {
    if (event.kind != EventKind::stop) continue;
    Seen& seen = tasks[event.task];
    ++seen.slices;
    seen.yields += event.state() == TaskState::suspended ? 1 : 0;
    if (event.first() && Duration(event.duration) > options_.never_yielded) {
      seen.first = event.duration;
    } else {
      seen.longest = std::max(seen.longest, event.duration);
    }
  }
  const auto who = [this](TaskId id) {
    const TaskRecord* const task = scheduler_.find(id);
    return task != nullptr && !task->settled() ? lint_subject(*task) : "task " + id.text();
  };
  for (const auto& [id, seen] : tasks) {
    if (Duration(seen.longest) > options_.stall) {
      out.push_back({LintKind::stall, id,
                     who(id) + " had the processor for " + duration_text(Duration(seen.longest)) +
                         " without giving way. Add co_await checkpoint() to its loop, or offload "
                         "the work."});
    }
  }
  for (const auto& [id, seen] : tasks) {
    if (seen.yields >= options_.busy_yields && 2 * seen.yields > seen.slices) {
      out.push_back({LintKind::busy_yield, id,
                     who(id) + " yielded in " + std::to_string(seen.yields) + " of " +
                         std::to_string(seen.slices) +
                         " slices: it asks again and again. Wait for an event instead."});
    }
  }
  for (const auto& [id, seen] : tasks) {
    if (seen.first > 0) {
      out.push_back({LintKind::never_yielded, id,
                     who(id) + " ran for " + duration_text(Duration(seen.first)) +
                         " from its beginning on and did not give way once. Add co_await "
                         "checkpoint() to its loop, or offload the work."});
    }
  }
}

std::vector<Lint> Linter::scan() {
  std::vector<Lint> out;
  find_circles(out);
  find_hoarders(out);
  if (recorder_ != nullptr) {
    if (recorder_->on()) find_starved(out);
    read_events(out);
  }
  find_lost_wakes(out);
  find_fat_frames(out);
  active_ = {};
  for (const Lint& lint : out) ++active_[static_cast<std::size_t>(lint.kind)];
  return out;
}

std::string Linter::summary(const std::vector<Lint>& lints) {
  if (lints.empty()) return {};
  std::array<std::uint64_t, kLintKinds> counts{};
  for (const Lint& lint : lints) ++counts[static_cast<std::size_t>(lint.kind)];
  std::string out = std::to_string(lints.size()) +
                    (lints.size() == 1 ? " task in trouble:" : " tasks in trouble:");
  for (std::size_t kind = 0; kind < kLintKinds; ++kind) {
    if (counts[kind] == 0) continue;
    if (out.back() != ':') out += ",";
    out += " " + std::to_string(counts[kind]) + " " +
           std::string(name_of(static_cast<LintKind>(kind)));
  }
  return out + ".";
}

void Linter::tell(const std::vector<Lint>& lints, Pal& pal) {
  std::vector<std::pair<LintKind, TaskId>> now;
  for (const Lint& lint : lints) {
    const std::pair<LintKind, TaskId> key(lint.kind, lint.task);
    now.push_back(key);
    if (std::find(told_.begin(), told_.end(), key) != told_.end()) continue;
    PalEvent event(Uuid(), stage::kLint, lint.text, PalKind::runtime);
    event.tid = lint.task;
    pal.emit(event, [&lint](JsonWriter& data) { data.member("lint", name_of(lint.kind)); });
  }
  told_ = std::move(now);
}

Metrics::Collector Linter::collect(Metrics& metrics) const {
  return metrics.collect([this](Sample& out) {
    out.head(MetricType::gauge, "tiffany_lints_active", "Tasks in trouble, by kind.");
    for (std::size_t kind = 0; kind < kLintKinds; ++kind) {
      out.series({{"lint", name_of(static_cast<LintKind>(kind))}}, active_[kind]);
    }
  });
}

}  // namespace tiffany::observe
