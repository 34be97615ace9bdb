#include "tiffany/io/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "tiffany/io/io_error.hpp"

namespace tiffany {

Terminal::Terminal(std::uint16_t columns, std::uint16_t rows)
    : master_(take_descriptor(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "open", "a terminal"),
              false) {
  const int fd = master_.descriptor().fd();
  std::array<char, 128> name{};
  if (grantpt(fd) != 0 || unlockpt(fd) != 0) throw_io_error("unlock", "a terminal");
  if (const int error = ptsname_r(fd, name.data(), name.size()); error != 0) {
    throw IoError(error, "ptsname", "a terminal");
  }
  slave_ = name.data();
  resize(columns, rows);
}

Process Terminal::start(Command command) {
  command.terminal_ = slave_;
  return Process(command);
}

Task<std::size_t> Terminal::read(Room room) {
  try {
    co_return co_await master_.read(room);
  } catch (const IoError& error) {
    if (error.number() != EIO) throw;  // the way in which a terminal says that nobody is left
  }
  co_return 0;
}

void Terminal::resize(std::uint16_t columns, std::uint16_t rows) const {
  winsize size{};
  size.ws_col = columns;
  size.ws_row = rows;
  if (ioctl(master_.descriptor().fd(), TIOCSWINSZ, &size) != 0) {
    throw_io_error("resize", master_.descriptor().fd());
  }
}

}  // namespace tiffany
