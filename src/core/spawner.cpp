#include "tiffany/core/spawner.hpp"

#include "tiffany/core/scheduler.hpp"

namespace tiffany::detail {

std::source_location caller_site() noexcept {
  const Scheduler* scheduler = Scheduler::current();
  const TaskRecord* running = scheduler != nullptr ? scheduler->running() : nullptr;
  return running != nullptr ? running->spawn_site() : std::source_location();
}

SpawnContext::SpawnContext(Scope* scope) : scope_(scope) {
  if (const TaskRecord* running = scheduler().running()) {
    if (const Heritage* has = running->heritage()) context_ = has->context;
  }
}

Scheduler& SpawnContext::scheduler() const {
  return scope_ != nullptr ? scope_->scheduler() : Scheduler::require("spawn.with()");
}

Arena& SpawnContext::arena() const { return scheduler().arena(); }

Ref<Heritage> SpawnContext::heritage() const {
  const TaskRecord* running = scheduler().running();
  const Heritage* has = running != nullptr ? running->heritage() : nullptr;
  auto made = Ref<Heritage>::adopt(has != nullptr ? make_in<Heritage>(arena(), *has)
                                                  : make_in<Heritage>(arena()));
  made->context = context_;
  return made;
}

void SpawnContext::give(Waitable& task, Ref<Heritage> heritage) noexcept {
  // In a cancelled scope it has ended already.
  if (!task.settled()) static_cast<TaskRecord&>(task).set_heritage(std::move(heritage));
}

}  // namespace tiffany::detail
