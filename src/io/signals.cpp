#include "tiffany/io/signals.hpp"

#include <cerrno>
#include <cstdint>
#include <string>

#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {
namespace {

constexpr int kMost = 64;
std::uint64_t bit_of(int number) noexcept { return std::uint64_t{1} << (number - 1); }

std::uint64_t checked(std::initializer_list<int> numbers) {
  std::uint64_t all = 0;
  for (const int number : numbers) {
    if (number < 1 || number > kMost) {
      throw IoError(EINVAL, "wait", "signal " + std::to_string(number));
    }
    if (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL) {
      throw Error(Errc::bad_argument,
                  "Signal " + std::to_string(number) +
                      " is a fault of the program at the place where it happens. A task cannot "
                      "wait for it; install a handler with sigaction.");
    }
    all |= bit_of(number);
  }
  return all;
}

}  // namespace

Signals::Signals(std::initializer_list<int> numbers) : world_(&World::current()) {
  const std::uint64_t wanted = checked(numbers);
  int failed = 0;
  const int fd = world_->processes().open_signals(wanted, token_, failed);
  if (fd < 0 && failed != 0) throw IoError(errno, "wait", "signal " + std::to_string(failed));
  descriptor_ = take_descriptor(fd, "pipe", "signals");
}

Signals::~Signals() { world_->processes().close_signals(token_); }

}  // namespace tiffany
