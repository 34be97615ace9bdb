#include "tiffany/core/posted.hpp"

namespace tiffany {

const char* name_of(Posted posted) noexcept {
  if (posted == Posted::accepted) return "accepted";
  return posted == Posted::full ? "full" : "closed";
}

}  // namespace tiffany
