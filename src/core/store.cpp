#include "tiffany/core/store.hpp"

#include "tiffany/core/scheduler.hpp"

namespace tiffany {
namespace {

const PlainCall kGet{"get"};
const PlainCall kPut{"put"};
const PlainCall kTell{"tell"};
const PlainCall kTold{"told"};

}  // namespace

namespace detail {

const StateEntry* get_state(std::uint64_t hash, std::string_view name, const StateType& type) {
  const TaskRecord& task = Scheduler::require("get()").enter_plain(kGet, hash);
  const Heritage* heritage = task.heritage();
  return heritage != nullptr ? heritage->state.find(hash, name, type) : nullptr;
}

Arena& arena_for_state() { return Scheduler::require("put()").arena(); }

void put_state(Ref<StateEntry> entry) {
  Scheduler& scheduler = *Scheduler::current();
  TaskRecord& task = scheduler.enter_plain(kPut, entry->hash());
  task.own_heritage(scheduler.arena()).state.put(scheduler.arena(), std::move(entry));
}

}  // namespace detail

void tell(std::string entry) {
  Scheduler& scheduler = Scheduler::require("tell()");
  Arena& arena = scheduler.arena();
  TaskRecord& task = scheduler.enter_plain(kTell);
  TaskLog& log = TaskLog::writable(arena, task.own_heritage(arena).log, task.id());
  log.set_told(Ref<LogLink>::adopt(make_in<LogLink>(arena, log.told(), std::move(entry))));
}

std::vector<std::string> told() {
  const TaskRecord& task = Scheduler::require("told()").enter_plain(kTold);
  const Heritage* heritage = task.heritage();
  if (heritage == nullptr || !heritage->log) return {};
  return heritage->log->entries();
}

}  // namespace tiffany
