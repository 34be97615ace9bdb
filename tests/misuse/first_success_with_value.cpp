#include "tiffany/tiffany.hpp"

tiffany::Task<void> misuse() {
  // The block may be cut short, and has no value then.
  co_await tiffany::scope(tiffany::first_success,
                          [](tiffany::Scope&) -> tiffany::Task<int> { co_return 1; });
}
