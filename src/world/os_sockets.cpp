#include <net/if.h>
#include <netdb.h>

#include "world/os_world.hpp"

namespace tiffany::world {
namespace {

class OsSockets final : public WorldSockets {
 public:
  int make(int family, int type) noexcept override {
    return socket(family, type | SOCK_CLOEXEC, 0);
  }
  int bind(int fd, const sockaddr* to, socklen_t size) noexcept override {
    return ::bind(fd, to, size);
  }
  int listen(int fd, int backlog) noexcept override { return ::listen(fd, backlog); }
  int connect(int fd, const sockaddr* to, socklen_t size) noexcept override {
    return ::connect(fd, to, size);
  }
  int shutdown(int fd, int how) noexcept override { return ::shutdown(fd, how); }
  int set_option(int fd, int level, int option, const void* value,
                 socklen_t size) noexcept override {
    return setsockopt(fd, level, option, value, size);
  }
  int get_option(int fd, int level, int option, void* value, socklen_t& size) noexcept override {
    return getsockopt(fd, level, option, value, &size);
  }
  int local_name(int fd, sockaddr* name, socklen_t& size) noexcept override {
    return getsockname(fd, name, &size);
  }
  int peer_name(int fd, sockaddr* name, socklen_t& size) noexcept override {
    return getpeername(fd, name, &size);
  }
  unsigned interface_index(const char* name) noexcept override { return if_nametoindex(name); }
  int look_up(const char* host, const char* service, const addrinfo& hints,
              addrinfo*& found) noexcept override {
    return getaddrinfo(host, service, &hints, &found);
  }
  void free_found(addrinfo* found) noexcept override { freeaddrinfo(found); }
};

}  // namespace

WorldSockets& os_sockets() noexcept {
  static auto* const sockets = new OsSockets;
  return *sockets;
}

}  // namespace tiffany::world
