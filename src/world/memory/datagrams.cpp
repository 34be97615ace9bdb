// Datagrams in memory: each arrives whole and in order, or, with UDP, not at all when nobody has
// room for it.
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "world/memory/sockets.hpp"

namespace tiffany::world::memory {
namespace {

constexpr std::size_t kMostWaiting = 256;
constexpr std::size_t kLargestDatagram = 65507;  // of UDP over IPv4

}  // namespace

int DatagramSocket::attempt(Operation& op) {
  switch (op.kind) {
    case Kind::recv_msg:
      return receive(*static_cast<msghdr*>(op.memory), op.flags);
    case Kind::read:
    case Kind::recv: {
      iovec part{op.memory, op.size};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      return receive(message, op.kind == Kind::recv ? op.flags : 0);
    }
    case Kind::send_msg: {
      const auto& message = *static_cast<const msghdr*>(op.memory);
      std::string bytes;
      for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
        const iovec& part = message.msg_iov[i];
        bytes.append(static_cast<const char*>(part.iov_base), part.iov_len);
      }
      if (message.msg_name == nullptr) return send(peer_, std::move(bytes));
      return send(Name(static_cast<const sockaddr*>(message.msg_name), message.msg_namelen),
                  std::move(bytes));
    }
    case Kind::write:
    case Kind::send: {
      const int gone = send(peer_, std::string(static_cast<const char*>(op.memory), op.size));
      if (gone > 0) op.progress = static_cast<std::size_t>(gone);
      return gone;
    }
    case Kind::connect:
      return connect(
          Name(static_cast<const sockaddr*>(op.memory), static_cast<socklen_t>(op.size)));
    default:
      return -EOPNOTSUPP;
  }
}

int DatagramSocket::ready() const noexcept { return POLLOUT | (arrived_.empty() ? 0 : POLLIN); }

int DatagramSocket::connect(const Name& to) {
  if (to.family() != family_ || !to.complete()) return -EAFNOSUPPORT;
  if (family_ == AF_UNIX && state.sockets->find(SOCK_DGRAM, to) == nullptr) {
    int error = 0;
    const std::string path = to.path();
    if (!path.empty() && state.files->find(path, error) == nullptr) return error;
    return -ECONNREFUSED;
  }
  peer_ = to;
  return bind_to_any(to);
}

int DatagramSocket::send(const Name& to, std::string bytes) {
  if (to.empty()) return -EDESTADDRREQ;
  if (to.family() != family_ || !to.complete()) return -EAFNOSUPPORT;
  if (bytes.size() > kLargestDatagram) return -EMSGSIZE;
  if (const int error = bind_to_any(to); error != 0) return error;
  const int size = static_cast<int>(bytes.size());
  auto* const target = static_cast<DatagramSocket*>(state.sockets->find(SOCK_DGRAM, to));
  if (target == nullptr) {
    if (family_ != AF_UNIX) return size;  // sent, and nobody is there
    int error = 0;
    const std::string path = to.path();
    if (!path.empty() && state.files->find(path, error) == nullptr) return error;
    return -ECONNREFUSED;
  }
  // One that is connected hears its peer alone.
  Name from = local_;
  from.make_loopback();
  if (!target->peer_.empty() && family_ != AF_UNIX && target->peer_ != from) return size;
  if (target->arrived_.size() >= kMostWaiting) return family_ == AF_UNIX ? -ENOBUFS : size;
  target->arrived_.push_back({from, std::move(bytes)});
  state.touch(target);
  return size;
}

int DatagramSocket::receive(msghdr& message, int flags) {
  if (arrived_.empty()) return -EAGAIN;
  const Datagram& first = arrived_.front();
  if (message.msg_name != nullptr) {
    socklen_t size = message.msg_namelen;
    first.from.copy(static_cast<sockaddr*>(message.msg_name), size);
    message.msg_namelen = size;
  }
  std::size_t got = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    const iovec& part = message.msg_iov[i];
    const std::size_t some = std::min(part.iov_len, first.bytes.size() - got);
    if (some > 0) std::memcpy(part.iov_base, first.bytes.data() + got, some);
    got += some;
  }
  message.msg_flags = got < first.bytes.size() ? MSG_TRUNC : 0;
  if ((flags & MSG_PEEK) == 0) arrived_.pop_front();
  return static_cast<int>(got);
}

}  // namespace tiffany::world::memory
