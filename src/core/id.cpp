#include "tiffany/core/id.hpp"

namespace tiffany {

std::string TaskId::text() const {
  std::string out = "#" + std::to_string(slot());
  if (generation() > 1) out += "." + std::to_string(generation());
  return out;
}

}  // namespace tiffany
