#include "tiffany/io/signals.hpp"

#include "tiffany/io/io_error.hpp"

namespace tiffany {

Signals::Signals(std::initializer_list<int> numbers) {
  sigset_t mine;
  sigemptyset(&mine);
  for (const int number : numbers) {
    if (sigaddset(&mine, number) != 0) {
      throw_io_error("sigaddset", "signal " + std::to_string(number));
    }
  }
  descriptor_ = take_descriptor(signalfd(-1, &mine, SFD_CLOEXEC), "signalfd", "signals");
  pthread_sigmask(SIG_BLOCK, &mine, &before_);
}

Signals::~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace tiffany
