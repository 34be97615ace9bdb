#include "tiffany/core/system_call.hpp"

#include <array>
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

const char* name_of(WaitKind kind) noexcept {
  static constexpr std::array kNames = {"join", "sleep", "io", "event", "external", "other"};
  static_assert(kNames.size() == kWaitKinds);
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {
// By their numbers. Constant-initialised: calls are entered before main() in any order.
constinit std::array<std::atomic<const CallName*>, kCallNumbers> named_calls{};
}  // namespace

CallNumber number_of(const CallName& name) noexcept {
  for (std::size_t number = 1; number < kCallNumbers; ++number) {
    const CallName* there = nullptr;
    if (named_calls[number].compare_exchange_strong(there, &name) || there->name == name.name)
      return static_cast<CallNumber>(number);
  }
  return 0;
}

const CallName* call_with_number(CallNumber number) noexcept { return named_calls[number].load(); }

// Atomic, because a library may be loaded, and enter its calls, while another thread makes a dump.
CallKind::CallKind(const std::type_info& type, const CallName& name) noexcept
    : type_(&type), name_(&name), next_(first()), number_(number_of(name)) {
  std::atomic_ref<const CallKind*> head(tiffany_schedulers.first_call_kind);
  while (!head.compare_exchange_weak(next_, this)) {
  }
}

const CallKind* CallKind::first() noexcept {
  return std::atomic_ref<const CallKind*>(tiffany_schedulers.first_call_kind).load();
}

}  // namespace tiffany
