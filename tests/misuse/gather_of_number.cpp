#include <tiffany/tiffany.hpp>

tiffany::Task<void> misuse() {
  static_cast<void>(co_await tiffany::gather(7, tiffany::sleep(std::chrono::seconds(2))));
}
