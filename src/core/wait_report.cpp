// The text of a deadlock: who waits, for what, where, and in which circle.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/wait_text.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/spawn_chain.hpp"

namespace tiffany {
namespace {

// Task -> the tasks it waits for. Ordered containers only: the report must not depend on addresses.
using WaitGraph = std::map<TaskId, std::vector<TaskId>>;

class Edges final : public WaitVisitor {
 public:
  explicit Edges(std::vector<TaskId>& out) : out_(out) {}
  void on_waitable(const Waitable& waitable) override {
    if (const auto* task = waitable.as_task()) out_.push_back(task->id());
  }

 private:
  std::vector<TaskId>& out_;
};

// Follows the edges depth first without recursion; a task met again while it is on the path closes
// a cycle.
std::vector<TaskId> find_cycle(const WaitGraph& graph) {
  std::set<TaskId> done;
  for (const auto& [start, unused] : graph) {
    std::vector<std::pair<TaskId, std::size_t>> path;
    std::map<TaskId, std::size_t> position;
    if (done.contains(start)) continue;
    path.emplace_back(start, 0);
    position[start] = 0;
    while (!path.empty()) {
      const TaskId at = path.back().first;
      const auto edges = graph.find(at);
      if (edges == graph.end() || path.back().second == edges->second.size()) {
        done.insert(at);
        position.erase(at);
        path.pop_back();
        continue;
      }
      const TaskId to = edges->second[path.back().second++];
      if (const auto seen = position.find(to); seen != position.end()) {
        std::vector<TaskId> cycle;
        for (std::size_t i = seen->second; i < path.size(); ++i) cycle.push_back(path[i].first);
        return cycle;
      }
      if (done.contains(to)) continue;
      position[to] = path.size();
      path.emplace_back(to, 0);
    }
  }
  return {};
}

}  // namespace

void append_wait(std::string& out, const Scheduler& scheduler, const TaskRecord& task) {
  AwaitStack stack;
  task.visit_frames(stack);
  SpawnChain spawned;
  spawned.trace(scheduler, task);
  out += "\n  " + task.describe() + " waits for " + task.waiting_on()->describe();
  append_stack(out, stack);
  append_spawns(out, spawned.steps());
}

std::string Scheduler::wait_report() const {
  WaitGraph graph;
  std::size_t waiting = 0;
  std::string lines;
  for_each_task([&](TaskRecord& task) {
    if (task.waiting_on_ == nullptr) return;
    ++waiting;
    std::vector<TaskId>& edges = graph[task.id_];
    Edges visitor(edges);
    task.waiting_on_->visit_waits(visitor);
    append_wait(lines, *this, task);
  });
  const bool deadlock =
      waiting > 0 && waiting == live_tasks_ && timers_.size() == 0 && !can_be_woken_from_outside();
  std::string out = std::to_string(waiting) + " of " + std::to_string(live_tasks_) +
                    (live_tasks_ == 1 ? " task waits." : " tasks wait.");
  if (deadlock) {
    out = "Deadlock: nothing can wake the " + std::to_string(waiting) +
          (waiting == 1 ? " task that is" : " tasks that are") +
          " left. No task is ready, no timer is armed, and no external promise is pending.";
  }
  out += lines;
  const std::vector<TaskId> cycle = find_cycle(graph);
  if (!cycle.empty()) {
    out += "\n  They wait in a circle: ";
    for (const TaskId id : cycle) out += find(id)->describe() + " -> ";
    out += find(cycle.front())->describe();
  }
  return out;
}

}  // namespace tiffany
