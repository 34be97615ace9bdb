// Whether a descriptor of this process is a terminal, and how large it is. For the command line
// alone: it is no part of a World, because what a program prints must not depend on it otherwise.
#pragma once

#include <cstdint>
#include <optional>

namespace tiffany::detail {

struct TerminalSize {
  std::uint16_t columns = 0;  // 0: the terminal does not know
  std::uint16_t rows = 0;
};
// Nothing when it is no terminal.
std::optional<TerminalSize> terminal_size(int fd) noexcept;

}  // namespace tiffany::detail
