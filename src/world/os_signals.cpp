#include "world/os_signals.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

namespace tiffany::world {
namespace {

// Where the handler puts signals for one object. Never freed, because a handler may be at it in any
// thread at any time; one that is not used is taken again.
struct SignalSink {
  std::atomic<std::uint64_t> wanted{0};  // a bit for each signal; none: not used
  std::atomic<int> fd{-1};
  std::atomic<pid_t> process{0};
  SignalSink* next = nullptr;
};

constexpr int kMost = 64;
std::uint64_t bit_of(int number) noexcept { return std::uint64_t{1} << (number - 1); }

std::atomic<SignalSink*> sinks{nullptr};
std::atomic<int> handling{0};  // handlers that are running
static_assert(std::atomic<SignalSink*>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

extern "C" void tiffany_take_signal(int number) {
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
      ours.sa_handler = &tiffany_take_signal;
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
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != &tiffany_take_signal) return;
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

}  // namespace

int open_signals(std::uint64_t wanted, void*& token, int& failed) {
  failed = 0;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  SignalSink& sink = unused_sink();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  // The handler must not wait; who reads may.
  fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) | O_NONBLOCK);
  std::uint64_t begun = 0;
  for (int number = 1; number <= kMost; ++number) {
    if ((wanted & bit_of(number)) == 0) continue;
    if (!all.begin(number)) {
      const int error = errno;
      all.end_all(begun);
      ::close(ends[0]);
      ::close(ends[1]);
      failed = number;
      errno = error;
      return -1;
    }
    begun |= bit_of(number);
  }
  sink.process.store(getpid());
  sink.fd.store(ends[1]);
  sink.wanted.store(wanted);
  token = &sink;
  return ends[0];
}

bool takes_signal(const struct sigaction& action) noexcept {
  return action.sa_handler == &tiffany_take_signal;
}

void close_signals(void* token) noexcept {
  auto& sink = *static_cast<SignalSink*>(token);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.end_all(sink.wanted.exchange(0));
  // A handler in another thread may have seen the bit just before.
  while (handling.load() > 0) sched_yield();
  ::close(sink.fd.exchange(-1));
}

}  // namespace tiffany::world
