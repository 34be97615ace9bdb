// What is measured at level 0 and at level 1: switches between tasks.
#pragma once

#include <cstddef>

#include "bench_support.hpp"
#include "tiffany/tiffany.hpp"

namespace bench {

inline tiffany::Task<void> yield_often(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) co_await tiffany::yield();
}

// A switch among 1,000 tasks.
inline double ns_per_yield(const Suite& suite, tiffany::Scheduler& scheduler) {
  constexpr std::size_t kYielders = 1000;
  const std::size_t each = suite.quick() ? 500 : 3000;
  for (std::size_t i = 0; i < kYielders; ++i) scheduler.spawn(yield_often, each);
  const double took = cpu_ns_of([&] { scheduler.run(); });
  return took / static_cast<double>(kYielders * each);
}

}  // namespace bench
