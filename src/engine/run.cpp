#include "tiffany/engine/run.hpp"

#include <cstdio>

namespace tiffany::detail {

int report_uncaught(std::exception_ptr error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    std::fprintf(stderr, "error: %s\n", known.what());
  } catch (...) {
    std::fprintf(stderr, "error: the program threw something that is not a std::exception\n");
  }
  return 1;
}

}  // namespace tiffany::detail
