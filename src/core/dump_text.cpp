// The dump for readers. tools/gdb/tiffany_gdb.py writes the same lines, but for what a call says of
// itself (`waits for`).
#include <string>

#include "tiffany/base/time_text.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/spawn_chain.hpp"

namespace tiffany {
namespace {

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

class TextDump final : public DumpVisitor {
 public:
  std::string text;

  void on_scheduler(const SchedulerView& all) override {
    now_ = all.now;
    text += "Scheduler at " + time_text(all.now) + ": " + counted(all.live(), "task");
    const char* separator = " (";
    for (std::size_t i = 0; i < all.tasks.size(); ++i) {
      if (all.tasks[i] == 0) continue;
      text += separator + std::to_string(all.tasks[i]) + " " + name_of(static_cast<TaskState>(i));
      separator = ", ";
    }
    if (all.live() > 0) text += ")";
    separator = "\n  blocked in ";
    for (const auto& [call, tasks] : all.blocked) {
      text += separator + std::string(call) + ": " + std::to_string(tasks);
      separator = ", ";
    }
    text += "\n  " + counted(all.timers, "timer") + " armed, " +
            counted(all.externals, "external promise") + " pending, " +
            counted(all.slices, "slice") + "\n  spawned " + std::to_string(all.spawned) +
            ", completed " + std::to_string(all.completed) + ", failed " +
            std::to_string(all.failed) + ", cancelled " + std::to_string(all.cancelled) +
            "\n  trace hash " + all.trace_text() + "\n";
  }
  void on_scope(const ScopeView& scope) override {
    text += "scope " + scope.name.text() + ": " + counted(scope.tasks, "task");
    if (scope.name.owner) text += ", inside " + scope.parent.text();
    if (scope.deadline) text += ", deadline " + time_text(*scope.deadline);
    if (scope.cancel != nullptr) append_cancel(*scope.cancel);
    text += "\n";
  }
  void on_task(const TaskView& view) override {
    text += view.task.describe() + ": " + name_of(view.task.state());
    if (view.since) append_wait(view);
    append_stack(text, view.stack);
    append_spawns(text, view.spawned.steps());
    text += "\n      in scope " + view.scope.text() + ", priority " +
            std::to_string(view.task.priority()) + ", " +
            counted(view.task.recorded_steps(), "step");
    if (view.cancel != nullptr) {
      append_cancel(*view.cancel);
      if (view.shielded) text += ", held back by a shield";
    }
    text += "\n";
  }

 private:
  void append_wait(const TaskView& view) {
    text += " in " + std::string(view.call) + " for " + duration_text(now_ - *view.since) +
            ", since " + time_text(*view.since) + "\n      waits for " + view.waits_for;
  }
  void append_cancel(const CancelReason& reason) {
    text += "\n      " + reason.text() + ", asked at " + time_text(reason.time);
  }

  Time now_;
};

}  // namespace

std::string Scheduler::dump_text() const {
  TextDump dump;
  this->dump(dump);
  return std::move(dump.text);
}

}  // namespace tiffany
