// Sockets in memory: streams and datagrams, by IP addresses, unix paths and abstract names.
// Internal.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "world/memory/files.hpp"
#include "world/memory/state.hpp"

namespace tiffany::world::memory {

// The bytes of a sockaddr; empty: none.
class Name {
 public:
  Name() noexcept = default;
  Name(const sockaddr* address, socklen_t size)
      : bytes_(reinterpret_cast<const char*>(address), size) {}
  bool empty() const noexcept { return bytes_.empty(); }
  int family() const noexcept;
  std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  bool any() const noexcept;       // 0.0.0.0 or ::
  void make_loopback() noexcept;   // 127.0.0.1 or ::1 in the place of those
  std::string path() const;        // of a unix socket with a file; empty otherwise
  bool complete() const noexcept;  // has all bytes that its family needs
  // As getsockname: as much as there is room, and the size that there is.
  void copy(sockaddr* to, socklen_t& size) const noexcept;
  bool same_host(const Name& other) const noexcept;
  friend bool operator==(const Name&, const Name&) noexcept = default;

 private:
  std::string bytes_;
};

class AnySocket : public Object {
 public:
  AnySocket(State& of, int family, int type) noexcept : Object(of), family_(family), type_(type) {}
  void closed() override;

  int bind(const Name& name);
  // A port, or an unnamed unix socket, for one that was not bound.
  int bind_to_any(const Name& like);
  virtual int connect(const Name& to) = 0;
  virtual int shutdown(int how) = 0;
  int set_option(int level, int option, const void* value, socklen_t size);
  int get_option(int level, int option, void* value, socklen_t& size);

  int family() const noexcept { return family_; }
  int type() const noexcept { return type_; }
  const Name& local() const noexcept { return local_; }
  const Name& peer() const noexcept { return peer_; }
  bool has_option(int level, int option) const noexcept;

 protected:
  bool closes_with_reset() const noexcept;  // SO_LINGER, with a time of zero
  virtual int take_error() noexcept { return 0; }

  int family_;
  int type_;
  Name local_;
  Name peer_;
  InodePtr file_;  // of a unix path
  std::map<std::pair<int, int>, std::string> options_;
  friend class Sockets;
};

class StreamSocket final : public AnySocket {
 public:
  using AnySocket::AnySocket;
  int attempt(Operation& op) override;
  int ready() const noexcept override;
  void closed() override;
  int listen(int backlog);
  int connect(const Name& to) override;
  int shutdown(int how) override;
  // What has gone, or -EAGAIN.
  int send(const void* from, std::size_t size);
  bool listening() const noexcept { return backlog_ > 0; }
  std::size_t waiting() const noexcept { return arrived_.size(); }

 private:
  int receive(void* to, std::size_t size, int flags);
  int receive_parts(msghdr& message, int flags);
  int send_parts(const msghdr& message);
  int accept();
  void reset() noexcept;
  int take_error() noexcept override { return std::exchange(error_, 0); }
  std::size_t room() const noexcept;

  // A connection is two of these. The one that was not accepted yet is owned by the backlog.
  StreamSocket* other_ = nullptr;  // null: not connected, or closed there
  Buffer bytes_;                   // to be read here
  bool connected_ = false;
  bool no_more_in_ = false;   // the other side will write no more, or this one reads no more
  bool no_more_out_ = false;  // this side has said so
  int error_ = 0;

  int backlog_ = 0;  // of one that listens
  std::deque<std::shared_ptr<StreamSocket>> arrived_;
  std::vector<std::weak_ptr<Object>> turned_away_;  // connects that wait for room in the backlog
};

class DatagramSocket final : public AnySocket {
 public:
  using AnySocket::AnySocket;
  int attempt(Operation& op) override;
  int ready() const noexcept override;
  int connect(const Name& to) override;
  int shutdown(int) override { return -ENOTCONN; }

 private:
  struct Datagram {
    Name from;
    std::string bytes;
  };
  int send(const Name& to, std::string bytes);
  int receive(msghdr& message, int flags);
  std::deque<Datagram> arrived_;
};

class Sockets final : public WorldSockets {
 public:
  explicit Sockets(State& state) noexcept : state_(state) {}

  // The socket that is bound there; of streams, the listener that has fewest waiting. Null: none.
  AnySocket* find(int type, const Name& name) const noexcept;
  bool taken(const AnySocket& by, const Name& name) const noexcept;
  std::uint16_t free_port(const AnySocket& by, Name name) noexcept;
  std::vector<AnySocket*> bound;  // in the order of binding

  int make(int family, int type) noexcept override;
  int bind(int fd, const sockaddr* to, socklen_t size) noexcept override;
  int listen(int fd, int backlog) noexcept override;
  int connect(int fd, const sockaddr* to, socklen_t size) noexcept override;
  int shutdown(int fd, int how) noexcept override;
  int set_option(int fd, int level, int option, const void* value,
                 socklen_t size) noexcept override;
  int get_option(int fd, int level, int option, void* value, socklen_t& size) noexcept override;
  int local_name(int fd, sockaddr* name, socklen_t& size) noexcept override;
  int peer_name(int fd, sockaddr* name, socklen_t& size) noexcept override;
  unsigned interface_index(const char* name) noexcept override;
  int look_up(const char* host, const char* service, const addrinfo& hints,
              addrinfo*& found) noexcept override;
  void free_found(addrinfo* found) noexcept override;

 private:
  State& state_;
  std::uint16_t last_port_ = 49151;  // ports above are given to who asks for any
};

}  // namespace tiffany::world::memory
