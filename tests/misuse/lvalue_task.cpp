#include "tiffany/tiffany.hpp"

tiffany::Task<int> answer() { co_return 42; }

tiffany::Task<void> misuse() {
  auto task = answer();
  co_await task;  // right: co_await std::move(task)
}
