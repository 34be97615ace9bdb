// The reference model, second half: what each statement does, one frame per construct.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/machine.hpp"
#include "model/program.hpp"

namespace model::reference {

struct Promise : Waitable {
  bool made = false;
  bool held = false;  // it can still be completed
};

// One run of a program in the model.
struct Run {
  Run(const Program& program, const Setup& setup)
      : machine(setup), handles(program.tasks), promises(program.promises) {}

  Machine machine;
  std::vector<Task*> handles;  // null: not spawned yet, or the handle was dropped
  std::vector<Promise> promises;
};

inline Signal result_of(Waitable& waitable) {
  if (waitable.end == End::completed) {
    return value_signal(waitable.value, "value " + std::to_string(waitable.value));
  }
  waitable.observed = true;
  return thrown_signal(false, waitable.error);
}

inline Signal outcome_of(Waitable& waitable) {
  if (waitable.end == End::completed) {
    return value_signal(0, "ok " + std::to_string(waitable.value));
  }
  waitable.observed = true;
  const std::string how = waitable.end == End::cancelled ? "cancelled " : "failed ";
  return value_signal(0, how + waitable.error);
}

class RunFrame : public Frame {
 public:
  explicit RunFrame(Run& run) : run_(run) {}

 protected:
  Machine& machine() { return run_.machine; }
  // A frame only runs as part of its task.
  Task& task() { return *run_.machine.running; }
  Next push(std::unique_ptr<Frame> frame) {
    task().stack.push_back(std::move(frame));
    return Next::push;
  }

  Run& run_;
};

// Waits, and makes a result of it.
class CallFrame final : public RunFrame {
 public:
  using Finish = std::function<Signal(const Wait&)>;
  CallFrame(Run& run, Wait wait, Finish finish)
      : RunFrame(run), wait_(std::move(wait)), finish_(std::move(finish)) {}

  Next resume(Signal& signal) override {
    if (!begun_) {
      begun_ = true;
      const std::optional<Signal> answer = machine().enter(task(), std::move(wait_));
      if (!answer) return Next::park;
      signal = *answer;
    }
    if (!signal.thrown) signal = finish_(task().wait);
    return Next::pop;
  }

 private:
  Wait wait_;
  Finish finish_;
  bool begun_ = false;
};

inline std::unique_ptr<Frame> simple_call(Run& run, WaitKind kind, long delay = 0,
                                          Scope* scope = nullptr) {
  Wait wait;
  wait.kind = kind;
  wait.delay = delay;
  wait.scope = scope;
  return std::make_unique<CallFrame>(run, std::move(wait),
                                     [](const Wait&) { return value_signal(0, "done"); });
}

inline std::unique_ptr<Frame> wait_for(Run& run, std::vector<Waitable*> targets, Decide decide,
                                       CallFrame::Finish finish) {
  Wait wait;
  wait.kind = WaitKind::targets;
  wait.targets = std::move(targets);
  wait.decide = decide;
  return std::make_unique<CallFrame>(run, std::move(wait), std::move(finish));
}

inline std::unique_ptr<Frame> join(Run& run, Waitable& target) {
  return wait_for(run, {&target}, Decide::first_settled,
                  [&target](const Wait&) { return result_of(target); });
}

inline std::unique_ptr<Frame> join_outcome(Run& run, Waitable& target) {
  return wait_for(run, {&target}, Decide::first_settled,
                  [&target](const Wait&) { return outcome_of(target); });
}

inline std::unique_ptr<Frame> gather(Run& run, std::vector<Waitable*> targets) {
  return wait_for(run, std::move(targets), Decide::first_failure, [](const Wait& wait) {
    if (wait.decided) return result_of(*wait.targets[*wait.decided]);
    std::string text = "values";
    for (const Waitable* target : wait.targets) text += " " + std::to_string(target->value);
    return value_signal(0, text);
  });
}

inline std::unique_ptr<Frame> settle_all(Run& run, std::vector<Waitable*> targets) {
  return wait_for(run, std::move(targets), Decide::all, [](const Wait& wait) {
    std::string text = "outcomes";
    for (Waitable* target : wait.targets) text += " " + outcome_of(*target).text;
    return value_signal(0, text);
  });
}

inline std::string race_text(std::size_t index, int value, std::size_t rest) {
  return "index " + std::to_string(index) + " value " + std::to_string(value) + " rest " +
         std::to_string(rest);
}

inline std::unique_ptr<Frame> race(Run& run, std::vector<Waitable*> targets) {
  return wait_for(run, std::move(targets), Decide::first_settled, [](const Wait& wait) {
    Signal result = result_of(*wait.targets[*wait.decided]);
    const std::size_t rest = wait.targets.size() - 1;
    if (!result.thrown) result.text = race_text(*wait.decided, result.value, rest);
    return result;
  });
}

class ShieldFrame final : public RunFrame {
 public:
  ShieldFrame(Run& run, std::unique_ptr<Frame> inner) : RunFrame(run), inner_(std::move(inner)) {}

  Next resume(Signal&) override {
    if (inner_ != nullptr) {
      machine().open_region(task(), true);
      return push(std::move(inner_));
    }
    machine().close_region(task());
    return Next::pop;
  }

 private:
  std::unique_ptr<Frame> inner_;
};

// within: a timeout is a value, unless something further out is cancelled as well.
class TimedFrame final : public RunFrame {
 public:
  TimedFrame(Run& run, long delay, std::unique_ptr<Frame> inner)
      : RunFrame(run), delay_(delay), inner_(std::move(inner)) {}

  Next resume(Signal& signal) override {
    if (inner_ != nullptr) {
      if (delay_ < 0) {
        signal = thrown_signal(false, "Error 109");
        return Next::pop;
      }
      region_ = machine().open_region(task(), false);
      Task& owner = task();
      timer_ = machine().arm(delay_, [this, &owner] {
        machine().cancel(owner, *region_, machine().make_reason("timeout"));
      });
      return push(std::move(inner_));
    }
    machine().disarm(timer_);
    machine().close_region(task());
    const bool own = signal.thrown && signal.thrown->cancelled && region_->reason &&
                     Machine::effective_reason(task(), region_.get()) == nullptr;
    if (own) signal = value_signal(0, "timed out");
    return Next::pop;
  }

 private:
  long delay_;
  std::unique_ptr<Frame> inner_;
  std::shared_ptr<Region> region_;
  std::uint64_t timer_ = 0;
};

// The end of every block over a scope: waits for its tasks whatever happens, and throws what the
// scope has to throw. Where a result has been decided, a cancel that comes meanwhile does not count.
class CloseFrame final : public RunFrame {
 public:
  CloseFrame(Run& run, Scope& scope, bool decided = false)
      : RunFrame(run), scope_(scope), phase_(decided ? 1 : 0) {}

  Next resume(Signal& signal) override {
    switch (phase_++) {
      case 0:
        return push(simple_call(run_, WaitKind::scope, 0, &scope_));
      case 1:
        if (signal.thrown && outer_cancelled()) {
          scope_.cut_short = true;
          machine().cancel_all(scope_, machine().make_reason("scope ended"));
        }
        machine().open_region(task(), true);
        return push(simple_call(run_, WaitKind::scope, 0, &scope_));
      default:
        machine().close_region(task());
        machine().disarm(scope_.deadline);
        machine().close_region(task());
        signal = verdict();
        return Next::pop;
    }
  }

 private:
  bool outer_cancelled() {
    return Machine::effective_reason(task(), scope_.region.get()) != nullptr;
  }
  Signal verdict() {
    if (scope_.error) return thrown_signal(false, *scope_.error);
    if (outer_cancelled() && scope_.cut_short) {
      return Machine::cancelled_signal(*Machine::effective_reason(task()));
    }
    if (!scope_.reason || (scope_.reason->on_purpose && !scope_.cut_short)) return Signal();
    return thrown_signal(false, "ScopeCancelled(" + scope_.reason->text + ")");
  }

  Scope& scope_;
  int phase_;
};

inline Scope& open_scope(Run& run, Policy policy) {
  Machine& machine = run.machine;
  Scope& scope = machine.scopes.emplace_back();
  scope.policy = policy;
  scope.owner = machine.running;
  scope.region = machine.open_region(*machine.running, false, &scope);
  return scope;
}

// The block of a scope threw.
inline void block_threw(Run& run, Scope& scope, const Thrown& thrown) {
  if (thrown.cancelled) scope.cut_short = true;
  if (!thrown.cancelled && !scope.error) scope.error = thrown.text;
  run.machine.cancel_all(scope, run.machine.make_reason("scope ended"));
}

// A statement's block with its lexical place; the statements themselves are below.
inline std::unique_ptr<Frame> run_block(Run& run, const Block& block, Scope* lexical);

class ScopeFrame final : public RunFrame {
 public:
  ScopeFrame(Run& run, const Statement& statement) : RunFrame(run), statement_(statement) {}

  Next resume(Signal& signal) override {
    switch (phase_++) {
      case 0:
        scope_ = &open_scope(run_, statement_.flag ? Policy::collect : Policy::fail_fast);
        return push(run_block(run_, statement_.blocks[0], scope_));
      case 1:
        if (signal.thrown) block_threw(run_, *scope_, *signal.thrown);
        result_ = signal;
        return push(std::make_unique<CloseFrame>(run_, *scope_));
      default:
        if (!signal.thrown) signal = result_;
        return Next::pop;
    }
  }

 private:
  const Statement& statement_;
  Scope* scope_ = nullptr;
  Signal result_;
  int phase_ = 0;
};

// race and any over operations that they start themselves.
class ContestFrame final : public RunFrame {
 public:
  ContestFrame(Run& run, const Statement& statement, Scope* lexical)
      : RunFrame(run), statement_(statement), lexical_(lexical) {}

  Next resume(Signal& signal) override {
    switch (phase_++) {
      case 0:
        return start();
      case 1:
        if (signal.thrown) {
          block_threw(run_, *scope_, *signal.thrown);
        } else {
          machine().cancel_all(*scope_, machine().make_reason("race decided"));
        }
        return push(std::make_unique<CloseFrame>(run_, *scope_, winner_.has_value()));
      case 2:
        if (signal.thrown) return Next::pop;
        if (winner_) return push(join(run_, *contenders_[*winner_]));
        signal = thrown_signal(false, all_failed());
        return Next::pop;
      default:
        if (!signal.thrown) signal.text = race_text(*winner_, signal.value, 0);
        return Next::pop;
    }
  }

 private:
  Next start() {
    scope_ = &open_scope(run_, Policy::collect);
    for (std::size_t i = 0; i < statement_.blocks.size(); ++i) {
      contenders_.push_back(&machine().add_task(statement_.index + i, 10, *scope_,
                                                run_block(run_, statement_.blocks[i], lexical_)));
    }
    const bool first = statement_.op == Op::race_started;
    return push(wait_for(run_, contenders_, first ? Decide::first_settled : Decide::first_success,
                         [this](const Wait& wait) {
                           winner_ = wait.decided;
                           return Signal();
                         }));
  }
  std::string all_failed() {
    std::string text = "AllFailed(";
    for (Waitable* contender : contenders_) text += result_of(*contender).thrown->text + ";";
    return text + ")";
  }

  const Statement& statement_;
  Scope* lexical_;
  Scope* scope_ = nullptr;
  std::vector<Waitable*> contenders_;
  std::optional<std::size_t> winner_;
  int phase_ = 0;
};

class AttemptFrame final : public RunFrame {
 public:
  AttemptFrame(Run& run, const Statement& statement, Scope* lexical)
      : RunFrame(run), statement_(statement), lexical_(lexical) {}

  Next resume(Signal& signal) override {
    if (!begun_) {
      begun_ = true;
      return push(run_block(run_, statement_.blocks[0], lexical_));
    }
    if (signal.thrown && (!signal.thrown->cancelled || statement_.flag)) {
      signal = value_signal(0, "caught " + signal.thrown->text);
    }
    return Next::pop;
  }

 private:
  const Statement& statement_;
  Scope* lexical_;
  bool begun_ = false;
};

}  // namespace model::reference
