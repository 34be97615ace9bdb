#include "tiffany/base/arena.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <set>

#include "tiffany/base/random.hpp"

namespace tiffany {
namespace arena_test {

// Gives an arena back at the end of a test.
class Owned {
 public:
  ~Owned() { arena_->retire(); }
  Arena* operator->() const { return arena_; }

 private:
  Arena* arena_ = Arena::create();
};

TEST(Arena, W9_CountsBlocksAndBytesThatAreOut) {
  Owned arena;
  EXPECT_EQ(arena->live_blocks(), 0u);
  void* a = arena->allocate(24);
  void* b = arena->allocate(5000);
  EXPECT_EQ(arena->live_blocks(), 2u);
  EXPECT_GE(arena->live_bytes(), 5024u);
  Arena::deallocate(a, 24);
  EXPECT_EQ(arena->live_blocks(), 1u);
  EXPECT_GE(arena->live_bytes(), 5000u);
  Arena::deallocate(b, 5000);
  EXPECT_EQ(arena->live_blocks(), 0u);
  EXPECT_EQ(arena->live_bytes(), 0u);
}

TEST(Arena, T13_AnArenaWithinAnotherCountsThereAsOneBlockWithAllThatItTook) {
  Owned outer;
  Arena* inner = Arena::create_within(*outer.operator->());
  EXPECT_EQ(outer->live_blocks(), 1u);
  EXPECT_EQ(outer->live_bytes(), 0u);
  void* small = inner->allocate(100);
  void* large = inner->allocate(5000);
  EXPECT_EQ(inner->live_blocks(), 2u);
  EXPECT_EQ(outer->live_blocks(), 1u);
  EXPECT_EQ(outer->live_bytes(), inner->live_bytes());
  Arena::deallocate(large, 5000);
  EXPECT_EQ(outer->live_bytes(), 112u) << "a large block goes back to the system";
  Arena::deallocate(small, 100);
  EXPECT_EQ(inner->live_bytes(), 0u);
  EXPECT_EQ(outer->live_bytes(), TIFFANY_ASAN ? 0u : 112u) << "a small one is kept";
  inner->retire();
  EXPECT_EQ(outer->live_blocks(), 0u);
  EXPECT_EQ(outer->live_bytes(), 0u);
}

TEST(Arena, T13_AnArenaWithinAnotherGrowsAsFarAsBothMay) {
  Owned outer;
  Arena* inner = Arena::create_within(*outer.operator->());
  outer->set_limit(3000);
  inner->set_limit(2000);
  void* a = inner->allocate(1500);
  EXPECT_THROW(inner->allocate(1000), std::bad_alloc) << "it has 2000 itself";
  void* b = outer->allocate(1200);
  EXPECT_THROW(inner->allocate(400), std::bad_alloc) << "the other has 3000 in all";
  EXPECT_THROW(outer->allocate(400), std::bad_alloc) << "and what is inside counts";
  Arena::deallocate(b, 1200);
  void* c = inner->allocate(400);
  Arena::deallocate(a, 1500);
  inner->retire();
  EXPECT_EQ(outer->live_blocks(), 1u) << "a block is left in it";
  Arena::deallocate(c, 400);
  EXPECT_EQ(outer->live_blocks(), 0u);
}

TEST(Arena, T13_AnArenaStaysAsLongAsOneThatLiesWithin) {
  Arena* outer = Arena::create();
  Arena* inner = Arena::create_within(*outer);
  void* block = inner->allocate(100);
  inner->retire();
  outer->retire();
  std::memset(block, 1, 100);
  Arena::deallocate(block, 100);  // all of it goes; a leak is found by the sanitizer
}

TEST(Arena, EveryBlockIsAlignedToSixteenBytes) {
  Owned arena;
  for (std::size_t size : {1u, 7u, 16u, 17u, 100u, 1023u, 1024u, 1025u, 4096u, 100'000u}) {
    void* block = arena->allocate(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u) << size;
    Arena::deallocate(block, size);
  }
}

TEST(Arena, ABlockOfNoBytesIsABlockToo) {
  Owned arena;
  void* a = arena->allocate(0);
  void* b = arena->allocate(0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ(arena->live_blocks(), 2u);
  Arena::deallocate(a, 0);
  Arena::deallocate(b, 0);
  EXPECT_EQ(arena->live_blocks(), 0u);
}

#if !TIFFANY_ASAN
TEST(Arena, AFreedBlockOfTheSameClassIsUsedAgain) {
  Owned arena;
  void* first = arena->allocate(40);
  Arena::deallocate(first, 40);
  void* again = arena->allocate(48);  // 33 to 48 bytes are one class
  EXPECT_EQ(first, again);
  void* other_class = arena->allocate(49);
  EXPECT_NE(first, other_class);
  Arena::deallocate(again, 48);
  Arena::deallocate(other_class, 49);
}
#endif

TEST(Arena, RandomTrafficNeverHandsOutOverlappingBlocks) {
  Owned arena;
  Random random(1, "arena test");
  struct Block {
    std::size_t size;
    unsigned char fill;
  };
  std::map<unsigned char*, Block> blocks;
  for (int i = 0; i < 20'000; ++i) {
    if (blocks.size() < 200 || random.below(2) == 0) {
      const std::size_t size = 1 + random.below(random.below(20) == 0 ? 9000 : 400);
      auto* memory = static_cast<unsigned char*>(arena->allocate(size));
      const auto fill = static_cast<unsigned char>(random.below(256));
      std::memset(memory, fill, size);
      ASSERT_TRUE(blocks.emplace(memory, Block{size, fill}).second);
    } else {
      auto it = blocks.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(random.below(blocks.size())));
      for (std::size_t k = 0; k < it->second.size; ++k) ASSERT_EQ(it->first[k], it->second.fill);
      Arena::deallocate(it->first, it->second.size);
      blocks.erase(it);
    }
    ASSERT_EQ(arena->live_blocks(), blocks.size());
  }
  for (const auto& [memory, block] : blocks) {
    for (std::size_t k = 0; k < block.size; ++k) ASSERT_EQ(memory[k], block.fill);
    Arena::deallocate(memory, block.size);
  }
  EXPECT_EQ(arena->live_bytes(), 0u);
}

TEST(Arena, ARetiredArenaStaysUntilItsLastBlockIsReturned) {
  Arena* arena = Arena::create();
  auto* small = static_cast<char*>(arena->allocate(64));
  auto* large = static_cast<char*>(arena->allocate(8192));
  arena->retire();
  std::memset(small, 1, 64);  // would crash or be reported if the memory were gone
  std::memset(large, 2, 8192);
  Arena::deallocate(small, 64);
  EXPECT_EQ(large[8191], 2);
  Arena::deallocate(large, 8192);
}

TEST(Arena, ReservedMemoryIsAlignedToACacheLinePairAndStays) {
  Owned arena;
  std::set<std::byte*> seen;
  for (int i = 0; i < 300; ++i) {
    std::byte* memory = arena->reserve(16 * 1024);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 128, 0u);
    EXPECT_TRUE(seen.insert(memory).second);
    std::memset(memory, i, 16 * 1024);
  }
}

TEST(Arena, APinKeepsARetiredArena) {
  Arena* arena = Arena::create();
  std::byte* memory = arena->reserve(256);
  arena->pin();
  arena->retire();
  std::memset(memory, 3, 256);
  Arena::unpin(memory);
}

}  // namespace arena_test
}  // namespace tiffany
