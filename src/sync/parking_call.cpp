#include "tiffany/sync/parking_call.hpp"

#include <string>

#include "tiffany/base/error.hpp"

namespace tiffany::detail {

// The primitive may be used while nobody drives the scheduler; those who wait know theirs.
void arrived(Waiter& waiter) noexcept {
  TaskRecord& task = *waiter.task;
  task.waiting_on()->on_settled(*Scheduler::owner(task), waiter);
}

void tell_all(WaiterList& waiters, Stage stage) noexcept {
  while (Waiter* waiter = waiters.pop()) {
    static_cast<SyncCall*>(waiter)->stage_ = stage;
    arrived(*waiter);
  }
}

void throw_gone(const char* what) {
  throw Error(Errc::primitive_gone,
              std::string("A task waited for ") + what +
                  ", which was destroyed meanwhile, so what it waited for can never come. Let it "
                  "outlive the tasks that use it: keep it where their scope is opened.");
}

}  // namespace tiffany::detail
