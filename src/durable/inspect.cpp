#include "tiffany/durable/inspect.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "base/shown_text.hpp"
#include "durable/effects.hpp"
#include "durable/excerpt.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany {

using detail::shown;

std::string Inspection::text() const {
  std::string text = "task " + task.id.text() + " (" + shown(task.type) + ", version " +
                     std::to_string(task.version) + "), " + std::string(name_of(task.status)) +
                     "\n";
  if (!agrees) return text + "  differs: " + shown(difference) + "\n";
  text += "  agrees with its log in " + std::to_string(commands) + " calls\n";
  for (const std::string& what : next) text += "  would " + shown(what) + "\n";
  return text;
}

std::string UpgradeCheck::text() const {
  std::string text = std::to_string(agree) + " agree, " + std::to_string(paused) +
                     " would be paused, " + std::to_string(diverge) + " diverge\n";
  for (const Inspection& each : tasks) {
    if (!each.agrees) text += each.text();
  }
  return text;
}

namespace {

// Brings nothing about, and notes what a host would.
class NotedEffects final : public FlowEffects {
 public:
  NotedEffects(HostCore& host, Inspection& seen) noexcept : host_(host), seen_(seen) {}

  void begin_step(detail::StepSlot& step) override { would("run step " + step.id); }
  void resume_step(detail::StepSlot& step) override {
    switch (Steps::after_crash(step)) {
      case Steps::AfterCrash::unknown:
        return would("give up step " + step.id + ", whose effect is unknown");
      case Steps::AfterCrash::give_up:
        return would("give up step " + step.id + ", which the process did not survive " +
                     std::to_string(step.attempts) + " times");
      case Steps::AfterCrash::run:
        return would(step.begun ? "run step " + step.id + " again" : "run step " + step.id);
    }
  }
  void arm_timer(detail::TimerSlot& timer) override {
    would("wait until " + wal::text_of_time(timer.due) + " (" + timer.id + ")");
  }
  void await_promise(detail::PromiseSlot& promise) override {
    would("wait for promise " + promise.uuid.text() + " (" + promise.id + ")");
  }
  void start_child(detail::ChildSlot& child) override {
    would("wait for task " + child.uuid.text() + " (" + child.id + ")");
    check_result(child);
  }
  bool make_checkpoint() override {
    would("make a checkpoint, and begin anew");
    return false;
  }
  void delivered(const FlowState& flow, const detail::Arrival& arrival) override {
    constexpr std::string_view kWhat[] = {"result of ", "signal ", "cancel: ", "update "};
    const std::string& about = arrival.slot != nullptr ? arrival.slot->id : arrival.id;
    seen_.events.push_back(wal::text_of_time(flow.code.now) + " " +
                           std::string(kWhat[static_cast<int>(arrival.kind)]) + about +
                           (arrival.failed ? " failed: " : " ") + arrival.value);
  }
  void caught_up(const FlowState& flow) override { note(flow); }
  void diverged(const FlowState& flow, const std::string&) override { note(flow); }
  bool ended(const HostedTask& task, DurableStatus status, const std::string& result) override;

 private:
  void would(std::string what) { seen_.next.push_back(std::move(what)); }
  void note(const FlowState& flow);
  void check_result(detail::ChildSlot& slot);

  HostCore& host_;
  Inspection& seen_;
};

void NotedEffects::note(const FlowState& flow) {
  seen_.commands = flow.comparison.replay.compared();
  seen_.trace = flow.code.trace;
  if (!flow.comparison.stopped()) return;
  seen_.agrees = false;
  seen_.difference = flow.comparison.divergence();
}

bool NotedEffects::ended(const HostedTask& task, DurableStatus status, const std::string& result) {
  const bool was_ended = task.log.ended;
  const std::string trace_now = detail::hex(task.flow->code.trace);
  note(*task.flow);
  seen_.same_result = was_ended && status == seen_.task.status && result == seen_.task.detail;
  if (was_ended && !seen_.same_result) {
    seen_.agrees = false;
    seen_.difference = "The log says that it ended " + std::string(name_of(seen_.task.status)) +
                       " with " + seen_.task.detail + ", the code ends " +
                       std::string(name_of(status)) + " with " + result + ".";
  }
  const std::string trace = was_ended ? host_.results.end_of(task).trace : std::string();
  if (seen_.agrees && !trace.empty() && trace != trace_now) {
    seen_.agrees = false;
    seen_.difference = "The log ends with the trace " + trace + ", the code with " + trace_now +
                       ": something came in another order.";
  }
  if (!was_ended) would("end " + std::string(name_of(status)) + " with " + result);
  return false;
}

// A child that has ended, and whose parent has not been told: what the parent would be told.
void NotedEffects::check_result(detail::ChildSlot& slot) {
  HostedTask* const child = host_.tasks.find(slot.uuid);
  if (child == nullptr) return;
  const DurableInfo end = host_.results.info_of(*child);
  child->status = end.status;  // quarantined, when the result cannot be read
  if (end.status == DurableStatus::quarantined) child->detail = end.detail;
  if (end.status == DurableStatus::completed) slot.flow.comparison.check(slot, end.detail);
}

// Runs one task along its log.
Task<Inspection> look_at(HostCore* host, Uuid id) {
  HostedTask& task = host->require_task(id, "inspect");
  Inspection found;
  found.task = host->results.info_of(task);
  if (found.task.status == DurableStatus::quarantined || !host->check_type(task)) {
    found.difference =
        found.task.status == DurableStatus::quarantined ? found.task.detail : task.detail.string();
    co_return found;
  }
  found.agrees = true;
  host->effects = std::make_unique<NotedEffects>(*host, found);
  try {
    host->runs.begin_again(task);
  } catch (const Error& error) {
    host->effects = std::make_unique<LiveEffects>(*host);
    if (error.code() != Errc::value_not_decoded) throw;
    found.agrees = false;
    found.difference = error.what();
    co_return found;
  }
  // It stops by itself: at its end, at a difference, or where the log ends.
  // Shielded: the code that runs writes into `found`, and must be stopped before it goes.
  co_await shield(host->runs.until_all_replayed());
  co_await shield(host->runs.stop(task));
  host->effects = std::make_unique<LiveEffects>(*host);
  co_return found;
}

// Which tasks are quarantined, and why.
std::string unreadable(const HostCore& host) {
  std::string all;
  for (const HostedTask* entry : host.tasks) {
    if (entry->status != DurableStatus::quarantined) continue;
    all += entry->log.id.text() + ": " + entry->detail + "\n";
  }
  return all;
}

bool knows(const HostCore& host, const DurableInfo& task) noexcept {
  const DurableType* const type = host.types.find(task.type);
  return type != nullptr && task.version >= type->accepts && task.version <= type->version;
}

// Another process may compact the log while it is read here, so that records are not where they
// were found. Then everything is read again. What is really wrong is the same the next time.
class BesideWriter {
 public:
  explicit BesideWriter(std::string directory) : directory_(std::move(directory)) {}

  // `wrong`: what could not be read, empty when all could. True: so it is. Errc::log_busy after
  // many times.
  bool settled(std::string wrong) {
    constexpr int kMostTries = 20;  // each has to be overtaken by a compaction
    if (wrong.empty() || wrong == last_) return true;
    if (++tries_ == kMostTries) {
      throw Error(Errc::log_busy, "The log in " + directory_ + " changed each of the " +
                                      std::to_string(kMostTries) +
                                      " times that it was read, because another process compacts "
                                      "it. Try again.");
    }
    last_ = std::move(wrong);
    return false;
  }

 private:
  std::string directory_;
  std::string last_;
  int tries_ = 0;
};

// Gives what `look` has seen; `look` adds to `wrong` what it could not read.
template <class Seen>
Task<Seen> look_beside_writer(const Registry* types, wal::LogOptions log, Uuid task,
                              Task<Seen> (*look)(HostCore* core, Uuid task, std::string* wrong)) {
  BesideWriter reading(log.directory);
  for (;;) {
    Seen seen;
    std::string wrong;
    std::exception_ptr error;
    try {
      const auto core = std::make_shared<HostCore>(*types, log, HostOptions());
      core->opening.open_to_look();
      seen = co_await look(core.get(), task, &wrong);
      wrong += unreadable(*core);
    } catch (const Error& failed) {
      error = std::current_exception();
      wrong = failed.what();
    }
    if (!reading.settled(std::move(wrong))) continue;
    if (error != nullptr) std::rethrow_exception(error);
    co_return seen;
  }
}

Task<Inspection> look_at_one(HostCore* core, Uuid task, std::string* wrong) {
  Inspection seen = co_await look_at(core, task);
  if (seen.task.status == DurableStatus::quarantined) *wrong = seen.task.detail;
  co_return seen;
}

Task<UpgradeCheck> look_at_all(HostCore* core, Uuid, std::string* wrong) {
  UpgradeCheck check;
  check.all = core->results.list();
  for (const DurableInfo& info : check.all) {
    if (info.status == DurableStatus::quarantined) *wrong += info.id.text() + info.detail;
    if (info.status != DurableStatus::paused) continue;
    Inspection seen = co_await look_at(core, info.id);
    if (seen.agrees) {
      ++check.agree;
    } else {
      ++(knows(*core, info) ? check.diverge : check.paused);
    }
    check.tasks.push_back(std::move(seen));
  }
  co_return check;
}

}  // namespace

Task<Inspection> inspect(const Registry& types, wal::LogOptions log, Uuid task) {
  return look_beside_writer(&types, std::move(log), task, look_at_one);
}

Task<Inspection> replay(const Registry& types, wal::LogOptions log, Uuid task) {
  return inspect(types, std::move(log), task);
}

Task<UpgradeCheck> check_upgrade(const Registry& types, wal::LogOptions log) {
  return look_beside_writer(&types, std::move(log), Uuid(), look_at_all);
}

}  // namespace tiffany
