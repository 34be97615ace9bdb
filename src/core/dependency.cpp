#include "tiffany/core/dependency.hpp"

#include <new>
#include <unordered_set>

#include "tiffany/core/failures.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany {

DependencyFailed::DependencyFailed(const std::string& who, const std::string& dependency,
                                   std::exception_ptr cause)
    : Error(Errc::dependency_failed,
            "The " + who + " was not begun, because " + dependency +
                ", which it comes after, did not complete: " + error_text(cause)),
      cause_(std::move(cause)) {}

void DependencyList::add(const Scheduler& scheduler, TaskId id) {
  if (TaskRecord* task = scheduler.find(id)) return add(*task);
  if (scheduler.has_forgotten(id)) {
    throw Error(Errc::stale_handle,
                "A task was to begin after task " + id.text() +
                    ", which has ended and is forgotten, so it is not known whether it completed. "
                    "Keep the handle of a task that others are to come after.");
  }
  throw Error(Errc::unknown_task, "A task was to begin after task " + id.text() +
                                      ", but this scheduler never had a task with that id. Spawn "
                                      "what others come after first.");
}

Dependencies::Dependencies(const DependencyList& list) noexcept
    : count_(list.targets_.size()),
      chain_below_(list.chain_below),
      cost_(list.cost),
      if_failed_(list.if_failed) {
  for (std::size_t i = 0; i < count_; ++i) new (entries() + i) Entry{{}, list.targets_[i]};
}

Dependencies::~Dependencies() {
  for (std::size_t i = 0; i < count_; ++i) {
    Entry& entry = entries()[i];
    entry.target->remove_waiter(entry.waiter);
    entry.~Entry();
  }
}

// The entries follow the object in its block.
std::size_t Dependencies::size_for(std::size_t count) noexcept {
  static_assert(sizeof(Dependencies) % alignof(Entry) == 0);
  return sizeof(Dependencies) + count * sizeof(Entry);
}

Dependencies::Entry* Dependencies::entries() noexcept {
  return std::launder(reinterpret_cast<Entry*>(this + 1));
}

const Dependencies::Entry* Dependencies::entries() const noexcept {
  return std::launder(reinterpret_cast<const Entry*>(this + 1));
}

Dependencies::Owner Dependencies::make(Arena& arena, const DependencyList& list) {
  return Owner(new (arena.allocate(size_for(list.targets_.size()))) Dependencies(list));
}

void Dependencies::Delete::operator()(Dependencies* dependencies) const noexcept {
  const std::size_t size = size_for(dependencies->count_);
  dependencies->~Dependencies();
  Arena::deallocate(dependencies, size);
}

// This one has ended in a way that ends the wait.
bool Dependencies::decides(const Waitable& target) const noexcept {
  return target.state() != TaskState::completed && if_failed_ != IfFailed::run;
}

void Dependencies::begin(Owner owner, Scheduler& scheduler, TaskRecord& task) noexcept {
  Dependencies& self = *owner;
  if (self.cost_ != 1 || self.chain_below_ != 0) self.keep_chain(task);
  for (std::size_t i = 0; i < self.count_; ++i) {
    Waitable& target = *self.entries()[i].target;
    if (!target.settled()) {
      ++self.left_;
    } else if (self.decides(target)) {
      return let_go(std::move(owner), scheduler, task, &target);
    }
  }
  if (self.left_ == 0) return let_go(std::move(owner), scheduler, task, nullptr);
  for (std::size_t i = 0; i < self.count_; ++i) {
    Entry& entry = self.entries()[i];
    if (!entry.target->settled()) entry.target->add_waiter(entry.waiter, task);
  }
  task.waiting_on_ = owner.release();
  ++scheduler.held_;
  if (scheduler.observer_ != nullptr) scheduler.observer_->held(task);
  note_chain(scheduler, task);
}

void Dependencies::keep_chain(TaskRecord& task) const noexcept {
  try {
    task.extras().cost = cost_;
    task.extras().chain_below = chain_below_;
  } catch (const std::bad_alloc&) {
    // Without memory the order is not the best one; that is all the chain is for.
  }
}

// What the task comes after is forgotten with this object, and the task still counts in the chains.
void Dependencies::withdraw(TaskRecord& task) noexcept {
  if (Scheduler* const scheduler = Scheduler::owner(task)) {
    task.waiting_on_ = this;  // whoever withdraws the task has taken that away already
    raise_chains(*scheduler);
    task.waiting_on_ = nullptr;
  }
  const Owner gone(this);
}

void Dependencies::on_settled(Scheduler& scheduler, Waiter& waiter) noexcept {
  Entry& entry = reinterpret_cast<Entry&>(waiter);  // the waiter is its first member
  --left_;
  Waitable* const failed = decides(*entry.target) ? entry.target.get() : nullptr;
  if (failed == nullptr && left_ > 0) return;
  raise_chains(scheduler);
  let_go(Owner(this), scheduler, *waiter.task, failed);
}

// The wait is over: the task begins when its turn comes, or ends then because of the one that
// failed.
void Dependencies::let_go(Owner owner, Scheduler& scheduler, TaskRecord& task,
                          Waitable* failed) noexcept {
  const bool was_held = std::exchange(task.waiting_on_, nullptr) != nullptr;
  if (failed != nullptr) {
    task.set(TaskRecord::kDeliverCancel);
    if (owner->if_failed_ == IfFailed::fail) {
      refuse(task, *failed);
    } else {
      const auto why = [&] {
        return "it comes after " + failed->describe() + ", which " +
               (failed->state() == TaskState::cancelled ? "was cancelled" : "failed");
      };
      task.keep_reason(scheduler.reason(CancelCause::dependency, why, task.spawn_site_));
      task.set(TaskRecord::kCancelPending);
    }
  }
  scheduler.make_ready(task, TaskState::pending);
  if (!was_held) return;
  --scheduler.held_;
  if (scheduler.observer_ != nullptr) scheduler.observer_->released(task);
}

void Dependencies::refuse(TaskRecord& task, Waitable& failed) noexcept {
  try {
    task.extras().refused = std::make_exception_ptr(
        DependencyFailed(task.describe(), failed.describe(), failed.error()));
    failed.mark_observed();
  } catch (const std::bad_alloc&) {
    // What is to fail and has nothing to fail with, fails with this; see Loop::end_unbegun.
  }
}

// Not done at each spawn: a chain of n tasks that is built from its beginning would then cost
// n * n / 2 steps, because each new task lengthens the chain of all those before it.
void Dependencies::note_chain(Scheduler& scheduler, const TaskRecord& task) noexcept {
  const ReadyPolicy* const policy = scheduler.ready_.policy();
  if (policy == nullptr || !policy->wants_chains()) return;
  try {
    scheduler.unraised_.push_back(task.id_);
  } catch (const std::bad_alloc&) {
    // As in keep_chain.
  }
}

// One pass over the tasks that were spawned since the last one. A task can only come after older
// ones: from the youngest to the oldest, the chain below each is known when its turn comes. Those
// above that are older than the pass are gone through at once, with a list instead of recursion: a
// chain may be a million tasks long.
class Dependencies::Raise {
 public:
  Raise(Scheduler& scheduler, ReadyPolicy& policy) : scheduler_(scheduler), policy_(policy) {}

  void run(const std::vector<TaskId>& spawned) {
    for (const TaskId id : spawned) to_come_.insert(id.value());
    for (auto id = spawned.rbegin(); id != spawned.rend(); ++id) {
      to_come_.erase(id->value());
      if (const TaskRecord* const task = scheduler_.find(*id)) raised_.push_back(task);
      while (!raised_.empty()) {
        const TaskRecord& below = *raised_.back();
        raised_.pop_back();
        raise_above(below);
      }
    }
  }

 private:
  void raise_above(const TaskRecord& below) {
    if (below.state_ != TaskState::pending || below.waiting_on_ == nullptr) return;  // has begun
    const auto& waits = static_cast<const Dependencies&>(*below.waiting_on_);
    const std::uint64_t chain = below.chain_below() + waits.cost_;
    for (std::size_t i = 0; i < waits.count_; ++i) {
      auto* const above = waits.entries()[i].target->as_task();
      if (above == nullptr || above->settled() || above->chain_below() >= chain) continue;
      TaskRecord::Extras& extras = above->extras();
      policy_.chain_grows(*above, chain);
      extras.chain_below = chain;
      if (!to_come_.contains(above->id_.value())) raised_.push_back(above);
    }
  }

  Scheduler& scheduler_;
  ReadyPolicy& policy_;
  std::unordered_set<std::uint64_t> to_come_;  // only looked up, never walked
  std::vector<const TaskRecord*> raised_;
};

void Dependencies::raise_chains(Scheduler& scheduler) noexcept {
  if (scheduler.unraised_.empty()) return;
  try {
    Raise(scheduler, *scheduler.ready_.policy()).run(scheduler.unraised_);
  } catch (const std::bad_alloc&) {
    // As in keep_chain.
  }
  scheduler.unraised_.clear();
}

std::string Dependencies::describe() const {
  // The innermost matter most to a reader, and a thousand are of no use.
  constexpr std::size_t kShown = 8;
  std::string out;
  std::size_t pending = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (entries()[i].target->settled() || ++pending > kShown) continue;
    if (!out.empty()) out += " and ";
    out += entries()[i].target->describe();
  }
  if (pending > kShown) out += " and " + std::to_string(pending - kShown) + " more";
  return out + ", before it begins";
}

void Dependencies::visit_waits(WaitVisitor& visitor) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!entries()[i].target->settled()) visitor.on_waitable(*entries()[i].target);
  }
}

}  // namespace tiffany
