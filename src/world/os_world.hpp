// The parts of the World of the operating system. Internal.
#pragma once

#include "tiffany/core/world.hpp"

namespace tiffany::world {

WorldFiles& os_files() noexcept;
WorldSockets& os_sockets() noexcept;
WorldProcesses& os_processes() noexcept;

}  // namespace tiffany::world
