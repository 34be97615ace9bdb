#include "tiffany/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace tiffany::detail {

void assertion_failed(const char* condition, const char* sentence, const char* file,
                      int line) noexcept {
  std::fprintf(stderr, "tiffany: an invariant is broken: %s (%s is false at %s:%d)\n", sentence,
               condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace tiffany::detail
