#include <memory>

#include "tiffany/tiffany.hpp"

tiffany::Task<std::unique_ptr<int>> boxed() { co_return std::make_unique<int>(42); }

tiffany::Task<void> misuse() {
  auto handle = tiffany::spawn(boxed);
  co_await handle;  // right: co_await std::move(handle)
}
