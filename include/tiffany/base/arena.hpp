// Memory for coroutine frames, task records and what hangs on them: size-class free lists over
// large chunks.
//
// Every scheduler owns one arena, so that what its tasks use can be counted (and bounded). A block
// finds the way back to its arena by its address, wherever it is freed. Taking and returning a
// block that was used before is a handful of instructions and never a lock.
//
// An arena may lie within another one, for a part of the tasks whose memory is counted (and
// bounded) by itself. Its blocks count in the outer one too, as one block with all the bytes that
// it has ever needed at a time.
//
// Lifetime: `Arena::create()` gives an arena with one owner. `retire()` ends the owner's interest;
// the memory stays until the last block has been returned, so a handle may outlive its scheduler.
// Thread safety: none. An arena belongs to the thread that drives its scheduler.
//
// Under AddressSanitizer every block is a heap block of its own, so that use-after-free and double
// free are reported as precisely as for `new` and `delete`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TIFFANY_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TIFFANY_ASAN 1
#endif
#endif
#ifndef TIFFANY_ASAN
#define TIFFANY_ASAN 0
#endif

namespace tiffany {

#if TIFFANY_ASAN
// A program with -fsanitize=address and a library without would free blocks the wrong way. The name
// of the namespace makes that an error of the linker, which is a sentence: "undefined reference to
// ...".
inline namespace this_program_is_built_with_fsanitize_address_so_build_tiffany_with_it_too {
#endif

class Arena {
 public:
  static Arena* create();
  static Arena* create_within(Arena& outer);
  void retire() noexcept;

  // Throws std::bad_alloc when the system has no memory left. Blocks are aligned to 16 bytes.
  void* allocate(std::size_t size) {
#if !TIFFANY_ASAN
    if (size <= kLargestSmall) [[likely]] {
      Class& c = classes_[class_of(size)];
      if (FreeBlock* block = c.free) [[likely]] {
        c.free = block->next;
        used_ += usage(size);
        return block;
      }
    }
#endif
    return allocate_slow(size);
  }

  // Returns a block to the arena it came from. `size` is what was asked for.
  static void deallocate(void* block, std::size_t size) noexcept {
#if !TIFFANY_ASAN
    if (size <= kLargestSmall) [[likely]] {
      Arena* arena = owner_of(block);
      Class& c = arena->classes_[class_of(size)];
      auto* freed = static_cast<FreeBlock*>(block);
      freed->next = c.free;
      c.free = freed;
      arena->used_ -= usage(size);
      if (arena->retired_) [[unlikely]]
        arena->delete_when_empty();
      return;
    }
#endif
    deallocate_slow(block, size);
  }

  // Memory that stays until the arena goes, aligned to 128 bytes. At most 16 KiB at a time.
  std::byte* reserve(std::size_t bytes) { return take_run(bytes); }
  // Keeps the arena, as a live block would, until unpin() is called with an address that lies in
  // memory from reserve().
  void pin() noexcept { ++pins_; }
  static void unpin(void* reserved) noexcept;

  // Blocks that were taken and not returned, and the bytes they occupy (after rounding up).
  std::size_t live_blocks() const noexcept { return used_ >> kBytesBits; }
  std::size_t live_bytes() const noexcept {
    return (used_ & ((std::uint64_t{1} << kBytesBits) - 1)) * kGranule;
  }

  // From now on the arena does not grow when that would make live_bytes() more than this:
  // allocate() throws std::bad_alloc instead. Blocks that were used before are given out all the
  // same.
  void set_limit(std::size_t bytes) noexcept { limit_ = bytes; }
  std::size_t limit() const noexcept { return limit_; }
  // For tests: the n-th block from now that the arena has to make, rather than give out again,
  // fails with std::bad_alloc. Under AddressSanitizer that is every block. 0: none. Gives what is
  // left of the number before: 0 when that block has failed.
  std::size_t fail_at(std::size_t n) noexcept { return std::exchange(fail_at_, n); }

  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

 private:
  // Chunks are as large and as aligned as a huge page: the owner of a block is found by masking its
  // address, and from the second chunk on the kernel may back them with huge pages, which takes
  // most of the page faults out of a first-time fan-out of a million tasks.
  static constexpr std::size_t kChunk = std::size_t{1} << 21;
  static constexpr std::size_t kLargestSmall = 1024;
  static constexpr std::size_t kGranule = 16;
  static constexpr std::size_t kClasses = kLargestSmall / kGranule;
  // A class takes this much of a chunk at a time, so that equal blocks lie next to each other.
  static constexpr std::size_t kRun = std::size_t{1} << 14;

  struct FreeBlock {
    FreeBlock* next;
  };
  struct Class {
    FreeBlock* free = nullptr;
    std::byte* bump = nullptr;
    std::byte* bump_end = nullptr;
  };
  struct Chunk {
    Arena* owner;
    Chunk* next;
    std::size_t mapped;
  };

  explicit Arena(Arena* outer) noexcept;
  ~Arena();

  static std::size_t class_of(std::size_t size) noexcept {
    return size == 0 ? 0 : (size - 1) / kGranule;
  }
  static Arena* owner_of(void* block) noexcept {
    return reinterpret_cast<Chunk*>(reinterpret_cast<std::uintptr_t>(block) & ~(kChunk - 1))->owner;
  }
  // Blocks and their granules in one number, so that counting them is one addition.
  static constexpr int kBytesBits = 38;  // 4 TiB, and 64 million blocks
  static std::uint64_t usage(std::size_t size) noexcept {
    return (std::uint64_t{1} << kBytesBits) + class_of(size) + 1;
  }
  void delete_when_empty() noexcept;
  void may_grow_by(std::size_t size);
  // Blocks that are made and unmade, rather than given out again, count in the arena around it.
  void has_grown_by(std::size_t size) noexcept;
  void has_shrunk_by(std::size_t size) noexcept;
  void* allocate_slow(std::size_t size);
  static void deallocate_slow(void* block, std::size_t size) noexcept;
  std::byte* take_run(std::size_t bytes);
  Chunk* map_chunk(std::size_t bytes);

  std::uint64_t used_ = 0;
  Class classes_[kClasses];
  std::size_t limit_ = SIZE_MAX;
  std::size_t fail_at_ = 0;
  std::size_t pins_ = 0;
  Arena* outer_;             // may be null
  std::uint64_t grown_ = 0;  // granules of all blocks, those that wait to be given out again too
  std::byte* bump_ = nullptr;
  std::byte* bump_end_ = nullptr;
  Chunk* chunks_ = nullptr;
  bool retired_ = false;
};

// An object in a block of an arena. `unmake` destroys it and returns the block.
template <class T, class... Args>
T* make_in(Arena& arena, Args&&... args) {
  static_assert(alignof(T) <= 16, "what lives in an arena is aligned to 16 bytes at most");
  void* memory = arena.allocate(sizeof(T));
  try {
    return new (memory) T(std::forward<Args>(args)...);
  } catch (...) {
    Arena::deallocate(memory, sizeof(T));
    throw;
  }
}
template <class T>
void unmake(T* made) noexcept {
  made->~T();
  Arena::deallocate(made, sizeof(T));
}

#if TIFFANY_ASAN
}  // namespace this_program_is_built_with_fsanitize_address_so_build_tiffany_with_it_too
#endif

}  // namespace tiffany
