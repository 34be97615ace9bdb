#include "durable/hosted_task.hpp"

#include <algorithm>
#include <utility>

#include "durable/flow_state.hpp"

#include "tiffany/base/assert.hpp"

namespace tiffany {

HostedTask::HostedTask(wal::StoredTask& of) : log(of) {}
HostedTask::HostedTask(std::unique_ptr<wal::StoredTask> of) : own(std::move(of)), log(*own) {}
HostedTask::~HostedTask() {
  TIFFANY_ASSERT(held == 0 && changing == 0, "a task left the table while a call used the task");
}

HostedTask* HostedTasks::find(const Uuid& id) const noexcept {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second.get();
}

// The address stays until the task leaves: coroutines of the host hold it across suspensions.
HostedTask& HostedTasks::add(wal::StoredTask& log) {
  auto made = std::make_unique<HostedTask>(log);
  HostedTask& entry = *made;
  entry.number = ++last_;
  by_id_.insert_or_assign(log.id, std::move(made));
  order_.push_back(&entry);
  return entry;
}

std::size_t HostedTasks::first_after(std::uint64_t number) const noexcept {
  const auto found = std::upper_bound(
      order_.begin(), order_.end(), number,
      [](std::uint64_t wanted, const HostedTask* entry) { return wanted < entry->number; });
  return static_cast<std::size_t>(found - order_.begin());
}
HostedTask* HostedTasks::by_number(std::uint64_t number) const noexcept {
  return order_[first_after(number) - 1];
}

void HostedTasks::remove(const std::unordered_set<Uuid, UuidHash>& tasks) {
  std::erase_if(order_, [&](const HostedTask* entry) { return tasks.contains(entry->log.id); });
  for (const Uuid& id : tasks) by_id_.erase(id);
  TIFFANY_ASSERT(order_.size() == by_id_.size(), "the table of tasks and their order differ");
}

}  // namespace tiffany
