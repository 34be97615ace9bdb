// The dump for programs. Its members are described in docs/09-explaining-itself.md.
#include <string>

#include "tiffany/base/json.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"
#include "tiffany/core/spawn_chain.hpp"

namespace tiffany {
namespace {

class JsonDump final : public DumpVisitor {
 public:
  explicit JsonDump(std::string& out) : json_(out) { json_.begin_object(); }

  void on_scheduler(const SchedulerView& all) override {
    time("now_ns", all.now);
    json_.member("live", all.live());
    json_.member("ready", all.ready());
    json_.key("states");
    json_.begin_object();
    for (std::size_t i = 0; i < all.tasks.size(); ++i) {
      if (all.tasks[i] > 0) json_.member(name_of(static_cast<TaskState>(i)), all.tasks[i]);
    }
    json_.end_object();
    json_.key("blocked");
    json_.begin_object();
    for (const auto& [call, tasks] : all.blocked) json_.member(call, tasks);
    json_.end_object();
    json_.member("timers", all.timers);
    json_.member("externals", all.externals);
    json_.member("slices", all.slices);
    json_.member("spawned", all.spawned);
    json_.member("completed", all.completed);
    json_.member("failed", all.failed);
    json_.member("cancelled", all.cancelled);
    json_.member("trace_hash", all.trace_text());
    list("scopes");
  }
  void on_scope(const ScopeView& scope) override {
    json_.line_break();
    json_.begin_object();
    json_.member("name", scope.name.text());
    if (scope.name.owner) {
      json_.member("owner", scope.name.owner.text());
      json_.member("parent", scope.parent.text());
    }
    json_.member("tasks", scope.tasks);
    if (scope.deadline) time("deadline_ns", *scope.deadline);
    if (scope.cancel != nullptr) cancel(*scope.cancel, false);
    json_.end_object();
  }
  void on_task(const TaskView& view) override {
    begin_tasks();
    json_.line_break();
    json_.begin_object();
    json_.member("id", view.task.id().text());
    if (!view.task.name().empty()) json_.member("name", view.task.name());
    json_.member("state", name_of(view.task.state()));
    if (view.since) {
      json_.member("call", view.call);
      json_.member("waits_for", view.waits_for);
      time("since_ns", *view.since);
    }
    stack(view.stack);
    spawned(view.spawned);
    json_.member("scope", view.scope.text());
    json_.member("priority", view.task.priority());
    json_.member("steps", view.task.recorded_steps());
    if (view.cancel != nullptr) cancel(*view.cancel, view.shielded);
    json_.end_object();
  }
  void finish() {
    begin_tasks();
    json_.line_break();
    json_.end_array();
    json_.end_object();
  }

 private:
  void list(const char* name) {
    json_.line_break();
    json_.key(name);
    json_.begin_array();
  }
  void begin_tasks() {
    if (in_tasks_) return;
    in_tasks_ = true;
    json_.line_break();
    json_.end_array();
    list("tasks");
  }
  void time(const char* name, Time when) { json_.member(name, when.time_since_epoch().count()); }
  void site(const std::source_location& where) {
    json_.member("file", file_text(where));
    if (!in_library(where)) json_.member("line", where.line());
  }
  void stack(const AwaitStack& frames) {
    json_.key("stack");
    json_.begin_array();
    for (const std::source_location& frame : frames.sites()) {
      json_.begin_object();
      site(frame);
      if (const auto function = function_text(frame); !function.empty()) {
        json_.member("function", function);
      }
      json_.end_object();
    }
    json_.end_array();
    if (frames.hidden() > 0) json_.member("frames_hidden", frames.hidden());
  }
  void spawned(const SpawnChain& chain) {
    json_.key("spawned");
    json_.begin_array();
    for (const SpawnStep& step : chain.steps()) {
      json_.begin_object();
      site(step.site);
      if (step.by) json_.member("by", step.by.text());
      json_.end_object();
    }
    json_.end_array();
  }
  void cancel(const CancelReason& reason, bool shielded) {
    json_.key("cancel");
    json_.begin_object();
    json_.member("cause", name_of(reason.cause));
    if (!reason.message.empty()) json_.member("message", reason.message);
    if (reason.requester) json_.member("by", reason.requester.text());
    site(reason.site);
    time("time_ns", reason.time);
    if (shielded) json_.member("shielded", true);
    json_.end_object();
  }

  JsonWriter json_;
  bool in_tasks_ = false;
};

}  // namespace

std::string Scheduler::dump_json() const {
  std::string out;
  JsonDump dump(out);
  this->dump(dump);
  dump.finish();
  return out;
}

}  // namespace tiffany
