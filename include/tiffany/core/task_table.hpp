// The slots that task records live in: found by number, reused under a new generation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "tiffany/base/arena.hpp"
#include "tiffany/core/task_record.hpp"

#if TIFFANY_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tiffany {

class TaskTable {
 public:
  // Throws std::bad_alloc.
  explicit TaskTable(Arena& arena) : arena_(arena) { grow(); }
  TaskTable(const TaskTable&) = delete;
  TaskTable& operator=(const TaskTable&) = delete;

  // The scheduler is going. Records that handles still refer to become orphans: they keep their
  // result, and give their memory back when the last handle goes.
  void abandon() noexcept;

  struct Slot {
    std::byte* memory;
    TaskId id;
  };
  // Memory for one record and the id of the task that will live there. Either made() or give_back()
  // follows. Throws std::bad_alloc.
  Slot take() {
    if (free_ == nullptr) [[unlikely]]
      grow();
    std::byte* memory = free_;
    const Free free = read(memory);
    making_ = free.id;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    free_ = free.next;
    unpoison(memory);
    ++live_;
    return {memory, free.id};
  }
  // The record is whole.
  void made() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    making_ = TaskId();
  }
  void give_back(std::byte* memory, TaskId id) noexcept {
    --live_;
    poison(memory);
    // A slot whose generations are used up is retired rather than let an id come back.
    const bool retired = id.generation() == kLastGeneration;
    write(memory, Free{retired ? nullptr : free_, TaskId(id.slot(), id.generation() + 1)});
    if (!retired) [[likely]]
      free_ = memory;
  }
  static void give_back_orphan(TaskRecord& record) noexcept { Arena::unpin(&record); }

  // The record in a slot that is in use, counted from 0.
  TaskRecord& in_slot(std::uint32_t slot) const noexcept {
    return *record_in(blocks_[slot / kPerBlock] + slot % kPerBlock * sizeof(TaskRecord));
  }
  // The record with this id, or null when its slot was given back.
  TaskRecord* find(TaskId id) const noexcept;
  // A task had this id once, and nothing of it is left.
  bool was_given_back(TaskId id) const noexcept;
  std::size_t size() const noexcept { return live_; }
  // How many slots for_each and find_if look at.
  std::size_t slots() const noexcept { return blocks_.size() * kPerBlock; }
  // An address in the arena.
  std::byte* origin() const noexcept { return blocks_.front(); }

  template <class Visit>
  void for_each(Visit visit) const {
    static_cast<void>(find_if([&](TaskRecord& record) {
      visit(record);
      return false;
    }));
  }
  // The same from a signal handler that has interrupted any of these functions, or the code that
  // makes a record of what take() gave. Leaves out a record that is not made() yet, without a look
  // at it: it is no object yet. False: the table grows just now, and nothing was visited.
  template <class Visit>
  bool for_each_whole(Visit visit) const {
    if (growing_) return false;
    std::uint32_t slot = 0;
    for (std::byte* block : blocks_) {
      for (std::uint32_t i = 0; i < kPerBlock; ++i) {
        std::byte* memory = block + i * sizeof(TaskRecord);
        ++slot;
        if (is_live(memory) && slot != making_.slot()) visit(*record_in(memory));
      }
    }
    return true;
  }
  // The first record, in the order of the slots, of which this is true; null when there is none.
  template <class Predicate>
  TaskRecord* find_if(Predicate predicate) const {
    for (std::byte* block : blocks_) {
      for (std::uint32_t i = 0; i < kPerBlock; ++i) {
        std::byte* memory = block + i * sizeof(TaskRecord);
        if (is_live(memory) && predicate(*record_in(memory))) return record_in(memory);
      }
    }
    return nullptr;
  }

 private:
  friend struct DebugLayout;
  static constexpr std::uint32_t kPerBlock = 64;
  static constexpr std::uint32_t kLastGeneration = 0xffffffff;

  // What an empty slot holds, in the bytes where a record has what it needs least after its end:
  // the first word is a mark instead of a record's table of virtual functions.
  struct Free {
    std::byte* next;
    TaskId id;  // of the task that will live here next
  };
  static constexpr std::size_t kFreeSize = 3 * sizeof(void*);
  static Free read(const std::byte* memory) noexcept {
    Free free;
    std::memcpy(&free, memory + sizeof(void*), sizeof free);
    return free;
  }
  static void write(std::byte* memory, const Free& free) noexcept {
    const std::uintptr_t mark = 0;
    std::memcpy(memory, &mark, sizeof mark);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // for_each_whole: first it is free
    std::memcpy(memory + sizeof(void*), &free, sizeof free);
  }
  static bool is_live(const std::byte* memory) noexcept {
    std::uintptr_t mark;
    std::memcpy(&mark, memory, sizeof mark);
    return mark != 0;
  }
  static TaskRecord* record_in(std::byte* memory) noexcept {
    return std::launder(reinterpret_cast<TaskRecord*>(memory));
  }
  static void poison(std::byte* memory) noexcept;
  static void unpoison(std::byte* memory) noexcept;
  void grow();
  void grow_blocks();

  Arena& arena_;
  std::byte* free_ = nullptr;
  std::size_t live_ = 0;
  TaskId making_;  // the record in its slot is not whole, for for_each_whole
  bool growing_ = false;
  std::vector<std::byte*> blocks_;
};

// What is not the mark of an empty slot is out of bounds for everybody under AddressSanitizer.
#if TIFFANY_ASAN
inline void TaskTable::poison(std::byte* memory) noexcept {
  __asan_poison_memory_region(memory + kFreeSize, sizeof(TaskRecord) - kFreeSize);
}
inline void TaskTable::unpoison(std::byte* memory) noexcept {
  __asan_unpoison_memory_region(memory, sizeof(TaskRecord));
}
#else
inline void TaskTable::poison(std::byte*) noexcept {}
inline void TaskTable::unpoison(std::byte*) noexcept {}
#endif

}  // namespace tiffany
