#include <string>
#include <string_view>

#include "tiffany/tiffany.hpp"

std::size_t length(std::string_view text) { return text.size(); }

void misuse() {
  std::string gone = "gone when the task runs";
  tiffany::spawn_fiber(length, std::string_view(gone));  // right: spawn_fiber(length, gone)
}
