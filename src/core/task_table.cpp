#include "tiffany/core/task_table.hpp"

#include <limits>
#include <new>

#if TIFFANY_ASAN
#include <sanitizer/asan_interface.h>
#define TIFFANY_POISON(address, size) __asan_poison_memory_region(address, size)
#define TIFFANY_UNPOISON(address, size) __asan_unpoison_memory_region(address, size)
#else
#define TIFFANY_POISON(address, size) static_cast<void>(0)
#define TIFFANY_UNPOISON(address, size) static_cast<void>(0)
#endif

namespace tiffany {

void TaskTable::abandon() noexcept {
  for_each([](TaskRecord& record) { record.set(TaskRecord::kOrphan); });
  // The chunks go back to the system, which must not find them poisoned when it maps them again.
  for ([[maybe_unused]] std::byte* block : blocks_) {
    TIFFANY_UNPOISON(block, kPerBlock * sizeof(TaskRecord));
  }
}

void TaskTable::grow() {
  const std::size_t slots = entries_.size();
  blocks_.reserve(blocks_.size() + 1);
  if (slots + kPerBlock > entries_.capacity()) entries_.reserve(2 * (slots + kPerBlock));
  blocks_.push_back(arena_.reserve(kPerBlock * sizeof(TaskRecord)));
  entries_.resize(slots + kPerBlock);
  // Lowest slot first, so that ids come in the order of spawning.
  for (std::size_t i = slots; i < entries_.size(); ++i) {
    entries_[i].next_free =
        i + 1 < entries_.size() ? static_cast<std::uint32_t>(i + 2) : first_free_;
  }
  first_free_ = static_cast<std::uint32_t>(slots + 1);
}

TaskTable::Slot TaskTable::take() {
  if (first_free_ == 0) grow();
  const std::uint32_t slot = first_free_;
  Entry& entry = entries_[slot - 1];
  first_free_ = entry.next_free;
  ++entry.uses;
  ++live_;
  arena_.pin();
  std::byte* memory = memory_at(slot);
  TIFFANY_UNPOISON(memory, sizeof(TaskRecord));
  return {memory, TaskId(slot, entry.uses / 2 + 1)};
}

void TaskTable::give_back(TaskId id) noexcept {
  const std::uint32_t slot = id.slot();
  Entry& entry = entries_[slot - 1];
  ++entry.uses;
  --live_;
  TIFFANY_POISON(memory_at(slot), sizeof(TaskRecord));
  Arena::unpin(memory_at(slot));
  // A slot whose generations are used up is retired rather than let an id come back.
  if (entry.uses >= std::numeric_limits<std::uint32_t>::max() - 1) return;
  entry.next_free = first_free_;
  first_free_ = slot;
}

void TaskTable::give_back_orphan(TaskRecord& record) noexcept { Arena::unpin(&record); }

TaskRecord* TaskTable::find(TaskId id) const noexcept {
  const std::uint32_t slot = id.slot();
  if (slot == 0 || slot > entries_.size()) return nullptr;
  const Entry& entry = entries_[slot - 1];
  if (!is_live(entry) || entry.uses / 2 + 1 != id.generation()) return nullptr;
  return record_at(slot);
}

}  // namespace tiffany
