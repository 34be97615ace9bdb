#include "durable/messages.hpp"

#include <memory>
#include <utility>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"

namespace tiffany {

using wal::RecordType;

// A cancel of a task that has ended is no error: the caller cannot know.
Task<void> Messages::cancel(Uuid id, std::string why, Actor actor) {
  detail::require_actor(actor);
  detail::require_reason(why, "The reason for a cancel");
  if (host_.is_open() && host_.tasks.find(id) == nullptr && host_.results.archived(id)) co_return;
  HostedTask& task = host_.require_task(id, "Host::cancel");
  const Held held(task);
  if (!task.log.ended) {
    co_await send(&task, false, std::move(why), std::string(), std::move(actor));
  }
}

// A plain call: the code of the task waits meanwhile, and what the answer looks at does not change.
std::string Messages::query(Uuid id, std::string_view name) {
  HostedTask& task = host_.require_task(id, "Host::query");
  if (task.asleep()) {
    throw Error(Errc::durable_misuse, "Host::query: the code of task " + id.text() +
                                          " is not in memory, and a plain call cannot bring it "
                                          "back. Use co_await Host::ask.");
  }
  const detail::Queries* const all = task.flow != nullptr ? task.flow->code.answers() : nullptr;
  if (all != nullptr) {
    if (const auto* const answer = all->find(name)) return (*answer)();
  }
  const bool gone = all != nullptr && all->had(name);
  throw Error(Errc::unknown_durable,
              "Task " + id.text() +
                  (gone ? " does not answer the query \"" : " answers no query \"") +
                  std::string(name) +
                  (gone ? "\" any more: its code has left the scope of the guard." : "\"."));
}

Task<std::string> Messages::ask(Uuid id, std::string name) {
  HostedTask& task = host_.require_task(id, "Host::ask");
  const Held held(task);
  co_await until_code(&task, false);
  co_return query(id, name);
}

// All is asked again after each wait: the task may have been evicted or paused once more.
Task<void> Messages::until_code(HostedTask* task, bool also_queued) {
  for (;;) {
    co_await host_.until_settled(task);
    const bool here = task->flow != nullptr;
    if (here && task->flow->waits.live()) co_return;
    const bool goes_on = task->status <= DurableStatus::queued && task->broken == nullptr;
    if (!here && (!also_queued || !goes_on || task->log.ended)) co_return;
    host_.changed.reset();
    co_await host_.changed.wait();
  }
}

Task<void> Messages::signal(Uuid id, std::string name, std::string value, Actor actor) {
  detail::require_actor(actor);
  detail::require_name(name, "The name of a signal");
  value = detail::recordable(value, "The value of a signal");
  HostedTask& task = host_.require_task(id, "Host::signal");
  const Held held(task);
  host_.require_alive(task, "Host::signal");
  host_.interceptors.signal(task, name, value);
  co_await send(&task, true, std::move(name), std::move(value), std::move(actor));
}

// To the task, if its code is here; or else to its log.
Task<void> Messages::send(HostedTask* task, bool signal, std::string name, std::string value,
                          Actor actor) {
  // Crash case: a pause or a kill that is under way decides first where the record goes. Between
  // the two, a signal would be in the log and not in the code, or the reverse.
  co_await host_.until_settled(task);
  if (signal) host_.require_alive(*task, "Host::signal");
  if (task->log.ended) co_return;
  if (task->flow != nullptr) {
    using Kind = detail::Arrival::Kind;
    const auto mail = task->flow->signals.send(signal ? Kind::signal : Kind::cancel,
                                               std::move(name), std::move(value), actor);
    co_await mail->event.wait();
    if (mail->error != nullptr) std::rethrow_exception(mail->error);
    co_return;
  }
  const Changing changing(*task, host_.changed);
  if (signal) host_.require_codec_of(*task, "Host::signal");
  std::string payload;
  records::Sent::write(payload, *host_.store, signal, name, value);
  payload += records::members_of(actor);
  co_await host_.record(*task, RecordType::Resumed, payload);
  if (!signal) host_.admission.let_in(*task);
}

}  // namespace tiffany
