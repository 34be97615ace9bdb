// Signals of the operating system, as bytes in a pipe. Internal; see WorldProcesses.
#pragma once

#include <cstdint>

namespace tiffany::world {

int open_signals(std::uint64_t wanted, void*& token, int& failed);
void close_signals(void* token) noexcept;

}  // namespace tiffany::world
