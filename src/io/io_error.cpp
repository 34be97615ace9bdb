#include "tiffany/io/io_error.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tiffany/io/address.hpp"

namespace tiffany {
namespace {

const char* advice(int number) noexcept {
  switch (number) {
    case ECANCELED:
      return "The descriptor was closed while this task waited for it.";
    case EMFILE:
    case ENFILE:
      return "Close some descriptors, or raise the limit (ulimit -n).";
    case EADDRINUSE:
      return "Another socket has this address; choose another, or 0 for any free port.";
    case ECONNREFUSED:
      return "Nobody listens there.";
    case EACCES:
    case EPERM:
      return "This process may not do that.";
    case ENOSPC:
    case EDQUOT:
      return "Make room on the disk; what was written before is intact.";
    case EBADF:
      return "The descriptor is closed.";
    default:
      return "";
  }
}

std::string sentence(int number, std::string_view what, std::string_view on,
                     std::string_view to_do) {
  constexpr std::size_t kMost = 1024;
  std::string text(what);
  text += " on " + std::string(on.substr(0, kMost));
  if (on.size() > kMost) text += "... (" + std::to_string(on.size()) + " bytes)";
  text +=
      " failed: " + std::string(std::strerror(number)) + " (errno " + std::to_string(number) + ").";
  const char* const known = advice(number);
  if (to_do.empty() && known != nullptr) to_do = known;
  if (!to_do.empty()) text += " " + std::string(to_do);
  return text;
}

}  // namespace

IoError::IoError(int number, std::string_view what, std::string_view on)
    : IoError(number, what, on, std::string_view()) {}
IoError::IoError(int number, std::string_view what, std::string_view on, std::string_view to_do)
    : Error(Errc::io_failed, sentence(number, what, on, to_do)), number_(number) {}

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
    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
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
  std::array<char, 256> name{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), name.data(), name.size());
  if (length <= 0) return number;
  return std::string(name.data(), static_cast<std::size_t>(length)) + " (" + number + ")";
}

}  // namespace tiffany
