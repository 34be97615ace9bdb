// Updates as those outside send them: Host::update.
#include <memory>
#include <utility>

#include "base/thrown.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/messages.hpp"
#include "durable/records.hpp"
#include "durable/updates.hpp"
#include "durable/wait_graph.hpp"
#include "tiffany/core/cancel.hpp"

namespace tiffany {

using detail::KnownUpdate;
using detail::UpdatePtr;
using wal::RecordType;

namespace {

std::string task_text(const HostedTask& task) { return "Host::update: task " + task.log.id.text(); }

std::string answer_of(const KnownUpdate& update) {
  if (!update.failed) return update.answer;
  throw DurableFailed(update.answer, update.failure.type, update.failure.cause());
}

void require_same_update(const HostedTask& task, const KnownUpdate& known,
                         const std::string& hash) {
  if (known.hash == hash) return;
  throw Error(Errc::update_conflict, task_text(task) +
                                         " was asked for another update with the id " + known.id +
                                         ". Use another id for another update.");
}

// A validator looks at the variables of the code, which waits.
void require_valid(const HostedTask& task, const detail::UpdateHandler& handler,
                   const std::string& name, const std::string& request) {
  if (!handler.check) return;
  std::string why;
  try {
    return handler.check(request);
  } catch (...) {
    why = caught_sentence("its validator threw something that is no std::exception.");
  }
  throw Error(Errc::update_refused,
              task_text(task) + " refuses the update \"" + name + "\": " + why);
}

// What the log of a task that has ended says of an update. Null: it was not answered.
UpdatePtr answer_in_log(HostCore& host, const HostedTask& task, const std::string& id) {
  UpdatePtr known;
  std::string hash;
  for (const std::string& line : host.store->read(task.log)) {
    const wal::RecordView view = wal::view_of(line);
    const bool about_it = line.find(id) != std::string::npos;
    if (!about_it && view.type != RecordType::Checkpoint) continue;
    if (view.type != RecordType::Resumed && view.type != RecordType::Command &&
        view.type != RecordType::Checkpoint) {
      continue;
    }
    const detail::Fields fields(view.payload);
    if (view.type == RecordType::Checkpoint) {
      const records::Checkpoint checkpoint = records::Checkpoint::read(fields);
      known.reset();
      const auto value = [&](const std::string& json) {
        return json.empty() ? json : host.store->value_of(json);
      };
      for (const UpdatePtr& each : detail::Updates::waiting_in(value(checkpoint.updates))) {
        if (each->id == id) hash = each->hash;
      }
      for (const UpdatePtr& each : detail::Updates::answers_in(value(checkpoint.answers))) {
        if (each->id == id) known = each;
      }
    } else if (view.type == RecordType::Resumed) {
      const std::optional<records::Sent> sent = records::Sent::read(fields);
      if (sent && sent->what == records::Sent::What::update && sent->update == id) {
        hash = detail::Updates::hash_of_request(sent->name, host.store->value_of(sent->value));
      }
    } else if (fields.text("op") == "answer" && fields.text("id") == "update " + id) {
      records::Result result = records::Result::read(fields);
      known = std::make_shared<KnownUpdate>();
      known->id = id;
      known->answered = true;
      known->hash = hash;
      known->failed = result.failed;
      known->answer = result.failed ? result.value : host.store->value_of(result.value);
      known->failure = std::move(result.failure);
    }
  }
  return known;
}

}  // namespace

// A step would wait for a handler that waits for the step.
void Messages::require_other_task(const HostedTask& task, const detail::UpdateHandler& handler,
                                  const std::string& name) const {
  if (!handler.begin || host_.callers.now() != &task) return;
  throw Error(Errc::self_join, task_text(task) + " was asked for the update \"" + name +
                                   "\" in one of its own steps: its handler begins when the step "
                                   "has ended, and the step would wait for its answer.");
}

// Everything that is asked before the append holds until it: nothing suspends in here.
UpdatePtr Messages::accept_update(HostedTask& task, const std::string& name,
                                  const std::string& request, const std::string& id) {
  FlowState& flow = *task.flow;
  detail::Updates* const updates = flow.any_updates();
  const auto handler = updates != nullptr ? updates->handlers->find(name) : nullptr;
  if (handler == nullptr) {
    const bool gone = updates != nullptr && updates->handlers->had(name);
    throw Error(Errc::unknown_durable,
                task_text(task) + (gone ? " does not handle the update \"" : " has no update \"") +
                    name +
                    (gone ? "\" any more: its code has left the scope of the guard." : "\"."));
  }
  require_other_task(task, *handler, name);
  detail::require_readable(*handler->request, request, "The request",
                           "is not what the update \"" + name + "\" takes");
  host_.interceptors.update(task, name, request, id);
  require_valid(task, *handler, name, request);
  if (updates->unanswered() >= kMostWaitingUpdates) {
    throw Error(Errc::too_many_updates, task_text(task) + " has " +
                                            std::to_string(kMostWaitingUpdates) +
                                            " updates that wait for an answer. Ask again later.");
  }
  return updates->send(id, name, request);
}

// Crash case: the caller hears an answer that is on the disk. One who does not may ask again with
// the same id: in the same host, in the next, and when the task has ended.
Task<std::string> Messages::update(Uuid task_id, std::string name, std::string request, Uuid id) {
  detail::require_name(name, "The name of an update");
  request = detail::recordable(request, "The request of an update");
  HostedTask& task = host_.require_task(task_id, "Host::update");
  const Held held(task);
  const std::string hash = detail::Updates::hash_of_request(name, request);
  const std::string id_text = (id.nil() ? host_.new_id() : id).text();
  UpdatePtr known;
  for (;;) {
    co_await until_code(&task, true);
    if (task.log.ended) {
      // Of one that waited until the end it is known without a look.
      if (known == nullptr) known = answer_in_log(host_, task, id_text);
      if (known == nullptr || !known->answered) host_.require_alive(task, "Host::update");
      require_same_update(task, *known, hash);
      co_return answer_of(*known);
    }
    if (task.broken != nullptr) std::rethrow_exception(task.broken);
    host_.require_alive(task, "Host::update");
    if (task.status > DurableStatus::queued) {
      throw Error(Errc::durable_stopped,
                  task_text(task) + " is " + std::string(name_of(task.status)) +
                      ", and answers no update until it goes on: " + task.detail + ".");
    }
    const detail::Updates* const updates = task.flow->any_updates();
    known = updates != nullptr ? updates->find(id_text) : nullptr;
    if (known == nullptr) {
      known = accept_update(task, name, request, id_text);
    } else {
      require_same_update(task, *known, hash);
      const auto handler = updates->handlers->find(name);
      if (handler != nullptr && !known->answered) require_other_task(task, *handler, name);
    }
    co_await UpdateWait(task, known);
    if (known->error != nullptr) std::rethrow_exception(known->error);
    if (known->on_disk) co_return answer_of(*known);
    // The code of the task is gone: evicted, paused, or ended.
  }
}

}  // namespace tiffany
