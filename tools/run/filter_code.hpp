// Instructions of a seccomp filter, and the search for the number of a call.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tiffany::supervisor {

using Code = std::vector<sock_filter>;
using Calls = std::map<int, Code>;  // by number: what is done then; each ends with a verdict

inline constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;

sock_filter load(std::size_t offset) noexcept;
// Of an argument the low half: the kernel takes int arguments by it, and so does the filter.
sock_filter argument(int number) noexcept;
sock_filter give(std::uint32_t verdict) noexcept;
// Over so many instructions, by the test of the accumulator.
sock_filter jump(int test, std::uint32_t with, std::size_t yes, std::size_t no) noexcept;
Code always(std::uint32_t verdict);

// With the number of a call in the accumulator: what is done, or that it is allowed.
Code search(const Calls& calls);

}  // namespace tiffany::supervisor
