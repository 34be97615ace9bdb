// T10: without memory for a trace, the exception still arrives.
#include <gtest/gtest.h>

#include <optional>

#include "alloc/failing_new.hpp"
#include "support/harness.hpp"

namespace tiffany {
namespace async_trace_alloc_test {

using namespace test;

Task<int> fails_with(std::optional<ShortOfMemory>& memory, std::size_t allocations) {
  co_await sleep(1ms);
  memory.emplace(allocations);
  throw 7;
}

// The number of allocations that a trace takes, found by giving it one more each time.
TEST(AsyncTrace, T10_AnExceptionArrivesWithoutItsTraceWhenMemoryIsShort) {
  int without = 0;
  bool with = false;
  const auto program = [&]() -> Task<void> {
    std::optional<ShortOfMemory> memory;
    for (std::size_t n = 0; !with && n < 32; ++n) {
      auto handle = spawn(fails_with, std::ref(memory), n);
      int caught = 0;
      try {
        static_cast<void>(co_await handle);
      } catch (int number) {
        caught = number;
      }
      memory.reset();
      EXPECT_EQ(caught, 7);
      EXPECT_EQ(handle.state(), TaskState::failed);
      with = handle.trace() != nullptr;
      without += with ? 0 : 1;
    }
  };
  run_program(program);
  EXPECT_TRUE(with);
  EXPECT_GE(without, 3) << "the trace, its parts, and where the task keeps it";
}

}  // namespace async_trace_alloc_test
}  // namespace tiffany
