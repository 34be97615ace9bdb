// The reference model, second part: tasks, time, waiting and cancellation as the rulings say.
//
// Written for being obviously right, and sharing nothing with the library: plain containers that
// are searched from the front, and whether a task is cancelled is worked out anew each time it
// matters. What each statement of a program does is said by the frames (frames.hpp and others).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/parts.hpp"
#include "model/ready.hpp"
#include "model/waits.hpp"

namespace model::reference {

// What a spawn is given besides the code.
struct NewTask {
  std::size_t index = 0;
  int priority = 10;
  std::vector<Waitable*> after;
  IfFailed if_failed = IfFailed::skip;
  int cost = 1;
  std::map<std::size_t, int> context;  // besides what it inherits
  std::function<void()> when_code_goes;
};

class Machine {
 public:
  explicit Machine(const Setup& setup) : setup_(setup), ready_(setup) {}

  // ---- Driving ----

  // False: tasks are left and nothing can wake them.
  bool run() {
    while (live_tasks > 0) {
      fire_due();
      if (!ready_.empty()) {
        run_turn();
      } else if (!timers_.empty()) {
        now = std::max(now, next_timer()->deadline);
      } else {
        return false;
      }
    }
    return true;
  }
  void shut_down() { cancel_all(root, make_reason("shutdown")); }

  // ---- Tasks ----

  // Why there is no room for one more task in a scope, if there is none.
  std::optional<std::string> denial(const Scope& scope) {
    std::string text;
    if (live_tasks >= setup_.limit) {
      text = "tasks " + std::to_string(live_tasks) + " of " + std::to_string(setup_.limit);
    } else if (scope.live.size() >= scope.limit) {
      text = "scope " + std::to_string(scope.live.size()) + " of " + std::to_string(scope.limit);
    } else {
      return std::nullopt;
    }
    ++denied;
    return "SpawnDenied(" + text + ")";
  }
  Task& add_task(const NewTask& spec, Scope& scope, std::unique_ptr<Frame> code);
  Scope& scope_of(Task& task) {
    for (auto it = task.regions.rbegin(); it != task.regions.rend(); ++it) {
      if ((*it)->scope != nullptr) return *(*it)->scope;
    }
    return *task.scope;
  }
  void note(const Task& task, const std::string& text) {
    lines.push_back(std::to_string(now) + " " + task_name(task.index) + " " + text);
  }

  // ---- Waiting ----

  // The running task waits. Empty: it is parked or queued. Otherwise it goes on with this signal.
  std::optional<Signal> enter(Task& task, Wait wait);
  // What was asked of a primitive has come.
  void come(Ask& ask);
  // A call that is a plain function and so never suspends. When it spends the quantum, the next
  // call that can suspend does.
  void plain_call() { --budget_; }

  void ring(Bell& bell) {
    if (bell.listener == nullptr) return;
    Task& listener = *bell.listener;
    withdraw(listener);
    wake(listener);
  }

  // Becomes final and tells who waits, in the order they came.
  void settle(Waitable& waitable, End end);

  // ---- Time ----

  std::uint64_t arm(long delay, std::function<void()> fire) {
    // What is due in the past is due now, behind what is due already.
    timers_.push_back(Timer{now + std::max(0L, delay), ++sequence_, std::move(fire)});
    return sequence_;
  }
  void disarm(std::uint64_t sequence) {
    std::erase_if(timers_, [&](const Timer& timer) { return timer.sequence == sequence; });
  }

  // ---- Cancellation ----

  Reason make_reason(const std::string& cause, const std::string& message = {}) const {
    const std::string by = running != nullptr ? task_name(running->index) : "nobody";
    return Reason{cause + " by " + by + (message.empty() ? "" : ": " + message),
                  cause == "requested" || cause == "race decided"};
  }

  void cancel(Task& task, const Reason& reason) {
    if (task.end != End::pending || task.reason) return;
    task.reason = reason;
    interrupt(task);
  }
  void cancel(Task& task, Region& region, const Reason& reason) {
    if (!region.open || region.reason) return;
    region.reason = reason;
    interrupt(task);
  }
  void cancel_all(Scope& scope, const Reason& reason) {
    if (scope.reason) return;
    scope.reason = reason;
    if (scope.region) cancel(*scope.owner, *scope.region, reason);
    const std::vector<Task*> live = scope.live;
    for (Task* task : live) cancel(*task, reason);
  }

  std::shared_ptr<Region> open_region(Task& task, bool shield, Scope* scope = nullptr) {
    task.regions.push_back(std::make_shared<Region>());
    task.regions.back()->shield = shield;
    task.regions.back()->scope = scope;
    return task.regions.back();
  }
  void close_region(Task& task) {
    task.regions.back()->open = false;
    task.regions.pop_back();
  }

  long now = 0;
  Lines lines;
  std::size_t live_tasks = 0;
  Task* running = nullptr;
  Scope root;
  std::vector<std::unique_ptr<Task>> tasks;  // every one that ever was
  std::deque<Scope> scopes;
  const Task* failed_system_task = nullptr;  // that ends the run
  std::uint64_t slices = 0;
  std::uint64_t denied = 0;
  std::map<int, std::uint64_t> throttled;  // by priority

 private:
  // ---- The loop ----

  void run_turn() {
    turn_left_ = setup_.turn;
    while (turn_left_ > 0) {
      Task* const task = ready_.pop(slices);
      if (task == nullptr) break;
      run_slice(*task);
    }
    running = nullptr;
  }
  // A slice of the turn, with a quantum of its own.
  void begin_slice(const Task& task) {
    --turn_left_;
    ++slices;
    budget_ = setup_.quantum;
    for (const auto& [priority, quantum] : setup_.quantum_of) {
      if (priority == task.priority) budget_ = quantum;  // the last one stands
    }
  }
  void run_slice(Task& task) {
    running = &task;
    begin_slice(task);
    if (task.never_begins) return end_without_beginning(task);
    task.life = Life::running;
    Signal signal;
    if (task.deliver_cancel) signal = cancelled_signal(*effective_reason(task));
    task.deliver_cancel = false;
    for (;;) {
      switch (task.stack.back()->resume(signal)) {
        case Next::push:
          signal = Signal();
          break;
        case Next::park:
          return;
        case Next::pop:
          task.stack.pop_back();
          if (task.stack.empty()) return end_task(task, signal);
          break;
      }
    }
  }
  void end_task(Task& task, const Signal& signal) {
    if (!signal.thrown) {
      task.value = signal.value;
      return finish(task, End::completed);
    }
    if (signal.thrown->cancelled && task.reason) return finish(task, End::cancelled);
    task.error = signal.thrown->text;
    finish(task, End::failed);
  }

  // ---- Beginnings and ends: life.hpp ----

  void wait_before_it_begins(Task& task, const std::vector<Waitable*>& targets);
  void make_ready(Task& task);
  void end_without_beginning(Task& task);
  void finish(Task& task, End end);
  void judge(Scope& scope, Task& task);

  // ---- Waiting: the rest is in waiting.hpp ----

  void wake(Task& task) {
    if (task.life != Life::blocked) return;
    task.life = Life::ready;
    ready_.push(task);
  }
  // A call that is answered at once costs a step of the quantum; a spent quantum sends the task to
  // the back of the queue with its answer. `counted`: it has been counted already.
  std::optional<Signal> answered(Task& task, bool counted = false) {
    if (!counted) --budget_;
    if (budget_ > 0) return Signal();
    ++throttled[task.priority];
    if (goes_on_alone(task)) return Signal();
    return queue_up(task, Life::preempted);
  }
  std::optional<Signal> queue_up(Task& task, Life life) {
    task.life = life;
    ready_.push(task);
    return std::nullopt;
  }
  // Nobody else is ready: no detour through the queue, but all else is as if it had been there.
  bool goes_on_alone(const Task& task) {
    if (!ready_.empty() || turn_left_ == 0) return false;
    begin_slice(task);
    return true;
  }
  std::optional<Signal> ask_all(Task& task);
  void leave(Task& task);
  static void pass_on(Task& task);
  void withdraw(Task& task) {
    leave(task);
    pass_on(task);
  }

  // A cancel has reached the task: what that does depends on what the task is doing.
  void interrupt(Task& task) {
    if (effective_reason(task) == nullptr) return;
    if (task.life == Life::fresh || task.life == Life::unready) {
      if (task.life == Life::unready) withdraw(task);
      task.stack.clear();
      finish(task, End::cancelled);
    } else if (task.life == Life::blocked) {
      withdraw(task);
      task.deliver_cancel = true;
      wake(task);
    } else if (task.life == Life::suspended) {
      task.deliver_cancel = true;
    }
  }

  // ---- Time ----

  std::vector<Timer>::iterator next_timer() {
    return std::min_element(timers_.begin(), timers_.end(), [](const Timer& a, const Timer& b) {
      return std::pair(a.deadline, a.sequence) < std::pair(b.deadline, b.sequence);
    });
  }
  void fire_due() {
    while (!timers_.empty() && next_timer()->deadline <= now) {
      const std::function<void()> fire = next_timer()->fire;
      timers_.erase(next_timer());
      fire();
    }
  }

  Setup setup_;
  Ready ready_;
  std::vector<Timer> timers_;
  std::uint64_t sequence_ = 0;
  std::uint32_t turn_left_ = 0;
  std::int64_t budget_ = 0;
};

}  // namespace model::reference
