// Steps that go on behind the statement that began them: Flow::begin_step.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/teardown.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/steps.hpp"

namespace tiffany {

using wal::Level;

detail::Slot* Steps::issue_kept(std::string_view name, std::unique_ptr<detail::KeptStep> code,
                                const detail::ValueType& type, const std::source_location& site) {
  detail::KeptStep& step = *code;
  return ask(name, step.options, step, std::move(code), &type, site);
}

// That the step begins is recorded here and not by its runner: the code goes on at once, and what
// the code asks for next must come later in the log.
void Steps::begin_behind(StepSlot& step) {
  const bool first = step.options->effect == StepEffect::at_most_once || back_;
  if (!first && !step.code->suspends()) return run_here(step);
  if (first) step.start = std::make_unique<wal::Synced>();
  record_start(step, &step.site, first ? Level::sync : Level::lazy, step.start.get());
  begin_runner(step);
}

// Waits until no step works behind the code. Nothing takes this wait back: the steps refer to the
// state of the task.
class Steps::Join final : public SystemCall {
 public:
  using value_type = void;
  static constexpr CallName call_name{"join_steps"};
  explicit Join(Steps& steps) noexcept : steps_(steps) {}
  Answer start(Scheduler&, TaskRecord& task) noexcept {
    if (!steps_.any_behind()) return Answer::now;
    steps_.behind_->join = this;
    task_ = &task;
    return Answer::parked;
  }
  void withdraw(TaskRecord&) noexcept override { steps_.behind_->join = nullptr; }
  bool take_back(TaskRecord&) noexcept override { return false; }
  void finish() const noexcept {}
  std::string describe() const override { return "steps that were begun to end"; }
  bool waits_for_outside() const noexcept override { return true; }
  void all_ended() noexcept { wake(*task_); }

 private:
  Steps& steps_;
  TaskRecord* task_ = nullptr;
};

void Steps::runner_ended(StepSlot& step) noexcept {
  step.running = false;
  if (step.kept == nullptr) {
    busy_ = nullptr;
    flow_.waits.step_ended();
    return;
  }
  std::erase(behind_->steps, &step);
  if (any_behind() || behind_->join == nullptr) return;
  std::exchange(behind_->join, nullptr)->all_ended();
}

void Steps::drop_by_force(StepSlot& step) noexcept {
  TaskRecord* const runner = flow_.host.scheduler->find(step.runner.id());
  if (runner != nullptr && !runner->settled()) {
    detail::Teardown(*flow_.host.scheduler).drop_by_force(*runner);
  }
  if (step.running) runner_ended(step);  // it had not begun
}

void Steps::drop_behind_by_force() noexcept {
  while (any_behind()) drop_by_force(*behind_->steps.back());
}

// A runner that has not begun yet never does.
Task<void> Steps::end_behind() {
  const std::vector<StepSlot*> all = behind_->steps;
  for (StepSlot* step : all) {
    step->runner.cancel("its task has ended, or is being stopped");
    if (!step->entered) runner_ended(*step);
  }
  co_await Join(*this);
}

}  // namespace tiffany
