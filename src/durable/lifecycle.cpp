// Pausing, resuming, killing, retrying and forking.
#include <string>
#include <utility>

#include "durable/hosted_task.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany {

using wal::RecordType;

// ---- Who waits for whom ----

// The task in whose step the code runs that is running, or a task of a scope that the step has
// opened. Null: outside of all steps.
const HostCore::HostedTask* HostCore::caller() const noexcept {
  const TaskRecord* code = scheduler_ != nullptr ? scheduler_->running() : nullptr;
  for (; code != nullptr && !steps_.empty(); code = code->scope()->owner()) {
    const auto found = steps_.find(code);
    if (found != steps_.end()) return found->second;
  }
  return nullptr;
}

// To stop `of`, with its children perhaps, is to stop `task`, too.
bool HostCore::covers(const HostedTask& of, bool with_children,
                      const HostedTask& task) const noexcept {
  if (&of == &task) return true;
  for (const HostedTask* each = &task; with_children && each != nullptr && !each->parent.nil();) {
    each = find(each->parent);
    if (each == &of) return true;
  }
  return false;
}

// To stop `of` waits for a step of `task`, perhaps through others that wait in their steps.
bool HostCore::waits_for(const HostedTask& of, bool with_children,
                         const HostedTask& task) const noexcept {
  if (covers(of, with_children, task)) return true;
  for (const Stopping& each : stopping_) {
    if (covers(of, with_children, *each.by) && waits_for(*each.of, each.with_children, task)) {
      return true;
    }
  }
  return false;
}

void HostCore::require_other(const HostedTask& task, bool with_children,
                             std::string_view what) const {
  const HostedTask* const from = caller();
  if (from == nullptr || !waits_for(task, with_children, *from)) return;
  throw Error(
      Errc::self_join,
      std::string(what) + " of task " + task.log.id.text() + " was called in a step of " +
          (from == &task ? "that task" : "task " + from->log.id.text()) +
          ", which would have to end first: the call would wait for itself. Call it outside "
          "of the step, or cancel the task, which does not wait.");
}

Task<void> HostCore::kill(Uuid id, std::string why) {
  detail::require_reason(why, "The reason for a kill");
  if (is_open() && find(id) == nullptr && archived(id)) co_return;
  HostedTask& task = entry(id, "Host::kill");
  const Held held(task);
  require_other(task, true, "Host::kill");
  const StoppingNow stopping(*this, task, true);
  co_await until_settled(&task);
  if (!task.log.ended) co_await shield(kill_now(&task, std::move(why)));
}

Task<void> HostCore::kill_now(HostedTask* task, std::string why) {
  const Changing changing(*task, changed_);
  const std::vector<Uuid> children = children_of(*task);
  co_await stop(*task);
  if (task->log.ended) co_return;
  // First, so that none is left when we die before the end is recorded.
  for (const Uuid& child : children) co_await cancel_child(child);
  std::string payload;
  records::End::abort(payload, "killed", why, {});
  co_await record(*task, RecordType::TaskAbort, payload);
  ended(*task, DurableStatus::cancelled, std::move(why));
}

Task<void> HostCore::pause(Uuid id) {
  HostedTask& task = entry(id, "Host::pause");
  const Held held(task);
  require_other(task, false, "Host::pause");
  const StoppingNow stopping(*this, task, false);
  co_await until_settled(&task);
  require_alive(task, "Host::pause");
  co_await shield(pause_now(&task));
}

Task<void> HostCore::pause_now(HostedTask* task) {
  const Changing changing(*task, changed_);
  co_await stop(*task);
  require_alive(*task, "Host::pause");  // it may have ended meanwhile
  co_await record(*task, RecordType::Command, records::Asked::pause());
  task->status = DurableStatus::paused;
  task->detail = "by an operator";
}

Task<void> HostCore::resume(Uuid id) {
  HostedTask& task = entry(id, "Host::resume");
  const Held held(task);
  co_await until_settled(&task);
  require_alive(task, "Host::resume");
  if (task.status == DurableStatus::running) co_return;
  require_type(task);
  co_await shield(resume_now(&task, records::Asked::resume()));
}

// Nobody else appends to its log meanwhile: what was appended before this record is on the disk
// when it is.
Task<void> HostCore::resume_now(HostedTask* task, std::string payload) {
  const Changing changing(*task, changed_);
  co_await stop(*task);
  co_await record(*task, RecordType::Command, std::move(payload));
  task->log.ended = false;
  task->unread = false;
  task->done.reset();
  if (options_.records_only) {
    task->status = DurableStatus::paused;
    co_return;
  }
  try {
    begin_again(*task);
  } catch (const Error& error) {  // what its log names may be damaged
    task->status = DurableStatus::quarantined;
    task->detail = error.what();
    throw;
  }
  store_->done_reading();
}

Task<void> HostCore::retry(Uuid id, std::string from) {
  detail::require_step_id(from);
  HostedTask& task = entry(id, "Host::retry");
  const Held held(task);
  co_await until_settled(&task);
  if (!task.log.ended || task.status == DurableStatus::completed) {
    throw Error(Errc::durable_misuse, "Only a task that failed can be retried; " + id.text() +
                                          " is " + std::string(name_of(task.status)) + ".");
  }
  require_way_back(task, from);
  co_await shield(resume_now(&task, records::Asked::retry(from)));
}

void HostCore::require_type(HostedTask& task) {
  if (options_.records_only || check_type(task)) return;
  throw Error(Errc::unknown_type,
              "Task " + task.log.id.text() + " cannot be resumed: " + task.detail + ".");
}

// Its code is here, and its log has that step.
void HostCore::require_way_back(HostedTask& task, const std::string& from) {
  const std::string& lost = task.log.quarantine.empty() ? task.log.doubt : task.log.quarantine;
  if (!lost.empty()) {
    throw Error(Errc::durable_stopped,
                "Task " + task.log.id.text() + " cannot go on from \"" + from +
                    "\": its log may have lost records, so that a step might "
                    "have its effect again. " +
                    lost);
  }
  require_type(task);
  if (has_command(task, from)) return;
  throw Error(Errc::unknown_durable,
              "Task " + task.log.id.text() + " has no step \"" + from + "\" in its log.");
}

Task<Uuid> HostCore::fork(Uuid id, std::string from) {
  detail::require_step_id(from);
  HostedTask& task = entry(id, "Host::fork");
  const Held held(task);
  co_await until_settled(&task);
  if (!task.log.ended) {
    throw Error(Errc::durable_misuse, "Only a task that has ended can be forked; " + id.text() +
                                          " is " + std::string(name_of(task.status)) + ".");
  }
  require_way_back(task, from);
  require_no_promise(task, from);
  co_return co_await shield(fork_now(&task, std::move(from)));
}

// Two tasks cannot wait for one promise: whoever keeps it knows it by its id.
void HostCore::require_no_promise(const HostedTask& task, const std::string& from) {
  std::vector<std::string> open;
  bool before = true;  // the step from which the fork goes on
  for (const std::string& line : store_->read(task.log)) {
    const wal::RecordView view = wal::view_of(line);
    const detail::Fields fields(view.payload);
    const std::string id = records::command_id(view, fields);
    before = before && id != from;
    if (before && view.type == RecordType::Command &&
        records::Asked::read(fields).op == "promise") {
      open.push_back(id);
    }
    if (view.type == RecordType::Approval) std::erase(open, records::Result::read(fields).of);
    if (view.type == RecordType::Checkpoint) open.clear();
  }
  if (open.empty()) return;
  throw Error(Errc::durable_misuse, "Task " + task.log.id.text() + " cannot be forked from \"" +
                                        from + "\", because its promise \"" + open.front() +
                                        "\" was asked for before and is not kept. Fork it from "
                                        "there.");
}

// The log of the one, as that of another, which is then retried. Until the record of that is there,
// it has not come to be.
Task<Uuid> HostCore::fork_now(HostedTask* task, std::string from) {
  const Changing not_now(*task, changed_);
  const std::string of = task->log.id.text();
  std::vector<std::string> lines = store_->read(task->log);
  const wal::RecordView view = wal::view_of(lines[0]);
  const records::Spawn begun = records::Spawn::read(detail::Fields(view.payload));
  const bool again = !begun.fork_of.empty();  // a fork of a fork is one of the first
  const std::string origin = again ? begun.fork_of : of;
  const Uuid id = new_id();
  HostedTask& made = add_entry(store_->add(id));
  const Changing changing(made, changed_);
  made.type = task->type;
  made.type_name = task->type_name;
  made.version = task->version;
  made.parent = task->parent;
  made.status = DurableStatus::paused;
  made.detail = "it is being forked";
  made.log.forked_at = task->log.last_seq + 1;
  const auto about = [&](std::uint64_t at) {
    return ",\"forked_at\":" + std::to_string(at) + ",\"fork_of\":\"" + origin + "\"";
  };
  for (std::string& line : lines) {
    const bool first = &line == &lines[0];
    const std::string from_whom = of + "\"" + (first && again ? about(task->log.forked_at) : "");
    const std::string to_whom = id.text() + "\"" + (first ? about(made.log.forked_at) : "");
    line.replace(line.find(from_whom), from_whom.size(), to_whom);
    store_->append_copy(made.log, line);
  }
  co_await resume_now(&made, records::Asked::retry(from));
  co_return id;
}

}  // namespace tiffany
