// TCP and unix stream sockets: a listener gives streams, connect() gives one.
//
//   Listener listener = Listener::bind(Address::loopback(8080));
//   for (;;) {
//     Socket client = co_await listener.accept();
//     scope.spawn(serve, std::move(client));
//   }
//
// Both kinds are the same class: an Address says which one it is.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "tiffany/io/address.hpp"
#include "tiffany/io/socket_path.hpp"
#include "tiffany/io/stream.hpp"

namespace tiffany {

// A connected socket. Writing to one whose other end is gone is an IoError (EPIPE), never a signal.
class Socket : public ByteStream {
 public:
  Socket() noexcept = default;
  explicit Socket(Descriptor descriptor) noexcept : ByteStream(std::move(descriptor), true) {}

  // Says that no more will be written: the other side reads the end, and can still write.
  void shutdown_write();
  // Sends small writes at once instead of waiting for more (TCP_NODELAY).
  void set_no_delay(bool on = true);
  std::optional<Address> local() const { return local_address(descriptor().fd()); }
  std::optional<Address> peer() const { return peer_address(descriptor().fd()); }
};

class [[nodiscard("accept does nothing until awaited: co_await listener.accept()")]] Accept final
    : public IoCall {
 public:
  static constexpr CallName call_name{"accept"};
  explicit Accept(const Descriptor& listener) noexcept : IoCall(Kind::accept, listener) {}
  Socket finish() const { return Socket(Descriptor(static_cast<int>(outcome()))); }

 private:
  const char* verb() const noexcept override { return "accept"; }
};

class ListenOptions {
 public:
  ListenOptions() noexcept = default;
  // How many connections the kernel keeps for us until they are accepted.
  ListenOptions&& backlog(int count) && noexcept {
    backlog_ = count;
    return std::move(*this);
  }
  // Several listeners share one port, and the kernel spreads the connections (SO_REUSEPORT).
  ListenOptions&& share_port(bool on = true) && noexcept {
    share_port_ = on;
    return std::move(*this);
  }

 private:
  friend class Listener;
  int backlog_ = 1024;
  bool share_port_ = false;
};

// Where connections arrive. Most servers need no more than `co_await serve(listener, handler)`
// (io/serve.hpp), which also deals with what accept() throws under load.
class Listener {
 public:
  Listener() noexcept = default;
  ~Listener() { close(); }
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&& other) noexcept {
    if (this != &other) {
      close();
      descriptor_ = std::move(other.descriptor_);
      path_ = std::move(other.path_);
    }
    return *this;
  }
  // Port 0: any free one; local() says which. The file of a unix path is removed by close(); a file
  // that a dead process has left is taken over (io/socket_path.hpp). Throws IoError. A plain call.
  static Listener bind(const Address& address, ListenOptions options = ListenOptions());

  Accept accept() const noexcept { return Accept(descriptor_); }
  Address local() const { return *local_address(descriptor_.fd()); }
  // Ends an accept() of another task with an IoError, and a serve() without one.
  void close() noexcept {
    path_.remove();
    descriptor_.close();
  }
  explicit operator bool() const noexcept { return static_cast<bool>(descriptor_); }
  // While that gate is closed no accept() is begun: connections wait in the backlog. See
  // io/pressure.hpp.
  void hold_at(Pressure& gate) noexcept { descriptor_.hold_at(gate); }
  const Descriptor& descriptor() const noexcept { return descriptor_; }

 private:
  Listener(Descriptor descriptor, SocketPath path) noexcept
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}
  Descriptor descriptor_;
  SocketPath path_;
};

// co_await connect(address): a connected socket.
class [[nodiscard("connect does nothing until awaited: co_await connect(...)")]] Connect final
    : public IoCall {
 public:
  static constexpr CallName call_name{"connect"};
  explicit Connect(const Address& to);
  Answer start(Scheduler& scheduler, TaskRecord& task);
  Socket finish() {
    outcome();
    return Socket(std::move(descriptor_));
  }

 private:
  Connect(const Address& to, Descriptor descriptor) noexcept;
  const char* verb() const noexcept override { return "connect"; }
  std::string subject() const override { return to_.text(); }

  Address to_;
  Descriptor descriptor_;
};
inline Connect connect(const Address& to) { return Connect(to); }

}  // namespace tiffany
