// Signals of the operating system, as bytes in a pipe. Internal; see WorldProcesses.
#pragma once

#include <csignal>
#include <cstdint>

namespace tiffany::world {

int open_signals(std::uint64_t wanted, void*& token, int& failed);
void close_signals(void* token) noexcept;
// Signals with this action come out of such a descriptor.
bool takes_signal(const struct sigaction& action) noexcept;

}  // namespace tiffany::world
