#include "tiffany/tiffany.hpp"

tiffany::Task<int> twice(int n) { co_return 2 * n; }

tiffany::Task<void> misuse() {
  tiffany::spawn_agent(twice, 1);  // right: spawn(twice, 1)
  co_return;
}
