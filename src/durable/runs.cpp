#include "durable/runs.hpp"

#include <coroutine>
#include <memory>
#include <utility>

#include "base/thrown.hpp"
#include "durable/effects.hpp"
#include "durable/excerpt.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "durable/updates.hpp"
#include "tiffany/base/assert.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany {

using wal::Level;
using wal::RecordType;

// Lets the task of a host await the code of a durable one. False: the code has ended at a
// checkpoint. True: HostedTask::flow knows how it ended. Both are caught here and not in the frame
// of Runs::run, which is as small as it can be: most tasks wait in their code for long.
class Runs::AwaitCode {
 public:
  AwaitCode(const detail::DurableCode& code, HostedTask& entry) noexcept
      : code_(code), entry_(entry) {}
  AwaitCode call_from_task() const noexcept { return *this; }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) const noexcept {
    entry_.flow->code.caller = caller.address();
    Frame::at(code_.frame()).caller = caller.address();
    Scheduler::Trampoline::next = code_.frame();
  }
  bool await_resume() const {
    FlowState& flow = *entry_.flow;
    if (flow.code.at_checkpoint) return false;
    auto end = std::make_unique<detail::CodeEnd>();
    try {
      std::exception_ptr& flying = Scheduler::current()->flying();
      if (flying != nullptr) std::rethrow_exception(std::exchange(flying, nullptr));
      end->result = code_.take();
      detail::make_recordable(end->result, "The result of the task");
    } catch (const DurableCancelled& e) {
      end->status = DurableStatus::cancelled;
      end->result = e.what();
    } catch (const Cancelled&) {
      if (!flow.steps.any_behind()) throw;
      end->stopped = true;
    } catch (...) {
      end->status = DurableStatus::failed;
      detail::FailedAttempt failed = detail::failed_attempt(std::current_exception());
      end->result = std::move(failed.sentence);
      entry_.failure = std::move(failed.failure);
    }
    flow.code.seldom().end = std::move(end);
    return true;
  }

 private:
  const detail::DurableCode& code_;
  HostedTask& entry_;
};

void Runs::begin(HostedTask& entry, std::string arguments, std::int64_t time) {
  entry.flow = std::make_unique<FlowState>(host_, entry.log, *entry.type);
  entry.flow->code.arguments = std::move(arguments);
  entry.flow->code.now = time;
  start(entry);
}

// The log is read before the table knows of the flow: a log that cannot be read changes nothing.
void Runs::begin_again(HostedTask& entry) {
  auto flow = std::make_unique<FlowState>(host_, entry.log, *entry.type);
  flow->load(host_.store->read(entry.log));
  entry.flow = std::move(flow);
  start(entry);
}

// The host is kept by what the task was spawned with, which has no size but that of its argument:
// so it is in the record of the task.
struct Runs::RunKept {
  Task<void> operator()(const std::shared_ptr<HostedTask>& entry) const { return run(entry.get()); }
};

void Runs::start(HostedTask& entry) {
  if (host_.closing) {  // the next host goes on with it
    entry.flow.reset();
    return leave(entry);
  }
  entry.status = DurableStatus::running;
  entry.detail.clear();
  entry.promises_read = false;
  host_.alarms.set_timeout(entry);
  host_.eviction.began();
  ++tasks_;
  bytes_ += entry.flow->bytes;
  // The task keeps the host, which has the entry.
  std::shared_ptr<HostedTask> kept(host_.shared_from_this(), &entry);
  entry.task = host_.scheduler->spawn.with_priority(entry.urgency())(RunKept(), std::move(kept))
                   .named(entry.named);
}

// ---- Replay ----

void Runs::replayed(FlowState& flow) noexcept {
  TIFFANY_ASSERT(tasks_ > 0 && bytes_ >= flow.bytes,
                 "a task that is not being replayed was counted");
  host_.effects->caught_up(flow);
  // Its code knows its promises from here on, and may give them up.
  HostedTask* const entry = host_.tasks.find(flow.log.id);
  if (entry != nullptr && entry->rest != nullptr) {
    host_.promises.forget(std::exchange(entry->rest->promises, {}));
  }
  --tasks_;
  bytes_ -= flow.bytes;
  flow.bytes = 0;
  if (has_room()) room_.set();
  host_.changed.set();  // for those who wait until the code is there
}

bool Runs::has_room() const noexcept {
  return tasks_ == 0 ||
         (tasks_ < host_.options.replay_tasks && bytes_ < host_.options.replay_bytes);
}

Task<void> Runs::until_room() {
  while (!has_room()) {
    room_.reset();
    co_await room_.wait();
  }
}

Task<void> Runs::until_all_replayed() {
  while (tasks_ > 0) {
    room_.reset();
    co_await room_.wait();
  }
}

// ---- The code ----

// None: its arguments are not what the code reads, and the task has been stopped; or there is no
// memory, and it has ended.
std::optional<detail::DurableCode> Runs::code_of(HostedTask& entry) {
  FlowState& flow = *entry.flow;
  std::string why;
  try {
    return entry.type->make(flow.code.flow, flow.code.arguments);
  } catch (const std::bad_alloc& e) {
    auto end = std::make_unique<detail::CodeEnd>();
    end->status = DurableStatus::failed;
    end->result = e.what();
    flow.code.seldom().end = std::move(end);
    return std::nullopt;
  } catch (...) {
    why = caught_sentence("something that is no std::exception was thrown");
  }
  static constexpr detail::ValueType kUnknown{"what its type takes", "any", nullptr};
  flow.comparison.value_differs(
      entry.type->arguments != nullptr ? *entry.type->arguments : kUnknown, "its arguments",
      flow.code.arguments, why);
  return std::nullopt;
}

// Runs whichever way the code ends: returned, failed, stopped, or destroyed with its scheduler.
struct Runs::Gone {
  HostedTask& entry;
  ~Gone() {
    entry.flow->host.runs.drop_code(entry);
    entry.task = Handle<void>();  // the entry stays, the record of the task need not
  }
};

void Runs::drop_code(HostedTask& entry) noexcept {
  entry.flow->steps.drop_behind_by_force();
  if (!entry.flow->waits.live()) replayed(*entry.flow);
  host_.eviction.gone(*entry.flow);
  entry.flow.reset();
}

Task<void> Runs::run(HostedTask* entry) {
  const Gone at_the_end{*entry};
  entry->flow->task = Scheduler::current()->running();
  for (bool ended = false; !ended;) {
    const std::optional<detail::DurableCode> code = entry->flow->host.runs.code_of(*entry);
    if (!code) break;
    ended = co_await AwaitCode(*code, *entry);
    if (!ended) entry->flow->begin_anew();
  }
  co_await entry->flow->host.runs.finish(entry);
}

Task<void> Runs::finish(HostedTask* entry) {
  FlowState& flow = *entry->flow;
  const std::unique_ptr<detail::CodeEnd> kept_end = flow.code.take_end();
  if (kept_end == nullptr) co_return;
  detail::CodeEnd& end = *kept_end;
  // What they look at is gone.
  if (detail::Queries* const answers = flow.code.answers()) answers->clear();
  if (flow.any_updates() != nullptr) flow.any_updates()->handlers->clear();
  // Steps refer to the flow, and do not outlive the code.
  if (flow.steps.any_behind()) co_await shield(flow.steps.end_behind());
  if (end.stopped) host_.scheduler->throw_cancelled();
  // Code that is stopped from outside has not ended, whatever it makes of it.
  if (flow.waits.unwinding() || entry->broken != nullptr) co_return;
  if (flow.comparison.stopped() || !flow.waits.finish()) co_return;
  if (!host_.effects->ended(*entry, end.status, end.result)) co_return;
  host_.children.start_abandoned(flow);
  for (const ChildAtEnd& child : detail::children_of(flow)) co_await host_.children.end(child);
  co_await shield(record_end(&flow, entry, end.status, std::move(end.result)));
}

// Shielded by its caller: an end that was decided is recorded, or the log has failed.
Task<void> Runs::record_end(FlowState* flow, HostedTask* entry, DurableStatus status,
                            std::string result) {
  const Changing changing(*entry, host_.changed);  // what comes now comes too late
  const std::string trace = detail::hex(flow->code.trace);
  wal::Synced synced;
  try {
    if (status == DurableStatus::completed) {
      records::End::exit(host_.payload, *host_.store, result, trace);
    } else {
      detail::make_recordable_sentence(result);
      records::End::abort(host_.payload, name_of(status), result, trace, entry->failure.get());
    }
    flow->append(status == DurableStatus::completed ? RecordType::TaskExit : RecordType::TaskAbort,
                 host_.payload, nullptr, 0, Level::sync, &synced);
  } catch (const std::exception&) {
    synced.synced(std::current_exception());
  }
  co_await synced.event.wait();
  if (synced.error != nullptr) {
    broken(*flow, synced.error);
    co_return;
  }
  ended(*entry, status, std::move(result));
}

// Only when the record is on the disk: nobody is told a result that a crash could take back.
void Runs::ended(HostedTask& entry, DurableStatus status, std::string detail) {
  host_.admission.release(entry);
  entry.status = status;
  entry.detail = std::move(detail);
  entry.log.ended = true;
  host_.interceptors.ended(entry);
  host_.alarms.clear(entry);
  entry.done.set();
  host_.compactor.consider();
  if (!entry.parent.nil()) host_.children.ended(entry);
}

void Runs::diverged(FlowState& flow, const std::string& text) {
  HostedTask& entry = *host_.tasks.find(flow.log.id);
  host_.admission.release(entry);
  entry.status = DurableStatus::diverged;
  entry.detail = text;
  host_.opening.note_divergence(text);
  host_.effects->diverged(flow, text);
  entry.done.set();
  entry.task.cancel("it diverged from its log");
}

void Runs::set_quarantined(HostedTask& entry, std::string why) {
  host_.admission.release(entry);
  entry.status = DurableStatus::quarantined;
  entry.detail = std::move(why);
  entry.done.set();
  host_.changed.set();  // for those who wait until the code is there
}

void Runs::quarantine(HostedTask& entry, std::string why) {
  set_quarantined(entry, std::move(why));
  host_.scheduler->log("Task " + entry.log.id.text() + " is quarantined: " + entry.detail);
}

void Runs::broken(FlowState& flow, const std::exception_ptr& error) noexcept {
  HostedTask* const entry = host_.tasks.find(flow.log.id);
  if (entry == nullptr || entry->broken != nullptr) return;
  entry->broken = error;
  entry->status = DurableStatus::paused;
  // What was appended last may be in the log, or not: the next host reads which.
  const bool fenced = wal::append_end(error) == wal::AppendEnd::fenced;
  entry->detail = fenced ? "another process owns the log" : "the log failed";
  entry->done.set();
  entry->task.cancel("the log failed");
}

Task<void> Runs::stop(HostedTask& task) {
  if (task.flow == nullptr) co_return;
  task.task.cancel("its task is being stopped");
  co_await task.task.outcome();
  if (task.flow == nullptr) co_return;
  drop_code(task);  // it had not begun
}

void Runs::leave(HostedTask& task) {
  if (task.log.ended || task.broken != nullptr) return;
  task.broken = std::make_exception_ptr(
      Error(Errc::durable_stopped, "The host of task " + task.log.id.text() + " was closed."));
  task.done.set();
  host_.changed.set();  // for those who wait until the code is there
}

}  // namespace tiffany
