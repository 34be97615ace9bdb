#include "tiffany/durable/inspect.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "base/shown_text.hpp"
#include "durable/hosted_task.hpp"
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

void HostCore::seen_end(const HostedTask& entry, DurableStatus status, const std::string& result) {
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
  const std::string trace = ended ? end_of(entry).trace : std::string();
  if (looking_->agrees && !trace.empty() && trace != detail::hex(entry.flow->trace)) {
    looking_->agrees = false;
    looking_->difference = "The log ends with the trace " + trace + ", the code with " +
                           detail::hex(entry.flow->trace) + ": something came in another order.";
  }
  if (!ended) would("end " + std::string(name_of(status)) + " with " + result);
}

void HostCore::open_to_look() {
  scheduler_ = &Scheduler::require("inspect");
  store_ = wal::look_at_store(log_options_);
  options_.start_paused = true;
  for (wal::StoredTask* task : store_->list()) prepare(add_entry(*task));
}

Task<Inspection> HostCore::look(Uuid id) {
  HostedTask& task = entry(id, "inspect");
  Inspection found;
  found.task = info_of(task);
  if (found.task.status == DurableStatus::quarantined || !check_type(task)) {
    found.difference =
        found.task.status == DurableStatus::quarantined ? found.task.detail : task.detail;
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

std::string HostCore::unreadable() const {
  std::string all;
  for (const HostedTask* entry : order_) {
    if (entry->status != DurableStatus::quarantined) continue;
    all += entry->log.id.text() + ": " + entry->detail + "\n";
  }
  return all;
}

namespace {

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
      core->open_to_look();
      seen = co_await look(core.get(), task, &wrong);
      wrong += core->unreadable();
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
  Inspection seen = co_await core->look(task);
  if (seen.task.status == DurableStatus::quarantined) *wrong = seen.task.detail;
  co_return seen;
}

Task<UpgradeCheck> look_at_all(HostCore* core, Uuid, std::string* wrong) {
  UpgradeCheck check;
  check.all = core->tasks();
  for (const DurableInfo& info : check.all) {
    if (info.status == DurableStatus::quarantined) *wrong += info.id.text() + info.detail;
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
