// The reference model, first half: tasks, time, waiting and cancellation as the rulings say.
//
// Written for being obviously right, and sharing nothing with the library: plain containers that
// are searched from the front, and whether a task is cancelled is worked out anew each time it
// matters. The second half (frames.hpp) says what each statement of a program does.
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

#include "model/program.hpp"

namespace model::reference {

using Lines = std::vector<std::string>;

struct Reason {
  std::string text;
  bool on_purpose = false;  // somebody's wish, and not something that went wrong
};

struct Thrown {
  bool cancelled = false;  // the cancellation of the task itself, which is not an error
  std::string text;
};

// How a piece of code came back: with a value and what the log says of it, or by throwing.
struct Signal {
  int value = 0;
  std::string text;
  std::optional<Thrown> thrown;
};

inline Signal value_signal(int value, std::string text) { return {value, std::move(text), {}}; }
inline Signal thrown_signal(bool cancelled, std::string text) {
  return {0, {}, Thrown{cancelled, std::move(text)}};
}

struct Task;
struct Scope;

enum class End : std::uint8_t { pending, completed, failed, cancelled };

struct Waiter {
  Task* task;
  std::size_t entry;  // which of the targets of its wait
};

struct Waitable {
  End end = End::pending;
  int value = 0;
  std::string error;  // as those who wait for it see it
  bool observed = false;
  std::vector<Waiter> waiters;
};

// A stretch of code that can be cancelled by itself, or a shield.
struct Region {
  bool shield = false;
  Scope* scope = nullptr;  // where plain spawns inside go
  bool open = true;
  std::optional<Reason> reason;
};

enum class WaitKind : std::uint8_t { yield, checkpoint, sleep, scope, targets };
enum class Decide : std::uint8_t { all, first_failure, first_settled, first_success };

// What a task waits for.
struct Wait {
  WaitKind kind = WaitKind::yield;
  long delay = 0;
  Scope* scope = nullptr;
  std::vector<Waitable*> targets;
  Decide decide = Decide::all;
  // Results and registrations.
  std::optional<std::size_t> decided;
  std::uint64_t timer = 0;
};

enum class Life : std::uint8_t { fresh, ready, running, suspended, preempted, blocked, ended };

enum class Next : std::uint8_t {
  push,  // a new frame is on top: begin it
  pop,   // this frame has ended, with the signal
  park,  // the task waits or is queued
};

// One level of a task's call stack.
class Frame {
 public:
  virtual ~Frame() = default;
  // Goes on after what the frame waited for. `signal` is what that gave, and then what this gives.
  virtual Next resume(Signal& signal) = 0;
};

struct Task : Waitable {
  std::size_t index = 0;
  int priority = 10;
  Life life = Life::fresh;
  Scope* scope = nullptr;
  std::vector<std::shared_ptr<Region>> regions;  // innermost last
  std::optional<Reason> reason;
  bool deliver_cancel = false;
  bool must_report = false;
  Wait wait;
  std::vector<std::unique_ptr<Frame>> stack;
};

enum class Policy : std::uint8_t { fail_fast, collect, root };

struct Scope {
  Policy policy = Policy::root;
  Task* owner = nullptr;
  std::shared_ptr<Region> region;
  std::vector<Task*> live;  // in the order of spawning
  Task* joiner = nullptr;
  std::optional<std::string> error;
  std::optional<Reason> reason;
  bool cut_short = false;
  std::uint64_t deadline = 0;
  bool joined = false;  // its block has ended and no task is left: its result has arrived
};

struct Timer {
  long deadline;
  std::uint64_t sequence;
  std::function<void()> fire;
};

class Machine {
 public:
  explicit Machine(const Setup& setup) : setup_(setup) {}

  // ---- Driving ----

  // False: tasks are left and nothing can wake them.
  bool run() {
    while (live_tasks > 0) {
      fire_due();
      if (!ready_empty()) {
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

  Task& add_task(std::size_t index, int priority, Scope& scope, std::unique_ptr<Frame> code) {
    Task& task = *tasks.emplace_back(std::make_unique<Task>());
    task.index = index;
    task.priority = priority;
    task.scope = &scope;
    task.stack.push_back(std::move(code));
    scope.live.push_back(&task);
    ++live_tasks;
    push_ready(task);
    if (scope.reason) cancel(task, *scope.reason);
    return task;
  }
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
  std::optional<Signal> enter(Task& task, Wait wait) {
    task.wait = std::move(wait);
    Wait& w = task.wait;
    if (w.kind == WaitKind::targets) {
      look_at_targets(w);
      if (w.decided || all_settled(w)) return answered(task);
      if (std::count(w.targets.begin(), w.targets.end(), &task) > 0) {
        return thrown_signal(false, "Error 117");
      }
    }
    if (w.kind == WaitKind::scope && w.scope->live.empty()) {
      w.scope->joined = true;
      return answered(task);
    }
    if (const Reason* reason = effective_reason(task)) return cancelled_signal(*reason);
    if (w.kind == WaitKind::checkpoint) return answered(task);
    if (w.kind == WaitKind::yield) {
      if (goes_on_alone()) return Signal();
      return queue_up(task, Life::suspended);
    }
    task.life = Life::blocked;
    if (w.kind == WaitKind::sleep) w.timer = arm(w.delay, [this, &task] { wake(task); });
    if (w.kind == WaitKind::scope) w.scope->joiner = &task;
    for (std::size_t i = 0; i < w.targets.size(); ++i) {
      if (w.targets[i]->end == End::pending) w.targets[i]->waiters.push_back(Waiter{&task, i});
    }
    return std::nullopt;
  }

  // Becomes final and tells who waits, in the order they came.
  void settle(Waitable& waitable, End end) {
    waitable.end = end;
    while (!waitable.waiters.empty()) {
      const Waiter waiter = waitable.waiters.front();
      waitable.waiters.erase(waitable.waiters.begin());
      Wait& w = waiter.task->wait;
      if (decides(w.decide, end)) {
        w.decided = waiter.entry;
        withdraw(*waiter.task);
      } else if (!all_settled(w)) {
        continue;
      }
      wake(*waiter.task);
    }
  }

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
  static Signal cancelled_signal(const Reason& reason) {
    return thrown_signal(true, "Cancelled(" + reason.text + ")");
  }

  // The innermost reason that no shield hides. `outside_of`: only of what is around that region.
  static const Reason* effective_reason(const Task& task, const Region* outside_of = nullptr) {
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

 private:
  // ---- The loop ----

  bool ready_empty() const { return ready_.empty(); }
  void push_ready(Task& task) {
    ready_[setup_.order == Order::fifo ? 0 : task.priority].push_back(&task);
  }
  Task& pop_ready() {
    const auto best = ready_.begin();
    std::deque<Task*>& queue = best->second;
    const bool newest_first = setup_.order == Order::depth_first;
    Task& task = newest_first ? *queue.back() : *queue.front();
    newest_first ? queue.pop_back() : queue.pop_front();
    if (queue.empty()) ready_.erase(best);
    return task;
  }
  void run_turn() {
    turn_left_ = setup_.turn;
    while (turn_left_ > 0 && !ready_empty()) {
      Task& task = pop_ready();
      // Of one that was cancelled before it began only the place was left; it takes no time.
      if (task.end != End::pending) continue;
      --turn_left_;
      run_slice(task);
    }
    running = nullptr;
  }
  void run_slice(Task& task) {
    running = &task;
    budget_ = setup_.quantum;
    if (task.life == Life::fresh) note(task, "starts");
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
  void finish(Task& task, End end) {
    if (end == End::cancelled) {
      task.error = "TaskCancelled(" + task_name(task.index) + " " + task.reason->text + ")";
    }
    task.life = Life::ended;
    --live_tasks;
    settle(task, end);
    Scope& scope = *task.scope;
    std::erase(scope.live, &task);
    if (end == End::failed) {
      if (scope.policy == Policy::fail_fast && !scope.error) {
        scope.error = task.error;
        task.observed = true;
        cancel_all(scope, make_reason("sibling failed"));
      } else if (scope.policy != Policy::collect) {
        task.must_report = true;
      }
    }
    if (scope.live.empty() && scope.joiner != nullptr) {
      scope.joined = true;
      wake(*std::exchange(scope.joiner, nullptr));
    }
  }

  // ---- Waiting ----

  void wake(Task& task) {
    if (task.life != Life::blocked) return;
    task.life = Life::ready;
    push_ready(task);
  }
  // A call that is answered at once costs a step of the quantum; a spent quantum sends the task to
  // the back of the queue with its answer.
  std::optional<Signal> answered(Task& task) {
    if (--budget_ > 0) return Signal();
    if (goes_on_alone()) return Signal();
    return queue_up(task, Life::preempted);
  }
  std::optional<Signal> queue_up(Task& task, Life life) {
    task.life = life;
    push_ready(task);
    return std::nullopt;
  }
  // Nobody else is ready: no detour through the queue, but all else is as if it had been there. It
  // is another slice of the turn, with a quantum of its own.
  bool goes_on_alone() {
    if (!ready_empty() || turn_left_ == 0) return false;
    --turn_left_;
    budget_ = setup_.quantum;
    return true;
  }
  static bool decides(Decide decide, End end) {
    if (decide == Decide::first_settled) return true;
    if (decide == Decide::first_failure) return end != End::completed;
    return decide == Decide::first_success && end == End::completed;
  }
  static void look_at_targets(Wait& w) {
    for (std::size_t i = 0; i < w.targets.size() && !w.decided; ++i) {
      const End end = w.targets[i]->end;
      if (end != End::pending && decides(w.decide, end)) w.decided = i;
    }
  }
  static bool all_settled(const Wait& w) {
    return std::none_of(w.targets.begin(), w.targets.end(),
                        [](const Waitable* target) { return target->end == End::pending; });
  }
  void withdraw(Task& task) {
    Wait& w = task.wait;
    if (w.kind == WaitKind::sleep) disarm(w.timer);
    if (w.kind == WaitKind::scope) w.scope->joiner = nullptr;
    for (Waitable* target : w.targets) {
      std::erase_if(target->waiters, [&](const Waiter& waiter) { return waiter.task == &task; });
    }
  }

  // A cancel has reached the task: what that does depends on what the task is doing.
  void interrupt(Task& task) {
    if (effective_reason(task) == nullptr) return;
    if (task.life == Life::fresh) {
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
  std::map<int, std::deque<Task*>> ready_;  // by priority; no queue in it is empty
  std::vector<Timer> timers_;
  std::uint64_t sequence_ = 0;
  std::uint32_t turn_left_ = 0;
  std::uint32_t budget_ = 0;
};

}  // namespace model::reference
