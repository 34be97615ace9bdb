#include "durable/lifecycle.hpp"

#include <utility>
#include <vector>

#include "durable/code_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany {

using wal::RecordType;

Task<void> Lifecycle::kill(Uuid id, std::string why, Actor actor) {
  detail::require_actor(actor);
  detail::require_reason(why, "The reason for a kill");
  if (host_.is_open() && host_.tasks.find(id) == nullptr && host_.results.archived(id)) co_return;
  HostedTask& task = host_.require_task(id, "Host::kill");
  const Held held(task);
  host_.callers.require_other(task, true, "Host::kill");
  const StepCallers::Waiting waiting(host_.callers, task, true);
  co_await host_.until_settled(&task);
  if (!task.log.ended) co_await shield(kill_now(&task, std::move(why), std::move(actor)));
}

// Shielded: a caller that is cancelled leaves no task without an end whose code is gone.
Task<void> Lifecycle::kill_now(HostedTask* task, std::string why, Actor actor) {
  const Changing changing(*task, host_.changed);
  host_.admission.withdraw(*task);
  const std::vector<ChildAtEnd> children = host_.children.of(*task);
  co_await host_.runs.stop(*task);
  if (task->log.ended) co_return;
  // First, so that none is left when we die before the end is recorded.
  for (const ChildAtEnd& child : children) co_await host_.children.end(child);
  std::string payload;
  records::End::abort(payload, "killed", why, {});
  payload += records::members_of(actor);
  co_await host_.record(*task, RecordType::TaskAbort, payload);
  host_.runs.ended(*task, DurableStatus::cancelled, std::move(why));
}

Task<void> Lifecycle::pause(Uuid id, Actor actor) {
  detail::require_actor(actor);
  HostedTask& task = host_.require_task(id, "Host::pause");
  const Held held(task);
  host_.callers.require_other(task, false, "Host::pause");
  const StepCallers::Waiting waiting(host_.callers, task, false);
  co_await host_.until_settled(&task);
  host_.require_alive(task, "Host::pause");
  co_await shield(pause_now(&task, records::Asked::pause(actor)));
}

// Crash case: the code is stopped first. If the process dies before the record is written, the task
// goes on in the next one: a pause that was not answered did not happen.
Task<void> Lifecycle::pause_now(HostedTask* task, std::string payload) {
  const Changing changing(*task, host_.changed);
  host_.admission.withdraw(*task);
  co_await host_.runs.stop(*task);
  host_.require_alive(*task, "Host::pause");  // it may have ended meanwhile
  co_await host_.record(*task, RecordType::Command, std::move(payload));
  host_.admission.release(*task);
  task->status = DurableStatus::paused;
  task->detail = "by an operator";
}

Task<void> Lifecycle::resume(Uuid id, Actor actor) {
  detail::require_actor(actor);
  HostedTask& task = host_.require_task(id, "Host::resume");
  const Held held(task);
  co_await host_.until_settled(&task);
  host_.require_alive(task, "Host::resume");
  if (task.status <= DurableStatus::queued) co_return;
  require_type(task);
  co_await shield(resume_now(&task, records::Asked::resume(actor)));
}

// Nobody else appends to its log meanwhile: what was appended before this record is on the disk
// when it is.
Task<void> Lifecycle::resume_now(HostedTask* task, std::string payload) {
  const Changing changing(*task, host_.changed);
  co_await host_.runs.stop(*task);
  co_await host_.record(*task, RecordType::Command, std::move(payload));
  // The record is on the disk. What follows changes memory only.
  task->log.ended = false;
  task->unread = false;
  task->failure.reset();
  task->done.reset();
  if (host_.options.records_only) {
    task->status = DurableStatus::paused;
    co_return;
  }
  try {
    host_.admission.begin_again(*task);
  } catch (const Error& error) {  // what its log names may be damaged
    host_.runs.quarantine(*task, error.what());
    throw;
  }
  host_.store->done_reading();
}

Task<void> Lifecycle::retry(Uuid id, std::string from, Actor actor) {
  detail::require_actor(actor);
  detail::require_step_id(from);
  HostedTask& task = host_.require_task(id, "Host::retry");
  const Held held(task);
  co_await host_.until_settled(&task);
  if (!task.log.ended || task.status == DurableStatus::completed) {
    throw Error(Errc::durable_misuse, "Only a task that failed can be retried; " + id.text() +
                                          " is " + std::string(name_of(task.status)) + ".");
  }
  require_way_back(task, from);
  co_await shield(resume_now(&task, records::Asked::retry(from, actor)));
}

void Lifecycle::require_type(HostedTask& task) {
  if (host_.options.records_only || host_.check_type(task)) return;
  throw Error(Errc::unknown_type,
              "Task " + task.log.id.text() + " cannot be resumed: " + task.detail + ".");
}

// Its code is here, and its log has that step.
void Lifecycle::require_way_back(HostedTask& task, const std::string& from) {
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

Task<Uuid> Lifecycle::fork(Uuid id, std::string from, Actor actor) {
  detail::require_actor(actor);
  detail::require_step_id(from);
  HostedTask& task = host_.require_task(id, "Host::fork");
  const Held held(task);
  co_await host_.until_settled(&task);
  if (host_.callers.now() == &task) {
    throw Error(Errc::durable_misuse, "Task " + id.text() +
                                          " cannot be forked by a step of its own: the fork would "
                                          "do that, too, and so on.");
  }
  require_way_back(task, from);
  require_nothing_open(task, from);
  co_return co_await shield(fork_now(&task, std::move(from), std::move(actor)));
}

// Two tasks cannot wait for one promise: whoever keeps it knows it by its id. What a task that goes
// on waits for is told to that task: a child, and a step that is under way, which the other would
// take for one that was cut off.
void Lifecycle::require_nothing_open(const HostedTask& task, const std::string& from) {
  struct Open {
    std::string id;
    std::string about;
  };
  std::vector<Open> open;
  const auto opens = [&open](const std::string& id, const char* kind, const char* how) {
    std::erase_if(open, [&](const Open& each) { return each.id == id; });
    open.push_back({id, std::string(kind) + " \"" + id + "\" was " + how});
  };
  const bool goes_on = !task.log.ended;
  bool before = true;  // the step from which the fork goes on
  for (const std::string& line : host_.store->read(task.log)) {
    const wal::RecordView view = wal::view_of(line);
    const detail::Fields fields(view.payload);
    const std::string id = records::command_id(view, fields);
    before = before && id != from;
    if (before && view.type == RecordType::Command) {
      const std::string op = records::Asked::read(fields).op;
      if (op == "promise") opens(id, "promise", "asked for before and is not kept");
      if (op == "spawn" && goes_on) opens(id, "child", "started before and has not ended");
    } else if (before && view.type == RecordType::StepStart && goes_on) {
      opens(id, "step", "begun before and has not ended");
    } else if (view.type == RecordType::Checkpoint) {
      open.clear();
    } else if (view.type != RecordType::Command && view.type != RecordType::StepStart) {
      const std::string ended = records::Result::read(fields).of;
      std::erase_if(open, [&](const Open& each) { return each.id == ended; });
    }
  }
  if (open.empty()) return;
  throw Error(Errc::durable_misuse, "Task " + task.log.id.text() + " cannot be forked from \"" +
                                        from + "\", because its " + open.front().about +
                                        ". Fork it from there.");
}

// The log of the one, as that of another, which is then retried. Until the record of that is there,
// it has not come to be.
Task<Uuid> Lifecycle::fork_now(HostedTask* task, std::string from, Actor actor) {
  const Changing not_now(*task, host_.changed);
  const std::string of = task->log.id.text();
  std::vector<std::string> lines = host_.store->read(task->log);
  const wal::RecordView view = wal::view_of(lines[0]);
  const records::Spawn begun = records::Spawn::read(detail::Fields(view.payload));
  const bool again = !begun.fork_of.empty();  // a fork of a fork is one of the first
  const std::string origin = again ? begun.fork_of : of;
  const std::uint64_t forked_at = wal::view_of(lines.back()).seq + 1;
  std::vector<detail::PastTask> past;
  if (!begun.past.empty()) {
    past = from_json<std::vector<detail::PastTask>>(begun.past);
  } else if (again) {
    past.push_back({Uuid::parse(origin).value_or(Uuid()), task->log.forked_at});
  }
  past.push_back({task->log.id, forked_at});
  const Uuid id = host_.new_id();
  HostedTask& made = host_.tasks.add(host_.store->add(id));
  const Changing changing(made, host_.changed);
  made.type = task->type;
  made.named = task->named;
  made.began = host_.store->clock().now();
  made.version = task->version;
  made.parent = task->parent;
  host_.starts.mark(made, begun);
  if (made.marks != nullptr) made.marks->until = 0;  // a fork has no timeout
  made.status = DurableStatus::paused;
  made.detail = "it is being forked";
  made.log.forked_at = forked_at;
  const auto about = [&](std::uint64_t at, const std::string& from_whom) {
    return ",\"forked_at\":" + std::to_string(at) + ",\"fork_of\":\"" + origin + "\"" +
           (from_whom.empty() ? "" : ",\"past\":" + from_whom);
  };
  for (std::string& line : lines) {
    const bool first = &line == &lines[0];
    const std::string from_whom =
        of + "\"" + (first && again ? about(task->log.forked_at, begun.past) : "");
    const std::string to_whom = id.text() + "\"" + (first ? about(forked_at, to_json(past)) : "");
    line.replace(line.find(from_whom), from_whom.size(), to_whom);
    host_.store->append_copy(made.log, line);
  }
  co_await resume_now(&made, records::Asked::retry(from, actor));
  co_return id;
}

// Line by line: the log of a task may be longer than memory should hold for a question.
bool Lifecycle::has_command(const HostedTask& entry, std::string_view id) {
  bool has = false;
  for (std::size_t i = 1; i < host_.store->count(entry.log) && !has; ++i) {
    const std::string line = host_.store->read_one(entry.log, i, false);
    const wal::RecordView view = wal::view_of(line);
    const detail::Fields fields(view.payload);
    has = records::command_id(view, fields) == id;
  }
  return has;
}

}  // namespace tiffany
