// Walks over everything that a scheduler knows; dump_text.cpp and dump_json.cpp write it down.
#include "tiffany/core/dump.hpp"

#include <algorithm>
#include <map>
#include <typeindex>
#include <unordered_map>

#include "tiffany/base/hex.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/spawn_chain.hpp"

namespace tiffany {
namespace {

// Names of calls by the type of the object. Only looked up, never walked over: the order of a hash
// table decides nothing.
class CallNames {
 public:
  CallNames() {
    for (const CallKind* kind = CallKind::first(); kind != nullptr; kind = kind->next()) {
      names_.emplace(kind->type(), kind->name().name);
    }
  }
  // Unknown is only what is asked for before main().
  std::string_view of(const SystemCall& call) const {
    const auto found = names_.find(typeid(call));
    return found != names_.end() ? found->second : "a call";
  }

 private:
  std::unordered_map<std::type_index, std::string_view> names_;
};

}  // namespace

std::string ScopeName::text() const {
  return owner ? owner.text() + "/" + std::to_string(depth) : "root";
}

std::size_t SchedulerView::live() const noexcept {
  return ready() + in(TaskState::running) + in(TaskState::blocked);
}

std::size_t SchedulerView::ready() const noexcept {
  return in(TaskState::pending) + in(TaskState::ready) + in(TaskState::suspended) +
         in(TaskState::preempted);
}

std::string SchedulerView::trace_text() const {
  std::string out;
  append_hex(out, trace_hash, 16);
  return out;
}

void Scheduler::dump(DumpVisitor& visitor) const {
  count_steps();
  const CallNames calls;
  SchedulerView all;
  std::map<std::string_view, std::size_t> blocked;
  // Looked up only, as above. What is not in it is the root scope.
  std::unordered_map<const Scope*, ScopeName> names;
  std::vector<const Scope*> scopes;
  for_each_task([&](TaskRecord& task) {
    ++all.tasks[static_cast<std::size_t>(task.state())];
    if (task.waiting_on_ != nullptr) ++blocked[calls.of(*task.waiting_on_)];
    const std::size_t before = scopes.size();
    for (const CancelRegion* at = task.region_; at != nullptr; at = at->outer()) {
      if (at->scope() != nullptr) scopes.push_back(at->scope());
    }
    std::reverse(scopes.begin() + static_cast<std::ptrdiff_t>(before), scopes.end());
    for (std::size_t i = before; i < scopes.size(); ++i) {
      names[scopes[i]] = ScopeName{task.id_, i - before + 1};
    }
  });
  all.now = now_;
  all.blocked.assign(blocked.begin(), blocked.end());
  all.timers = timers_.size();
  all.externals = pending_externals_;
  all.slices = slices();
  const Counters counted = counters();
  all.completed = counted.completed;
  all.failed = counted.failed;
  all.cancelled = counted.cancelled;
  all.spawned = counted.admitted;
  all.trace_hash = trace_;
  visitor.on_scheduler(all);

  const auto show_scope = [&](const Scope& scope, ScopeName parent) {
    ScopeView view;
    view.name = names[&scope];
    view.parent = parent;
    view.tasks = scope.live_;
    if (scope.deadline_.armed()) view.deadline = scope.deadline_.deadline();
    view.cancel = scope.reason_;
    visitor.on_scope(view);
  };
  show_scope(root_, ScopeName());
  for (const Scope* scope : scopes) {
    const ScopeName name = names[scope];
    const bool outermost = name.depth == 1;
    show_scope(*scope, outermost ? names[scope->region_->task().scope_]
                                 : ScopeName{name.owner, name.depth - 1});
  }

  AwaitStack stack;
  SpawnChain spawned;
  for_each_task([&](TaskRecord& task) {
    stack.clear();
    // What a running task has noted is where it was suspended last.
    if (task.state() != TaskState::running) task.visit_frames(stack);
    spawned.trace(*this, task);
    TaskView view{task, {}, {}, {}, stack, spawned, names[task.scope_], nullptr};
    if (const SystemCall* call = task.waiting_on_) {
      view.call = calls.of(*call);
      view.waits_for = call->describe();
      view.since = call->since();
    }
    if (const CancelReasonPtr* reason = CancelRegion::effective_reason(task)) {
      view.cancel = *reason;
    } else if (const CancelReasonPtr hidden = task.cancel_reason()) {
      view.cancel = hidden;
      view.shielded = true;
    }
    visitor.on_task(view);
  });
}

}  // namespace tiffany
