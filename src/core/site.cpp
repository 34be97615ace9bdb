#include "tiffany/core/site.hpp"

#include <string_view>

namespace tiffany {

std::string site_text(const std::source_location& site) {
  std::string_view file = site.file_name();
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  return std::string(file) + ":" + std::to_string(site.line());
}

}  // namespace tiffany
