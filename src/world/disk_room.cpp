#include "tiffany/detail/world/disk_room.hpp"

#include <sys/statvfs.h>

namespace tiffany::detail {

std::optional<DiskRoom> disk_room(const char* path) noexcept {
  struct statvfs found{};
  if (::statvfs(path, &found) != 0) return std::nullopt;
  return DiskRoom{found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize};
}

}  // namespace tiffany::detail
