#include "tiffany/detail/world/terminal_size.hpp"

#include <sys/ioctl.h>

namespace tiffany::detail {

std::optional<TerminalSize> terminal_size(int fd) noexcept {
  struct winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return std::nullopt;
  return TerminalSize{size.ws_col, size.ws_row};
}

}  // namespace tiffany::detail
