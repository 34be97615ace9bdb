#include "durable/admission.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "durable/host_core.hpp"
#include "tiffany/base/assert.hpp"
#include "tiffany/engine/spawn.hpp"

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
    if (!type.levels.empty() || !type_may_run(type) || !key_may_run(type, key_of(entry))) {
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
    if (!type.levels.empty() || !type_may_run(type) || !key_may_run(type, key_of(entry))) {
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
  if (!entry.counted) count(entry, false);
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
  forget_keys(type);
}

void Admission::queue(HostedTask& entry) {
  entry.status = DurableStatus::queued;
  entry.detail = "until the limits of its type allow it";
  host_.alarms.set_timeout(entry);
  if (++last_place_ == 0) last_place_ = 1;
  entry.in_queue = last_place_;
  OfType& type = type_of(entry);
  Level& level = type.levels[entry.urgency()];
  const auto [found, added] = level.waiting.try_emplace(key_of(entry));
  Waiting& waiting = found->second;
  if (added) {
    waiting.key = found->first;
    waiting.turn = ++type.last_turn;
    level.turns.emplace(waiting.turn, &waiting);
  }
  waiting.places.push_back({entry.log.id, entry.in_queue});
}

// ---- Going ----

// The place stays until its turn comes, or until most places are left: a queue of many tasks is not
// looked through for each of them.
void Admission::leave_queue(HostedTask& entry) {
  if (std::exchange(entry.in_queue, 0) == 0) return;
  OfType& type = type_of(entry);
  const auto level = type.levels.find(entry.urgency());
  const auto found = level->second.waiting.find(key_of(entry));
  Waiting& waiting = found->second;
  if (++waiting.left == waiting.places.size()) {
    if (waiting.has_turn) level->second.turns.erase(waiting.turn);
    level->second.waiting.erase(found);
    if (level->second.waiting.empty()) type.levels.erase(level);
  } else if (waiting.left * 2 > waiting.places.size()) {
    std::erase_if(waiting.places, [this](const Waiting::Place& place) {
      const HostedTask* const task = host_.tasks.find(place.task);
      return task == nullptr || task->in_queue != place.number;
    });
    waiting.left = 0;
  }
}

// A task whose turn has come, and that waits only until a record about it is on the disk, is
// counted already.
void Admission::withdraw(HostedTask& entry) {
  if (entry.status == DurableStatus::queued) release(entry);
}

void Admission::release(HostedTask& entry) {
  if (entry.type == nullptr || !entry.type->limits.any()) return;
  OfType& type = type_of(entry);
  leave_queue(entry);
  if (!std::exchange(entry.counted, false)) return;
  --type.running;
  const std::string& name = key_of(entry);
  OfKey& key = type.keys[name];
  // What a key has used of its rate is forgotten with its last task, unless there is a rate.
  if (--key.running == 0 && type.type->limits.key_rate.count == 0) type.keys.erase(name);
  look_at_key(type, name);
  fill(type);
}

// ---- Turns ----

bool Admission::type_may_run(OfType& type) {
  const TypeLimits& limits = type.type->limits;
  if (limits.most && type.running >= *limits.most) return false;
  const std::int64_t free_at = type.pace.free_at(limits.rate);
  if (free_at <= host_.store->clock().now()) return true;
  host_.alarms.set_turn(free_at);
  return false;
}

bool Admission::key_may_run(OfType& type, const std::string& key) {
  const TypeLimits& limits = type.type->limits;
  const auto known = type.keys.find(key);
  if (known == type.keys.end()) return true;
  if (limits.key_most && known->second.running >= *limits.key_most) return false;
  const std::int64_t free_at = known->second.pace.free_at(limits.key_rate);
  if (free_at <= host_.store->clock().now()) return true;
  type.resting.emplace(free_at, key);
  host_.alarms.set_turn(free_at);
  return false;
}

// The key is perhaps not at its limit any more: it has the turn that it had.
void Admission::look_at_key(OfType& type, const std::string& key) {
  for (auto& [priority, level] : type.levels) {
    const auto found = level.waiting.find(key);
    if (found == level.waiting.end() || found->second.has_turn) continue;
    found->second.has_turn = true;
    level.turns.emplace(found->second.turn, &found->second);
  }
}

// What keys have used of their rates is kept only until the rate is full again. Looked through when
// there are twice as many as were needed the last time.
void Admission::forget_keys(OfType& type) {
  constexpr std::size_t kFew = 64;
  if (type.keys.size() < std::max(kFew, 2 * type.keys_kept)) return;
  const std::int64_t now = host_.store->clock().now();
  std::erase_if(type.keys, [now](const auto& each) {
    return each.second.running == 0 && each.second.pace.full(now);
  });
  type.keys_kept = type.keys.size();
}

// The key whose turn it is, or the next one behind it that may run. Keys at their own limit are not
// asked again until that has changed.
HostedTask* Admission::next_of(OfType& type) {
  for (auto level = type.levels.begin(); level != type.levels.end(); ++level) {
    std::map<std::uint64_t, Waiting*>& turns = level->second.turns;
    while (!turns.empty() && !key_may_run(type, turns.begin()->second->key)) {
      turns.begin()->second->has_turn = false;
      turns.erase(turns.begin());
    }
    if (turns.empty()) continue;
    HostedTask* const entry = take_first(level->second, type);
    if (level->second.waiting.empty()) type.levels.erase(level);
    return entry;
  }
  return nullptr;
}

// Of the key that has its turn, which is the last one then.
HostedTask* Admission::take_first(Level& level, OfType& type) {
  Waiting& waiting = *level.turns.begin()->second;
  HostedTask* entry = nullptr;
  while (entry == nullptr) {
    TIFFANY_ASSERT(!waiting.places.empty(), "a key has its turn of which no task waits");
    const Waiting::Place place = waiting.places.front();
    waiting.places.pop_front();
    HostedTask* const task = host_.tasks.find(place.task);
    if (task != nullptr && task->in_queue == place.number) {
      entry = task;
    } else {
      --waiting.left;
    }
  }
  entry->in_queue = 0;
  level.turns.erase(level.turns.begin());
  if (waiting.left == waiting.places.size()) {
    level.waiting.erase(level.waiting.find(waiting.key));
  } else {
    waiting.turn = ++type.last_turn;
    level.turns.emplace(waiting.turn, &waiting);
  }
  return entry;
}

struct Admission::Over {
  bool& flag;
  ~Over() { flag = false; }
};

// A task that cannot begin releases its place while this goes on.
void Admission::fill(OfType& type) {
  if (std::exchange(type.filling, true)) return;
  const Over over{type.filling};
  while (!type.levels.empty() && host_.is_open() && type_may_run(type)) {
    HostedTask* const entry = next_of(type);
    if (entry == nullptr) break;
    count(*entry, true);
    if (entry->changing == 0) {
      run(*entry);
    } else {
      host_.scheduler
          ->spawn(&Admission::run_settled,
                  std::shared_ptr<Admission>(host_.shared_from_this(), this), entry)
          .named("admission");
    }
  }
}

void Admission::look() {
  const std::int64_t now = host_.store->clock().now();
  for (auto& [name, type] : types_) {
    while (!type.resting.empty() && type.resting.begin()->first <= now) {
      const std::string key = type.resting.begin()->second;
      type.resting.erase(type.resting.begin());
      look_at_key(type, key);
    }
    fill(type);
    if (!type.resting.empty()) host_.alarms.set_turn(type.resting.begin()->first);
  }
}

// Crash case: a record about the task is on its way to the disk. Code that begins now would be
// shown what is not there yet, or would miss it.
Task<void> Admission::run_settled(HostedTask* entry) {
  const Held held(*entry);
  while (entry->changing > 0) {
    host_.changed.reset();
    co_await host_.changed.wait();
  }
  const bool waits = entry->status == DurableStatus::queued && entry->counted;
  if (waits && !entry->log.ended && host_.is_open()) run(*entry);
}

// Signals may have come to the task meanwhile: its log is read.
void Admission::run(HostedTask& entry) {
  try {
    host_.runs.begin_again(entry);
  } catch (const Error& error) {  // what its log names may be damaged
    host_.runs.quarantine(entry, error.what());
  }
  host_.store->done_reading();
}

}  // namespace tiffany
