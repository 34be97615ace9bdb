// The reference model: how tasks wait, and how what they wait for comes.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "model/machine.hpp"
#include "model/sync_parts.hpp"

namespace model::reference {

// Calls on channels count against the quantum when they are made, whatever comes of them; all
// others when they are answered.
inline bool counts_at_once(const Wait& w) {
  if (w.asks.size() != 1 || w.in_race) return false;
  const Use use = w.asks[0].what.use;
  return use == Use::send || use == Use::recv || use == Use::recv_many;
}

inline std::optional<Signal> Machine::enter(Task& task, Wait wait) {
  task.wait = std::move(wait);
  Wait& w = task.wait;
  if (w.kind == WaitKind::targets) {
    look_at_targets(w);
    if (w.decided || all_settled(w)) return answered(task);
    if (std::count(w.targets.begin(), w.targets.end(), &task) > 0) {
      return thrown_signal(false, "Error 117");
    }
  }
  if (w.kind == WaitKind::sync) {
    const bool counted = counts_at_once(w);
    if (counted) plain_call();
    if (const std::optional<Signal> refused = ask_all(task)) return refused;
    if (w.decided) return answered(task, counted);
  }
  if (w.kind == WaitKind::scope && w.scope->live.empty()) {
    w.scope->joined = true;
    return answered(task);
  }
  if (w.kind == WaitKind::bell && w.bell->rung) return answered(task);
  if (const Reason* reason = effective_reason(task)) return cancelled_signal(*reason);
  if (w.kind == WaitKind::checkpoint) return answered(task);
  if (w.kind == WaitKind::yield) {
    if (goes_on_alone(task)) return Signal();
    return queue_up(task, Life::suspended);
  }
  task.life = Life::blocked;
  if (w.kind == WaitKind::sleep) w.timer = arm(w.delay, [this, &task] { wake(task); });
  if (w.kind == WaitKind::scope) w.scope->joiner = &task;
  if (w.kind == WaitKind::bell) {
    w.bell->listener = &task;
    if (w.bell->due) w.timer = arm(*w.bell->due - now, [this, &w] { ring(*w.bell); });
  }
  for (Ask& ask : w.asks) ask.at->enlist(ask);
  register_with_targets(task);
  return std::nullopt;
}

// The first that has something decides. The signal is that of one that refuses.
inline std::optional<Signal> Machine::ask_all(Task& task) {
  Wait& w = task.wait;
  for (std::size_t i = 0; i < w.asks.size(); ++i) {
    Ask& ask = w.asks[i];
    ask.task = &task;
    if (!ask.at->answer(ask)) continue;
    if (!ask.error.empty()) return thrown_signal(false, ask.error);
    w.decided = i;
    return std::nullopt;
  }
  if (std::count(w.targets.begin(), w.targets.end(), &task) > 0) {
    return thrown_signal(false, "Error 117");
  }
  look_at_targets(w);
  return std::nullopt;
}

inline void Machine::come(Ask& ask) {
  Task& task = *ask.task;
  task.wait.decided = static_cast<std::size_t>(&ask - task.wait.asks.data());
  leave(task);
  wake(task);
  pass_on(task);
}

inline void Machine::settle(Waitable& waitable, End end) {
  waitable.end = end;
  while (!waitable.waiters.empty()) {
    const Waiter waiter = waitable.waiters.front();
    waitable.waiters.erase(waitable.waiters.begin());
    Task& task = *waiter.task;
    if (decides(task.wait.decide, end)) {
      task.wait.decided = waiter.entry;
      leave(task);
    } else if (!all_settled(task.wait)) {
      continue;
    }
    task.life == Life::unready ? make_ready(task) : wake(task);
    pass_on(task);
  }
}

// Out of all lines first: what one of them passes on must not come back to this task.
inline void Machine::leave(Task& task) {
  Wait& w = task.wait;
  if (w.timer != 0) disarm(w.timer);
  if (w.kind == WaitKind::scope) w.scope->joiner = nullptr;
  if (w.kind == WaitKind::bell) w.bell->listener = nullptr;
  for (Ask& ask : w.asks) ask.at->leave(ask);
  for (Waitable* target : w.targets) {
    std::erase_if(target->waiters, [&](const Waiter& waiter) { return waiter.task == &task; });
  }
}

inline void Machine::pass_on(Task& task) {
  for (const Ask& ask : task.wait.asks) ask.at->pass_on();
}

}  // namespace model::reference
