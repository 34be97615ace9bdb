// A cleanup that returns something, which nobody would get.
#include "tiffany/tiffany.hpp"

tiffany::Task<void> misuse() {
  co_await tiffany::finally([]() -> tiffany::Task<void> { co_return; },
                            []() -> tiffany::Task<int> { co_return 1; });
}
