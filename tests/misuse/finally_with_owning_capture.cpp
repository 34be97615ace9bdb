// A cleanup whose captures own something, made in an awaited expression.
#include <string>

#include "tiffany/tiffany.hpp"

tiffany::Task<void> misuse() {
  std::string name = "owned";
  co_await tiffany::finally([]() -> tiffany::Task<void> { co_return; },
                            [name]() -> tiffany::Task<void> { co_return; });
}
