#include <string>

#include "tiffany/tiffany.hpp"

tiffany::Task<void> misuse() {
  std::string name = "owned";
  co_await tiffany::scope([name](tiffany::Scope&) -> tiffany::Task<void> { co_return; });
}
