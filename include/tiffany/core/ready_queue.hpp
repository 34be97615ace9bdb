// Which of the ready tasks runs next.
//
// The default order is by priority (small number first) and first-in-first-out within one. It is a
// ring of record addresses per priority rather than a linked list: the ring lets the processor
// fetch the next tasks while this one runs, which is worth a factor of five with a million tasks.
// Other orders come in through ReadyPolicy; they cost a virtual call per task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tiffany/core/task_record.hpp"

namespace tiffany {

// An order of one's own. `pop` is only called when `size` is not zero, and must return every task
// that was pushed exactly once. It must not depend on addresses, or the run cannot be repeated.
class ReadyPolicy {
 public:
  virtual ~ReadyPolicy() = default;
  virtual void push(TaskRecord& task) = 0;
  virtual TaskRecord& pop() = 0;
  virtual std::size_t size() const noexcept = 0;

  // True for an order that looks at TaskRecord::chain_below(). Only then is it kept up to date.
  virtual bool wants_chains() const noexcept { return false; }
  // chain_below() of a task, which may be in the queue or not, is about to become `chain`.
  virtual void chain_grows(TaskRecord& task, std::uint64_t chain);
};

// What a scheduler does when it is given no policy.
std::unique_ptr<ReadyPolicy> priority_order();
// Priorities are ignored; first come, first served.
std::unique_ptr<ReadyPolicy> fifo_order();
// The newest ready task first, within a priority. Walks a tree of tasks depth first, so that few
// are alive at a time; starves old ones as long as new ones come.
std::unique_ptr<ReadyPolicy> depth_first_order();
// Within a priority, the task below which the longest chain of tasks waits to begin (spawn.after,
// TaskGraph), by the sum of their costs; of equals the one that became ready first. Ends a graph of
// tasks sooner when those on its longest path wait for something outside. An after() then visits all
// that have not begun above the new task, so a chain that is spawned one by one from its beginning
// costs the square of its length; TaskGraph knows its chains beforehand and pays nothing.
std::unique_ptr<ReadyPolicy> longest_path_order();
// A seeded choice among the ready tasks of the most urgent priority. For finding races.
std::unique_ptr<ReadyPolicy> random_order(std::uint64_t seed);
// The order of an earlier run: `picks` is what `Scheduler::picks()` gave. When the recorded task is
// not ready at its turn the run stops with an error (Errc::diverged) that names both sides. After
// the last pick it goes on by priority.
std::unique_ptr<ReadyPolicy> recorded_order(std::vector<TaskId> picks);

// Another order, with a note of what it picked. Options::record_picks puts it in between.
class RecordingOrder final : public ReadyPolicy {
 public:
  // No order: priority_order().
  RecordingOrder(std::unique_ptr<ReadyPolicy> order, std::vector<TaskId>& picks);
  void push(TaskRecord& task) override { order_->push(task); }
  TaskRecord& pop() override;
  std::size_t size() const noexcept override { return order_->size(); }
  bool wants_chains() const noexcept override { return order_->wants_chains(); }
  void chain_grows(TaskRecord& task, std::uint64_t chain) override {
    order_->chain_grows(task, chain);
  }

 private:
  std::unique_ptr<ReadyPolicy> order_;
  std::vector<TaskId>& picks_;
};

class ReadyQueue {
 public:
  struct Ring {
    TaskRecord** slots = nullptr;
    std::int32_t* frames = nullptr;  // where each task goes on, as a distance from its record
    std::size_t mask = 0;            // capacity - 1
    std::size_t head = 0;
    std::size_t tail = 0;
    std::size_t tasks = 0;  // tasks of this priority that may be in the ring at one time

    bool empty() const noexcept { return head == tail; }
    std::size_t size() const noexcept { return tail - head; }
    TaskRecord& at(std::size_t position) const noexcept { return *slots[position & mask]; }
    // The frame of the task, or null when only the record knows.
    void* frame_at(std::size_t position) const noexcept {
      const std::ptrdiff_t distance = frames[position & mask];
      if (distance == 0) return nullptr;
      return reinterpret_cast<std::byte*>(&at(position)) + distance * kGranule;
    }
    // `frame`: the one at the task's cursor, or null.
    void push(TaskRecord& task, void* frame) noexcept {
      const std::size_t at = tail++ & mask;
      slots[at] = &task;
      frames[at] = distance_of(&task, frame);
    }
    // Of many tasks, the next ones are fetched ahead.
    void prefetch_from(std::size_t position) const noexcept {
      const char* frame = static_cast<const char*>(frame_at(position + kAhead));
      __builtin_prefetch(&at(position + kAhead), 1);
      __builtin_prefetch(frame, 1);
      __builtin_prefetch(frame + 64, 1);
    }

   private:
    // Both are aligned to this (Clang puts the frame of a callee into that of its caller where it can,
    // aligned to no more), so 32 bits reach 16 GiB in either direction, at half the memory of an
    // address. What is further away is asked of the record.
    static constexpr std::ptrdiff_t kGranule = 8;
    static std::int32_t distance_of(const void* task, const void* frame) noexcept {
      if (frame == nullptr) return 0;
      const std::ptrdiff_t distance =
          (static_cast<const std::byte*>(frame) - static_cast<const std::byte*>(task)) / kGranule;
      const auto kept = static_cast<std::int32_t>(distance);
      return kept == distance ? kept : 0;
    }
  };
  // From this many tasks on they do not stay in the cache by themselves.
  static constexpr std::size_t kMany = 1536;

  explicit ReadyQueue(std::unique_ptr<ReadyPolicy> policy = nullptr) noexcept
      : policy_(std::move(policy)) {}
  ~ReadyQueue();
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;

  // The policy that decides instead of the rings, or null.
  ReadyPolicy* policy() const noexcept { return policy_.get(); }

  bool empty() noexcept {
    if (policy_ != nullptr) [[unlikely]]
      return policy_->size() == 0;
    return best_->empty() && !find_best();
  }
  std::size_t size() const noexcept;

  // Room for one more task of this priority; throws std::bad_alloc. With it, push never allocates.
  void reserve(std::uint8_t priority) {
    Ring& ring = rings_[priority];
    if (ring.tasks == ring.mask + 1 || ring.slots == nullptr) [[unlikely]]
      grow(ring);
    ++ring.tasks;
  }
  // For a task that has ended while it is in the queue.
  void keep_place(std::uint8_t priority) noexcept { ++rings_[priority].tasks; }
  void unreserve(std::uint8_t priority) noexcept { --rings_[priority].tasks; }

  // A task that does not run: its cursor is where it goes on.
  void push(TaskRecord& task) noexcept { push(task, task.cursor_); }
  // A task that runs, and will stop next: which frame it goes on with is not known yet.
  void push_running(TaskRecord& task) noexcept { push(task, nullptr); }

  // No more urgent ring has tasks than this one, which had some.
  bool is_best(const Ring& ring) const noexcept { return best_ == &ring; }
  // The most urgent ring that has tasks, or null. Only without a policy.
  Ring* best() noexcept {
    if (best_->empty() && !find_best()) [[unlikely]]
      return nullptr;
    return best_;
  }

 private:
  static constexpr std::size_t kAhead = 8;

  void push(TaskRecord& task, void* frame) noexcept {
    if (policy_ != nullptr) [[unlikely]]
      return policy_->push(task);
    Ring& ring = rings_[task.priority_];
    ring.push(task, frame);
    if (&ring < best_) [[unlikely]]
      best_ = &ring;
  }
  static void grow(Ring& ring);
  // Moves on to the most urgent ring that has tasks. False when none has.
  bool find_best() noexcept;

  // No more urgent ring has tasks; this one may be empty.
  Ring* best_ = &rings_[0];
  std::unique_ptr<ReadyPolicy> policy_;
  Ring rings_[256];
};

}  // namespace tiffany
