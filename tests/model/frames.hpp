// The reference model, fourth part: what each construct does, one frame for each. Here are the
// waits and what goes around a piece of code; scopes and supervisors have files of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/life.hpp"
#include "model/machine.hpp"
#include "model/program.hpp"
#include "model/sync_run.hpp"
#include "model/waiting.hpp"

namespace model::reference {

struct Promise : Waitable {
  bool held = true;  // it can still be completed
};

// One run of a program in the model.
struct Run {
  Run(const Program& program, const Setup& setup)
      : machine(setup),
        sync(program.primitives, [this](Ask& ask) { machine.come(ask); }),
        handles(program.tasks),
        promises(program.promises) {}

  Machine machine;
  Sync sync;
  std::vector<Task*> handles;      // null: not spawned yet, or the handle was dropped
  std::vector<Promise*> promises;  // null: not made yet
  std::deque<Promise> all_promises;
};

inline Signal result_of(Waitable& waitable) {
  if (waitable.end == End::completed) return value_signal(waitable.value);
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

// What the tasks among the targets have told, for the log of the one that waited for them.
inline void append_told(Lines& log, const std::vector<Waitable*>& targets) {
  for (const Waitable* target : targets) {
    if (target->as_task == nullptr) continue;
    const Lines& told = target->as_task->told;
    log.insert(log.end(), told.begin(), told.end());
  }
}

inline std::unique_ptr<Frame> gather(Run& run, std::vector<Waitable*> targets) {
  return wait_for(run, std::move(targets), Decide::first_failure, [&run](const Wait& wait) {
    if (wait.decided) return result_of(*wait.targets[*wait.decided]);
    append_told(run.machine.running->heritage.log, wait.targets);
    std::string text = "values";
    for (const Waitable* target : wait.targets) text += " " + std::to_string(target->value);
    return value_signal(0, text);
  });
}

inline std::unique_ptr<Frame> settle_all(Run& run, std::vector<Waitable*> targets) {
  return wait_for(run, std::move(targets), Decide::all, [&run](const Wait& wait) {
    append_told(run.machine.running->heritage.log, wait.targets);
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
                     effective_reason(task(), region_.get()) == nullptr;
    if (own) signal = value_signal(0, "timed out");
    return Next::pop;
  }

 private:
  long delay_;
  std::unique_ptr<Frame> inner_;
  std::shared_ptr<Region> region_;
  std::uint64_t timer_ = 0;
};

// A statement's block with its lexical place; the statements themselves are in statements.hpp.
inline std::unique_ptr<Frame> run_block(Run& run, const Block& block, Scope* lexical);

// The outermost frame of a task.
class TaskFrame final : public RunFrame {
 public:
  // `source`: the task is called with its value.
  TaskFrame(Run& run, const Block& block, Scope* lexical, Waitable* source = nullptr)
      : RunFrame(run), block_(block), lexical_(lexical), source_(source) {}

  Next resume(Signal& signal) override {
    if (begun_) return Next::pop;
    begun_ = true;
    if (source_ != nullptr && source_->end != End::completed) {
      signal = result_of(*source_);  // the value is not there
      return Next::pop;
    }
    const std::string given = source_ != nullptr ? " with " + std::to_string(source_->value) : "";
    machine().note(task(), "starts" + given);
    return push(run_block(run_, block_, lexical_));
  }

 private:
  const Block& block_;
  Scope* lexical_;
  Waitable* source_;
  bool begun_ = false;
};

// A value in the context for as long as a block runs.
class WithFrame final : public RunFrame {
 public:
  WithFrame(Run& run, const Statement& statement, Scope* lexical)
      : RunFrame(run), statement_(statement), lexical_(lexical) {}

  Next resume(Signal&) override {
    std::map<std::size_t, int>& context = task().heritage.context;
    if (outer_) {
      context = *outer_;
      return Next::pop;
    }
    outer_ = context;
    context[statement_.key] = statement_.number;
    return push(run_block(run_, statement_.blocks[0], lexical_));
  }

 private:
  const Statement& statement_;
  Scope* lexical_;
  std::optional<std::map<std::size_t, int>> outer_;
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
