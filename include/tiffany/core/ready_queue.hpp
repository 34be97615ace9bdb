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
};

// Priorities are ignored; first come, first served.
std::unique_ptr<ReadyPolicy> fifo_order();
// The newest ready task first, within a priority. Walks a tree of tasks depth first, so that few
// are alive at a time; starves old ones as long as new ones come.
std::unique_ptr<ReadyPolicy> depth_first_order();
// A seeded choice among the ready tasks of the most urgent priority. For finding races.
std::unique_ptr<ReadyPolicy> random_order(std::uint64_t seed);
// The order of an earlier run: `picks` is what `Scheduler::picks()` gave. When the recorded task is
// not ready at its turn the run stops with an error (Errc::diverged) that names both sides. After
// the last pick it goes on by priority.
std::unique_ptr<ReadyPolicy> recorded_order(std::vector<TaskId> picks);

class ReadyQueue {
 public:
  explicit ReadyQueue(std::unique_ptr<ReadyPolicy> policy = nullptr) noexcept
      : policy_(std::move(policy)) {}
  ~ReadyQueue();
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;

  bool empty() noexcept {
    if (best_->head != best_->tail) [[likely]] return false;
    return policy_ != nullptr ? policy_->size() == 0 : !find_best();
  }
  std::size_t size() const noexcept;

  void push(TaskRecord& task) {
    if (policy_ != nullptr) [[unlikely]] return policy_->push(task);
    Ring& ring = rings_[task.priority_];
    const std::size_t tail = ring.tail;
    if (tail - ring.head == ring.capacity) [[unlikely]] grow(ring);
    ring.slots[tail & (ring.capacity - 1)] = &task;
    ring.tail = tail + 1;
    if (&ring < best_) [[unlikely]] best_ = &ring;
  }

  // Null when there is none.
  TaskRecord* pop() {
    if (best_->head == best_->tail) [[unlikely]] {
      if (policy_ != nullptr) return policy_->size() > 0 ? &policy_->pop() : nullptr;
      if (!find_best()) return nullptr;
    }
    Ring& ring = *best_;
    const std::size_t mask = ring.capacity - 1;
    const std::size_t head = ring.head;
    TaskRecord* task = ring.slots[head & mask];
    ring.head = head + 1;
    if (ring.tail - head > kAhead) {
      // Two stages: the record first, then the frame that it points to.
      __builtin_prefetch(ring.slots[(head + kAhead) & mask], 1);
      const char* frame = static_cast<const char*>(ring.slots[(head + kNear) & mask]->cursor_);
      __builtin_prefetch(frame, 1);
      __builtin_prefetch(frame + 64, 1);
    }
    return task;
  }

 private:
  static constexpr std::size_t kAhead = 8;
  static constexpr std::size_t kNear = 4;

  struct Ring {
    TaskRecord** slots = nullptr;
    std::size_t capacity = 0;
    std::size_t head = 0;
    std::size_t tail = 0;
  };
  static void grow(Ring& ring);
  // Moves on to the most urgent ring that has tasks. False when none has.
  bool find_best() noexcept;

  // No more urgent ring has tasks; this one may be empty.
  Ring* best_ = &rings_[0];
  std::unique_ptr<ReadyPolicy> policy_;
  Ring rings_[256];
};

}  // namespace tiffany
