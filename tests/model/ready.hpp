// The reference model: which of the ready tasks is next.
//
// One list, in the order in which the tasks became ready, and searched from its beginning each
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/parts.hpp"

namespace model::reference {

class Ready {
 public:
  explicit Ready(const Setup& setup) : order_(setup.order), ageing_(setup.ageing) {}

  bool empty() const { return tasks_.empty(); }
  void push(Task& task) { tasks_.push_back(&task); }

  // `slice`: how many there were before. Null when no task is left.
  Task* pop(std::uint64_t slice) {
    // Of one that was cancelled before it began only the place is left. It counts for nothing.
    std::erase_if(tasks_, [](const Task* task) { return task->end != End::pending; });
    if (tasks_.empty()) return nullptr;
    auto chosen = tasks_.begin();
    const std::optional<int> aged = aged_priority(slice);
    for (auto it = tasks_.begin(); it != tasks_.end(); ++it) {
      if (aged ? (*chosen)->priority != *aged && (*it)->priority == *aged : before(**it, **chosen))
        chosen = it;
    }
    Task* const task = *chosen;
    tasks_.erase(chosen);
    return task;
  }

 private:
  // That the first, which became ready later, goes before the second.
  bool before(const Task& later, const Task& earlier) const {
    if (order_ == Order::fifo) return false;
    if (later.priority != earlier.priority) return later.priority < earlier.priority;
    if (order_ == Order::longest_path) return later.chain > earlier.chain;
    return order_ == Order::depth_first;
  }

  // Every so many slices one goes to a task that is not among the most urgent, the priorities taken
  // in turn. Only in the order by priority.
  std::optional<int> aged_priority(std::uint64_t slice) {
    if (order_ != Order::priority || ageing_ == 0 || slice % ageing_ != 0) return std::nullopt;
    std::vector<int> priorities;
    for (const Task* task : tasks_) priorities.push_back(task->priority);
    const int best = *std::min_element(priorities.begin(), priorities.end());
    std::erase(priorities, best);
    if (priorities.empty()) return std::nullopt;
    std::sort(priorities.begin(), priorities.end());
    const auto next = std::upper_bound(priorities.begin(), priorities.end(), last_aged_);
    last_aged_ = next != priorities.end() ? *next : priorities.front();
    return last_aged_;
  }

  Order order_;
  std::uint32_t ageing_;
  int last_aged_ = 0;
  std::vector<Task*> tasks_;
};

}  // namespace model::reference
