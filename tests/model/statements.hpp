// The reference model, last part: a block of statements, and the run of a whole program.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/frames.hpp"

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
        signal = value_signal(s.number, "value " + std::to_string(s.number));
        return leave();
      }
      if (std::unique_ptr<Frame> inner = suspending(s)) {
        waiting_ = true;
        return push(std::move(inner));
      }
      signal = plain(s);
      if (finish_statement(signal)) return leave();
    }
    signal = value_signal(0, "value 0");
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
        Promise& promise = run_.promises[target.index];
        if (promise.made) out.push_back(&promise);
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
      case Op::spawn: {
        Scope& scope = s.flag ? machine().root : machine().scope_of(task());
        run_.handles[s.index] = &machine().add_task(
            s.index, s.number, scope, run_block(run_, s.blocks[0], s.flag ? nullptr : lexical_));
        return done;
      }
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
      case Op::make_promise:
        run_.promises[s.index].made = run_.promises[s.index].held = true;
        return done;
      case Op::complete:
      case Op::fail:
      case Op::drop_promise:
        return settle_promise(s, run_.promises[s.index]);
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

  Signal settle_promise(const Statement& s, Promise& promise) {
    const bool held = promise.held;
    if (s.op == Op::drop_promise) promise.held = false;
    if (s.op != Op::drop_promise && !held) return value_signal(0, "none");
    if (promise.end != End::pending) {
      if (s.op != Op::drop_promise) return thrown_signal(false, "Error 107");
    } else if (s.op == Op::complete) {
      promise.value = s.number;
      machine().settle(promise, End::completed);
    } else if (held) {
      promise.error = s.op == Op::fail ? error_name(s.number) : "Error 106";
      machine().settle(promise, End::failed);
    }
    return value_signal(0, "done");
  }

  const Block& block_;
  Scope* lexical_;
  std::size_t at_ = 0;
  bool waiting_ = false;
};

inline std::unique_ptr<Frame> run_block(Run& run, const Block& block, Scope* lexical) {
  return std::make_unique<BlockFrame>(run, block, lexical);
}

inline Ending drive(Run& run, const Program& program) {
  Machine& machine = run.machine;
  run.handles[0] = &machine.add_task(0, 10, machine.root, run_block(run, program.main, nullptr));
  if (machine.run()) return Ending::complete;
  machine.lines.push_back("deadlock of " + std::to_string(machine.live_tasks));
  machine.shut_down();
  if (machine.run()) return Ending::shut_down;
  machine.lines.push_back("deadlock of " + std::to_string(machine.live_tasks));
  return Ending::stuck;
}

inline Lines final_states(const Run& run) {
  Lines lines;
  for (const Task* task : run.handles) {
    if (task == nullptr) continue;
    std::string line = task_name(task->index) + " ";
    if (task->end == End::completed) line += "completed " + std::to_string(task->value);
    if (task->end == End::failed) line += "failed " + task->error;
    if (task->end == End::cancelled) line += "cancelled " + task->error;
    if (task->end == End::pending) line += "blocked";
    lines.push_back(line);
  }
  return lines;
}

// The tasks whose failure nobody looked at.
inline Lines reported(const Run& run) {
  Lines lines;
  for (const auto& task : run.machine.tasks) {
    if (task->must_report && !task->observed) lines.push_back(task_name(task->index));
  }
  return lines;
}

}  // namespace model::reference
