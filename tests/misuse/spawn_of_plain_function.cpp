#include "tiffany/tiffany.hpp"

int twice(int n) { return 2 * n; }

tiffany::Task<void> misuse() {
  tiffany::spawn(twice, 4);  // right: a twice that returns Task<int>
  co_return;
}
