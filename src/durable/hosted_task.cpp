#include "durable/hosted_task.hpp"

#include <algorithm>
#include <utility>

#include "durable/flow_state.hpp"

#include "tiffany/base/assert.hpp"

namespace tiffany {

HostedTask::HostedTask(wal::StoredTask& of) : log(of) {}
HostedTask::HostedTask(FromArchive) : archived(std::make_unique<Archived>()), log(archived->log) {}
HostedTask::~HostedTask() {
  TIFFANY_ASSERT(held == 0 && changing == 0, "a task left the table while a call used the task");
}

const std::string& HostedTask::type_name() const noexcept {
  static const std::string kUnknown;
  return named ? named->text() : kUnknown;
}

Ref<SharedName> HostedTasks::name_of_type(const std::string& type) {
  Ref<SharedName>& known = names_[type];
  if (!known) known = SharedName::make(type);
  return known;
}

HostedTasks::~HostedTasks() {
  for (HostedTask* const each : order_) delete each;
}

HostedTask* HostedTasks::find(const Uuid& id) const noexcept { return by_id_.find(id); }

// The address stays until the task leaves: coroutines of the host hold it across suspensions.
HostedTask& HostedTasks::add(wal::StoredTask& log) {
  auto made = std::make_unique<HostedTask>(log);
  HostedTask& entry = *made;
  entry.number = ++last_;
  order_.push_back(made.get());
  static_cast<void>(made.release());
  try {
    by_id_.add(entry);
  } catch (...) {
    order_.pop_back();
    delete &entry;
    throw;
  }
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
  for (const Uuid& id : tasks) by_id_.erase(id);
  std::erase_if(order_, [&](const HostedTask* entry) {
    if (!tasks.contains(entry->log.id)) return false;
    delete entry;
    return true;
  });
  TIFFANY_ASSERT(order_.size() == by_id_.size(), "the table of tasks and their order differ");
}

}  // namespace tiffany
