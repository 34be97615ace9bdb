// The reference model: what can be said of a wait and of a cancellation by looking at the parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/parts.hpp"

namespace model::reference {

inline bool decides(Decide decide, End end) {
  if (decide == Decide::first_settled) return true;
  if (decide == Decide::first_failure) return end != End::completed;
  return decide == Decide::first_success && end == End::completed;
}

inline void look_at_targets(Wait& w) {
  for (std::size_t i = 0; i < w.targets.size() && !w.decided; ++i) {
    const End end = w.targets[i]->end;
    if (end != End::pending && decides(w.decide, end)) w.decided = w.asks.size() + i;
  }
}

inline bool all_settled(const Wait& w) {
  return std::none_of(w.targets.begin(), w.targets.end(),
                      [](const Waitable* target) { return target->end == End::pending; });
}

inline void register_with_targets(Task& task) {
  const Wait& w = task.wait;
  for (std::size_t i = 0; i < w.targets.size(); ++i) {
    if (w.targets[i]->end != End::pending) continue;
    w.targets[i]->waiters.push_back(Waiter{&task, w.asks.size() + i});
  }
}

// Of those that a task comes after, and of those that they come after, if they have not begun.
inline void lengthen_chains_above(const Task& below) {
  for (const Waitable* target : below.wait.targets) {
    Task* const above = target->as_task;
    if (above == nullptr || above->end != End::pending) continue;
    if (above->chain >= below.chain + below.cost) continue;
    above->chain = below.chain + below.cost;
    if (above->life == Life::unready) lengthen_chains_above(*above);
  }
}

// The innermost reason that no shield hides. `outside_of`: only of what is around that region.
inline const Reason* effective_reason(const Task& task, const Region* outside_of = nullptr) {
  bool counts = outside_of == nullptr;
  if (outside_of != nullptr && !outside_of->open) counts = true;  // it is no longer on the stack
  for (auto it = task.regions.rbegin(); it != task.regions.rend(); ++it) {
    const Region& region = **it;
    if (counts && region.reason) return &*region.reason;
    if (counts && region.shield) return nullptr;
    if (&region == outside_of) counts = true;
  }
  return task.reason ? &*task.reason : nullptr;
}

inline Signal cancelled_signal(const Reason& reason) {
  return thrown_signal(true, "Cancelled(" + reason.text + ")");
}

}  // namespace model::reference
