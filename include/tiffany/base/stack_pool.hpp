// Stacks for fibers: mapped from the system with a guard below, and used again.
//
// A stack takes address space; memory is what its code has touched. The guard is a stretch that
// nobody may touch, larger than a page so that a large frame does not step over it. Stacks lie one
// after the other. They come back to the pool, which keeps at most kKept of them; of those that
// were not among the last kWarm for a while the memory is given back to the system, but for the
// topmost pages.
//
// Thread safety: none. A pool belongs to the thread that drives its scheduler.
#pragma once

#include <cstddef>

namespace tiffany {

class StackPool {
 public:
  // Before Linux 6.13 every guard is a mapping of its own, and a process may have some thirty
  // thousand of them. `mapped`: also where the system can do better.
  enum class Guards : unsigned char { best, mapped };
  // Every stack has `bytes`, rounded up to whole pages, and some more for those who keep it. Error
  // (Errc::bad_argument) when that is less than kLeast.
  explicit StackPool(std::size_t bytes, Guards guards = Guards::best);
  // The same error, without a pool.
  static void require_size(std::size_t bytes);
  // Stacks that have not come back stay mapped for good.
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // The bytes from low up to, and without, top. The guard ends where they begin.
  struct Stack {
    std::byte* low;
    std::byte* top;
  };
  // Throws Error (Errc::no_stack).
  Stack take();
  void give_back(Stack stack) noexcept;

  // What was asked for, in whole pages.
  std::size_t bytes() const noexcept { return bytes_; }
  // Known when the first was taken.
  bool mapped_guards() const noexcept { return mapped_guards_; }
  // Stacks that were taken and have not come back, and those that are kept.
  std::size_t in_use() const noexcept { return in_use_; }
  std::size_t kept() const noexcept { return kept_; }

  // What throwing an exception and a first call through the dynamic linker take, and then some.
  static constexpr std::size_t kLeast = std::size_t{16} << 10;
  // Frames larger than this that do not touch their lower end first are rare.
  static constexpr std::size_t kGuard = std::size_t{64} << 10;
  static constexpr std::size_t kKept = 1024;
  static constexpr std::size_t kWarm = 64;

  // How many stacks are promised to tasks that have not ended. The pool only counts them.
  std::size_t promised() const noexcept { return promised_; }
  void promise() noexcept { ++promised_; }
  void take_promise_back() noexcept { --promised_; }

 private:
  // At the top of a stack that is kept.
  struct Free {
    Free* next;
  };
  std::size_t stride() const noexcept { return kGuard + usable_; }
  void cool_down() noexcept;
  void map_some();
  bool install_guard(std::byte* at) noexcept;

  std::size_t bytes_;
  std::size_t usable_;
  bool mapped_guards_;
  Free* free_ = nullptr;  // the last that came back is the first
  std::size_t kept_ = 0;
  std::size_t warm_ = 0;  // of those, the first so many have all their memory
  std::size_t in_use_ = 0;
  std::size_t promised_ = 0;
  // Mapped, and not given out yet.
  std::byte* fresh_ = nullptr;
  std::byte* fresh_end_ = nullptr;
};

}  // namespace tiffany
