// How many times as long a program takes with the sanitizers, roughly. They are there for what one
// run does and not for how many runs there are: tests that try thousands try so many fewer.
#pragma once

#include <cstddef>

namespace tiffany::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t kSlower = 5;
#else
inline constexpr std::size_t kSlower = 1;
#endif

}  // namespace tiffany::test
