#include "tiffany/io/datagram.hpp"

#include <netinet/in.h>

#include <cerrno>
#include <cstring>

#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {

ReceiveDatagram::ReceiveDatagram(const Descriptor& from, Room room) noexcept
    : IoCall(Kind::recv_msg, from) {
  part_.iov_base = room.data();
  part_.iov_len = room.size();
}

Answer ReceiveDatagram::start(Scheduler& scheduler, TaskRecord& task) {
  message_.msg_name = &sender_;
  message_.msg_namelen = sizeof sender_;
  message_.msg_iov = &part_;
  message_.msg_iovlen = 1;
  memory = &message_;
  return IoCall::start(scheduler, task);
}

Datagram ReceiveDatagram::finish() const {
  const std::size_t got = outcome();
  std::optional<Address> from;
  if (message_.msg_namelen > sizeof(sa_family_t)) {
    from = Address::from(reinterpret_cast<const sockaddr*>(&sender_), message_.msg_namelen);
  }
  return Datagram(got, std::move(from), (message_.msg_flags & MSG_TRUNC) != 0);
}

SendDatagram::SendDatagram(const Descriptor& from, Bytes bytes,
                           const std::optional<Address>& to) noexcept
    : IoCall(Kind::send_msg, from), to_(to) {
  part_.iov_base = const_cast<std::byte*>(bytes.data());  // only read from
  part_.iov_len = bytes.size();
}

Answer SendDatagram::start(Scheduler& scheduler, TaskRecord& task) {
  if (to_) {
    message_.msg_name = const_cast<sockaddr*>(to_->data());
    message_.msg_namelen = to_->size();
  }
  message_.msg_iov = &part_;
  message_.msg_iovlen = 1;
  memory = &message_;
  return IoCall::start(scheduler, task);
}

DatagramSocket DatagramSocket::unbound(int family) {
  return DatagramSocket(take_descriptor(World::current().sockets().make(family, SOCK_DGRAM),
                                        "socket", "a datagram socket"));
}

DatagramSocket DatagramSocket::bind(const Address& address, DatagramOptions options) {
  DatagramSocket made = unbound(address.family());
  const int on = 1;
  if (options.share_port_ &&
      World::current().sockets().set_option(made.descriptor_.fd(), SOL_SOCKET, SO_REUSEADDR, &on,
                                            sizeof on) != 0) {
    throw_io_error("SO_REUSEADDR", address.text());
  }
  made.path_ = SocketPath::bind(made.descriptor_, address);
  return made;
}

void DatagramSocket::connect(const Address& to) {
  if (World::current().sockets().connect(descriptor_.fd(), to.data(), to.size()) != 0) {
    throw_io_error("connect", to.text());
  }
}

namespace {

unsigned index_of(const std::string& interface) {
  const unsigned index = World::current().sockets().interface_index(interface.c_str());
  if (index == 0) {
    throw IoError(errno, "if_nametoindex", "\"" + interface + "\"",
                  "There is no such network interface; `ip link` lists them.");
  }
  return index;
}

}  // namespace

int DatagramSocket::family() const noexcept {
  int family = AF_UNSPEC;
  socklen_t size = sizeof family;
  World::current().sockets().get_option(descriptor_.fd(), SOL_SOCKET, SO_DOMAIN, &family, size);
  return family;
}

void DatagramSocket::change_membership(int option, const Address& group,
                                       const std::string& interface, const char* what) const {
  group_req request{};
  request.gr_interface = index_of(interface);
  std::memcpy(&request.gr_group, group.data(), group.size());
  const int level = group.family() == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
  if (World::current().sockets().set_option(descriptor_.fd(), level, option, &request,
                                            sizeof request) == 0)
    return;
  const int number = errno;
  throw IoError(number, what, group.text() + " at " + interface,
                number == EINVAL ? "Is it the address of a group (224.0.0.0/4 or ff00::/8)?" : "");
}

void DatagramSocket::join(const Address& group, const std::string& interface) const {
  change_membership(MCAST_JOIN_GROUP, group, interface, "join");
}

void DatagramSocket::leave(const Address& group, const std::string& interface) const {
  change_membership(MCAST_LEAVE_GROUP, group, interface, "leave");
}

void DatagramSocket::multicast_through(const std::string& interface, int hops) const {
  const int fd = descriptor_.fd();
  const unsigned index = index_of(interface);
  bool done = false;
  if (family() == AF_INET6) {
    done = World::current().sockets().set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index,
                                                 sizeof index) == 0 &&
           World::current().sockets().set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops,
                                                 sizeof hops) == 0;
  } else {
    ip_mreqn request{};
    request.imr_ifindex = static_cast<int>(index);
    done = World::current().sockets().set_option(fd, IPPROTO_IP, IP_MULTICAST_IF, &request,
                                                 sizeof request) == 0 &&
           World::current().sockets().set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops,
                                                 sizeof hops) == 0;
  }
  if (!done) throw_io_error("multicast through " + interface, fd);
}

}  // namespace tiffany
