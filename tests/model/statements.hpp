// The reference model, last part: a block of statements, and the run of a whole program.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/scope_frames.hpp"
#include "model/supervise_frames.hpp"
#include "model/sync_frames.hpp"

namespace model::reference {

class BlockFrame final : public RunFrame {
 public:
  BlockFrame(Run& run, const Block& block, Scope* lexical)
      : RunFrame(run), block_(block), lexical_(lexical) {}

  Next resume(Signal& signal) override {
    if (waiting_) {
      waiting_ = false;
      if (finish_statement(signal)) return leave();
    }
    while (at_ < block_.statements.size()) {
      const Statement& s = block_.statements[at_];
      note(text_of(s));
      if (s.op == Op::give) {
        signal = value_signal(s.number);
        return leave();
      }
      if (std::unique_ptr<Frame> inner = suspending(s)) {
        waiting_ = true;
        return push(std::move(inner));
      }
      signal = plain(s);
      if (finish_statement(signal)) return leave();
    }
    signal = value_signal(0);
    return leave();
  }

 private:
  void note(const std::string& text) {
    machine().note(task(), "s" + std::to_string(block_.statements[at_].id) + " " + text);
  }
  // True when the statement threw.
  bool finish_statement(const Signal& signal) {
    note(signal.thrown ? "throws " + signal.thrown->text : "-> " + signal.text);
    ++at_;
    return signal.thrown.has_value();
  }
  Next leave() {
    machine().note(task(), "leaves b" + std::to_string(block_.id));
    return Next::pop;
  }

  std::vector<Waitable*> present(const std::vector<Target>& targets) {
    std::vector<Waitable*> out;
    for (const Target& target : targets) {
      if (target.promise) {
        Promise* const promise = run_.promises[target.index];
        if (promise != nullptr) out.push_back(promise);
      } else if (run_.handles[target.index] != nullptr) {
        out.push_back(run_.handles[target.index]);
      }
    }
    return out;
  }
  static std::string why(const Statement& s) { return "s" + std::to_string(s.id); }

  // The frame of a statement that waits or runs code of its own. Null: it is a plain call.
  std::unique_ptr<Frame> suspending(const Statement& s) {
    const std::vector<Waitable*> targets = present(s.targets);
    switch (s.op) {
      case Op::yield:
        return simple_call(run_, WaitKind::yield);
      case Op::checkpoint:
        return simple_call(run_, WaitKind::checkpoint);
      case Op::sleep:
        return s.delay < 0 ? nullptr : simple_call(run_, WaitKind::sleep, s.delay);
      case Op::await:
        return targets.empty() ? nullptr : join(run_, *targets[0]);
      case Op::outcome:
        return targets.empty() ? nullptr : join_outcome(run_, *targets[0]);
      case Op::within_target:
        if (targets.empty()) return nullptr;
        return std::make_unique<TimedFrame>(run_, s.delay, join(run_, *targets[0]));
      case Op::shield_target:
        if (targets.empty()) return nullptr;
        return std::make_unique<ShieldFrame>(run_, join(run_, *targets[0]));
      case Op::take: {
        Task* const target = std::exchange(run_.handles[s.index], nullptr);
        return target == nullptr ? nullptr : join(run_, *target);
      }
      case Op::gather:
        return gather(run_, targets);
      case Op::all_settled:
        return settle_all(run_, targets);
      case Op::race:
        return targets.empty() ? nullptr : race(run_, targets);
      case Op::race_started:
      case Op::any_started:
        return std::make_unique<ContestFrame>(run_, s, lexical_);
      case Op::within:
        return std::make_unique<TimedFrame>(run_, s.delay, run_block(run_, s.blocks[0], lexical_));
      case Op::shield:
        return std::make_unique<ShieldFrame>(run_, run_block(run_, s.blocks[0], lexical_));
      case Op::scope:
        return std::make_unique<ScopeFrame>(run_, s);
      case Op::supervise:
        return std::make_unique<SuperviseFrame>(run_, s, lexical_);
      case Op::with:
        return std::make_unique<WithFrame>(run_, s, lexical_);
      case Op::attempt:
        return std::make_unique<AttemptFrame>(run_, s, lexical_);
      case Op::call:
        return run_block(run_, s.blocks[0], lexical_);
      case Op::cancel_join: {
        Task* const target = run_.handles[s.index];
        if (target == nullptr) return nullptr;
        machine().cancel(*target, machine().make_reason("requested", why(s)));
        return join_outcome(run_, *target);
      }
      case Op::sync:
      case Op::sync_within:
      case Op::sync_race:
      case Op::hold:
      case Op::hold_notified:
        return sync_frame(run_, s, lexical_);
      default:
        return nullptr;
    }
  }

  Signal plain(const Statement& s) {
    const Signal done = value_signal(0, "done");
    const Signal none = value_signal(0, "none");
    switch (s.op) {
      case Op::sleep:
        return thrown_signal(false, "Error 109");
      case Op::race:
        return thrown_signal(false, "Error 108");
      case Op::raise:
        return thrown_signal(false, error_name(s.number));
      case Op::spawn:
      case Op::spawn_after:
      case Op::spawn_from:
        return spawn(s);
      case Op::cancel:
        if (run_.handles[s.index] == nullptr) return none;
        machine().cancel(*run_.handles[s.index], machine().make_reason("requested", why(s)));
        return done;
      case Op::cancel_self:
        machine().cancel(task(), machine().make_reason("requested", why(s)));
        return done;
      case Op::drop:
        run_.handles[s.index] = nullptr;
        return done;
      case Op::scope_timeout:
        if (lexical_ == nullptr) return none;
        set_timeout(*lexical_, s.delay);
        return done;
      case Op::scope_cancel:
        if (lexical_ == nullptr) return none;
        machine().cancel_all(*lexical_, machine().make_reason("requested", why(s)));
        return done;
      case Op::scope_limit:
        if (lexical_ == nullptr) return none;
        lexical_->limit = static_cast<std::size_t>(s.number);
        return done;
      case Op::make_promise:
        if (run_.promises[s.index] != nullptr) drop_promise(*run_.promises[s.index]);
        run_.promises[s.index] = &run_.all_promises.emplace_back();
        return done;
      case Op::drop_promise:
        if (run_.promises[s.index] != nullptr) drop_promise(*run_.promises[s.index]);
        return done;
      case Op::complete:
      case Op::fail:
        return settle_promise(s, run_.promises[s.index]);
      case Op::ask:
      case Op::lookup:
      case Op::put:
      case Op::get:
      case Op::tell:
      case Op::told:
        return heritage(s);
      case Op::sync:
      case Op::sync_within:
      case Op::sync_race:
      case Op::hold:
        return sync_at_once(run_, s);
      default:
        return none;
    }
  }

  void set_timeout(Scope& scope, long delay) {
    machine().disarm(scope.deadline);
    if (scope.reason) return;
    Machine& all = machine();  // the one who sets a deadline may be gone when it passes
    scope.deadline = all.arm(delay, [&all, &scope] {
      // Everything has ended, though its owner has not had its turn: the result wins.
      if (scope.joined) return;
      all.cancel_all(scope, all.make_reason("deadline"));
    });
  }

  Signal settle_promise(const Statement& s, Promise* promise) {
    if (promise == nullptr || !promise->held) return value_signal(0, "none");
    if (promise->end != End::pending) return thrown_signal(false, "Error 107");
    promise->value = s.number;
    promise->error = error_name(s.number);
    machine().settle(*promise, s.op == Op::complete ? End::completed : End::failed);
    return value_signal(0, "done");
  }
  void drop_promise(Promise& promise) {
    const bool held = std::exchange(promise.held, false);
    if (!held || promise.end != End::pending) return;
    promise.error = "Error 106";
    machine().settle(promise, End::failed);
  }

  Signal spawn(const Statement& s) {
    const std::vector<Waitable*> targets = present(s.targets);
    Scope* scope = &machine().scope_of(task());
    if (s.how.into == Into::root) scope = &machine().root;
    if (s.how.into == Into::scope && lexical_ != nullptr) scope = lexical_;
    if (s.op == Op::spawn_from && present({s.targets[0]}).empty()) return value_signal(0, "none");
    if (const auto denied = machine().denial(*scope)) return thrown_signal(false, *denied);
    NewTask spec;
    spec.index = s.index;
    spec.priority = s.how.priority;
    spec.after = targets;
    spec.if_failed = s.how.if_failed;
    spec.cost = s.how.cost;
    if (s.how.with_value) spec.context[s.key] = s.number;
    run_.handles[s.index] =
        &machine().add_task(spec, *scope,
                            std::make_unique<TaskFrame>(
                                run_, s.blocks[0], s.how.into == Into::root ? nullptr : lexical_,
                                s.op == Op::spawn_from ? targets[0] : nullptr));
    return value_signal(0, "done");
  }

  // Context and store. Those of the store count as system calls.
  Signal heritage(const Statement& s) {
    Heritage& has = task().heritage;
    const bool of_context = s.op == Op::ask || s.op == Op::lookup;
    if (!of_context) machine().plain_call();
    if (s.op == Op::put) has.state[s.key] = s.number;
    if (s.op == Op::tell) has.log.push_back(why(s));
    if (s.op == Op::told) return value_signal(0, text_of_log(has.log));
    if (s.op == Op::put || s.op == Op::tell) return value_signal(0, "done");
    const std::map<std::size_t, int>& values = of_context ? has.context : has.state;
    const auto found = values.find(s.key);
    if (found != values.end()) return value_signal(found->second);
    return s.op == Op::ask ? thrown_signal(false, "Error 120") : value_signal(0, "nothing");
  }

  const Block& block_;
  Scope* lexical_;
  std::size_t at_ = 0;
  bool waiting_ = false;
};

inline std::unique_ptr<Frame> run_block(Run& run, const Block& block, Scope* lexical) {
  return std::make_unique<BlockFrame>(run, block, lexical);
}

// Deadlocks are part of the story.
inline bool run_to_the_end(Machine& machine) {
  const bool ended = machine.run();
  if (!ended) machine.lines.push_back("deadlock of " + std::to_string(machine.live_tasks));
  return ended;
}

inline Ending drive(Run& run, const Program& program) {
  Machine& machine = run.machine;
  run.handles[0] = &machine.add_task(NewTask(), machine.root,
                                     std::make_unique<TaskFrame>(run, program.main, nullptr));
  Ending ending = Ending::complete;
  if (!run_to_the_end(machine)) {
    ending = Ending::shut_down;
    machine.shut_down();
    if (!run_to_the_end(machine)) return Ending::stuck;
  }
  if (machine.failed_system_task == nullptr) return ending;
  const Task& failed = *machine.failed_system_task;
  machine.lines.push_back("system task " + task_name(failed.index) + " failed: " + failed.error);
  return Ending::system_failed;
}

inline std::string text_of_end(const Task& task) {
  switch (task.end) {
    case End::completed:
      return "completed " + std::to_string(task.value);
    case End::failed:
      return "failed " + task.error;
    case End::cancelled:
      return "cancelled " + task.error;
    case End::pending:
      break;
  }
  return task.life == Life::unready ? "pending" : "blocked";
}

// The state that every task with a handle has in the end, and what was counted.
inline Lines final_states(const Run& run) {
  Lines lines;
  for (const Task* task : run.handles) {
    if (task != nullptr) lines.push_back(task_name(task->index) + " " + text_of_end(*task));
  }
  lines.push_back("slices " + std::to_string(run.machine.slices));
  lines.push_back("denied " + std::to_string(run.machine.denied));
  for (const auto& [priority, times] : run.machine.throttled) {
    lines.push_back("throttled " + std::to_string(priority) + ": " + std::to_string(times));
  }
  lines.push_back("primitives" + run.sync.text());
  return lines;
}

// The tasks whose failure nobody looked at.
inline Lines reported(const Run& run) {
  Lines lines;
  for (const auto& task : run.machine.tasks) {
    if (task->must_report && !task->observed) lines.push_back(task_name(task->index));
    for (int i = 0; i < task->lost_errors; ++i) lines.push_back(task_name(task->index));
  }
  return lines;
}

}  // namespace model::reference
