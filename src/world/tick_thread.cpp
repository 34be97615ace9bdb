#include "tiffany/detail/world/tick_thread.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>
#include <utility>

#include "tiffany/world/io_error.hpp"
#include "world/os_signals.hpp"

namespace tiffany::detail {
namespace {

// Signals of the program are for its own threads.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

bool has_own_handler(int signal) noexcept {
  struct sigaction now = {};
  if (sigaction(signal, nullptr, &now) != 0) return false;
  if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return false;
  return !world::takes_signal(now);
}

Duration monotonic_now() noexcept { return std::chrono::steady_clock::now().time_since_epoch(); }

struct TickThread::Shared {
  std::function<void()> on_tick;
  std::function<void()> on_signal;
  Duration tick{};
  pid_t process = getpid();
  int stop = -1;          // an eventfd that says so
  int signals = -1;       // a pipe that signals come out of
  void* token = nullptr;  // of that
  std::thread thread{};

  ~Shared() {
    if (token != nullptr) world::close_signals(token);
    if (signals >= 0) ::close(signals);
    if (stop >= 0) ::close(stop);
  }

  void run() {
    const auto pause = std::chrono::ceil<std::chrono::milliseconds>(tick).count();
    for (;;) {
      pollfd wait[2] = {{stop, POLLIN, 0}, {signals, POLLIN, 0}};  // -1 is passed over
      const int ready = ::poll(wait, 2, static_cast<int>(pause));
      if (ready > 0 && wait[0].revents != 0) return;
      if (ready > 0 && wait[1].revents != 0) {
        // Several that came at a time are one.
        unsigned char bytes[64];
        if (::read(signals, bytes, sizeof bytes) > 0) on_signal();
      }
      on_tick();
    }
  }
};

TickThread::TickThread(Duration tick, std::function<void()> on_tick, int signal,
                       std::function<void()> on_signal)
    : shared_(std::make_unique<Shared>()) {
  shared_->on_tick = std::move(on_tick);
  shared_->on_signal = std::move(on_signal);
  shared_->tick = tick;
  shared_->stop = eventfd(0, EFD_CLOEXEC);
  if (shared_->stop < 0) throw IoError(errno, "eventfd", "a thread that watches");
  if (signal != 0) {
    int failed = 0;
    shared_->signals =
        world::open_signals(std::uint64_t{1} << (signal - 1), shared_->token, failed);
    if (shared_->signals < 0) throw IoError(errno, "sigaction", "a thread that watches");
  }
  const AllSignalsBlocked blocked;
  try {
    shared_->thread = std::thread([shared = shared_.get()] { shared->run(); });
  } catch (const std::system_error& error) {
    throw IoError(error.code().value(), "pthread_create", "a thread that watches");
  }
}

bool TickThread::in_own_process() const noexcept { return shared_->process == getpid(); }

TickThread::~TickThread() {
  if (!in_own_process()) {
    // The copy of a thread that is not here can neither be joined nor be destroyed.
    (void)shared_.release();
    return;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(shared_->stop, &one, sizeof one);
  shared_->thread.join();
}

}  // namespace tiffany::detail
