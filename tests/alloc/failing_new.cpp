#include "alloc/failing_new.hpp"

#include <cstdlib>
#include <new>

namespace tiffany::test {
namespace {

bool armed = false;
bool stays = false;
bool felt = false;
std::size_t left = 0;
std::size_t live = 0;

bool refuses() noexcept {
  if (!armed) return false;
  if (left > 0) {
    --left;
    return false;
  }
  if (felt && !stays) return false;
  return felt = true;
}

}  // namespace

ShortOfMemory::ShortOfMemory(std::size_t allocations, Then then) noexcept {
  armed = true;
  stays = then == Then::stays;
  felt = false;
  left = allocations;
}
ShortOfMemory::~ShortOfMemory() { armed = false; }
bool ShortOfMemory::was_felt() noexcept { return felt; }

std::size_t live_allocations() noexcept { return live; }

}  // namespace tiffany::test

// NOLINTBEGIN: the replacements that the standard asks for. Not inlined, where GCC would see free()
// given what came from new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* memory = tiffany::test::refuses() ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  ++tiffany::test::live;
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory != nullptr) --tiffany::test::live;
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
// NOLINTEND
