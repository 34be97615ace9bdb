#include "tiffany/core/task_table.hpp"

namespace tiffany {

void TaskTable::abandon() noexcept {
  if (live_ > 0) {
    for_each([this](TaskRecord& record) {
      record.set(TaskRecord::kOrphan);
      arena_.pin();
    });
  }
#if TIFFANY_ASAN
  // The chunks may go back to the system, and must not come from there poisoned.
  for (std::byte* block : blocks_) {
    for (std::uint32_t i = 0; i < kPerBlock; ++i) unpoison(block + i * sizeof(TaskRecord));
  }
#endif
}

void TaskTable::grow_blocks() {
  std::vector<std::byte*> more;
  more.reserve(2 * blocks_.size() + 8);
  more.assign(blocks_.begin(), blocks_.end());
  growing_ = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  blocks_.swap(more);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  growing_ = false;
}

void TaskTable::grow() {
  // By a factor: one block at a time would copy the table for every 64 tasks.
  if (blocks_.size() == blocks_.capacity()) grow_blocks();
  std::byte* block = arena_.reserve(kPerBlock * sizeof(TaskRecord));
  growing_ = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const auto first = static_cast<std::uint32_t>(blocks_.size()) * kPerBlock + 1;
  blocks_.push_back(block);
  // From the last to the first, so that ids come in the order of spawning.
  for (std::uint32_t i = kPerBlock; i-- > 0;) {
    std::byte* memory = block + i * sizeof(TaskRecord);
    write(memory, Free{free_, TaskId(first + i, 1)});
    free_ = memory;
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  growing_ = false;
}

TaskRecord* TaskTable::find(TaskId id) const noexcept {
  const std::size_t index = std::size_t{id.slot()} - 1;
  if (id.slot() == 0 || index / kPerBlock >= blocks_.size()) return nullptr;
  std::byte* memory = blocks_[index / kPerBlock] + index % kPerBlock * sizeof(TaskRecord);
  if (!is_live(memory)) return nullptr;
  TaskRecord* record = record_in(memory);
  return record->id() == id ? record : nullptr;
}

bool TaskTable::was_given_back(TaskId id) const noexcept {
  const std::size_t index = std::size_t{id.slot()} - 1;
  if (id.slot() == 0 || id.generation() == 0 || index / kPerBlock >= blocks_.size()) return false;
  std::byte* memory = blocks_[index / kPerBlock] + index % kPerBlock * sizeof(TaskRecord);
  const TaskId latest = is_live(memory) ? record_in(memory)->id() : read(memory).id;
  return id.generation() < latest.generation();
}

}  // namespace tiffany
