#include "tiffany/io/terminal.hpp"

#include <cerrno>
#include <utility>

#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {

Terminal::Terminal(std::uint16_t columns, std::uint16_t rows)
    : master_(take_descriptor(World::current().files().make_terminal(slave_), "open", "a terminal"),
              false) {
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
  const int fd = master_.descriptor().fd();
  if (World::current().files().resize_terminal(fd, columns, rows) != 0) {
    throw_io_error("resize", fd);
  }
}

}  // namespace tiffany
