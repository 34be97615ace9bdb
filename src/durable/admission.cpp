#include "durable/admission.hpp"

#include <algorithm>
#include <utility>

#include "durable/host_core.hpp"

namespace tiffany {

std::int64_t Admission::Pace::free_at(const RateLimit& rate) const noexcept {
  if (rate.count == 0) return 0;
  const std::int64_t whole = rate.per.count() / 1000;
  return full_at_ - (whole - whole / rate.count);
}
void Admission::Pace::take(const RateLimit& rate, std::int64_t now) noexcept {
  if (rate.count == 0) return;
  full_at_ = std::max(full_at_, now) + rate.per.count() / 1000 / rate.count;
}

Admission::OfType& Admission::type_of(const HostedTask& entry) {
  OfType& type = types_[entry.type->name];
  type.type = entry.type;
  return type;
}
const std::string& Admission::key_of(const HostedTask& entry) noexcept {
  static const std::string kNone;
  return entry.marks != nullptr ? entry.marks->key : kNone;
}

// ---- Coming ----

void Admission::begin(HostedTask& entry, std::string arguments, std::int64_t time) {
  if (entry.type->limits.any()) {
    OfType& type = type_of(entry);
    const bool first = type.levels.empty();
    if (!first || !may_run(type, key_of(entry))) {
      queue(entry);
      return fill(type);  // perhaps its key has room, and those that wait have not
    }
    count(entry, true);
  }
  host_.runs.begin(entry, std::move(arguments), time);
}

void Admission::begin_again(HostedTask& entry) {
  if (entry.type->limits.any() && !entry.counted) {
    OfType& type = type_of(entry);
    if (!type.levels.empty() || !may_run(type, key_of(entry))) {
      queue(entry);
      return fill(type);
    }
    count(entry, true);
  }
  host_.runs.begin_again(entry);
}

void Admission::note_begun(HostedTask& entry) {
  if (entry.type->limits.any() && !entry.counted) count(entry, false);
}

void Admission::let_in(HostedTask& entry) {
  if (entry.status != DurableStatus::queued) return;
  leave_queue(entry);
  count(entry, false);
  run(entry);
}

void Admission::count(HostedTask& entry, bool paced) {
  OfType& type = type_of(entry);
  OfKey& key = type.keys[key_of(entry)];
  entry.counted = true;
  ++type.running;
  ++key.running;
  if (!paced) return;
  const std::int64_t now = host_.store->clock().now();
  type.pace.take(type.type->limits.rate, now);
  key.pace.take(type.type->limits.key_rate, now);
}

void Admission::queue(HostedTask& entry) {
  entry.status = DurableStatus::queued;
  entry.detail = "until the limits of its type allow it";
  Level& level = type_of(entry).levels[entry.urgency()];
  const std::string& key = key_of(entry);
  std::deque<Uuid>& waiting = level.waiting[key];
  if (waiting.empty()) level.turns.push_back(key);
  waiting.push_back(entry.log.id);
}

// ---- Going ----

void Admission::leave_queue(HostedTask& entry) {
  OfType& type = type_of(entry);
  const auto level = type.levels.find(entry.urgency());
  const auto waiting = level->second.waiting.find(key_of(entry));
  std::erase(waiting->second, entry.log.id);
  if (!waiting->second.empty()) return;
  level->second.waiting.erase(waiting);
  std::erase(level->second.turns, key_of(entry));
  if (level->second.turns.empty()) type.levels.erase(level);
}

void Admission::release(HostedTask& entry) {
  if (entry.type == nullptr || !entry.type->limits.any()) return;
  OfType& type = type_of(entry);
  if (entry.status == DurableStatus::queued) leave_queue(entry);
  if (!std::exchange(entry.counted, false)) return;
  --type.running;
  OfKey& key = type.keys[key_of(entry)];
  // What a key has used of its rate is forgotten with its last task, unless there is a rate.
  if (--key.running == 0 && type.type->limits.key_rate.count == 0) type.keys.erase(key_of(entry));
  fill(type);
}

// ---- Turns ----

bool Admission::may_run(OfType& type, const std::string& key) {
  const TypeLimits& limits = type.type->limits;
  if (limits.most && type.running >= *limits.most) return false;
  const std::int64_t free_at = type.pace.free_at(limits.rate);
  if (free_at > host_.store->clock().now()) {
    host_.alarms.set_turn(free_at);
    return false;
  }
  return key_may_run(type, key);
}

bool Admission::key_may_run(OfType& type, const std::string& key) {
  const TypeLimits& limits = type.type->limits;
  const auto known = type.keys.find(key);
  if (known == type.keys.end()) return true;
  if (limits.key_most && known->second.running >= *limits.key_most) return false;
  const std::int64_t free_at = known->second.pace.free_at(limits.key_rate);
  if (free_at <= host_.store->clock().now()) return true;
  host_.alarms.set_turn(free_at);
  return false;
}

// The key whose turn it is, or the next one behind it that may run. Keys before it keep their turn.
HostedTask* Admission::next_of(OfType& type, Level& level) {
  for (std::size_t i = 0; i < level.turns.size(); ++i) {
    if (!may_run(type, level.turns[i])) continue;
    const std::string key = level.turns[i];
    std::deque<Uuid>& waiting = level.waiting[key];
    HostedTask* const entry = host_.tasks.find(waiting.front());
    waiting.pop_front();
    level.turns.erase(level.turns.begin() + static_cast<std::ptrdiff_t>(i));
    if (waiting.empty()) {
      level.waiting.erase(key);
    } else {
      level.turns.push_back(key);
    }
    return entry;
  }
  return nullptr;
}

// Beginning a task changes what waits only after this returns: its code runs in a slice of its own.
void Admission::fill(OfType& type) {
  for (auto level = type.levels.begin(); level != type.levels.end() && host_.is_open();) {
    HostedTask* const entry = next_of(type, level->second);
    if (level->second.turns.empty()) {
      level = type.levels.erase(level);
    } else if (entry == nullptr) {
      ++level;
    }
    if (entry == nullptr) continue;
    count(*entry, true);
    run(*entry);
  }
}

void Admission::look() {
  for (auto& [name, type] : types_) fill(type);
}

// Signals may have come to the task meanwhile: its log is read.
void Admission::run(HostedTask& entry) {
  try {
    host_.runs.begin_again(entry);
  } catch (const Error& error) {  // what its log names may be damaged
    entry.status = DurableStatus::quarantined;
    entry.detail = error.what();
    entry.done.set();
    host_.scheduler->log("Task " + entry.log.id.text() + " is quarantined: " + entry.detail);
  }
  host_.store->done_reading();
}

}  // namespace tiffany
