// Which of the ready tasks runs next.
//
// The default order is by priority (small number first) and first-in-first-out within one. It is a
// ring per priority rather than a linked list: the ring lets the processor fetch the next tasks
// while this one runs, which is worth a factor of five with a million tasks. For a task that only
// yields, the ring holds all that a switch needs, and its record is not touched.
// Other orders come in through ReadyPolicy; they cost a virtual call per task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tiffany/core/task_record.hpp"

namespace tiffany {

// An order of one's own. `pop` is only called when `size` is not zero, and must return every task
// that was pushed exactly once. It must not depend on addresses, or the run cannot be repeated.
// A push that throws std::bad_alloc must leave everything as it was; the task then comes next. Any
// other exception from push ends the program, since the task would be lost.
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
// tasks sooner when those on its longest path wait for something outside. An after() then visits
// all that have not begun above the new task, so a chain that is spawned one by one from its
// beginning costs the square of its length; TaskGraph knows its chains beforehand and pays nothing.
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
  // A task in a ring: the address of its record; or, when the task only yields and its record need
  // not be touched, the number of its slot and where its frame is. Eight bytes, because a million
  // tasks have a place each, and one word, because the hot loop is bound by the number of its
  // stores.
  class Place {
   public:
    Place() noexcept = default;
    explicit Place(TaskRecord& task) noexcept : word_(reinterpret_cast<std::uintptr_t>(&task)) {}
    // For a task that only yields. `origin`: any address near the frames, the same for all places.
    Place(const TaskRecord& task, const void* frame, const std::byte* origin) noexcept
        : word_((static_cast<std::uint64_t>(distance(origin, frame)) << 32) |
                (task.id_.slot() - 1)) {}
    // False when the frame is too far away for such a place.
    static bool reaches(const std::byte* origin, const void* frame) noexcept {
      const std::int64_t exact = distance(origin, frame);
      return static_cast<std::int32_t>(exact) == exact;
    }

    TaskRecord& task() const noexcept { return *reinterpret_cast<TaskRecord*>(word_); }
    // Of the task's record, counted from 0.
    std::uint32_t slot() const noexcept { return static_cast<std::uint32_t>(word_); }
    void* frame(std::byte* origin) const noexcept {
      return origin + ((static_cast<std::int64_t>(word_) >> 32) << kGranuleBits);
    }

   private:
    // Frames are aligned to 8 (Clang puts the frame of a callee into that of its caller where it
    // can, aligned to no more), so 32 bits reach 16 GiB in either direction.
    static constexpr int kGranuleBits = 3;
    static std::int64_t distance(const std::byte* origin, const void* frame) noexcept {
      return (static_cast<const std::byte*>(frame) - origin) >> kGranuleBits;
    }

    std::uint64_t word_ = 0;
  };
  // The yields of a task that only yields are counted beside its place. From kLook on the record
  // must be looked at: because the place is the address of a record, and no yields are to be
  // counted (kRecord), or because the count is about to overflow.
  static constexpr std::uint32_t kLook = 0x8000'0000;
  static constexpr std::uint32_t kRecord = 0xffff'ffff;
  struct Ring {
    Place* places = nullptr;
    std::uint32_t* yields = nullptr;
    std::size_t mask = 0;  // capacity - 1
    std::size_t head = 0;
    std::size_t tail = 0;
    std::size_t tasks = 0;  // of this priority; less than the capacity, see running_yields()
    std::size_t unused[2];  // 64 bytes in all: the ring of a priority is found by a shift

    bool empty() const noexcept { return head == tail; }
    std::size_t size() const noexcept { return tail - head; }
    // Those of the task that was taken last and is running: its place is not used again before it
    // stops, because there is one place more than tasks.
    std::uint32_t& running_yields() const noexcept { return yields[(head - 1) & mask]; }
    std::uint32_t take_running_yields() const noexcept {
      const std::uint32_t count = std::exchange(running_yields(), 0);
      return count == kRecord ? 0 : count;
    }
    void push(Place place, std::uint32_t count) noexcept {
      const std::size_t at = tail++ & mask;
      places[at] = place;
      yields[at] = count;
    }
  };
  // From this many tasks on they do not stay in the cache by themselves.
  static constexpr std::size_t kMany = 1536;

  explicit ReadyQueue(std::unique_ptr<ReadyPolicy> policy = nullptr) noexcept
      : policy_(std::move(policy)) {}
  ~ReadyQueue();
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;

  // To be called once, before the first push.
  void set_origin(std::byte* origin) noexcept { origin_ = origin; }
  std::byte* origin() const noexcept { return origin_; }

  // Calls count(slot, yields) for the yields that the records do not know of yet.
  template <class Count>
  void count_yields(Count count) const noexcept {
    for (const Ring& ring : rings_) {
      for (std::size_t at = ring.head; at != ring.tail; ++at) {
        std::uint32_t& yields = ring.yields[at & ring.mask];
        if (yields != kRecord) count(ring.places[at & ring.mask].slot(), std::exchange(yields, 0));
      }
    }
  }

  // Those of one task, if it was the last of its priority to be pushed.
  std::uint32_t take_last_yields(const TaskRecord& task) noexcept {
    const Ring& ring = rings_[task.priority_];
    if (ring.empty()) return 0;
    const std::size_t at = (ring.tail - 1) & ring.mask;
    if (ring.yields[at] == kRecord || ring.places[at].slot() != task.id_.slot() - 1) return 0;
    return std::exchange(ring.yields[at], 0);
  }

  // The policy that decides instead of the rings, or null.
  ReadyPolicy* policy() const noexcept { return policy_.get(); }
  // The task that the policy wants next. Only with a policy, and when there is one.
  TaskRecord& pop_by_policy();

  bool empty() noexcept {
    if (policy_ != nullptr) [[unlikely]]
      return refused_ == 0 && policy_->size() == 0;
    return best_->empty() && !find_best();
  }
  std::size_t size() const noexcept;

  // Room for one more task of this priority; throws std::bad_alloc. With it, push never allocates.
  void reserve(std::uint8_t priority) {
    Ring& ring = rings_[priority];
    if (ring.tasks == ring.mask) [[unlikely]]
      grow(ring);
    ++ring.tasks;
  }
  // For a task that has ended while it is in the queue.
  void keep_place(std::uint8_t priority) noexcept { ++rings_[priority].tasks; }
  void unreserve(std::uint8_t priority) noexcept { --rings_[priority].tasks; }

  void push(TaskRecord& task) noexcept {
    if (policy_ != nullptr) [[unlikely]]
      return push_by_policy(task);
    push_to_ring(task);
  }

  template <class Visit>
  void for_each_ring(Visit visit) {
    for (Ring& ring : rings_) visit(ring);
  }
  // The next less urgent ring than the best that has tasks, in turn: after that of `last`, which
  // becomes the priority of what is returned. Null when there is none.
  Ring* next_below_best(std::uint8_t& last) noexcept;
  Ring* ring_of(const TaskRecord& task) noexcept { return &rings_[task.priority_]; }
  // The task at the head of a ring that has some.
  template <class Table>
  static TaskRecord& first(const Ring& ring, const Table& tasks) noexcept {
    const std::size_t at = ring.head & ring.mask;
    return ring.yields[at] == kRecord ? ring.places[at].task()
                                      : tasks.in_slot(ring.places[at].slot());
  }

  // No more urgent ring has tasks than this one, which had some.
  bool is_best(const Ring& ring) const noexcept { return best_ == &ring; }
  // The most urgent ring that has tasks, or null. Only without a policy.
  Ring* best() noexcept {
    if (best_->empty() && !find_best()) [[unlikely]]
      return nullptr;
    return best_;
  }

 private:
  friend struct DebugLayout;

  void push_by_policy(TaskRecord& task) noexcept;
  void push_to_ring(TaskRecord& task) noexcept {
    Ring& ring = rings_[task.priority_];
    ring.push(Place(task), kRecord);
    if (&ring < best_) [[unlikely]]
      best_ = &ring;
  }
  void grow(Ring& ring);
  // Moves on to the most urgent ring that has tasks. False when none has.
  bool find_best() noexcept;

  // No more urgent ring has tasks; this one may be empty.
  Ring* best_ = &rings_[0];
  std::byte* origin_ = nullptr;
  std::unique_ptr<ReadyPolicy> policy_;
  std::uint64_t used_[4] = {};  // a bit for each priority that has ever had a task
  std::size_t refused_ = 0;     // tasks that the policy had no memory for, and are in the rings
  Ring rings_[256];
};

}  // namespace tiffany
