#include "tiffany/io/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw Error(Errc::bad_address,
              "\"" + std::string(text) + "\" is not an address: " + std::string(why) +
                  ". Write 127.0.0.1:80, [::1]:80, unix:/path or unix:@name; look up the name of "
                  "a host with resolve().");
}

template <class T>
T& view(sockaddr_storage& storage) noexcept {
  return *reinterpret_cast<T*>(&storage);
}
template <class T>
const T& view(const sockaddr_storage& storage) noexcept {
  return *reinterpret_cast<const T*>(&storage);
}

}  // namespace

Address Address::parse(std::string_view text) {
  if (text.starts_with("unix:")) return unix_path(text.substr(5));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) refuse(text, "it has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    refuse(text, "its port is not a number from 0 to 65535");
  }
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != std::string_view::npos) {
    refuse(text, "an IPv6 address needs brackets before its port");
  }
  return ip(host, port);
}

Address Address::ip(std::string_view ip, std::uint16_t port) {
  const std::string text(ip);
  Address made;
  auto& v4 = view<sockaddr_in>(made.storage_);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    made.size_ = sizeof v4;
    return made;
  }
  auto& v6 = view<sockaddr_in6>(made.storage_);
  if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    made.size_ = sizeof v6;
    return made;
  }
  refuse(ip, "it is neither an IPv4 nor an IPv6 address");
}

Address Address::unix_path(std::string_view path) {
  Address made;
  auto& un = view<sockaddr_un>(made.storage_);
  if (path.empty()) refuse("unix:", "it has no path");
  if (path.size() >= sizeof un.sun_path) {
    refuse(path, "it is longer than " + std::to_string(sizeof un.sun_path - 1) + " bytes");
  }
  un.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), un.sun_path);
  const bool abstract = path.front() == '@';
  if (abstract) un.sun_path[0] = '\0';
  made.size_ =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
  return made;
}

Address Address::from(const sockaddr* address, socklen_t size) {
  Address made;
  made.size_ = std::min<socklen_t>(size, sizeof made.storage_);
  std::memcpy(&made.storage_, address, made.size_);
  return made;
}

std::uint16_t Address::port() const noexcept {
  if (family() == AF_INET) return ntohs(view<sockaddr_in>(storage_).sin_port);
  if (family() == AF_INET6) return ntohs(view<sockaddr_in6>(storage_).sin6_port);
  return 0;
}

std::string Address::text() const {
  char buffer[INET6_ADDRSTRLEN] = {};
  if (family() == AF_INET) {
    inet_ntop(AF_INET, &view<sockaddr_in>(storage_).sin_addr, buffer, sizeof buffer);
    return std::string(buffer) + ":" + std::to_string(port());
  }
  if (family() == AF_INET6) {
    inet_ntop(AF_INET6, &view<sockaddr_in6>(storage_).sin6_addr, buffer, sizeof buffer);
    return "[" + std::string(buffer) + "]:" + std::to_string(port());
  }
  if (!is_unix()) return "an unknown address";
  const auto& un = view<sockaddr_un>(storage_);
  const std::size_t length = size_ - std::min<std::size_t>(size_, offsetof(sockaddr_un, sun_path));
  if (length == 0) return "unix:(unnamed)";
  if (un.sun_path[0] == '\0') return "unix:@" + std::string(un.sun_path + 1, length - 1);
  return "unix:" + std::string(un.sun_path, strnlen(un.sun_path, length));
}

std::string_view Address::path() const noexcept {
  constexpr std::size_t kBefore = offsetof(sockaddr_un, sun_path);
  if (!is_unix() || size_ <= kBefore) return {};
  const char* const path = view<sockaddr_un>(storage_).sun_path;
  return {path, strnlen(path, size_ - kBefore)};  // an abstract name begins with a zero
}

bool operator==(const Address& a, const Address& b) noexcept {
  return a.size_ == b.size_ && std::memcmp(&a.storage_, &b.storage_, a.size_) == 0;
}

std::optional<Address> local_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const out = reinterpret_cast<sockaddr*>(&storage);
  if (World::current().sockets().local_name(fd, out, size) != 0) return std::nullopt;
  return Address::from(out, size);
}

std::optional<Address> peer_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const out = reinterpret_cast<sockaddr*>(&storage);
  if (World::current().sockets().peer_name(fd, out, size) != 0) return std::nullopt;
  return Address::from(out, size);
}

}  // namespace tiffany
