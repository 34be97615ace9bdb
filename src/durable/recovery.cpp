// Opening a log: everything in it that has not ended goes on, a bounded number at a time.
#include <map>
#include <string>
#include <utility>

#include "durable/hosted_task.hpp"
#include "durable/records.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany {

using wal::RecordType;

namespace {
// Microseconds. Clocks of machines are corrected by less than this all the time.
constexpr std::int64_t kWorthSaying = 1'000'000;
}  // namespace

std::string Recovery::text() const {
  std::string text = "resumed " + std::to_string(resumed) + ", paused " + std::to_string(paused) +
                     ", diverged " + std::to_string(diverged) + ", quarantined " +
                     std::to_string(quarantined) + ", finished " + std::to_string(finished);
  for (const std::string& note : notes) text += "\n  " + note;
  return text;
}

Task<Recovery> HostCore::open() {
  scheduler_ = &Scheduler::require("Host::open");
  const Mutex::Guard alone = co_await compacting_.lock();
  if (store_ != nullptr) {
    throw Error(Errc::durable_misuse, "A host is opened once: make another for the same log.");
  }
  store_ = co_await wal::claim_store(log_options_);
  const wal::StoreState& found = store_->found();
  std::uint64_t seed = store_->epoch();
  const bool drawn = scheduler_->world().entropy(&seed, sizeof seed);
  // The epoch may be among what is lost, and the owner who had it drew ids as well.
  if (!drawn && !found.damage.empty()) {
    seed ^= (found.records << 20) ^ (found.bytes << 40) ^ found.damage.size();
  }
  random_ = Random(seed, "durable tasks");
  for (const std::string& damage : found.damage) recovery_.notes.push_back(damage);
  if (found.cut > 0) {
    recovery_.notes.push_back(std::to_string(found.cut) +
                              " bytes of an unfinished write were cut off.");
  }
  if (store_->clock().behind() >= kWorthSaying) {
    recovery_.notes.push_back(
        "The clock of the system is " + std::to_string(store_->clock().behind() / 1'000'000) +
        " seconds behind the youngest record of the log (" + wal::text_of_time(found.last_time) +
        "): it was set back, or was wrong then. The time of the log goes on from that record, so "
        "that nobody sleeps for longer, and is ahead of the clock until that has caught up.");
  }
  if (!found.retired_damage.empty()) recovery_.notes.push_back(found.retired_damage);
  for (wal::StoredTask* task : store_->list()) add_entry(*task);
  // All of them first: tasks that are resumed may ask how others ended.
  std::map<std::uint8_t, std::vector<HostedTask*>> unfinished;
  for (HostedTask* entry : order_) {
    if (!prepare(*entry)) unfinished[entry->type->priority].push_back(entry);
  }
  for (const auto& [priority, entries] : unfinished) {
    for (HostedTask* entry : entries) {
      while (!may_replay()) {
        replay_room_.reset();
        co_await replay_room_.wait();
      }
      // Others have run meanwhile: a parent that ended, an operator.
      co_await until_settled(entry);
      if (entry->log.ended || entry->flow != nullptr || entry->status != DurableStatus::running) {
        continue;
      }
      if (resume_or_quarantine(*entry)) ++recovery_.resumed;
    }
  }
  while (replaying_tasks_ > 0 && !options_.start_paused) {
    replay_room_.reset();
    co_await replay_room_.wait();
  }
  store_->done_reading();
  consider_compaction();
  recovery_.resumed -= recovery_.diverged;
  co_return recovery_;
}

// What its log names may be damaged, which only reading it shows.
bool HostCore::resume_or_quarantine(HostedTask& entry) {
  try {
    begin_again(entry);
    return true;
  } catch (const Error& error) {
    entry.status = DurableStatus::quarantined;
    entry.detail = error.what();
  }
  ++recovery_.quarantined;
  recovery_.notes.push_back("Task " + entry.log.id.text() + " (" + entry.type_name +
                            ") is quarantined: " + entry.detail);
  return false;
}

bool HostCore::may_replay() const noexcept {
  return replaying_tasks_ == 0 ||
         (replaying_tasks_ < options_.replay_tasks && replaying_bytes_ < options_.replay_bytes);
}

// True when there is nothing to resume. A task whose records cannot be read is quarantined, and no
// other suffers.
bool HostCore::prepare(HostedTask& entry) {
  try {
    return prepare_readable(entry);
  } catch (const Error& error) {
    entry.status = DurableStatus::quarantined;
    entry.detail = error.what();
  }
  ++recovery_.quarantined;
  recovery_.notes.push_back("Task " + entry.log.id.text() + " (" + entry.type_name +
                            ") is quarantined: " + entry.detail);
  return true;
}

bool HostCore::prepare_readable(HostedTask& entry) {
  const auto note = [&](std::string_view what) {
    recovery_.notes.push_back("Task " + entry.log.id.text() + " (" + entry.type_name + ") " +
                              std::string(what));
  };
  // The end of a task is what it is, also when records before it are lost.
  if (store_->count(entry.log) == 0 || (!entry.log.quarantine.empty() && !entry.log.ended)) {
    entry.status = DurableStatus::quarantined;
    entry.detail = entry.log.quarantine.empty() ? "its log does not begin" : entry.log.quarantine;
    ++recovery_.quarantined;
    note("is quarantined: " + entry.detail);
    return true;
  }
  read_first(entry);
  if (entry.log.ended) {
    entry.status = status_at_end(entry.log);
    entry.detail.clear();
    entry.unread = true;
    ++recovery_.finished;
    return true;
  }
  if (entry.status == DurableStatus::quarantined) {
    ++recovery_.quarantined;
    note("is quarantined: " + entry.detail);
    return true;
  }
  const bool known = check_type(entry);
  if (known && !options_.start_paused && !entry.log.paused) return false;
  entry.status = DurableStatus::paused;
  if (known)
    entry.detail = options_.start_paused ? "everything is paused at the start" : "by an operator";
  ++recovery_.paused;
  note("is paused: " + entry.detail + ".");
  return true;
}

void HostCore::read_first(HostedTask& entry) {
  const std::string line = store_->read_one(entry.log, 0, false);
  const wal::RecordView view = wal::view_of(line);
  if (view.type != RecordType::Spawn) {
    entry.status = DurableStatus::quarantined;
    entry.detail = "its first record is " + std::string(view.type_name) + " and not Spawn";
    return;
  }
  try {
    records::Spawn begun = records::Spawn::read(detail::Fields(view.payload));
    entry.type_name = std::move(begun.name);
    entry.version = begun.version;
    entry.parent = begun.parent;
  } catch (const Error& error) {
    entry.status = DurableStatus::quarantined;
    entry.detail = "its first record cannot be read: " + std::string(error.what());
  }
}

std::string HostCore::end_line(const HostedTask& entry, bool one_of_many) {
  if (!entry.end.empty()) return entry.end;
  // Somebody may have spoken to it after its end.
  for (std::size_t i = store_->count(entry.log); i-- > 0;) {
    std::string line = store_->read_one(entry.log, i, !one_of_many);
    const RecordType type = wal::view_of(line).type;
    if (type == RecordType::TaskExit || type == RecordType::TaskAbort) return line;
  }
  throw Error(Errc::log_damaged,
              "The log of task " + entry.log.id.text() + " has no record of its end.");
}

HostCore::End HostCore::end_of(const HostedTask& entry, bool one_of_many) {
  const std::string line = end_line(entry, one_of_many);
  const wal::RecordView view = wal::view_of(line);
  records::End recorded = records::End::read(detail::Fields(view.payload));
  End end;
  end.trace = std::move(recorded.trace);
  if (view.type == RecordType::TaskExit) {
    end.detail = store_->value_of(recorded.value);
    return end;
  }
  const bool failed = recorded.reason == "failed";
  end.status = failed ? DurableStatus::failed : DurableStatus::cancelled;
  end.detail = std::move(recorded.value);
  return end;
}

bool HostCore::knows(const DurableInfo& task) const noexcept {
  const DurableType* const type = types_.find(task.type);
  return type != nullptr && task.version >= type->accepts && task.version <= type->version;
}

bool HostCore::has_command(const HostedTask& entry, std::string_view id) {
  bool has = false;
  for (std::size_t i = 1; i < store_->count(entry.log) && !has; ++i) {
    const std::string line = store_->read_one(entry.log, i, false);
    const wal::RecordView view = wal::view_of(line);
    const detail::Fields fields(view.payload);
    has = records::command_id(view, fields) == id;
  }
  return has;
}

bool HostCore::check_type(HostedTask& entry) {
  entry.type = types_.find(entry.type_name);
  if (entry.type == nullptr) {
    entry.detail = "no durable task is registered as \"" + entry.type_name + "\"";
    return false;
  }
  if (entry.version < entry.type->accepts || entry.version > entry.type->version) {
    entry.detail = "it began with version " + std::to_string(entry.version) + ", and version " +
                   std::to_string(entry.type->version) + " goes on with versions from " +
                   std::to_string(entry.type->accepts) + " on";
    return false;
  }
  return true;
}

void HostCore::begin_again(HostedTask& entry) {
  auto flow = std::make_unique<FlowState>(*this, entry.log, *entry.type);
  flow->load(store_->read(entry.log));
  entry.flow = std::move(flow);
  run_flow(entry);
}

}  // namespace tiffany
