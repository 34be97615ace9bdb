#include "tiffany/io/signals.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>

#include "tiffany/base/error.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {

// Where the handler puts signals for one object. Never freed, because a handler may be at it in any
// thread at any time; one that is not used is taken again.
struct detail::SignalSink {
  std::atomic<std::uint64_t> wanted{0};  // a bit for each signal; none: not used
  std::atomic<int> fd{-1};
  std::atomic<pid_t> process{0};
  SignalSink* next = nullptr;
};

namespace {

using detail::SignalSink;

constexpr int kMost = 64;
std::uint64_t bit_of(int number) noexcept { return std::uint64_t{1} << (number - 1); }

std::atomic<SignalSink*> sinks{nullptr};
std::atomic<int> handling{0};  // handlers that are running
static_assert(std::atomic<SignalSink*>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

extern "C" void take_signal(int number) {
  const int error = errno;
  handling.fetch_add(1);
  for (SignalSink* sink = sinks.load(); sink != nullptr; sink = sink->next) {
    if ((sink->wanted.load() & bit_of(number)) == 0) continue;
    if (sink->process.load() != getpid()) continue;  // this is a copy, made by fork
    const auto byte = static_cast<unsigned char>(number);
    [[maybe_unused]] const ssize_t written = ::write(sink->fd.load(), &byte, 1);
  }
  handling.fetch_sub(1);
  errno = error;
}

// Which objects there are, and what the signals did before. Not for the handler.
struct Registry {
  struct Use {
    int count = 0;
    struct sigaction before{};
  };
  std::mutex mutex;
  std::array<Use, kMost + 1> uses;

  // False: see errno.
  bool begin(int number) {
    Use& use = uses[static_cast<std::size_t>(number)];
    if (use.count == 0) {
      struct sigaction ours{};
      ours.sa_handler = &take_signal;
      ours.sa_flags = SA_RESTART | SA_ONSTACK;
      if (sigaction(number, &ours, &use.before) != 0) return false;
    }
    ++use.count;
    return true;
  }
  void end(int number) noexcept {
    Use& use = uses[static_cast<std::size_t>(number)];
    if (--use.count > 0) return;
    struct sigaction now{};
    // Somebody may have put a handler of another kind in its place meanwhile.
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != &take_signal) return;
    sigaction(number, &use.before, nullptr);
  }
  void end_all(std::uint64_t numbers) noexcept {
    for (int number = 1; number <= kMost; ++number) {
      if ((numbers & bit_of(number)) != 0) end(number);
    }
  }
};

// Never destroyed: objects with static lifetime come here at the end of the program.
Registry& registry() {
  static auto* const the_one = new Registry;
  return *the_one;
}

SignalSink& unused_sink() {
  for (SignalSink* sink = sinks.load(); sink != nullptr; sink = sink->next) {
    if (sink->fd.load() < 0) return *sink;
  }
  auto* const made = new SignalSink;
  made->next = sinks.load();
  sinks.store(made);
  return *made;
}

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

Signals::Signals(std::initializer_list<int> numbers) {
  const std::uint64_t wanted = checked(numbers);
  int ends[2];
  const int done = pipe2(ends, O_CLOEXEC);
  descriptor_ = take_descriptor(done == 0 ? ends[0] : -1, "pipe", "signals");
  Descriptor write_end(ends[1]);
  fcntl(write_end.fd(), F_SETFL, fcntl(write_end.fd(), F_GETFL) | O_NONBLOCK);

  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  SignalSink& sink = unused_sink();
  std::uint64_t begun = 0;
  for (int number = 1; number <= kMost; ++number) {
    if ((wanted & bit_of(number)) == 0) continue;
    if (!all.begin(number)) {
      const int error = errno;
      all.end_all(begun);
      throw IoError(error, "wait", "signal " + std::to_string(number));
    }
    begun |= bit_of(number);
  }
  sink.process.store(getpid());
  sink.fd.store(write_end.release());
  sink.wanted.store(wanted);
  sink_ = &sink;
}

Signals::~Signals() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.end_all(sink_->wanted.exchange(0));
  // A handler in another thread may have seen the bit just before.
  while (handling.load() > 0) sched_yield();
  ::close(sink_->fd.exchange(-1));
}

}  // namespace tiffany
