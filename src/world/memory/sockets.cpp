// What all sockets in memory have: addresses and options.
#include "world/memory/sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace tiffany::world::memory {

int AnySocket::bind(const Name& name) {
  if (!local_.empty()) return -EINVAL;
  if (name.family() != family_ || !name.complete()) return -EAFNOSUPPORT;
  Sockets& all = *state.sockets;
  Name own = name;
  if (const std::string path = name.path(); !path.empty()) {
    if (const int error = state.files->make_socket_name(path, file_); error != 0) return error;
  } else {
    if (family_ != AF_UNIX && own.port() == 0) {
      const std::uint16_t port = all.free_port(*this, own);
      if (port == 0) return -EADDRINUSE;
      own.set_port(port);
    }
    if (all.taken(*this, own)) return -EADDRINUSE;
  }
  local_ = std::move(own);
  all.bound.push_back(this);
  return 0;
}

int AnySocket::bind_to_any(const Name& like) {
  if (!local_.empty()) return 0;
  if (family_ == AF_UNIX) {  // unnamed
    const sa_family_t family = AF_UNIX;
    local_ = Name(reinterpret_cast<const sockaddr*>(&family), sizeof family);
    return 0;
  }
  Name own = like;
  own.make_loopback();
  own.set_port(0);
  return bind(own);
}

void AnySocket::closed() { std::erase(state.sockets->bound, this); }

bool AnySocket::has_option(int level, int option) const noexcept {
  const auto found = options_.find({level, option});
  return found != options_.end() && found->second.find_first_not_of('\0') != std::string::npos;
}

bool AnySocket::closes_with_reset() const noexcept {
  const auto found = options_.find({SOL_SOCKET, SO_LINGER});
  if (found == options_.end() || found->second.size() < sizeof(linger)) return false;
  linger how{};
  std::memcpy(&how, found->second.data(), sizeof how);
  return how.l_onoff != 0 && how.l_linger == 0;
}

int AnySocket::set_option(int level, int option, const void* value, socklen_t size) {
  if (level == IPPROTO_TCP && (family_ == AF_UNIX || type_ != SOCK_STREAM)) return -EOPNOTSUPP;
  options_[{level, option}].assign(static_cast<const char*>(value), size);
  return 0;
}

int AnySocket::get_option(int level, int option, void* value, socklen_t& size) {
  const auto answer = [&](const void* bytes, std::size_t count) {
    count = std::min<std::size_t>(count, size);
    std::memcpy(value, bytes, count);
    size = static_cast<socklen_t>(count);
    return 0;
  };
  if (level == SOL_SOCKET) {
    int number = 0;
    switch (option) {
      case SO_TYPE:
        return answer(&type_, sizeof type_);
      case SO_DOMAIN:
        return answer(&family_, sizeof family_);
      case SO_ERROR:
        number = take_error();
        return answer(&number, sizeof number);
      case SO_PEERCRED: {
        const ucred peer{state.process_id, 0, 0};
        return answer(&peer, sizeof peer);
      }
      default:
        break;
    }
  }
  if (const auto found = options_.find({level, option}); found != options_.end()) {
    return answer(found->second.data(), found->second.size());
  }
  const int off = 0;
  return answer(&off, sizeof off);
}

// ---- Who is where ----

bool Sockets::taken(const AnySocket& by, const Name& name) const noexcept {
  return std::any_of(bound.begin(), bound.end(), [&](const AnySocket* each) {
    if (each->type() != by.type() || each->local().family() != name.family()) return false;
    if (name.family() == AF_UNIX) return each->local() == name;
    const bool shared =
        each->has_option(SOL_SOCKET, SO_REUSEPORT) && by.has_option(SOL_SOCKET, SO_REUSEPORT);
    const bool both_datagrams = each->type() == SOCK_DGRAM &&
                                each->has_option(SOL_SOCKET, SO_REUSEADDR) &&
                                by.has_option(SOL_SOCKET, SO_REUSEADDR);
    if (shared || both_datagrams || each->local().port() != name.port()) return false;
    return each->local().any() || name.any() || each->local().same_host(name);
  });
}

std::uint16_t Sockets::free_port(const AnySocket& by, Name name) noexcept {
  constexpr std::uint16_t kFirst = 49152;
  constexpr int kPorts = std::numeric_limits<std::uint16_t>::max() - kFirst + 1;
  for (int tries = 0; tries < kPorts; ++tries) {
    last_port_ = last_port_ == std::numeric_limits<std::uint16_t>::max()
                     ? kFirst
                     : static_cast<std::uint16_t>(last_port_ + 1);
    name.set_port(last_port_);
    if (!taken(by, name)) return last_port_;
  }
  return 0;
}

AnySocket* Sockets::find(int type, const Name& name) const noexcept {
  AnySocket* best = nullptr;
  const std::string path = name.path();
  int error = 0;
  const InodePtr file = path.empty() ? nullptr : state_.files->find(path, error);
  for (AnySocket* each : bound) {
    if (each->type() != type || each->family() != name.family()) continue;
    if (name.family() != AF_UNIX) {
      if (each->local().port() != name.port()) continue;
      if (!each->local().any() && !each->local().same_host(name)) continue;
    } else if (path.empty() ? each->local() != name
                            : each->file_ == nullptr || each->file_ != file) {
      continue;
    }
    if (type != SOCK_STREAM) return each;
    const auto& listener = static_cast<const StreamSocket&>(*each);
    if (!listener.listening()) continue;
    if (best == nullptr || listener.waiting() < static_cast<StreamSocket*>(best)->waiting()) {
      best = each;
    }
  }
  return best;
}

// ---- The interface ----

int Sockets::make(int family, int type) noexcept {
  const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) {
    return with_errno(-EAFNOSUPPORT);
  }
  if (kind == SOCK_STREAM) return state_.add(std::make_shared<StreamSocket>(state_, family, kind));
  if (kind == SOCK_DGRAM) return state_.add(std::make_shared<DatagramSocket>(state_, family, kind));
  return with_errno(-EPROTONOSUPPORT);
}

int Sockets::bind(int fd, const sockaddr* to, socklen_t size) noexcept {
  const auto socket = state_.find_as<AnySocket>(fd);
  return with_errno(socket == nullptr ? -EBADF : socket->bind(Name(to, size)));
}
int Sockets::listen(int fd, int backlog) noexcept {
  const auto socket = state_.find_as<StreamSocket>(fd);
  return with_errno(socket == nullptr ? -EOPNOTSUPP : socket->listen(backlog));
}
int Sockets::connect(int fd, const sockaddr* to, socklen_t size) noexcept {
  const auto socket = state_.find_as<AnySocket>(fd);
  const int result = socket == nullptr ? -EBADF : socket->connect(Name(to, size));
  state_.settle();
  return with_errno(result);
}
int Sockets::shutdown(int fd, int how) noexcept {
  const auto socket = state_.find_as<AnySocket>(fd);
  const int result = socket == nullptr ? -EBADF : socket->shutdown(how);
  state_.settle();
  return with_errno(result);
}
int Sockets::set_option(int fd, int level, int option, const void* value, socklen_t size) noexcept {
  const auto socket = state_.find_as<AnySocket>(fd);
  return with_errno(socket == nullptr ? -EBADF : socket->set_option(level, option, value, size));
}
int Sockets::get_option(int fd, int level, int option, void* value, socklen_t& size) noexcept {
  const auto socket = state_.find_as<AnySocket>(fd);
  return with_errno(socket == nullptr ? -EBADF : socket->get_option(level, option, value, size));
}
int Sockets::local_name(int fd, sockaddr* name, socklen_t& size) noexcept {
  const auto socket = state_.find_as<AnySocket>(fd);
  if (socket == nullptr) return with_errno(state_.find(fd) == nullptr ? -EBADF : -ENOTSOCK);
  if (!socket->local().empty()) {
    socket->local().copy(name, size);
    return 0;
  }
  sockaddr_storage none{};  // not bound: the family, and zeros
  none.ss_family = static_cast<sa_family_t>(socket->family());
  socklen_t length = sizeof(sa_family_t);
  if (socket->family() == AF_INET) length = sizeof(sockaddr_in);
  if (socket->family() == AF_INET6) length = sizeof(sockaddr_in6);
  Name(reinterpret_cast<const sockaddr*>(&none), length).copy(name, size);
  return 0;
}
int Sockets::peer_name(int fd, sockaddr* name, socklen_t& size) noexcept {
  const auto socket = state_.find_as<AnySocket>(fd);
  if (socket == nullptr) return with_errno(state_.find(fd) == nullptr ? -EBADF : -ENOTSOCK);
  if (socket->peer().empty()) return with_errno(-ENOTCONN);
  socket->peer().copy(name, size);
  return 0;
}

}  // namespace tiffany::world::memory
