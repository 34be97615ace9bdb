// Looking at a host: nothing here changes anything.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany {
namespace {

DurableWait wait_of(detail::Slot& slot) {
  DurableWait wait;
  wait.kind = name_of(slot.kind);
  wait.name = slot.id;
  wait.id = slot.public_id();
  wait.place = site_text(slot.site);
  if (const detail::StepSlot* const step = slot.as_step()) {
    wait.due = step->due;
    wait.attempts = step->attempts;
    wait.awaited = step->running;
  } else if (slot.kind == detail::SlotKind::timer) {
    wait.due = static_cast<const detail::TimerSlot&>(slot).due;
  }
  return wait;
}

// Those behind the record with that number: the lines of a task are in the order of their numbers.
std::size_t first_record_after(wal::RecordStore& store, const wal::StoredTask& task,
                               std::uint64_t after) {
  std::size_t low = 0;
  std::size_t high = store.count(task);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const std::string line = store.read_one(task, middle, true);
    if (wal::view_of(line).seq <= after) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::vector<std::string> archived_records(std::string_view lines, std::uint64_t after,
                                          std::size_t most) {
  std::vector<std::string> records;
  while (!lines.empty() && records.size() < most) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1);
    std::string line(lines.substr(0, end + 1));
    lines.remove_prefix(end + 1);
    if (wal::view_of(line).seq > after) records.push_back(std::move(line));
  }
  return records;
}

}  // namespace

void HostCore::tell(const Uuid& task, const wal::Entry& record, wal::Level level) noexcept {
  if (options.watcher != nullptr) options.watcher->recorded(task, record, level);
}

// Of a task whose code is not here.
bool PromiseTable::is_open(const Uuid& promise, const Asked& asked) const {
  const HostedTask* const task = host_.tasks.find(asked.task);
  const bool here = slots_.find(promise) != nullptr || kept_.contains(promise);
  return !asked.kept && !here && task != nullptr && !task->log.ended;
}

std::optional<OpenPromise> PromiseTable::find(const Uuid& promise) {
  if (const detail::PromiseSlot* const slot = slots_.find(promise)) {
    if (slot->recorded) return std::nullopt;
    return OpenPromise{slot->uuid, slot->flow.log.id, slot->id, slot->since};
  }
  if (kept_.contains(promise)) return std::nullopt;
  find_at_rest(promise);
  const auto found = at_rest_.find(promise);
  if (found == at_rest_.end() || !is_open(promise, found->second)) return std::nullopt;
  return OpenPromise{promise, found->second.task, found->second.name, found->second.since};
}

template <class Visit>
void PromiseTable::for_each_open(Visit visit) {
  // Of tasks whose code is not here, too.
  find_at_rest(Uuid());
  slots_.for_each([&](const detail::PromiseSlot& slot) {
    if (!slot.recorded) visit(slot.uuid, slot.flow.log.id, slot.id, slot.since);
  });
  for (const auto& [id, asked] : at_rest_) {
    if (is_open(id, asked)) visit(id, asked.task, asked.name, asked.since);
  }
}

namespace {

bool by_task_and_name(const OpenPromise& a, const OpenPromise& b) {
  return a.task == b.task ? a.name < b.name : a.task < b.task;
}

}  // namespace

std::vector<OpenPromise> PromiseTable::list(std::size_t most) {
  // There may be very many, of which the first few are wanted: those are kept as a heap, and no
  // others are copied.
  std::vector<OpenPromise> first;
  for_each_open([&](const Uuid& id, const Uuid& task, const std::string& name, std::int64_t since) {
    const bool full = first.size() == most;
    if (full && (most == 0 || first.front().task < task)) return;
    first.push_back({id, task, name, since});
    std::ranges::push_heap(first, by_task_and_name);
    if (!full) return;
    std::ranges::pop_heap(first, by_task_and_name);
    first.pop_back();
  });
  std::ranges::sort_heap(first, by_task_and_name);
  return first;
}

std::vector<OpenPromise> PromiseTable::of(std::span<const Uuid> tasks) {
  const std::unordered_set<Uuid, UuidHash> wanted(tasks.begin(), tasks.end());
  std::vector<OpenPromise> found;
  for_each_open([&](const Uuid& id, const Uuid& task, const std::string& name, std::int64_t since) {
    if (wanted.contains(task)) found.push_back({id, task, name, since});
  });
  std::ranges::sort(found, by_task_and_name);
  return found;
}

std::vector<DurableWait> Host::waits(Uuid task) const {
  const HostedTask& entry = core_->require_task(task, "Host::waits");
  std::vector<DurableWait> all;
  if (entry.flow == nullptr) return all;
  for (const auto& slot : entry.flow->slots) {
    if (!slot->arrived && !slot->retired) all.push_back(wait_of(*slot));
  }
  return all;
}

std::vector<OpenPromise> Host::promises(std::size_t most) const {
  core_->require_open("Host::promises");
  return core_->promises.list(most);
}
std::vector<OpenPromise> Host::promises_of(std::span<const Uuid> tasks) const {
  core_->require_open("Host::promises_of");
  return core_->promises.of(tasks);
}
std::optional<OpenPromise> Host::promise(const Uuid& id) const {
  core_->require_open("Host::promise");
  return core_->promises.find(id);
}

StatusCounts Host::counts() const noexcept {
  StatusCounts counts;
  for (const HostedTask* entry : core_->tasks) ++counts[entry->status];
  return counts;
}

std::vector<Uuid> Host::beginning_with(std::string_view text, std::size_t most) const {
  std::vector<Uuid> found;
  for (const HostedTask* entry : core_->tasks) {
    if (found.size() == most) break;
    if (entry->log.id.text().starts_with(text)) found.push_back(entry->log.id);
  }
  return found;
}

std::vector<std::string> Host::records(Uuid task, std::uint64_t after, std::size_t most) const {
  core_->require_open("Host::records");
  wal::RecordStore& store = *core_->store;
  const HostedTask* const entry = core_->tasks.find(task);
  if (entry == nullptr && store.archived(task)) {
    return archived_records(store.read_archived(task), after, most);
  }
  const wal::StoredTask& log = core_->require_task(task, "Host::records").log;
  std::vector<std::string> records;
  const std::size_t count = store.count(log);
  for (std::size_t i = first_record_after(store, log, after); i < count; ++i) {
    if (records.size() >= most) break;
    records.push_back(store.read_one(log, i, false));
  }
  store.done_reading();
  return records;
}

}  // namespace tiffany
