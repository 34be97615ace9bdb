// Datagrams: UDP, and unix sockets that keep messages apart. An Address says which.
//
//   DatagramSocket socket = DatagramSocket::bind(Address::loopback(0));
//   co_await socket.send("ping", server);
//   Datagram got = co_await socket.receive(room);
//
// Cancel: see io/io_call.hpp. A datagram that has been received is never lost to a cancel.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "tiffany/io/address.hpp"
#include "tiffany/io/stream.hpp"

namespace tiffany {

struct Datagram {
  Datagram(std::size_t bytes, std::optional<Address> sender, bool cut)
      : size(bytes), from(std::move(sender)), truncated(cut) {}
  std::size_t size;
  std::optional<Address> from;  // none when the sender has no address
  bool truncated;               // the datagram was longer than the room for it
};

class [[nodiscard("receive does nothing until awaited: co_await socket.receive(...)")]]
ReceiveDatagram final : public IoCall {
 public:
  static constexpr CallName call_name{"receive"};
  ReceiveDatagram(const Descriptor& from, Room room) noexcept;
  Datagram finish() const;

 private:
  const char* verb() const noexcept override { return "receive"; }
  iovec part_{};
  sockaddr_storage sender_{};
  msghdr message_{};
};

class [[nodiscard("send does nothing until awaited: co_await socket.send(...)")]] SendDatagram final
    : public IoCall {
 public:
  static constexpr CallName call_name{"send"};
  // Without `to`: to where the socket is connected.
  SendDatagram(const Descriptor& from, Bytes bytes, const std::optional<Address>& to) noexcept;
  void finish() const { outcome(); }

 private:
  const char* verb() const noexcept override { return "send"; }
  iovec part_{};
  std::optional<Address> to_;
  msghdr message_{};
};

class DatagramSocket {
 public:
  DatagramSocket() noexcept = default;
  static DatagramSocket bind(const Address& address);
  // One that is not bound; the system gives it an address when it sends.
  static DatagramSocket unbound(int family);
  // Receives from there only, and sends there when no address is given. Does not wait.
  void connect(const Address& to);

  ReceiveDatagram receive(Room room) const noexcept { return ReceiveDatagram(descriptor_, room); }
  SendDatagram send(Bytes bytes, const Address& to) const noexcept {
    return SendDatagram(descriptor_, bytes, to);
  }
  SendDatagram send(Bytes bytes) const noexcept {
    return SendDatagram(descriptor_, bytes, std::nullopt);
  }
  Address local() const { return *local_address(descriptor_.fd()); }
  void close() noexcept { descriptor_.close(); }
  const Descriptor& descriptor() const noexcept { return descriptor_; }

 private:
  explicit DatagramSocket(Descriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
};

}  // namespace tiffany
