// An object that is counted, so that one that is destroyed twice, or never, is found without a
// sanitizer, too; and an aggregate that owns one. See docs/compilers.md.
#pragma once

#include <atomic>
#include <utility>

namespace tiffany::test {

inline std::atomic<int> alive_owners{0};

class Owner {
 public:
  explicit Owner(int n = 0) : number(n) { ++alive_owners; }
  Owner(const Owner& other) : number(other.number) { ++alive_owners; }
  Owner(Owner&& other) noexcept : number(std::exchange(other.number, -1)) { ++alive_owners; }
  Owner& operator=(Owner other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Owner() { --alive_owners; }
  int number;  // -1: moved from
};

struct Aggregate {
  int kind = 0;
  Owner owner{};
};

}  // namespace tiffany::test
