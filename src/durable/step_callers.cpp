#include "durable/step_callers.hpp"

#include <string>

#include "durable/host_core.hpp"

namespace tiffany {

StepCallers::Waiting::Waiting(StepCallers& all, const HostedTask& of, bool with_children)
    : all_(all), of_(of), by_(all.now()) {
  if (by_ != nullptr) all_.stopping_.push_back({by_, &of, with_children});
}
StepCallers::Waiting::~Waiting() {
  if (by_ == nullptr) return;
  for (auto each = all_.stopping_.begin(); each != all_.stopping_.end(); ++each) {
    if (each->of != &of_ || each->by != by_) continue;
    all_.stopping_.erase(each);
    return;
  }
}

const HostedTask* StepCallers::now() const noexcept {
  const TaskRecord* code = host_.scheduler != nullptr ? host_.scheduler->running() : nullptr;
  for (; code != nullptr && !steps_.empty(); code = code->scope()->owner()) {
    const auto found = steps_.find(code);
    if (found != steps_.end()) return found->second;
  }
  return nullptr;
}

// To stop `of`, with its children perhaps, is to stop `task`, too.
bool StepCallers::covers(const HostedTask& of, bool with_children,
                         const HostedTask& task) const noexcept {
  if (&of == &task) return true;
  for (const HostedTask* each = &task; with_children && each != nullptr && !each->parent.nil();) {
    each = host_.tasks.find(each->parent);
    if (each == &of) return true;
  }
  return false;
}

// To stop `of` waits for a step of `task`, perhaps through others that wait in their steps.
bool StepCallers::waits_for(const HostedTask& of, bool with_children,
                            const HostedTask& task) const noexcept {
  if (covers(of, with_children, task)) return true;
  for (const Stopping& each : stopping_) {
    if (covers(of, with_children, *each.by) && waits_for(*each.of, each.with_children, task)) {
      return true;
    }
  }
  return false;
}

void StepCallers::require_other(const HostedTask& task, bool with_children,
                                std::string_view what) const {
  const HostedTask* const from = now();
  if (from == nullptr || !waits_for(task, with_children, *from)) return;
  throw Error(
      Errc::self_join,
      std::string(what) + " of task " + task.log.id.text() + " was called in a step of " +
          (from == &task ? "that task" : "task " + from->log.id.text()) +
          ", which would have to end first: the call would wait for itself. Call it outside "
          "of the step, or cancel the task, which does not wait.");
}

}  // namespace tiffany
