// What became of a value that was offered without waiting: to a mailbox, to a channel.
#pragma once

#include <cstdint>

namespace tiffany {

enum class Posted : std::uint8_t {
  accepted,
  full,    // nothing was kept; try later, or drop it
  closed,  // nobody can take it any more: the other end is closed or gone
};

const char* name_of(Posted posted) noexcept;

}  // namespace tiffany
