#include "tiffany/durable/inspect.hpp"

#include <utility>

#include "base/shown_text.hpp"
#include "durable/entry.hpp"
#include "tiffany/base/error.hpp"

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

void HostCore::would(std::string what) { looking_->next.push_back(std::move(what)); }
void HostCore::happened(std::string what) { looking_->events.push_back(std::move(what)); }

void HostCore::seen(const FlowState& flow) {
  looking_->commands = flow.compared;
  looking_->trace = flow.trace;
  if (flow.divergence.empty()) return;
  looking_->agrees = false;
  looking_->difference = flow.divergence;
}

void HostCore::seen_end(const Entry& entry, DurableStatus status, const std::string& result) {
  const bool ended = entry.log.ended;
  seen(*entry.flow);
  looking_->same_result =
      ended && status == looking_->task.status && result == looking_->task.detail;
  if (ended && !looking_->same_result) {
    looking_->agrees = false;
    looking_->difference = "The log says that it ended " +
                           std::string(name_of(looking_->task.status)) + " with " +
                           looking_->task.detail + ", the code ends " +
                           std::string(name_of(status)) + " with " + result + ".";
  }
  if (ended && looking_->agrees && !entry.trace.empty() &&
      entry.trace != detail::hex(entry.flow->trace)) {
    looking_->agrees = false;
    looking_->difference = "The log ends with the trace " + entry.trace + ", the code with " +
                           detail::hex(entry.flow->trace) + ": something came in another order.";
  }
  if (!ended) would("end " + std::string(name_of(status)) + " with " + result);
}

void HostCore::open_to_look() {
  scheduler_ = &Scheduler::require("inspect");
  log_ = wal::Log::look_at(log_options_, index_);
  options_.start_paused = true;
  for (const auto& task : index_.tasks) {
    if (came_to_be(*task)) prepare(add_entry(*task));
  }
}

Task<Inspection> HostCore::look(Uuid id) {
  Entry& task = entry(id, "inspect");
  Inspection found;
  found.task = info_of(task);
  if (task.status == DurableStatus::quarantined || !check_type(task)) {
    found.difference = task.detail;
    co_return found;
  }
  found.agrees = true;
  looking_ = &found;
  begin_again(task);
  // It stops by itself: at its end, at a difference, or where the log ends.
  while (replaying_tasks_ > 0) {
    replay_room_.reset();
    co_await replay_room_.wait();
  }
  co_await stop(task);
  looking_ = nullptr;
  co_return found;
}

Task<Inspection> inspect(const Registry& types, wal::LogOptions log, Uuid task) {
  const auto core = std::make_shared<HostCore>(types, std::move(log), HostOptions());
  core->open_to_look();
  co_return co_await core->look(task);
}

Task<Inspection> replay(const Registry& types, wal::LogOptions log, Uuid task) {
  return inspect(types, std::move(log), task);
}

Task<UpgradeCheck> check_upgrade(const Registry& types, wal::LogOptions log) {
  const auto core = std::make_shared<HostCore>(types, std::move(log), HostOptions());
  core->open_to_look();
  UpgradeCheck check;
  check.all = core->tasks();
  for (const DurableInfo& info : check.all) {
    if (info.status != DurableStatus::paused) continue;
    Inspection seen = co_await core->look(info.id);
    if (seen.agrees) {
      ++check.agree;
    } else {
      ++(core->knows(info) ? check.diverge : check.paused);
    }
    check.tasks.push_back(std::move(seen));
  }
  co_return check;
}

}  // namespace tiffany
