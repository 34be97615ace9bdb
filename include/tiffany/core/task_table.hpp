// The slots that task records live in: found by number, reused under a new generation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tiffany/base/arena.hpp"
#include "tiffany/core/task_record.hpp"

namespace tiffany {

class TaskTable {
 public:
  explicit TaskTable(Arena& arena) noexcept : arena_(arena) {}
  TaskTable(const TaskTable&) = delete;
  TaskTable& operator=(const TaskTable&) = delete;

  // The scheduler is going. Records that handles still refer to become orphans: they keep their
  // result, and give their memory back when the last handle goes.
  void abandon() noexcept;

  struct Slot {
    void* memory;
    TaskId id;
  };
  // Memory for one record and the id of the task that will live there. Throws std::bad_alloc.
  Slot take();
  void give_back(TaskId id) noexcept;
  static void give_back_orphan(TaskRecord& record) noexcept;

  // The record with this id, or null when its slot was given back.
  TaskRecord* find(TaskId id) const noexcept;
  std::size_t size() const noexcept { return live_; }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t slot = 1; slot <= entries_.size(); ++slot) {
      if (is_live(entries_[slot - 1])) visit(*record_at(slot));
    }
  }

 private:
  static constexpr std::uint32_t kPerBlock = 128;

  // Beside the records, not inside them: a slot answers for its generation when it holds nothing.
  struct Entry {
    std::uint32_t uses = 0;  // odd while the slot is taken
    std::uint32_t next_free = 0;
  };
  static bool is_live(const Entry& entry) noexcept { return (entry.uses & 1) != 0; }
  std::byte* memory_at(std::uint32_t slot) const noexcept {
    return blocks_[(slot - 1) / kPerBlock] + (slot - 1) % kPerBlock * sizeof(TaskRecord);
  }
  TaskRecord* record_at(std::uint32_t slot) const noexcept {
    return reinterpret_cast<TaskRecord*>(memory_at(slot));
  }
  void grow();

  Arena& arena_;
  std::vector<Entry> entries_;
  std::vector<std::byte*> blocks_;
  std::uint32_t first_free_ = 0;
  std::size_t live_ = 0;
};

}  // namespace tiffany
