// What a task comes after: `spawn.after(a, b)(f, args...)` (core/spawner.hpp).
//
// Such a task exists from the spawn on, with an id, a handle and a scope, but is in no queue: it is
// parked on a Dependencies object until everything it comes after has ended, and reports show it
// waiting there. What ended before the spawn is satisfied at once. A task can only come after one
// that exists already, so no circle can be built.
//
// When one of those does not complete, the task need not wait for the rest: IfFailed decides.
//
// Cancel. Before it begins: the wait is withdrawn and the task never begins; what comes after it in
// turn hears that it was cancelled. Afterwards it is a task like any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/arena.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/waitable.hpp"

namespace tiffany {

class ReadyPolicy;

// What becomes of a task when one that it comes after fails or is cancelled.
enum class IfFailed : std::uint8_t {
  skip,  // it is cancelled before it begins, with a reason that names the other one (default)
  run,   // it begins when all have ended, however they did
  fail,  // it fails with DependencyFailed, without having begun
};

// What a task with IfFailed::fail fails with.
class DependencyFailed : public Error {
 public:
  DependencyFailed(const std::string& who, const std::string& dependency, std::exception_ptr cause);
  // What the dependency failed with, or its TaskCancelled.
  const std::exception_ptr& cause() const noexcept { return cause_; }

 private:
  std::exception_ptr cause_;
};

// What a task that is about to be spawned comes after.
class DependencyList {
 public:
  DependencyList() noexcept = default;

  void add(Waitable& target) { targets_.emplace_back(&target); }
  // By id. An error when no task has it: unknown_task when none ever had, stale_handle when the
  // task has ended and nobody kept a handle, so that nothing is known of its end.
  void add(const Scheduler& scheduler, TaskId id);

  IfFailed if_failed = IfFailed::skip;
  // What the task adds to the chains of those it comes after; see longest_path_order().
  std::uint32_t cost = 1;
  // What is known already of the chain below the task itself.
  std::uint64_t chain_below = 0;

 private:
  friend class Dependencies;
  std::vector<Ref<Waitable>> targets_;
};

// What a task is parked on until it may begin. One block of the arena; it goes when the wait is
// over.
class Dependencies final : public SystemCall {
 public:
  struct Delete {
    void operator()(Dependencies* dependencies) const noexcept;
  };
  using Owner = std::unique_ptr<Dependencies, Delete>;

  static Owner make(Arena& arena, const DependencyList& list);
  // Parks the new task, or queues it when there is nothing to wait for.
  static void begin(Owner owner, Scheduler& scheduler, TaskRecord& task) noexcept;

  void withdraw(TaskRecord& task) noexcept override;
  void on_settled(Scheduler& scheduler, Waiter& waiter) noexcept override;
  std::string describe() const override;
  void visit_waits(WaitVisitor& visitor) const override;
  bool needs_all() const noexcept override { return true; }

  // Tells the tasks above those that were spawned since the last call how long the chains below
  // them have become. Called before an order that asks for chains picks a task.
  static void raise_chains(Scheduler& scheduler) noexcept;

 private:
  class Raise;
  struct Entry {
    Waiter waiter;
    Ref<Waitable> target;
  };

  explicit Dependencies(const DependencyList& list) noexcept;
  ~Dependencies();

  static std::size_t size_for(std::size_t count) noexcept;
  Entry* entries() noexcept;
  const Entry* entries() const noexcept;
  bool decides(const Waitable& target) const noexcept;
  static void let_go(Owner owner, Scheduler& scheduler, TaskRecord& task,
                     Waitable* failed) noexcept;
  static void refuse(TaskRecord& task, Waitable& failed) noexcept;
  void keep_chain(TaskRecord& task) const noexcept;
  static void note_chain(Scheduler& scheduler, const TaskRecord& task) noexcept;

  std::size_t count_;
  std::size_t left_ = 0;
  std::uint64_t chain_below_;
  std::uint32_t cost_;
  IfFailed if_failed_;
};

}  // namespace tiffany
