// T10: without memory for a trace, the exception still arrives.
//
// In a program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <stdexcept>

#include "support/harness.hpp"

namespace {
int allocations_left = -1;  // negative: any number
}  // namespace

// NOLINTBEGIN: the replacements that the standard asks for. Not inlined, where GCC would see free()
// given what came from new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
// NOLINTEND

namespace tiffany {
namespace {

using namespace test;

Task<int> fails_with(int allocations) {
  co_await sleep(1ms);
  allocations_left = allocations;
  throw 7;
}

// The number of allocations that a trace takes, found by giving it one more each time.
TEST(AsyncTrace, T10_AnExceptionArrivesWithoutItsTraceWhenMemoryIsShort) {
  int without = 0;
  bool with = false;
  const auto program = [&]() -> Task<void> {
    for (int n = 0; !with && n < 32; ++n) {
      auto handle = spawn(fails_with, n);
      int caught = 0;
      try {
        static_cast<void>(co_await handle);
      } catch (int number) {
        caught = number;
      }
      allocations_left = -1;
      EXPECT_EQ(caught, 7);
      EXPECT_EQ(handle.state(), State::failed);
      with = handle.trace() != nullptr;
      without += with ? 0 : 1;
    }
  };
  run_program(program);
  EXPECT_TRUE(with);
  EXPECT_GE(without, 3) << "the trace, its parts, and where the task keeps it";
}

}  // namespace
}  // namespace tiffany
