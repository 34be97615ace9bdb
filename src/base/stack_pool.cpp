#include "tiffany/base/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>
#include <system_error>

#include "tiffany/base/arena.hpp"
#include "tiffany/base/error.hpp"

#if TIFFANY_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tiffany {
namespace {

// Frames that were left without returning have marked what was around their variables.
#if TIFFANY_ASAN
void unmark(std::byte* low, std::size_t bytes) noexcept {
  __asan_unpoison_memory_region(low, bytes);
}
#else
void unmark(std::byte*, std::size_t) noexcept {}
#endif

// Nothing is gained by mapping fewer at a time: what is not touched costs address space only.
constexpr std::size_t kAtATime = 16;
// Of a stack that is kept and not warm: what its next user touches in any case.
constexpr std::size_t kStaysTouched = std::size_t{16} << 10;
// Since Linux 6.13, and unknown to the headers of older systems.
constexpr int kGuardInstall = 102;

std::size_t page() noexcept {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t whole_pages(std::size_t bytes) noexcept {
  return (bytes + page() - 1) / page() * page();
}

[[noreturn]] void throw_no_stack(std::size_t bytes, std::size_t in_use) {
  const int why = errno;
  throw Error(Errc::no_stack,
              "A fiber got no stack of " + std::to_string(bytes >> 10) +
                  " KiB: " + std::generic_category().message(why) + ". " + std::to_string(in_use) +
                  " are in use. Run fewer fibers at a time (Options::limit_fibers), "
                  "or give the process more: memory, or mappings (sysctl "
                  "vm.max_map_count).");
}

}  // namespace

StackPool::StackPool(std::size_t bytes, Guards guards)
    : bytes_(whole_pages(bytes)),
      usable_(bytes_ + page()),
      mapped_guards_(guards == Guards::mapped) {
  require_size(bytes);
}

void StackPool::require_size(std::size_t bytes) {
  if (bytes < kLeast || bytes > (std::size_t{1} << 40)) {
    throw Error(Errc::bad_argument, "The stack of a fiber was to have " + std::to_string(bytes) +
                                        " bytes. Give Options::fiber_stack at least " +
                                        std::to_string(kLeast) + "; the default is 256 KiB.");
  }
}

StackPool::~StackPool() {
  while (free_ != nullptr) {
    Free* const next = free_->next;
    munmap(reinterpret_cast<std::byte*>(free_ + 1) - stride(), stride());
    free_ = next;
  }
  if (fresh_ != fresh_end_) munmap(fresh_, static_cast<std::size_t>(fresh_end_ - fresh_));
}

StackPool::Stack StackPool::take() {
  if (free_ != nullptr) {
    auto* const top = reinterpret_cast<std::byte*>(free_ + 1);
    free_ = free_->next;
    --kept_;
    if (warm_ > 0) --warm_;
    ++in_use_;
    return {top - usable_, top};
  }
  if (fresh_ == fresh_end_) map_some();
  if (!install_guard(fresh_)) throw_no_stack(bytes_, in_use_);
  fresh_ += stride();
  ++in_use_;
  return {fresh_ - usable_, fresh_};
}

void StackPool::give_back(Stack stack) noexcept {
  --in_use_;
  unmark(stack.low, usable_);
  if (kept_ == kKept) {
    munmap(stack.low - kGuard, stride());
    return;
  }
  free_ = new (stack.top - sizeof(Free)) Free{free_};
  ++kept_;
  if (++warm_ == 2 * kWarm) cool_down();
}

// Many at a time: a task that comes and goes takes and returns the same stack, and no call to the
// system is made for it.
void StackPool::cool_down() noexcept {
  std::size_t at = 0;
  for (Free* free = free_; at < warm_; free = free->next, ++at) {
    if (at < kWarm || usable_ <= kStaysTouched) continue;
    auto* const top = reinterpret_cast<std::byte*>(free + 1);
    madvise(top - usable_, usable_ - kStaysTouched, MADV_DONTNEED);
  }
  warm_ = kWarm;
}

void StackPool::map_some() {
  const auto map = [this](std::size_t stacks) {
    return mmap(nullptr, stacks * stride(), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  };
  std::size_t stacks = kAtATime;
  void* mapping = map(stacks);
  if (mapping == MAP_FAILED) mapping = map(stacks = 1);
  if (mapping == MAP_FAILED) throw_no_stack(bytes_, in_use_);
  // A huge page would be the memory of several stacks for the first byte of one.
  madvise(mapping, stacks * stride(), MADV_NOHUGEPAGE);
  fresh_ = static_cast<std::byte*>(mapping);
  fresh_end_ = fresh_ + stacks * stride();
}

// The largest pages that systems have are as large as the guard.
bool StackPool::install_guard(std::byte* at) noexcept {
  if (!mapped_guards_ && madvise(at, kGuard, kGuardInstall) == 0) return true;
  mapped_guards_ = true;
  return mprotect(at, kGuard, PROT_NONE) == 0;
}

}  // namespace tiffany
