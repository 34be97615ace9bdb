#include "tiffany/sync/hold.hpp"

#include "tiffany/base/error.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany::detail {
namespace {

// How many holders a report names.
constexpr std::size_t kShown = 8;

// A guard may be moved to where it outlives the task that took it.
std::string holder_text(const Scheduler& scheduler, const HoldNode& node) {
  if (!node.task) return "code outside of any task";
  const TaskRecord* task = scheduler.find(node.task);
  if (task == nullptr) return describe_task(node.task, {}) + ", which has ended";
  return task->describe() + (task->settled() ? ", which has ended" : "");
}

}  // namespace

const HoldNode* HoldList::find(TaskId task) const noexcept {
  const HoldNode* node = first();
  while (node != nullptr && node->task != task) node = node->next;
  return node;
}

void HoldList::add(HoldNode& node) noexcept { nodes_.push(node); }

void HoldList::move(HoldNode& from, HoldNode& to) noexcept {
  to.task = from.task;
  to.site = from.site;
  to.count = from.count;
  nodes_.replace(from, to);
}

std::string HoldList::describe(const Scheduler& scheduler) const {
  std::string out;
  std::size_t count = 0;
  for (const HoldNode* node = first(); node != nullptr; node = node->next) {
    if (++count > kShown) continue;
    out += count == 1 ? " held by " : " and ";
    out += holder_text(scheduler, *node) + " (" + site_text(node->site) + ")";
  }
  if (count > kShown) out += " and " + std::to_string(count - kShown) + " more";
  return out;
}

void HoldList::visit(const Scheduler& scheduler, WaitVisitor& visitor) const {
  for (const HoldNode* node = first(); node != nullptr; node = node->next) {
    const TaskRecord* task = node->task ? scheduler.find(node->task) : nullptr;
    if (task != nullptr && !task->settled()) visitor.on_waitable(*task);
  }
}

TaskId running_task() noexcept {
  const Scheduler* scheduler = Scheduler::current();
  if (scheduler == nullptr || scheduler->running() == nullptr) return TaskId();
  return scheduler->running()->id();
}

void throw_relock(const char* what, const HoldNode& held, const TaskRecord& task,
                  const std::source_location& site) {
  throw Error(Errc::relock, "The " + task.describe() + " asked for " + what + " at " +
                                site_text(site) + " that it holds already, from " +
                                site_text(held.site) +
                                ", so it would wait for itself. Let the guard go first, or hand it "
                                "on to the code that needs the lock.");
}

void throw_holds_nothing(const char* what) {
  throw Error(Errc::holds_nothing,
              std::string(what) +
                  " was used that has nothing in it: it was moved from, or let "
                  "go before. Use the one it was moved to.");
}

}  // namespace tiffany::detail
