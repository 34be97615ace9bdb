// operator new of this program, which can be told to fail.
#pragma once

#include <cstddef>
#include <limits>

namespace tiffany::test {

// While one of these lives, so many allocations succeed; the next one fails, or from there on all
// do.
class ShortOfMemory {
 public:
  enum class Then { recovers, stays };
  explicit ShortOfMemory(std::size_t allocations, Then then = Then::stays) noexcept;
  ~ShortOfMemory();
  ShortOfMemory(const ShortOfMemory&) = delete;
  ShortOfMemory& operator=(const ShortOfMemory&) = delete;

  // It has failed at least once.
  static bool was_felt() noexcept;
};

// Allocations that were not given back.
std::size_t live_allocations() noexcept;

}  // namespace tiffany::test
