// The reference model, sixth part: supervisors.
//
// A supervisor is code in the task that awaits it: it starts its children, waits until one of them
// has ended or the time of a restart has come, and does what the strategy says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/scope_frames.hpp"

namespace model::reference {

enum class Phase : std::uint8_t {
  running,
  ended,    // and not looked at yet
  waiting,  // for its time to be started again
  gone,     // for good
};

struct SupervisedChild {
  Phase phase = Phase::gone;
  Task* task = nullptr;               // of the last start
  std::optional<std::string> denied;  // why the last start gave no task
  long started = 0;
  long ended = 0;
  long due = 0;  // while waiting
  int starts = 0;
  int streak = 0;  // restarts since it last stayed up for the period
  int failures = 0;
};

// The code of a child, in a scope of its own.
class ChildFrame final : public RunFrame {
 public:
  ChildFrame(Run& run, const Statement& statement, std::size_t number, int& starts, Scope* lexical)
      : RunFrame(run), statement_(statement), number_(number), starts_(starts), lexical_(lexical) {}

  Next resume(Signal& signal) override {
    switch (phase_++) {
      case 0:
        scope_ = &open_scope(run_, Policy::fail_fast);
        machine().note(task(), "starts");
        if (++starts_ >= kTooManyStarts) return resume(signal);
        return push(run_block(run_, statement_.blocks[number_], lexical_));
      case 1:
        if (!signal.thrown && starts_ <= statement_.supervision.children[number_].failures) {
          signal = thrown_signal(false, error_name(statement_.number));
        }
        if (signal.thrown) block_threw(run_, *scope_, *signal.thrown);
        return push(std::make_unique<CloseFrame>(run_, *scope_));
      default:
        return Next::pop;
    }
  }

 private:
  const Statement& statement_;
  std::size_t number_;
  int& starts_;
  Scope* lexical_;
  Scope* scope_ = nullptr;
  int phase_ = 0;
};

// What the frames of one supervisor share.
class Crew {
 public:
  Crew(Run& run, const Statement& statement, Scope* lexical)
      : run_(run),
        statement_(statement),
        lexical_(lexical),
        owner_(*run.machine.running),
        scope_(open_scope(run, Policy::isolate)),
        children(statement.supervision.children.size()) {}

  const Supervision& how() const { return statement_.supervision; }
  Scope& scope() { return scope_; }

  void start(std::size_t number) {
    SupervisedChild& child = children[number];
    child.phase = Phase::running;
    child.started = machine().now;
    child.denied = machine().denial(scope_);
    if (child.denied) return note_end(number);  // it has failed
    NewTask spec;
    spec.index = statement_.index + number;
    spec.priority = how().priority;
    spec.when_code_goes = [this, number] { note_end(number); };
    child.task = &machine().add_task(
        spec, scope_,
        std::make_unique<ChildFrame>(run_, statement_, number, child.starts, lexical_));
  }
  void start_due() {
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (children[i].phase == Phase::waiting && children[i].due <= machine().now) start(i);
    }
  }
  bool anybody_left() const {
    return std::any_of(children.begin(), children.end(),
                       [](const SupervisedChild& child) { return child.phase != Phase::gone; });
  }
  // To wait at until something is to be done.
  Bell& bell() {
    bell_.rung = !ended.empty();
    bell_.due.reset();
    for (const SupervisedChild& child : children) {
      if (child.phase != Phase::waiting) continue;
      bell_.due = std::min(child.due, bell_.due.value_or(child.due));
    }
    return bell_;
  }

  // Looks at how a child ended by itself. True when it has to be started again.
  bool comes_back(std::size_t number) {
    SupervisedChild& child = children[number];
    leave(number);
    const bool failed = child.denied || child.task->end == End::failed;
    std::string end = child.denied.value_or("returned");
    if (!child.denied) {
      child.task->observed = true;
      if (child.task->end != End::completed) end = child.task->error;
    }
    const Restart restart = how().children[number].restart;
    const bool back = restart == Restart::permanent || (restart == Restart::transient && failed);
    if (back || failed) write_down(number, end);
    if (failed && !back) log();
    return back;
  }
  // A child that was stopped has ended. True when it has to be started again with the others.
  bool was_stopped(std::size_t number) {
    leave(number);
    Task& task = *children[number].task;
    task.observed = true;
    if (task.end == End::failed) {
      write_down(number, task.error);
      log();
    }
    return how().children[number].restart != Restart::temporary;
  }

  // Counts a restart. False when it is one too many.
  bool may_restart(std::size_t number) {
    const long at = children[number].ended;
    std::erase_if(restarts_, [&](long earlier) { return at - earlier > how().period; });
    restarts_.push_back(at);
    gave_up = restarts_.size() > how().restarts;
    return !gave_up;
  }
  long wait_before(std::size_t number) {
    SupervisedChild& child = children[number];
    if (child.ended - child.started >= how().period) child.streak = 0;
    long wait = how().first_wait;
    for (int i = 0; i < child.streak; ++i) wait = std::min(2 * wait, how().longest_wait);
    ++child.streak;
    return wait;
  }
  void log() { machine().note(owner_, "logs"); }

  std::string failure() const { return "SupervisionFailed(" + history_ + ")"; }

 private:
  Machine& machine() { return run_.machine; }
  void note_end(std::size_t number) {
    children[number].phase = Phase::ended;
    children[number].ended = machine().now;
    ended.push_back(number);
    machine().ring(bell_);
  }
  void leave(std::size_t number) {
    std::erase(ended, number);
    children[number].phase = Phase::gone;
  }
  void write_down(std::size_t number, const std::string& end) {
    SupervisedChild& child = children[number];
    history_ += task_name(statement_.index + number) + " at " + std::to_string(child.ended) +
                " number " + std::to_string(++child.failures) + " " + end + ";";
  }

  Run& run_;
  const Statement& statement_;
  Scope* lexical_;
  Task& owner_;
  Scope& scope_;
  Bell bell_;
  std::vector<long> restarts_;  // that still count
  std::string history_;

 public:
  std::vector<SupervisedChild> children;
  std::vector<std::size_t> ended;  // in the order they ended
  bool gave_up = false;
};

class CrewFrame : public RunFrame {
 public:
  CrewFrame(Run& run, Crew& crew) : RunFrame(run), crew_(crew) {}

 protected:
  // Asks a running child to stop, and waits for its end.
  Next stop(std::size_t number) {
    Task& child = *crew_.children[number].task;
    machine().cancel(child, machine().make_reason("supervisor"));
    return push(join_outcome(run_, child));
  }
  Crew& crew_;
};

// Stops those who have to go with a child, the last first, and lets all wait for their new start.
class RestartFrame final : public CrewFrame {
 public:
  RestartFrame(Run& run, Crew& crew, std::size_t number)
      : CrewFrame(run, crew), number_(number), at_(crew.children.size()), group_{number} {
    due_ = machine().now + crew.wait_before(number);
    if (crew.how().strategy == Strategy::one_for_one) at_ = 0;
    first_ = crew.how().strategy == Strategy::one_for_all ? 0 : number;
  }

  Next resume(Signal& signal) override {
    if (stopping_) {
      if (signal.thrown) return Next::pop;
      stopping_ = false;
      if (crew_.was_stopped(at_)) group_.push_back(at_);
    }
    while (at_ > first_) {
      const SupervisedChild& sibling = crew_.children[--at_];
      if (at_ == number_ || sibling.phase == Phase::gone) continue;
      if (sibling.phase == Phase::running) {
        stopping_ = true;
        return stop(at_);
      }
      if (sibling.phase == Phase::waiting) {
        due_ = std::max(due_, sibling.due);
        group_.push_back(at_);
      } else if (crew_.comes_back(at_)) {
        group_.push_back(at_);
      }
    }
    // To stop the others may have taken longer.
    const long due = std::max(due_, machine().now);
    for (const std::size_t member : group_) {
      crew_.children[member].phase = Phase::waiting;
      crew_.children[member].due = due;
    }
    crew_.log();
    signal = Signal();
    return Next::pop;
  }

 private:
  std::size_t number_;
  std::size_t at_;
  std::size_t first_ = 0;
  std::vector<std::size_t> group_;
  long due_ = 0;
  bool stopping_ = false;
};

// Until nobody is left to run, or the supervisor gives up.
class CrewLoopFrame final : public CrewFrame {
 public:
  using CrewFrame::CrewFrame;

  Next resume(Signal& signal) override {
    if (!begun_) {
      for (std::size_t i = 0; i < crew_.children.size(); ++i) crew_.start(i);
    }
    begun_ = true;
    if (signal.thrown) return Next::pop;
    while (!crew_.ended.empty()) {
      const std::size_t number = crew_.ended.front();
      if (!crew_.comes_back(number)) continue;
      if (!crew_.may_restart(number)) return Next::pop;
      return push(std::make_unique<RestartFrame>(run_, crew_, number));
    }
    crew_.start_due();
    if (!crew_.anybody_left()) return Next::pop;
    Wait wait;
    wait.kind = WaitKind::bell;
    wait.bell = &crew_.bell();
    return push(
        std::make_unique<CallFrame>(run_, std::move(wait), [](const Wait&) { return Signal(); }));
  }

 private:
  bool begun_ = false;
};

// Stops all children for good, the last first.
class StopAllFrame final : public CrewFrame {
 public:
  StopAllFrame(Run& run, Crew& crew) : CrewFrame(run, crew), at_(crew.children.size()) {}

  Next resume(Signal&) override {
    if (std::exchange(stopping_, false)) crew_.was_stopped(at_);
    while (at_ > 0) {
      SupervisedChild& child = crew_.children[--at_];
      if (child.phase == Phase::waiting) child.phase = Phase::gone;
      if (child.phase == Phase::ended) crew_.comes_back(at_);
      if (child.phase != Phase::running) continue;
      stopping_ = true;
      return stop(at_);
    }
    return Next::pop;
  }

 private:
  std::size_t at_;
  bool stopping_ = false;
};

class SuperviseFrame final : public RunFrame {
 public:
  SuperviseFrame(Run& run, const Statement& statement, Scope* lexical)
      : RunFrame(run), statement_(statement), lexical_(lexical) {}

  Next resume(Signal& signal) override {
    switch (phase_++) {
      case 0:
        crew_.emplace(run_, statement_, lexical_);
        return push(std::make_unique<CrewLoopFrame>(run_, *crew_));
      case 1:
        thrown_ = signal.thrown;
        machine().open_region(task(), true);
        return push(std::make_unique<StopAllFrame>(run_, *crew_));
      case 2:
        machine().close_region(task());
        if (crew_->gave_up) thrown_ = Thrown{false, crew_->failure()};
        if (thrown_) block_threw(run_, crew_->scope(), *thrown_);
        return push(std::make_unique<CloseFrame>(run_, crew_->scope()));
      default:
        if (!signal.thrown) signal = value_signal(0, "done");
        return Next::pop;
    }
  }

 private:
  const Statement& statement_;
  Scope* lexical_;
  std::optional<Crew> crew_;
  std::optional<Thrown> thrown_;
  int phase_ = 0;
};

}  // namespace model::reference
