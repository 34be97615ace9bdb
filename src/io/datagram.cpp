#include "tiffany/io/datagram.hpp"

#include <cerrno>

#include "tiffany/io/io_error.hpp"

namespace tiffany {

ReceiveDatagram::ReceiveDatagram(const Descriptor& from, Room room) noexcept
    : IoCall(Kind::recv_msg, from) {
  part_.iov_base = room.data();
  part_.iov_len = room.size();
  message_.msg_name = &sender_;
  message_.msg_namelen = sizeof sender_;
  message_.msg_iov = &part_;
  message_.msg_iovlen = 1;
  memory = &message_;
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
  if (to_) {
    message_.msg_name = const_cast<sockaddr*>(to_->data());
    message_.msg_namelen = to_->size();
  }
  message_.msg_iov = &part_;
  message_.msg_iovlen = 1;
  memory = &message_;
}

DatagramSocket DatagramSocket::unbound(int family) {
  return DatagramSocket(
      take_descriptor(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket", "a datagram socket"));
}

DatagramSocket DatagramSocket::bind(const Address& address) {
  DatagramSocket made = unbound(address.family());
  if (::bind(made.descriptor_.fd(), address.data(), address.size()) != 0) {
    throw_io_error("bind", address.text());
  }
  return made;
}

void DatagramSocket::connect(const Address& to) {
  if (::connect(descriptor_.fd(), to.data(), to.size()) != 0) {
    throw_io_error("connect", to.text());
  }
}

}  // namespace tiffany
