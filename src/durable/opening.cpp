#include "durable/opening.hpp"

#include <malloc.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/records.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany {

using wal::RecordType;

namespace {

// Whole segments of the log were read, and histories were built and thrown away between what stays.
// The C library keeps such memory resident until it is asked to give it back.
void give_memory_back() noexcept {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Microseconds. Clocks of machines are corrected by less than this all the time.
constexpr std::int64_t kWorthSaying = 1'000'000;

// Those that may be queued, among their places, by when they came to be: a log with a file for each
// task does not list its tasks in that order.
void sort_limited(wal::RecordStore& store, std::vector<HostedTask*>& entries) {
  std::vector<std::pair<std::int64_t, HostedTask*>> limited;
  for (HostedTask* entry : entries) {
    if (!entry->type->limits.any()) continue;
    const std::string line = store.read_one(entry->log, 0, false);
    limited.emplace_back(wal::parse_time(wal::view_of(line).ts).value_or(0), entry);
  }
  std::sort(limited.begin(), limited.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->number < b.second->number;
  });
  auto next = limited.begin();
  for (HostedTask*& place : entries) {
    if (place->type->limits.any()) place = (next++)->second;
  }
}

}  // namespace

std::string Recovery::text() const {
  std::string text = "resumed " + std::to_string(resumed) + ", paused " + std::to_string(paused) +
                     ", diverged " + std::to_string(diverged) + ", quarantined " +
                     std::to_string(quarantined) + ", finished " + std::to_string(finished);
  for (const std::string& note : notes) text += "\n  " + note;
  return text;
}

Task<Recovery> Opening::open() {
  host_.scheduler = &Scheduler::require("Host::open");
  const Mutex::Guard alone = co_await host_.compactor.alone.lock();
  if (host_.store != nullptr) {
    throw Error(Errc::durable_misuse, "A host is opened once: make another for the same log.");
  }
  // Nobody else appends from here on. The seed of ids is drawn after that, because the epoch is
  // part of the seed.
  host_.store = co_await wal::claim_store(host_.log_options);
  host_.opened(host_.scheduler->close_first());
  draw_seed();
  note_found();
  for (wal::StoredTask* task : host_.store->list()) host_.tasks.add(*task);
  co_await resume_all();
  if (!host_.options.start_paused) co_await host_.runs.until_all_replayed();
  host_.store->done_reading();
  give_memory_back();
  host_.compactor.consider();
  recovery_.resumed -= recovery_.diverged;
  co_return recovery_;
}

void Opening::draw_seed() {
  const wal::StoreState& found = host_.store->found();
  std::uint64_t seed = host_.store->epoch();
  const bool drawn = host_.scheduler->world().entropy(&seed, sizeof seed);
  // The epoch may be among what is lost, and the owner who had it drew ids as well.
  if (!drawn && !found.damage.empty()) {
    seed ^= (found.records << 20) ^ (found.bytes << 40) ^ found.damage.size();
  }
  host_.random = Random(seed, "durable tasks");
}

void Opening::note_found() {
  const wal::StoreState& found = host_.store->found();
  const std::int64_t behind = host_.store->clock().behind();
  for (const std::string& damage : found.damage) recovery_.notes.push_back(damage);
  if (found.cut > 0) {
    recovery_.notes.push_back(std::to_string(found.cut) +
                              " bytes of an unfinished write were cut off.");
  }
  if (behind >= kWorthSaying) {
    recovery_.notes.push_back(
        "The clock of the system is " + std::to_string(behind / 1'000'000) +
        " seconds behind the youngest record of the log (" + wal::text_of_time(found.last_time) +
        "): it was set back, or was wrong then. The time of the log goes on from that record, so "
        "that nobody sleeps for longer, and is ahead of the clock until that has caught up.");
  }
  if (!found.retired_damage.empty()) recovery_.notes.push_back(found.retired_damage);
}

// Crash case: a process that dies in here has appended nothing but what tasks did that had caught
// up. The next one reads the same log.
Task<void> Opening::resume_all() {
  // All of them first: tasks that are resumed may ask how others ended.
  std::map<std::uint8_t, std::vector<HostedTask*>> unfinished;
  for (HostedTask* entry : host_.tasks) {
    if (prepare(*entry)) continue;
    unfinished[entry->urgency()].push_back(entry);
    if (entry->type->limits.any() && had_begun(*entry)) host_.admission.note_begun(*entry);
  }
  for (auto& [priority, entries] : unfinished) {
    sort_limited(*host_.store, entries);
    for (HostedTask* entry : entries) {
      // A log of a million tasks must not be in memory at once: commands and arrivals of a task are
      // only there while it is replayed.
      co_await host_.runs.until_room();
      co_await host_.eviction.until_few();
      // Others have run meanwhile: a parent that ended, an operator.
      co_await host_.until_settled(entry);
      if (entry->log.ended || entry->flow != nullptr || entry->status != DurableStatus::running) {
        continue;
      }
      // What its log names may be damaged, which only reading it shows.
      try {
        host_.admission.begin_again(*entry);
        ++recovery_.resumed;
      } catch (const Error& error) {
        quarantine(*entry, error.what());
      }
    }
  }
}

// Its code has recorded something. Signals may have come to a task that never ran.
bool Opening::had_begun(const HostedTask& entry) {
  for (std::size_t i = 1; i < host_.store->count(entry.log); ++i) {
    const std::string line = host_.store->read_one(entry.log, i, false);
    const wal::RecordView view = wal::view_of(line);
    if (view.type != RecordType::Resumed && view.type != RecordType::Command) return true;
    if (view.type == RecordType::Command &&
        records::Asked::read(detail::Fields(view.payload)).by_code()) {
      return true;
    }
  }
  return false;
}

void Opening::open_to_look() {
  host_.scheduler = &Scheduler::require("inspect");
  host_.store = wal::look_at_store(host_.log_options);
  host_.options.start_paused = true;
  for (wal::StoredTask* task : host_.store->list()) prepare(host_.tasks.add(*task));
}

void Opening::note(const HostedTask& entry, std::string_view what) {
  recovery_.notes.push_back("Task " + entry.log.id.text() + " (" + entry.type_name() + ") " +
                            std::string(what));
}
void Opening::note_divergence(const std::string& text) {
  ++recovery_.diverged;
  recovery_.notes.push_back(text);
}
void Opening::quarantine(HostedTask& entry, std::string why) {
  host_.runs.set_quarantined(entry, std::move(why));
  ++recovery_.quarantined;
  note(entry, "is quarantined: " + entry.detail);
}

// True when there is nothing to resume. A task whose records cannot be read is quarantined, and no
// other suffers.
bool Opening::prepare(HostedTask& entry) {
  try {
    return prepare_readable(entry);
  } catch (const Error& error) {
    quarantine(entry, error.what());
  }
  return true;
}

// By what the scan knows, and the first record: reading whole logs is left to those that go on.
bool Opening::prepare_readable(HostedTask& entry) {
  // The end of a task is what it is, also when records before it are lost.
  if (host_.store->count(entry.log) == 0 || (!entry.log.quarantine.empty() && !entry.log.ended)) {
    quarantine(entry, entry.log.quarantine.empty() ? std::string("its log does not begin")
                                                   : entry.log.quarantine.string());
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
    quarantine(entry, entry.detail);
    return true;
  }
  const bool known = host_.check_type(entry);
  if (known && !host_.options.start_paused && !entry.log.paused) return false;
  entry.status = DurableStatus::paused;
  if (known) {
    entry.detail =
        host_.options.start_paused ? "everything is paused at the start" : "by an operator";
  }
  ++recovery_.paused;
  note(entry, "is paused: " + entry.detail + ".");
  return true;
}

void Opening::read_first(HostedTask& entry) {
  const std::string line = host_.store->read_one(entry.log, 0, false);
  const wal::RecordView view = wal::view_of(line);
  if (view.type != RecordType::Spawn) {
    entry.status = DurableStatus::quarantined;
    entry.detail = "its first record is " + std::string(view.type_name) + " and not Spawn";
    return;
  }
  try {
    records::Spawn begun = records::Spawn::read(detail::Fields(view.payload));
    entry.named = host_.tasks.name_of_type(begun.name);
    entry.began = wal::parse_time(view.ts).value_or(0);
    entry.version = begun.version;
    entry.parent = begun.parent;
    host_.starts.mark(entry, begun);
  } catch (const Error& error) {
    entry.status = DurableStatus::quarantined;
    entry.detail = "its first record cannot be read: " + std::string(error.what());
  }
}

}  // namespace tiffany
