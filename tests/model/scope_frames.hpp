// The reference model, fifth part: scopes, and what is built on them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/frames.hpp"
#include "model/program.hpp"

namespace model::reference {

// The end of every block over a scope: waits for its tasks whatever happens, and throws what the
// scope has to throw. Where a result has been decided, a cancel that comes meanwhile does not
// count.
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
  bool outer_cancelled() { return effective_reason(task(), scope_.region.get()) != nullptr; }
  Signal verdict() {
    const bool first_success = scope_.policy == Policy::first_success;
    report_kept();
    if (scope_.error) return thrown_signal(false, *scope_.error);
    if (scope_.policy == Policy::collect_all) {
      if (const std::string failures = unseen_failures(); !failures.empty()) {
        return thrown_signal(false, "TasksFailed(" + failures + ")");
      }
    }
    if (scope_.winner != nullptr) return Signal();
    if (outer_cancelled() && scope_.cut_short) return cancelled_signal(*effective_reason(task()));
    if (!scope_.reason) return first_success ? nobody_succeeded() : Signal();
    if (scope_.reason->on_purpose && !scope_.cut_short && !first_success) return Signal();
    return thrown_signal(false, "ScopeCancelled(" + scope_.reason->text + ")");
  }
  // What was collected and is not thrown, because something else is or another contender has won.
  void report_kept() {
    for (Task* kept : scope_.kept) kept->must_report = kept->end == End::failed;
  }
  std::string unseen_failures() {
    std::string text;
    for (Task* failed : scope_.kept) {
      if (std::exchange(failed->observed, true)) continue;
      text += task_name(failed->index) + " " + failed->error + ";";
    }
    return text;
  }
  Signal nobody_succeeded() {
    if (scope_.kept.empty()) return thrown_signal(false, "Error 108");
    std::string text = "AllFailed(";
    for (Task* contender : scope_.kept) text += result_of(*contender).thrown->text + ";";
    return thrown_signal(false, text + ")");
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
  const bool another = scope.error && *scope.error != thrown.text;
  if (!thrown.cancelled && another) ++run.machine.running->lost_errors;
  if (!thrown.cancelled && !scope.error) scope.error = thrown.text;
  run.machine.cancel_all(scope, run.machine.make_reason("scope ended"));
}

class ScopeFrame final : public RunFrame {
 public:
  ScopeFrame(Run& run, const Statement& statement) : RunFrame(run), statement_(statement) {}

  Next resume(Signal& signal) override {
    switch (phase_++) {
      case 0:
        scope_ = &open_scope(run_, statement_.policy);
        return push(run_block(run_, statement_.blocks[0], scope_));
      case 1:
        if (signal.thrown) block_threw(run_, *scope_, *signal.thrown);
        result_ = signal;
        return push(std::make_unique<CloseFrame>(run_, *scope_));
      default:
        if (signal.thrown) return Next::pop;
        signal = result_;
        if (scope_->winner != nullptr) {
          signal = value_signal(0, "winner " + task_name(scope_->winner->index));
        }
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
        scope_ = &open_scope(run_, Policy::isolate);
        if (const auto denied = start()) {
          signal = thrown_signal(false, *denied);
          return resume(signal);
        }
        return push(wait());
      case 1:
        if (signal.thrown) {
          block_threw(run_, *scope_, *signal.thrown);
        } else {
          machine().cancel_all(*scope_, machine().make_reason("race decided"));
        }
        return push(std::make_unique<CloseFrame>(run_, *scope_, winner_.has_value()));
      default:
        if (signal.thrown) return Next::pop;
        signal = winner_ ? result_of(*contenders_[*winner_]) : thrown_signal(false, all_failed());
        if (!signal.thrown) signal.text = race_text(*winner_, signal.value, 0);
        return Next::pop;
    }
  }

 private:
  // What one of them was denied with, if it was.
  std::optional<std::string> start() {
    for (std::size_t i = 0; i < statement_.blocks.size(); ++i) {
      if (const auto denied = machine().denial(*scope_)) return denied;
      NewTask spec;
      spec.index = statement_.index + i;
      contenders_.push_back(&machine().add_task(
          spec, *scope_, std::make_unique<TaskFrame>(run_, statement_.blocks[i], lexical_)));
    }
    return std::nullopt;
  }
  std::unique_ptr<Frame> wait() {
    const bool first = statement_.op == Op::race_started;
    return wait_for(run_, contenders_, first ? Decide::first_settled : Decide::first_success,
                    [this](const Wait& wait) {
                      winner_ = wait.decided;
                      return Signal();
                    });
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

}  // namespace model::reference
