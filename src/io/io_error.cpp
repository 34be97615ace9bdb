#include "tiffany/io/io_error.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "tiffany/core/world.hpp"
#include "tiffany/io/address.hpp"

namespace tiffany {
void throw_io_error(std::string_view what, std::string_view on) { throw IoError(errno, what, on); }

void throw_io_error(std::string_view what, int fd) {
  const int number = errno;  // the description makes calls of its own
  throw IoError(number, what, describe_descriptor(fd));
}

std::string describe_descriptor(int fd) {
  std::string number = "fd " + std::to_string(fd);
  const std::optional<Address> own = local_address(fd);
  if (own) {
    int type = 0;
    socklen_t size = sizeof type;
    World::current().sockets().get_option(fd, SOL_SOCKET, SO_TYPE, &type, size);
    std::string text;
    if (own->is_unix()) {
      text = type == SOCK_DGRAM ? "unix datagram " : "unix ";
    } else {
      text = type == SOCK_DGRAM ? "udp " : "tcp ";
    }
    text += own->text();
    if (const std::optional<Address> peer = peer_address(fd)) text += " to " + peer->text();
    return text + " (" + number + ")";
  }
  const std::string path = World::current().files().path_of(fd);
  return path.empty() ? number : path + " (" + number + ")";
}

}  // namespace tiffany
