#include "tiffany/base/arena.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace tiffany {
namespace {

constexpr std::size_t kPage = 4096;
// In front of what a chunk holds; keeps it aligned as records want it.
constexpr std::size_t kHeader = 128;

std::size_t round_up(std::size_t value, std::size_t to) noexcept {
  return (value + to - 1) / to * to;
}

// Maps `bytes` at an address that is a multiple of `alignment`, by mapping too much and giving the
// ends back.
std::byte* map_aligned(std::size_t bytes, std::size_t alignment) {
  const std::size_t total = bytes + alignment;
  void* raw = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<std::byte*>(raw);
  const auto address = reinterpret_cast<std::uintptr_t>(raw);
  const std::size_t head = round_up(address, alignment) - address;
  const std::size_t tail = total - head - bytes;
  if (head > 0) munmap(begin, head);
  if (tail > 0) munmap(begin + head + bytes, tail);
  return begin + head;
}

}  // namespace

Arena* Arena::create() { return new Arena(nullptr); }
Arena* Arena::create_within(Arena& outer) { return new Arena(&outer); }

Arena::Arena(Arena* outer) noexcept : outer_(outer) {
  if (outer_ != nullptr) outer_->used_ += std::uint64_t{1} << kBytesBits;
}

void Arena::retire() noexcept {
  retired_ = true;
  delete_when_empty();
}

void Arena::delete_when_empty() noexcept {
  if (pins_ == 0 && live_blocks() == 0) delete this;
}

void Arena::unpin(void* reserved) noexcept {
  Arena* arena = owner_of(reserved);
  --arena->pins_;
  if (arena->retired_) arena->delete_when_empty();
}

void Arena::may_grow_by(std::size_t size) {
  if (fail_at_ != 0 && --fail_at_ == 0) throw std::bad_alloc();
  if (live_bytes() + size > limit_) throw std::bad_alloc();
  if (outer_ != nullptr) outer_->may_grow_by(size);
}

void Arena::has_grown_by(std::size_t size) noexcept {
  if (outer_ == nullptr) return;
  grown_ += class_of(size) + 1;
  outer_->used_ += class_of(size) + 1;
}

void Arena::has_shrunk_by(std::size_t size) noexcept {
  if (outer_ == nullptr) return;
  grown_ -= class_of(size) + 1;
  outer_->used_ -= class_of(size) + 1;
}

Arena::~Arena() {
  while (chunks_ != nullptr) {
    Chunk* next = chunks_->next;
    munmap(chunks_, chunks_->mapped);
    chunks_ = next;
  }
  if (outer_ == nullptr) return;
  outer_->used_ -= (std::uint64_t{1} << kBytesBits) + grown_;
  if (outer_->retired_) outer_->delete_when_empty();
}

Arena::Chunk* Arena::map_chunk(std::size_t bytes) {
  std::byte* memory = map_aligned(bytes, kChunk);
  // The first chunk stays on small pages, so that a small program stays small.
  if (chunks_ != nullptr && bytes == kChunk) madvise(memory, bytes, MADV_HUGEPAGE);
  return new (memory) Chunk{this, nullptr, bytes};
}

std::byte* Arena::take_run(std::size_t bytes) {
  if (static_cast<std::size_t>(bump_end_ - bump_) < bytes) {
    Chunk* chunk = map_chunk(kChunk);
    chunk->next = chunks_;
    chunks_ = chunk;
    auto* begin = reinterpret_cast<std::byte*>(chunk);
    bump_ = begin + kHeader;
    bump_end_ = begin + kChunk;
  }
  std::byte* run = bump_;
  bump_ += bytes;
  return run;
}

#if TIFFANY_ASAN

namespace {
struct alignas(16) HeapHeader {
  Arena* owner;
};
}  // namespace

void* Arena::allocate_slow(std::size_t size) {
  may_grow_by(size);
  void* raw = std::malloc(sizeof(HeapHeader) + size);
  if (raw == nullptr) throw std::bad_alloc();
  used_ += usage(size);
  has_grown_by(size);
  return new (raw) HeapHeader{this} + 1;
}

void Arena::deallocate_slow(void* block, std::size_t size) noexcept {
  HeapHeader* header = static_cast<HeapHeader*>(block) - 1;
  Arena* owner = header->owner;
  std::free(header);
  owner->used_ -= usage(size);
  owner->has_shrunk_by(size);
  if (owner->retired_) owner->delete_when_empty();
}

#else

namespace {

// The thread ends: blocks may be freed after its spare ones are gone.
thread_local bool spare_over = false;

// Mappings of large blocks that were freed, of all arenas of this thread: a server makes and frees
// a frame of more than a kilobyte for each request, and to map one takes four system calls. At most
// 1 MiB of them is kept, for the next block of the same number of pages.
class SpareMappings {
 public:
  ~SpareMappings() {
    spare_over = true;
    for (std::size_t pages = 1; pages <= kMostPages; ++pages) {
      while (void* const memory = take(pages * kPage)) munmap(memory, pages * kPage);
    }
  }
  // Null: there is none.
  void* take(std::size_t bytes) noexcept {
    const std::size_t pages = bytes / kPage;
    if (pages > kMostPages || counts_[pages - 1] == 0) return nullptr;
    return spare_[pages - 1][--counts_[pages - 1]];
  }
  // False: it is not kept.
  bool put(void* memory, std::size_t bytes) noexcept {
    const std::size_t pages = bytes / kPage;
    if (spare_over || pages > kMostPages || counts_[pages - 1] == kEach) return false;
    spare_[pages - 1][counts_[pages - 1]++] = memory;
    return true;
  }

 private:
  static constexpr std::size_t kMostPages = 3;
  static constexpr std::size_t kEach = 42;  // 42 * (1 + 2 + 3) pages
  void* spare_[kMostPages][kEach] = {};
  std::size_t counts_[kMostPages] = {};
};

thread_local SpareMappings spare_mappings;

}  // namespace

void* Arena::allocate_slow(std::size_t size) {
  may_grow_by(size);
  if (size > kLargestSmall) {
    // A large block is a mapping of its own, with the header that owner_of() looks for. It is not
    // on the list of chunks: it goes back to the system, or to the spare ones, when it is freed.
    const std::size_t bytes = round_up(kHeader + size, kPage);
    void* const spare = spare_mappings.take(bytes);
    Chunk* chunk = spare != nullptr ? new (spare) Chunk{this, nullptr, bytes} : map_chunk(bytes);
    used_ += usage(size);
    has_grown_by(size);
    return reinterpret_cast<std::byte*>(chunk) + kHeader;
  }
  Class& c = classes_[class_of(size)];
  const std::size_t block = (class_of(size) + 1) * kGranule;
  if (static_cast<std::size_t>(c.bump_end - c.bump) < block) {
    // The last run of a chunk is what is left of it.
    const auto left = static_cast<std::size_t>(bump_end_ - bump_);
    const std::size_t run = left >= block && left < kRun ? left : kRun;
    c.bump = take_run(run);
    c.bump_end = c.bump + run;
  }
  std::byte* result = c.bump;
  c.bump += block;
  used_ += usage(size);
  has_grown_by(size);
  return result;
}

void Arena::deallocate_slow(void* block, std::size_t size) noexcept {
  Arena* owner = owner_of(block);
  auto* chunk = reinterpret_cast<Chunk*>(static_cast<std::byte*>(block) - kHeader);
  if (!spare_mappings.put(chunk, chunk->mapped)) munmap(chunk, chunk->mapped);
  owner->used_ -= usage(size);
  owner->has_shrunk_by(size);
  if (owner->retired_) owner->delete_when_empty();
}

#endif

}  // namespace tiffany
