#include "tiffany/core/system_call.hpp"

#include <atomic>

#include "tiffany/core/live_schedulers.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany {

void SystemCall::on_settled(Scheduler&, Waiter&) noexcept {}
void SystemCall::visit_waits(WaitVisitor&) const {}

void SystemCall::wake(Scheduler& scheduler, TaskRecord& task) const noexcept {
  scheduler.wake(task, *this);
}

void SystemCall::wake(TaskRecord& task) const noexcept {
  if (Scheduler* const scheduler = Scheduler::owner(task)) scheduler->wake(task, *this);
}

// Atomic, because a library may be loaded, and enter its calls, while another thread makes a dump.
CallKind::CallKind(const std::type_info& type, const CallName& name) noexcept
    : type_(&type), name_(&name), next_(first()) {
  std::atomic_ref<const CallKind*> head(tiffany_schedulers.first_call_kind);
  while (!head.compare_exchange_weak(next_, this)) {
  }
}

const CallKind* CallKind::first() noexcept {
  return std::atomic_ref<const CallKind*>(tiffany_schedulers.first_call_kind).load();
}

}  // namespace tiffany
