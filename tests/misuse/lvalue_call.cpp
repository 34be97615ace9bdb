#include "tiffany/tiffany.hpp"

tiffany::Task<void> misuse() {
  auto pause = tiffany::sleep(std::chrono::seconds(1));
  co_await pause;  // right: co_await sleep(1s)
}
