#include "world/memory/pipes.hpp"

#include <poll.h>

#include <algorithm>

namespace tiffany::world::memory {

int PipeEnd::attempt(Operation& op) {
  Shared& pipe = *shared_;
  if (op.kind == Kind::read && !writes_) {
    if (op.size == 0) return 0;
    if (pipe.bytes.empty()) return pipe.writer == nullptr ? 0 : -EAGAIN;
    const std::size_t some = state.part_of(std::min(op.size, pipe.bytes.size()));
    pipe.bytes.copy(op.memory, some);
    pipe.bytes.drop(some);
    state.touch(pipe.writer);
    return static_cast<int>(some);
  }
  if (op.kind == Kind::write && writes_) {
    if (pipe.reader == nullptr) return -EPIPE;
    const std::size_t room = state.buffer - std::min(state.buffer, pipe.bytes.size());
    const std::size_t some = std::min(op.size - op.progress, room);
    pipe.bytes.push(static_cast<const std::byte*>(op.memory) + op.progress, some);
    op.progress += some;
    if (some > 0) state.touch(pipe.reader);
    return op.progress == op.size ? static_cast<int>(op.progress) : -EAGAIN;
  }
  const bool wrong_end = op.kind == Kind::read || op.kind == Kind::write;
  if (wrong_end) return -EBADF;
  return op.kind == Kind::sync || op.kind == Kind::allocate ? -EINVAL : -ENOTSOCK;
}

int PipeEnd::ready() const noexcept {
  const Shared& pipe = *shared_;
  if (writes_) {
    if (pipe.reader == nullptr) return POLLOUT | POLLERR;
    return pipe.bytes.size() < state.buffer ? POLLOUT : 0;
  }
  return (pipe.bytes.empty() ? 0 : POLLIN) | (pipe.writer == nullptr ? POLLHUP : 0);
}

void PipeEnd::closed() {
  (writes_ ? shared_->writer : shared_->reader) = nullptr;
  state.touch(writes_ ? shared_->reader : shared_->writer);
}

void make_pipe(State& state, int (&ends)[2]) {
  const auto shared = std::make_shared<PipeEnd::Shared>();
  ends[0] = state.add(std::make_shared<PipeEnd>(state, shared, false));
  ends[1] = state.add(std::make_shared<PipeEnd>(state, shared, true));
}

}  // namespace tiffany::world::memory
