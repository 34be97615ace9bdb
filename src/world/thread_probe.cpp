#include "tiffany/detail/world/thread_probe.hpp"

#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

namespace tiffany::detail {
namespace {

constinit thread_local ThreadProbe* probe_of_thread = nullptr;

// Where the thread was interrupted; null where that is not known.
void* interrupted_at([[maybe_unused]] const void* context) noexcept {
#if defined(__x86_64__)
  const auto pc = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  return reinterpret_cast<void*>(pc);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
  return nullptr;
#endif
}

void answer_probe(int, siginfo_t*, void* context) {
  const int error = errno;
  if (ThreadProbe* const probe = probe_of_thread) probe->answer(interrupted_at(context));
  errno = error;
}

// 0 when every signal has a handler of somebody else. It is never given back: one may be pending in
// a thread that blocks signals.
int take_probe_signal() noexcept {
  // The first call loads the unwinder, which a signal handler must not do.
  void* here[1];
  (void)backtrace(here, 1);
  for (int number = SIGRTMAX - 1; number > SIGRTMIN; --number) {
    struct sigaction before = {};
    if (sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction ours = {};
    ours.sa_sigaction = &answer_probe;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    if (sigaction(number, &ours, nullptr) == 0) return number;
  }
  return 0;
}

int probe_signal() noexcept {
  static const int number = take_probe_signal();
  return number;
}

}  // namespace

ThreadProbe::ThreadProbe() { (void)probe_signal(); }

void ThreadProbe::enter() noexcept {
  probe_of_thread = this;
  thread_.store(gettid());
}

void ThreadProbe::leave() noexcept {
  thread_.store(0);
  if (probe_of_thread == this) probe_of_thread = nullptr;
}

void ThreadProbe::answer(const void* at) noexcept {
  int asked = kAsked;
  if (!state_.compare_exchange_strong(asked, kTaken)) return;  // nobody waits for it any more
  const int count = backtrace(frames_.data(), static_cast<int>(frames_.size()));
  depth_ = count > 0 ? static_cast<std::size_t>(count) : 0;
  // Without the handler itself.
  first_ = 0;
  for (std::size_t i = 0; i < depth_ && at != nullptr; ++i) {
    if (frames_[i] == at) first_ = i;
  }
  visit_(context_);
  state_.store(kDone);
}

bool ThreadProbe::interrupt(Visit visit, void* context, Duration wait) noexcept {
  const int thread = thread_.load();
  if (thread == 0 || probe_signal() == 0) return false;
  visit_ = visit;
  context_ = context;
  state_.store(kAsked);
  // The thread may have ended, and its number may be that of another one: that one does nothing.
  int state = tgkill(getpid(), thread, probe_signal()) == 0 ? kAsked : kIdle;
  const auto until = std::chrono::steady_clock::now() + wait;
  while (state != kIdle) {
    state = state_.load();
    if (state == kDone) break;
    if (state == kAsked && std::chrono::steady_clock::now() >= until) {
      if (state_.compare_exchange_strong(state, kIdle)) break;
    }
    // Asked again, and not told: the handler runs in the middle of anything, and stores are all
    // that it may do for sure.
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  state_.store(kIdle);
  return state == kDone;
}

}  // namespace tiffany::detail
