#include "tiffany/tiffany.hpp"

tiffany::Task<int> twice(int n) { co_return 2 * n; }

tiffany::Task<void> misuse() {
  tiffany::spawn(twice(4));  // right: spawn(twice, 4)
  co_return;
}
