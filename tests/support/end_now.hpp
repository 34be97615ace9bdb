// The end of a process that a test made, from a signal handler perhaps.
#pragma once

#include <unistd.h>

#ifdef TIFFANY_COVERAGE
extern "C" void __gcov_dump();
#endif

namespace tiffany::test {

// As _exit(), which would lose the counts of `./dev test --coverage`.
[[noreturn]] inline void end_now(int code) {
#ifdef TIFFANY_COVERAGE
  __gcov_dump();
#endif
  _exit(code);
}

}  // namespace tiffany::test
