#include "tiffany/world/io_error.hpp"

#include <cerrno>
#include <cstring>
#include <string>

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

}  // namespace tiffany
