#include <string>
#include <string_view>

#include "tiffany/tiffany.hpp"

tiffany::Task<std::size_t> length(std::string_view text) { co_return text.size(); }

tiffany::Task<void> misuse() {
  std::string gone = "gone when the task runs";
  tiffany::spawn(length, std::string_view(gone));  // right: spawn(length, gone)
  co_return;
}
