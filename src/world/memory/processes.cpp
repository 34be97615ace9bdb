#include "world/memory/processes.hpp"

#include "world/memory/pipes.hpp"

namespace tiffany::world::memory {

void Processes::raise(int signal) {
  const auto byte = static_cast<unsigned char>(signal);
  for (const Sink& sink : sinks_) {
    if (signal < 1 || signal > 64 || (sink.wanted >> (signal - 1) & 1) == 0) continue;
    Operation op(Kind::write, sink.fd, nullptr);
    op.memory = const_cast<unsigned char*>(&byte);  // only read from
    op.size = 1;
    // When the pipe is full there are signals enough to be taken.
    static_cast<void>(state_.find(sink.fd)->attempt(op));
  }
  state_.settle();
}

int Processes::kill(pid_t process, int signal) noexcept {
  if (process != state_.process_id) return with_errno(-ESRCH);
  raise(signal);
  return 0;
}

char** Processes::environment() noexcept {
  static char* none = nullptr;
  return &none;
}

int Processes::open_signals(std::uint64_t wanted, void*& token, int& failed) {
  failed = 0;
  int ends[2];
  make_pipe(state_, ends);
  token = &sinks_.emplace_back(Sink{wanted, ends[1]});
  return ends[0];
}

void Processes::close_signals(void* token) noexcept {
  sinks_.remove_if([&](const Sink& each) {
    if (&each != token) return false;
    state_.close(each.fd);
    return true;
  });
}

}  // namespace tiffany::world::memory
