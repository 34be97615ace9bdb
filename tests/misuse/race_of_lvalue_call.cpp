#include <tiffany/tiffany.hpp>

tiffany::Task<void> misuse() {
  auto pause = tiffany::sleep(std::chrono::seconds(1));
  co_await tiffany::race(pause, tiffany::sleep(std::chrono::seconds(2)));
}
