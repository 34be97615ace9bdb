// How much room is left where a path is. For reports to people.
#pragma once

#include <cstdint>
#include <optional>

namespace tiffany::detail {

struct DiskRoom {
  std::uint64_t free = 0;  // bytes that this process may still write
  std::uint64_t all = 0;
};
// Nothing when the path cannot be looked at.
std::optional<DiskRoom> disk_room(const char* path) noexcept;

}  // namespace tiffany::detail
