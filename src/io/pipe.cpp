#include "tiffany/io/pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "io/quiet_pipe.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {

void io::ignore_sigpipe() noexcept {
  static const bool once = [] {
    struct sigaction now{};
    if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
      std::signal(SIGPIPE, SIG_IGN);
    }
    return true;
  }();
  static_cast<void>(once);
}

Pipe make_pipe() {
  io::ignore_sigpipe();
  int ends[2];
  const int done = pipe2(ends, O_CLOEXEC);
  Descriptor from = take_descriptor(done == 0 ? ends[0] : -1, "pipe", "a new pipe");
  Descriptor to = take_descriptor(ends[1], "pipe", "a new pipe");
  return Pipe(ByteStream(std::move(from), false), ByteStream(std::move(to), false));
}

}  // namespace tiffany
