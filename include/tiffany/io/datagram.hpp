// Datagrams: UDP, and unix sockets that keep messages apart. An Address says which.
//
//   DatagramSocket socket = DatagramSocket::bind(Address::loopback(0));
//   co_await socket.send("ping", server);
//   Datagram got = co_await socket.receive(room);
//
// Multicast: every socket that is bound to the port and has joined the group gets each datagram.
//
//   const Address group = Address::ip("239.1.2.3", 7000);
//   DatagramSocket hears = DatagramSocket::bind(group, DatagramOptions().share_port());
//   hears.join(group, "eth0");
//   DatagramSocket says = DatagramSocket::unbound(AF_INET);
//   says.multicast_through("eth0");
//   co_await says.send("hello", group);
//
// Cancel: see io/io_call.hpp. A datagram that has been received is never lost to a cancel.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "tiffany/io/address.hpp"
#include "tiffany/io/socket_path.hpp"
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
  Answer start(Scheduler& scheduler, TaskRecord& task);
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
  Answer start(Scheduler& scheduler, TaskRecord& task);
  void finish() const { outcome(); }

 private:
  const char* verb() const noexcept override { return "send"; }
  iovec part_{};
  std::optional<Address> to_;
  msghdr message_{};
};

class DatagramOptions {
 public:
  DatagramOptions() noexcept = default;
  // Several sockets may be bound to the address, as those who listen to one group are
  // (SO_REUSEADDR).
  DatagramOptions&& share_port(bool on = true) && noexcept {
    share_port_ = on;
    return std::move(*this);
  }

 private:
  friend class DatagramSocket;
  bool share_port_ = false;
};

class DatagramSocket {
 public:
  DatagramSocket() noexcept = default;
  ~DatagramSocket() { close(); }
  DatagramSocket(DatagramSocket&&) noexcept = default;
  DatagramSocket& operator=(DatagramSocket&& other) noexcept {
    if (this != &other) {
      close();
      descriptor_ = std::move(other.descriptor_);
      path_ = std::move(other.path_);
    }
    return *this;
  }
  // The file of a unix path is removed by close(); see io/socket_path.hpp. Throws IoError.
  static DatagramSocket bind(const Address& address, DatagramOptions options = DatagramOptions());
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
  // Receives what is sent to a group (the port does not matter) and arrives at an interface ("lo",
  // "eth0"); leave() undoes it, and so does close(). Throws IoError. Plain calls.
  void join(const Address& group, const std::string& interface) const;
  void leave(const Address& group, const std::string& interface) const;
  // Through which interface, and over how many routers, this socket sends to groups. Without this:
  // the one that the system chooses, and 1: the local network only.
  void multicast_through(const std::string& interface, int hops = 1) const;

  Address local() const { return *local_address(descriptor_.fd()); }
  void close() noexcept {
    path_.remove();
    descriptor_.close();
  }
  const Descriptor& descriptor() const noexcept { return descriptor_; }

 private:
  explicit DatagramSocket(Descriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}
  void change_membership(int option, const Address& group, const std::string& interface,
                         const char* what) const;
  int family() const noexcept;
  Descriptor descriptor_;
  SocketPath path_;
};

}  // namespace tiffany
