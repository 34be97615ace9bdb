// What the row `channel` does in every program: one task sends so many numbers of 8 bytes through a
// channel of 64 places to another, which adds them up. Counted from before the tasks are made until
// both have ended; per message that adds nothing one could see.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench_support.hpp"

namespace channel_row {

inline constexpr std::size_t kCapacity = 64;

inline std::uint64_t messages(const bench::Suite& suite) {
  return suite.scale(10'000'000, 2'000'000);
}
inline std::uint64_t sum_of(std::uint64_t messages) { return messages * (messages - 1) / 2; }

}  // namespace channel_row
