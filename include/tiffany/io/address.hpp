// Where a socket is: an IPv4 or IPv6 address with a port, or a unix path.
//
//   Address::parse("127.0.0.1:8080")   Address::parse("[::1]:8080")
//   Address::parse("unix:/run/x.sock") Address::parse("unix:@abstract")
//
// Only addresses, no names of hosts: those are looked up with resolve() (io/resolve.hpp).
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tiffany {

class Address {
 public:
  // Throws Errc::bad_address with what is wrong and what it should look like.
  static Address parse(std::string_view text);
  // `ip` as text: "127.0.0.1", "::1".
  static Address ip(std::string_view ip, std::uint16_t port);
  static Address loopback(std::uint16_t port) { return ip("127.0.0.1", port); }
  // A path, or "@name" for one in the abstract namespace of Linux, which is no file.
  static Address unix_path(std::string_view path);
  static Address from(const sockaddr* address, socklen_t size);

  std::string text() const;
  bool is_unix() const noexcept { return storage_.ss_family == AF_UNIX; }
  // Of a unix socket that is a file; empty for every other address.
  std::string_view path() const noexcept;
  // 0 where there are none.
  std::uint16_t port() const noexcept;
  int family() const noexcept { return storage_.ss_family; }
  const sockaddr* data() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const noexcept { return size_; }

  friend bool operator==(const Address& a, const Address& b) noexcept;

 private:
  Address() noexcept = default;
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

// Of a socket; none when it has none.
std::optional<Address> local_address(int fd);
std::optional<Address> peer_address(int fd);

}  // namespace tiffany
