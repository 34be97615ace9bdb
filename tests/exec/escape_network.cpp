// Sockets: to the network, and to services of the user on this machine.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "escape.hpp"

namespace tiffany::escape {
namespace {

bool connects_tcp(int family) {
  const int fd = socket(family, SOCK_STREAM, 0);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(target().port));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_port = there.sin_port;
  inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr);
  if (family == AF_INET6) {
    return fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&mapped), sizeof mapped) == 0;
  }
  return fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0;
}
bool connect_tcp() { return connects_tcp(AF_INET); }
bool connect_tcp6() { return connects_tcp(AF_INET6); }
bool listen_tcp() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  return fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0;
}
bool send_udp() {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(9);
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return fd >= 0 && sendto(fd, "x", 1, 0, reinterpret_cast<sockaddr*>(&there), sizeof there) == 1;
}
bool open_netlink() { return socket(AF_NETLINK, SOCK_RAW, 0) >= 0; }
bool open_packets() { return socket(AF_PACKET, SOCK_RAW, 0) >= 0; }
bool open_vsock() { return socket(40, SOCK_STREAM, 0) >= 0; }
bool open_crypto() { return socket(38, SOCK_SEQPACKET, 0) >= 0; }

socklen_t set_path(sockaddr_un& address, const std::string& path) {
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
}
bool connects_unix(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  const socklen_t size = set_path(address, path);
  return fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0;
}
bool connect_path() { return connects_unix(target().of("socket")); }
bool connect_abstract() { return connects_unix('\0' + target().name); }
std::string forker() {
  std::string path = std::getenv("TIFFANY_OUTPUT");
  path.resize(path.rfind('/'));
  path.resize(path.rfind('/'));
  return path + "/forker";
}
bool connect_forker() { return connects_unix(forker()); }
// Has a command begun that has no sandbox.
bool use_forker() {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  const socklen_t size = set_path(address, forker());
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) return false;
  const std::string request =
      R"({"directory":")" + target().of("begun") + R"(","variables":[]})" + "\n" +
      R"({"argv":["true"],"directory":"","environment":[],"secrets":[],"limits":{},)" +
      R"("output_bytes":100,"timeout_ms":0,"grace_ms":0,"synced":false})";
  static_cast<void>(send(fd, request.data(), request.size(), MSG_NOSIGNAL));
  shutdown(fd, SHUT_WR);
  char room[256];
  bool heard = false;
  while (read(fd, room, sizeof room) > 0) heard = true;  // until the command has ended
  return heard;
}
// One end of a pair that may send to any address.
bool send_by_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return false;
  sockaddr_un address{};
  const socklen_t size = set_path(address, target().of("datagrams"));
  return sendto(ends[0], "x", 1, 0, reinterpret_cast<sockaddr*>(&address), size) == 1;
}

}  // namespace

std::vector<Attempt> network_attempts() {
  constexpr Proof kAll = Proof::everybody;
  return {{"connect_tcp", kAll, connect_tcp},       {"connect_tcp6", Proof::none, connect_tcp6},
          {"listen_tcp", kAll, listen_tcp},         {"send_udp", kAll, send_udp},
          {"open_netlink", kAll, open_netlink},     {"open_packets", Proof::none, open_packets},
          {"open_vsock", Proof::none, open_vsock},  {"open_crypto", Proof::none, open_crypto},
          {"connect_path", kAll, connect_path},     {"connect_abstract", kAll, connect_abstract},
          {"connect_forker", kAll, connect_forker}, {"use_forker", Proof::none, use_forker},
          {"send_by_pair", kAll, send_by_pair}};
}

}  // namespace tiffany::escape
