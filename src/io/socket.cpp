#include "tiffany/io/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace {

Descriptor make_socket(const Address& address) {
  return take_descriptor(World::current().sockets().make(address.family(), SOCK_STREAM), "socket",
                         address.text());
}

void set(const Descriptor& on, int level, int option, int value, const char* name) {
  if (World::current().sockets().set_option(on.fd(), level, option, &value, sizeof value) != 0) {
    throw_io_error(name, on.fd());
  }
}

}  // namespace

void Socket::shutdown_write() {
  if (World::current().sockets().shutdown(descriptor().fd(), SHUT_WR) != 0) {
    throw_io_error("shutdown", descriptor().fd());
  }
}

void Socket::set_no_delay(bool on) {
  const std::optional<Address> own = local();
  if (own && own->is_unix()) return;  // they never delay
  set(descriptor(), IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0, "TCP_NODELAY");
}

Listener Listener::bind(const Address& address, ListenOptions options) {
  Descriptor made = make_socket(address);
  if (!address.is_unix()) set(made, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  if (options.share_port_) set(made, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
  SocketPath path = SocketPath::bind(made, address, options.backlog_);
  return Listener(std::move(made), std::move(path));
}

Connect::Connect(const Address& to) : Connect(to, make_socket(to)) {}
Connect::Connect(const Address& to, Descriptor descriptor) noexcept
    : IoCall(Kind::connect, descriptor), to_(to), descriptor_(std::move(descriptor)) {}

Answer Connect::start(Scheduler& scheduler, TaskRecord& task) {
  memory = const_cast<sockaddr*>(to_.data());
  size = to_.size();
  return IoCall::start(scheduler, task);
}

}  // namespace tiffany
