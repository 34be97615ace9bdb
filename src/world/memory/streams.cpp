// Stream sockets in memory: a connection is two sockets that know each other.
#include <poll.h>

#include <algorithm>

#include "world/memory/sockets.hpp"

namespace tiffany::world::memory {

int StreamSocket::attempt(Operation& op) {
  switch (op.kind) {
    case Kind::read:
    case Kind::recv:
      return receive(op.memory, op.size, op.kind == Kind::recv ? op.flags : 0);
    case Kind::write:
    case Kind::send: {
      const int gone =
          send(static_cast<const std::byte*>(op.memory) + op.progress, op.size - op.progress);
      if (gone < 0) return gone;
      op.progress += static_cast<std::size_t>(gone);
      return op.progress == op.size ? static_cast<int>(op.progress) : -EAGAIN;
    }
    case Kind::recv_msg:
      return receive_parts(*static_cast<msghdr*>(op.memory), op.flags);
    case Kind::send_msg:
      return send_parts(*static_cast<const msghdr*>(op.memory));
    case Kind::accept:
      return accept();
    case Kind::connect:
      return connect(
          Name(static_cast<const sockaddr*>(op.memory), static_cast<socklen_t>(op.size)));
    default:
      return -EINVAL;
  }
}

std::size_t StreamSocket::room() const noexcept {
  return other_ == nullptr ? 0 : state.buffer - std::min(state.buffer, other_->bytes_.size());
}

int StreamSocket::ready() const noexcept {
  if (listening()) return arrived_.empty() ? 0 : POLLIN;
  int ready = error_ != 0 ? POLLERR : 0;
  if (!bytes_.empty() || no_more_in_ || error_ != 0) ready |= POLLIN;
  if (!connected_) return ready | POLLOUT | POLLHUP;
  if (other_ == nullptr || no_more_out_ || room() > 0) ready |= POLLOUT;
  if (no_more_in_ && no_more_out_) ready |= POLLHUP;
  return ready;
}

// ---- Bytes ----

int StreamSocket::receive(void* to, std::size_t size, int flags) {
  if (error_ != 0) return -take_error();
  if (!connected_) return -ENOTCONN;
  if (size == 0) return 0;
  if (bytes_.empty()) return no_more_in_ ? 0 : -EAGAIN;
  const std::size_t some = state.part_of(std::min(size, bytes_.size()));
  bytes_.copy(to, some);
  if ((flags & MSG_PEEK) == 0) {
    bytes_.drop(some);
    state.touch(other_);
  }
  return static_cast<int>(some);
}

int StreamSocket::send(const void* from, std::size_t size) {
  if (error_ != 0) return -take_error();
  if (!connected_) return family_ == AF_UNIX ? -ENOTCONN : -EPIPE;
  if (no_more_out_ || other_ == nullptr || other_->no_more_in_) return -EPIPE;
  if (size == 0) return 0;
  const std::size_t some = std::min(size, room());
  if (some == 0) return -EAGAIN;
  other_->bytes_.push(from, some);
  state.touch(other_);
  return static_cast<int>(some);
}

int StreamSocket::receive_parts(msghdr& message, int flags) {
  message.msg_namelen = 0;
  message.msg_flags = 0;
  int total = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    const iovec& part = message.msg_iov[i];
    const int got = receive(part.iov_base, part.iov_len, flags);
    if (got < 0 && total == 0) return got;
    if (got > 0) total += got;
    if (got < 0 || static_cast<std::size_t>(got) < part.iov_len) break;
  }
  return total;
}

int StreamSocket::send_parts(const msghdr& message) {
  int total = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    const iovec& part = message.msg_iov[i];
    const int gone = send(part.iov_base, part.iov_len);
    if (gone < 0 && total == 0) return gone;
    if (gone > 0) total += gone;
    if (gone < 0 || static_cast<std::size_t>(gone) < part.iov_len) break;
  }
  return total;
}

// ---- Connections ----

int StreamSocket::listen(int backlog) {
  if (connected_) return -EINVAL;
  if (local_.empty()) return -EINVAL;
  backlog_ = std::max(backlog, 1);
  return 0;
}

int StreamSocket::connect(const Name& to) {
  if (connected_) return -EISCONN;
  if (listening()) return -EINVAL;
  if (to.family() != family_ || !to.complete()) return -EAFNOSUPPORT;
  auto* const listener = static_cast<StreamSocket*>(state.sockets->find(SOCK_STREAM, to));
  if (listener == nullptr) {
    const std::string path = to.path();
    int error = 0;
    if (!path.empty() && state.files->find(path, error) == nullptr) return error;
    return -ECONNREFUSED;
  }
  if (listener->waiting() >= static_cast<std::size_t>(listener->backlog_)) {
    listener->turned_away_.push_back(weak_from_this());
    return -EAGAIN;
  }
  if (const int error = bind_to_any(to); error != 0) return error;
  auto made = std::make_shared<StreamSocket>(state, family_, type_);
  made->local_ = listener->local_;
  if (family_ != AF_UNIX) {
    made->local_ = to;
    made->local_.make_loopback();
  }
  made->peer_ = local_;
  peer_ = made->local_;
  made->connected_ = connected_ = true;
  made->other_ = this;
  other_ = made.get();
  listener->arrived_.push_back(std::move(made));
  state.touch(listener);
  return 0;
}

int StreamSocket::accept() {
  if (!listening()) return -EINVAL;
  if (arrived_.empty()) return -EAGAIN;
  std::shared_ptr<StreamSocket> first = std::move(arrived_.front());
  arrived_.pop_front();
  for (const auto& each : std::exchange(turned_away_, {})) {
    if (const ObjectPtr waiting = each.lock()) state.touch(waiting.get());
  }
  return state.add(std::move(first));
}

int StreamSocket::shutdown(int how) {
  if (!connected_) return -ENOTCONN;
  if (how != SHUT_WR) {
    no_more_in_ = true;
    state.touch(this);
    state.touch(other_);
  }
  if (how != SHUT_RD) {
    no_more_out_ = true;
    state.touch(this);
    if (other_ != nullptr) other_->no_more_in_ = true;
    state.touch(other_);
  }
  return 0;
}

// What has not been read is lost, and the next operation says so.
void StreamSocket::reset() noexcept {
  error_ = ECONNRESET;
  no_more_in_ = true;
  bytes_.clear();
}

void StreamSocket::closed() {
  AnySocket::closed();
  if (other_ != nullptr) {
    other_->other_ = nullptr;
    other_->no_more_in_ = true;
    // As TCP does: who has not read everything has not got everything.
    if (!bytes_.empty() || closes_with_reset()) other_->reset();
    state.touch(other_);
    other_ = nullptr;
  }
  // Connections that nobody accepted, and those that waited to be one.
  for (const auto& each : std::exchange(arrived_, {})) {
    if (each->other_ == nullptr) continue;
    each->other_->other_ = nullptr;
    each->other_->reset();
    state.touch(each->other_);
    each->other_ = nullptr;
  }
  backlog_ = 0;
  for (const auto& each : std::exchange(turned_away_, {})) {
    if (const ObjectPtr waiting = each.lock()) state.touch(waiting.get());
  }
}

}  // namespace tiffany::world::memory
