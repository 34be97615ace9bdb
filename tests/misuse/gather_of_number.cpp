#include <tiffany/tiffany.hpp>

tiffany::Task<int> misuse() {
  auto [number, unit] = co_await tiffany::gather(7, tiffany::sleep(std::chrono::seconds(2)));
  static_cast<void>(number);
  static_cast<void>(unit);
  co_return 1;
}
