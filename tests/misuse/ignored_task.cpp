#include "tiffany/tiffany.hpp"

tiffany::Task<int> answer() { co_return 42; }

tiffany::Task<void> misuse() {
  answer();  // right: co_await answer(), or spawn(answer)
  co_return;
}
